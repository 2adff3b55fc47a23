"""User-registered operators and ``torch.ops``."""
