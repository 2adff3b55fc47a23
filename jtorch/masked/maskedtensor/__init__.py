"""torch.masked.maskedtensor: the class of masked tensors, and its rules for functions and operators."""
