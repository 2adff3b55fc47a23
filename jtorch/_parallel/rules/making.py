"""Functions that draw random numbers, where each rank draws for its own shard as in PyTorch on CPUs, and ``new_zeros`` etc."""
from __future__ import annotations

from typing import Any

import jtorch.distributed as dist
from jtorch._api.functions import empty
from jtorch._api.torch_function import switched_off
from jtorch._base import warned
from jtorch._parallel.dtensor import DTensor, local_of, moved, wrapped
from jtorch._parallel.layout import Layout, contiguous_stride, of_gradient
from jtorch._parallel.placements import Partial, Replicate
from jtorch._parallel.redistribute import redistribute_without_gradient
from jtorch._parallel.rules.arguments import argument, handler
from jtorch.no_grad import no_grad


def part_of(full: Any, spec: Layout) -> Any:
    """Return this rank's shard of a tensor that all ranks have."""
    return redistribute_without_gradient(full, spec.mesh, spec.shape, (Replicate(),) * spec.mesh.ndim, spec.placements)


def _drawn(spec: Layout) -> Layout:
    """Return the layout of random numbers for a tensor; Partial placements become replicated."""
    return Layout(spec.mesh, of_gradient(spec.placements), spec.shape, spec.stride)


def _warn(x: DTensor) -> None:
    """Warn on meshes of CPUs, as PyTorch does."""
    if x._spec.mesh.device_type == "cpu":
        warned.warn("DTensor random operators may not have complete support on cpu device mesh")


@handler("normal", "uniform", "bernoulli", "exponential", "random", "cauchy", "log_normal", "geometric")
def draw(func: Any, args: tuple, kwargs: dict) -> Any:
    """Fill each rank's shard with random numbers, in place."""
    x = args[0]
    if not isinstance(x, DTensor) or not func.__name__.endswith("_"):
        return NotImplemented
    if not x.is_meta:
        _warn(x)
    with switched_off():
        func(*args, **kwargs)
    return x


@handler("rand_like", "randn_like", "randint_like")
def draw_like(func: Any, args: tuple, kwargs: dict) -> Any:
    """Return a tensor of random numbers with the argument's shape."""
    _warn(args[0])
    with switched_off():
        return wrapped(func(local_of(args[0]), *args[1:], **kwargs), _drawn(args[0]._spec))


@handler("dropout", "native_dropout")
def dropout(func: Any, args: tuple, kwargs: dict) -> Any:
    """Drop elements of each rank's shard."""
    x, training = args[0], argument(args, kwargs, 2, "training", default=True)
    p = argument(args, kwargs, 1, "p", default=0.5)
    if not isinstance(x, DTensor) or getattr(func, "__name__", "") != "dropout":
        return NotImplemented
    if not training or p == 0:
        return x * 1.0
    _warn(x)
    spec = _drawn(x._spec)
    with switched_off():
        return wrapped(func(local_of(moved(x, spec.placements)), p, True), spec)


@handler("eye_", "orthogonal_", "dirac_", "sparse_")
def fill_whole(func: Any, args: tuple, kwargs: dict) -> Any:
    """Fill a DTensor by a function of ``nn.init`` whose elements depend on each other; the first rank's numbers are used."""
    x = argument(args, kwargs, 0, "tensor")
    if x.is_meta:
        return x
    spec = x._spec
    with switched_off(), no_grad():
        full = empty(spec.shape, dtype=x.dtype, device=x.device)
        func(full, *args[1:], **{k: v for k, v in kwargs.items() if k != "tensor"})
        for i in range(spec.mesh.ndim):
            dist.broadcast(full, group=spec.mesh.get_group(i), group_src=0)
        local_of(x).copy_(part_of(full, _drawn(spec)))
    return x


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
