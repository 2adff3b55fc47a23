"""torch.nested._internal: the class of nested tensors and its rules."""
