"""Rules for ops that PyTorch computes by several operators. A rule calls the functions of these operators.

A rule takes the op's arguments by name. The functions record for backward, and modes see them.
It returns NotImplemented if the call is a single operator.
"""
from jtorch._aten.composites import layers, losses, networks, products, shapes
from jtorch._aten.composites.rules import COMPOSITES

__all__ = ["COMPOSITES", "layers", "losses", "networks", "products", "shapes"]
