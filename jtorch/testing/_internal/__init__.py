"""torch.testing._internal: names of PyTorch's test suite that packages use."""
