"""Normalization over the last dims, and losses over classes."""
from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from jtorch._api.functions import where
from jtorch._parallel.dtensor import DTensor, local_of, moved, wrapped
from jtorch._parallel.layout import Layout, contiguous_stride, local_part
from jtorch._parallel.placements import Replicate, Shard
from jtorch._parallel.redistribute import reduced, reduced_with_gradient
from jtorch._parallel.rule import Rule
from jtorch._parallel.rules.arguments import argument, dtensors, handler, rule


@rule("layer_norm", "rms_norm")
def layer_norm(func: Any, args: tuple, kwargs: dict) -> Rule:
    """Return the rule of layer_norm, which is split along the dims that are not normalized."""
    given, shape = dtensors(args, kwargs), argument(args, kwargs, 1, "normalized_shape")
    inner = 1 if isinstance(shape, int) else len(shape)
    labels = (*range(len(given[0]._spec.shape) - inner), *(None,) * inner)
    return Rule([labels, *[(None,) * inner for _ in given[1:]]], [labels])


@rule("group_norm", "instance_norm")
def group_norm(func: Any, args: tuple, kwargs: dict) -> Rule:
    """Return the rule of group_norm, which is split by batch."""
    given = dtensors(args, kwargs)
    labels = ("batch", *(None,) * (len(given[0]._spec.shape) - 1))
    return Rule([labels, *[(None,) for _ in given[1:]]], [labels])


_state = {"over_classes": False}


@contextlib.contextmanager
def loss_parallel() -> Iterator[None]:
    """Let cross_entropy in this block compute on logits that are sharded by class, without gathering them.

    See torch.distributed.tensor.parallel.loss_parallel.
    """
    before, _state["over_classes"] = _state["over_classes"], True
    try:
        yield
    finally:
        _state["over_classes"] = before


@handler("cross_entropy", "nll_loss")
def loss_of_classes(func: Any, args: tuple, kwargs: dict) -> Any:
    """Compute the loss of each element on shards, then reduce; a mean is over the elements that are not ignored."""
    x, target = args[0], argument(args, kwargs, 1, "target")
    reduction = argument(args, kwargs, 6, "reduction", default="mean")
    ignored = argument(args, kwargs, 4, "ignore_index", default=-100)
    plain = argument(args, kwargs, 2, "weight") is None and not argument(args, kwargs, 7, "label_smoothing", default=0.0)
    if not isinstance(x, DTensor) or not plain or target.is_floating_point():
        return NotImplemented
    target = _as_dtensor(target, x)
    each = _each(func, x, target, ignored)
    if reduction == "none":
        return each
    total = each.sum()
    return total if reduction == "sum" else total / (target != ignored).sum()


def _as_dtensor(target: Any, x: DTensor) -> DTensor:
    if isinstance(target, DTensor):
        return target
    mesh = x._spec.mesh
    return DTensor.from_local(target, mesh, [Replicate()] * mesh.ndim)


def _each(func: Any, x: DTensor, target: DTensor, ignored: int) -> DTensor:
    dim = 0 if len(x._spec.shape) == 1 else 1
    split = [i for i, p in enumerate(x._spec.placements) if p == Shard(dim)]
    if _state["over_classes"] and split and func.__name__ == "cross_entropy":
        return _each_of_parts(x, target, ignored, dim, split)
    from jtorch._parallel.calls import by_rule  # late, because ``calls`` imports this module
    labels = tuple([d for d in range(len(x._spec.shape)) if d != dim])
    full = tuple([None if d == dim else d for d in range(len(x._spec.shape))])
    return by_rule(func, Rule([full, labels], [labels]), (x, target), {"ignore_index": ignored, "reduction": "none"})


def _each_of_parts(x: DTensor, target: DTensor, ignored: int, dim: int, split: list[int]) -> DTensor:
    """Compute log Σ exp(x) - x[target] where each rank has some of the classes."""
    mesh, spec = x._spec.mesh, x._spec
    if len(split) != 1:
        raise NotImplementedError("loss_parallel over more than one dimension of the mesh is not built")
    group, part = mesh.get_group(split[0]), local_of(x)
    wanted = tuple([Replicate() if i == split[0] else _behind(p, dim) for i, p in enumerate(spec.placements)])
    of = local_of(moved(target, wanted))
    sizes, offsets = local_part(spec.shape, mesh, spec.placements)
    highest = reduced(part.detach().amax(dim), "max", group)
    total = reduced_with_gradient((part - highest.unsqueeze(dim)).exp().sum(dim), "sum", group).log() + highest
    at = of - offsets[dim]
    elsewhere = (at < 0) | (at >= sizes[dim]) | (of == ignored)
    found = part.gather(dim, at.masked_fill(elsewhere, 0).unsqueeze(dim)).squeeze(dim)
    picked = reduced_with_gradient(found.masked_fill(elsewhere, 0.0), "sum", group)
    each = where(of == ignored, total.new_zeros(()), total - picked)
    shape = tuple([n for d, n in enumerate(spec.shape) if d != dim])
    return wrapped(each, Layout(mesh, wanted, shape, contiguous_stride(shape)))


def _behind(p: Any, dim: int) -> Any:
    """Return a placement for the tensor without the class dim."""
    return Shard(p.dim - 1) if isinstance(p, Shard) and p.dim > dim else p
