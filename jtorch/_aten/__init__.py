"""Calls as PyTorch's operators, for modes and classes with ``__torch_dispatch__``. Loaded when the first of them is there."""
