"""PyTorch's ecosystem, unmodified, with PyTorch and with jtorch, and the comparison of their results."""
