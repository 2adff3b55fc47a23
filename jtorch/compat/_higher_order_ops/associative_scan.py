"""torch._higher_order_ops.associative_scan: parallel scans along a dim."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jtorch._api import functions
from jtorch.tensor import Tensor
from jtorch.utils import _pytree as pytree

_Leaves = list[Any]


def _check(combine_fn: Any, leaves: _Leaves, dim: Any, reverse: Any, combine_mode: str) -> None:
    if not callable(combine_fn):
        raise ValueError(f"Combine_fn must be a callable, but got {combine_fn}")
    if not isinstance(dim, int):
        raise ValueError(f"Dim must be an int, but got {type(dim)}")
    if not isinstance(reverse, bool):
        raise RuntimeError(f"Reverse must be a bool, but got {type(reverse)}")
    if combine_mode not in ("pointwise", "generic"):
        raise ValueError(f"Combine_mode must either 'pointwise' or 'generic', but got {combine_mode}")
    if combine_mode == "pointwise" and any(x.device.type != "cuda" for x in leaves):
        raise ValueError("For combine_mode='pointwise', all input tensors need to be on CUDA or XPU")
    if not leaves:
        raise ValueError("Expected at least 1 xs leaf")
    if any(not isinstance(x, Tensor) for x in leaves):
        raise ValueError("xs leaves must be a Tensor")
    if any(x.dim() <= dim for x in leaves):
        raise ValueError("All xs leaves must at least have 'dim' number of dimensions and scan dimension > 0")


def _scan(combine: Callable[[_Leaves, _Leaves], _Leaves], xs: _Leaves) -> _Leaves:
    """Return the scan of the first dim: scan the combined pairs recursively, then fill in the even places."""
    n = xs[0].shape[0]
    if n < 2:
        return xs
    pairs = _scan(combine, combine([x[:-1:2] for x in xs], [x[1::2] for x in xs]))
    between = combine([p[:-1] if n % 2 == 0 else p for p in pairs], [x[2::2] for x in xs])
    even = [functions.cat([x[:1], b]) for x, b in zip(xs, between, strict=True)]     # type: ignore[attr-defined]
    return [_interleaved(e, p) for e, p in zip(even, pairs, strict=True)]


def _interleaved(even: Any, odd: Any) -> Any:
    last = even[odd.shape[0]:]
    mixed = functions.stack([even[:odd.shape[0]], odd], 1).flatten(0, 1)     # type: ignore[attr-defined]
    return functions.cat([mixed, last]) if last.shape[0] else mixed         # type: ignore[attr-defined]


def associative_scan(combine_fn: Callable, xs: Any, dim: int, reverse: bool = False, combine_mode: str = "pointwise") -> Any:
    """Scan a tree of tensors along ``dim`` by an associative function of two such trees; the scan is inclusive.

    Args:
        combine_fn: a function that combines two trees elementwise, for many places at once.
        xs: a tree of tensors of the same size.
        dim: the dim to scan along.
        reverse: whether to scan from the end.
        combine_mode: "pointwise", which is for accelerators, or "generic".

    Returns:
        A tree like ``xs``, with the combination of all elements up to each place.

    Raises:
        ValueError: an argument of a wrong type or value.

    """
    leaves, spec = pytree.tree_flatten(xs)
    _check(combine_fn, leaves, dim, reverse, combine_mode)

    def combine(left: _Leaves, right: _Leaves) -> _Leaves:
        moved = [pytree.tree_unflatten([x.movedim(0, dim) for x in side], spec) for side in (left, right)]
        return [x.movedim(dim, 0) for x in pytree.tree_flatten(combine_fn(*moved))[0]]

    scanned = [x.movedim(dim, 0) for x in leaves]
    scanned = [x.flip(0) for x in scanned] if reverse else scanned
    scanned = _scan(combine, scanned)
    scanned = [x.flip(0) for x in scanned] if reverse else scanned
    return pytree.tree_unflatten([x.movedim(0, dim) for x in scanned], spec)
