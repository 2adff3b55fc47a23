"""torch.testing._internal: what packages take from PyTorch's own tests."""
