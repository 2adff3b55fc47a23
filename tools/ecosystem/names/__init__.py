"""Find PyTorch's names that packages use and jtorch lacks."""
