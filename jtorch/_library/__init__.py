"""Operators that users register, and ``torch.ops``."""
