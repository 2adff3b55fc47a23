"""Split points of a model. A tracer listens for them; without a tracer they have no effect."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum
from types import MethodType
from typing import Any

_listening: list[Callable[[Any], None]] = []


class SplitPoint(Enum):
    """The side of a module on which a model is split. See torch.distributed.pipelining.SplitPoint."""

    BEGINNING = 1
    END = 2


def pipe_split() -> None:
    """Mark the beginning of a new stage in a forward; only ``pipeline``'s tracing reads the mark."""
    _tell(None)


def _tell(module: Any) -> None:
    for listener in _listening[-1:]:
        listener(module)


@contextmanager
def listening(listener: Callable[[Any], None]) -> Iterator[None]:
    """Register a listener for split points in this block; it gets the module to separate, or None for ``pipe_split``."""
    _listening.append(listener)
    try:
        yield
    finally:
        _listening.pop()


def _split_before_forward(self: Any, *args: Any, **kwargs: Any) -> Any:
    _tell(self)
    return self._orig_forward(*args, **kwargs)


def _split_after_forward(self: Any, *args: Any, **kwargs: Any) -> Any:
    try:
        return self._orig_forward(*args, **kwargs)
    finally:
        _tell(self)


_FORWARDS = {SplitPoint.BEGINNING: _split_before_forward, SplitPoint.END: _split_after_forward}


def annotate_split_points(mod: Any, spec: dict[str, SplitPoint]) -> None:
    """Mark modules of ``mod`` as split points; AttributeError if a module does not exist, ValueError for an unknown point."""
    for path, point in spec.items():
        *above, name = path.split(".")
        parent = mod
        for i, part in enumerate(above):
            if not hasattr(parent, part):
                raise AttributeError(f"Specified target {path} referenced nonexistent module {'.'.join(above[:i + 1])}")
            parent = getattr(parent, part)
        module = getattr(parent, name)
        module._orig_forward = module.forward
        if point not in _FORWARDS:
            raise ValueError("Unknown split point type.")
        module.forward = MethodType(_FORWARDS[point], module)
        module.__dict__["_split_point"] = point
