"""Which of PyTorch's names packages use, and which of those jtorch lacks."""
