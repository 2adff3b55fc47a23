"""The derivatives of ops by PyTorch's operators, as in its ``derivatives.yaml``.

A rule returns gradients by argument name. An op without a rule has the backward of its composite rule's operators. Without a
composite rule its vjp is one operator of the namespace ``jtorch``.
"""
from jtorch._aten.derivatives import activations, arithmetic, layers, products, reductions, shapes
from jtorch._aten.derivatives.rules import RULES

__all__ = ["RULES", "activations", "arithmetic", "layers", "products", "reductions", "shapes"]
