"""PyTorch's ecosystem, unmodified, with PyTorch and with jtorch: what both give, compared."""
