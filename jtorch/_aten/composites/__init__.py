"""What PyTorch computes by several operators, and this package by one op: the functions that these operators are.

Each rule takes the arguments of an op by name and calls functions, which record for backward and which modes see.
NotImplemented: the call is an operator of its own.
"""
from jtorch._aten.composites import layers, losses, networks, products, shapes
from jtorch._aten.composites.rules import COMPOSITES

__all__ = ["COMPOSITES", "layers", "losses", "networks", "products", "shapes"]
