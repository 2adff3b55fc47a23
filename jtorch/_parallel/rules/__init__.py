"""Sharding rules. RULES maps a function to its rule. HANDLERS maps a function to a replacement."""
from __future__ import annotations

from jtorch._parallel.rules import elementwise, making, matrices, normalization, reductions, shapes, views
from jtorch._parallel.rules.arguments import HANDLERS, RULES

__all__ = ["HANDLERS", "RULES", "elementwise", "making", "matrices", "normalization", "reductions", "shapes", "views"]
