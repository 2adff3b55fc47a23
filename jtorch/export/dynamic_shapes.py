"""Dynamic sizes of the inputs. See torch.export.Dim."""
from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

__all__ = ["Constraint", "Dim", "ShapesCollection", "dims"]


class _DimHint:
    """A choice for a dim without a name: dynamic (AUTO, DYNAMIC) or fixed (STATIC). See torch.export.Dim.AUTO."""

    def __init__(self, kind: str):
        self.kind = kind

    def __repr__(self) -> str:
        return f"DimHint({self.kind})"


class Dim:
    """A dynamic size with bounds. See torch.export.Dim.

    Dims of the inputs with the same ``Dim`` have the same size.

    Args:
        name: the name of the size.
        min: the lower bound.
        max: the upper bound.

    """

    AUTO, DYNAMIC, STATIC = _DimHint("AUTO"), _DimHint("DYNAMIC"), _DimHint("STATIC")

    def __init__(self, name: str, *, min: int | None = None, max: int | None = None):
        low, high = 0 if min is None else min, sys.maxsize if max is None else max
        if high <= low:
            raise AssertionError(f"Cannot create Dim with inconsistent min={min}, max={max}")
        if not name.isidentifier():
            raise AssertionError(f"Dim name must be a valid identifier, got {name}")
        self.__name__, self.min, self.max = name, low, high

    def __repr__(self) -> str:
        bounds = [f"min={self.min}" * (self.min != 2), f"max={self.max}" * (self.max != sys.maxsize)]
        return f"Dim({', '.join([repr(self.__name__), *[b for b in bounds if b]])})"

    def _derived(self, other: Any) -> Any:
        raise NotImplementedError("sizes derived of a Dim (2 * dim, dim + 1) are not built; give the dim a Dim of its own")

    __add__ = __radd__ = __sub__ = __mul__ = __rmul__ = _derived


def dims(*names: str, min: int | None = None, max: int | None = None) -> tuple[Dim, ...]:
    """Return several Dims with the same bounds. See torch.export.dims."""
    return tuple([Dim(name, min=min, max=max) for name in names])


class Constraint:
    """PyTorch's earlier form of a dynamic dim, which is not built."""

    def __init__(self, *args: Any, **kwargs: Any):
        raise NotImplementedError("torch.export.Constraint is not built; dynamic_shapes with torch.export.Dim says the same")


class ShapesCollection:
    """Dynamic sizes by tensor. See torch.export.ShapesCollection."""

    def __init__(self) -> None:
        self._shapes: dict[int, Any] = {}

    def __setitem__(self, t: Any, shape: Any) -> None:
        self._shapes[id(t)] = shape

    def __getitem__(self, t: Any) -> Any:
        return self._shapes.setdefault(id(t), {})

    def of(self, leaves: Sequence[Any]) -> list[Any]:
        """Return the entry of each leaf."""
        return [self._shapes.get(id(leaf)) for leaf in leaves]
