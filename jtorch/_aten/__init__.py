"""Calls as PyTorch's operators, for modes and classes with ``__torch_dispatch__``. The first such mode or class imports this."""
