"""The rules of ops: from a call's arguments to how it may be split (RULES), or what is done in its place (HANDLERS)."""
from __future__ import annotations

from jtorch._parallel.rules import elementwise, making, matrices, normalization, reductions, shapes, views
from jtorch._parallel.rules.arguments import HANDLERS, RULES

__all__ = ["HANDLERS", "RULES", "elementwise", "making", "matrices", "normalization", "reductions", "shapes", "views"]
