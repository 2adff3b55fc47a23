"""torch._inductor.decomposition: how operators are to be decomposed by a compiler. XLA takes operators as they are."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

decompositions: dict[Any, Callable] = {}


def register_decomposition(ops: Any) -> Callable[[Callable], Callable]:
    """Note a function as the decomposition of operators in ``decompositions``. See torch._decomp.register_decomposition."""
    def note(fn: Callable) -> Callable:
        for op in ops if isinstance(ops, Sequence) else [ops]:
            decompositions[op] = fn
        return fn
    return note
