"""Random numbers and tensors like others: each rank takes its shard of what one process would draw."""
from __future__ import annotations

from typing import Any

from jtorch._api.functions import empty, ones
from jtorch._api.torch_function import switched_off
from jtorch._parallel.dtensor import DTensor, local_of, moved, wrapped
from jtorch._parallel.layout import Layout, contiguous_stride, of_gradient
from jtorch._parallel.placements import Partial, Replicate
from jtorch._parallel.redistribute import redistribute_without_gradient
from jtorch._parallel.rules.arguments import argument, handler


def part_of(full: Any, spec: Layout) -> Any:
    """Return this rank's shard of a tensor that all ranks have."""
    return redistribute_without_gradient(full, spec.mesh, spec.shape, (Replicate(),) * spec.mesh.ndim, spec.placements)


def _drawn(spec: Layout) -> Layout:
    """Return the layout of random numbers for a tensor; Partial placements become replicated."""
    return Layout(spec.mesh, of_gradient(spec.placements), spec.shape, spec.stride)


@handler("normal", "uniform", "bernoulli", "exponential", "random", "cauchy", "log_normal", "geometric")
def draw(func: Any, args: tuple, kwargs: dict) -> Any:
    """Fill a tensor with random numbers, in place."""
    x, name = args[0], func.__name__
    if not isinstance(x, DTensor) or not name.endswith("_"):
        return NotImplemented
    with switched_off():
        full = func(empty(x._spec.shape, dtype=x.dtype), *args[1:], **kwargs)
        local_of(x).copy_(part_of(full, x._spec))
    return x


@handler("rand_like", "randn_like", "randint_like")
def draw_like(func: Any, args: tuple, kwargs: dict) -> Any:
    """Return a tensor of random numbers with the argument's shape."""
    spec = _drawn(args[0]._spec)
    with switched_off():
        full = func(empty(spec.shape, dtype=args[0].dtype), *args[1:], **kwargs)
        return wrapped(part_of(full, spec).clone(), spec)


@handler("dropout", "native_dropout")
def dropout(func: Any, args: tuple, kwargs: dict) -> Any:
    """Drop the elements that one process would drop."""
    x, training = args[0], argument(args, kwargs, 2, "training", default=True)
    p = argument(args, kwargs, 1, "p", default=0.5)
    if not isinstance(x, DTensor) or getattr(func, "__name__", "") != "dropout":
        return NotImplemented
    if not training or p == 0:
        return x * 1.0
    spec = _drawn(x._spec)
    with switched_off():
        mask = part_of(func(ones(spec.shape, dtype=x.dtype), p, True), spec)
    return x * wrapped(mask.clone(), spec)


@handler("new_zeros", "new_ones", "new_empty", "new_full", "new_tensor")
def new(func: Any, args: tuple, kwargs: dict) -> Any:
    """Return a replicated tensor, or one with the argument's placements if it has the argument's shape."""
    x = args[0]
    with switched_off():
        made = func(local_of(x), *args[1:], **kwargs)
    mesh, shape = x._spec.mesh, tuple(made.shape)
    everywhere = on_all(made, mesh, shape)
    alike = shape == x._spec.shape and not any(isinstance(p, Partial) for p in x._spec.placements)
    return moved(everywhere, x._spec.placements) if alike else everywhere


def on_all(made: Any, mesh: Any, shape: tuple[int, ...]) -> DTensor:
    """Wrap a tensor that all ranks have as a replicated DTensor."""
    return wrapped(made, Layout(mesh, (Replicate(),) * mesh.ndim, shape, contiguous_stride(shape)))
