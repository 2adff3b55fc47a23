"""The derivatives of ops in PyTorch's operators, as its ``derivatives.yaml`` has them.

A rule gives the gradients of arguments by their names. An op without one has the vjp of its body for its backward, which no mode
sees.
"""
from jtorch._aten.derivatives import activations, arithmetic, layers, products, reductions, shapes
from jtorch._aten.derivatives.rules import RULES

__all__ = ["RULES", "activations", "arithmetic", "layers", "products", "reductions", "shapes"]
