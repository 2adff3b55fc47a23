"""The derivatives of ops by PyTorch's operators, as in its ``derivatives.yaml``.

A rule returns gradients by argument name. The backward of an op without a rule is the vjp of its body, which modes do not
see.
"""
from jtorch._aten.derivatives import activations, arithmetic, layers, products, reductions, shapes
from jtorch._aten.derivatives.rules import RULES

__all__ = ["RULES", "activations", "arithmetic", "layers", "products", "reductions", "shapes"]
