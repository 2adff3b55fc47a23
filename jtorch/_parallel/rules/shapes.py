"""Ops that join tensors or pick elements by index."""
from __future__ import annotations

from typing import Any

from jtorch._parallel.dtensor import DTensor, local_of, moved, wrapped
from jtorch._parallel.layout import Layout, local_part, whole_stride
from jtorch._parallel.placements import Partial, Placement, Replicate, Shard
from jtorch._parallel.redistribute import enter
from jtorch._parallel.rule import Rule
from jtorch._parallel.rules.arguments import argument, dtensors, handler, rule
from jtorch._parallel.rules.reductions import dim_of


@rule("cat", "concat", "concatenate")
def cat(func: Any, args: tuple, kwargs: dict) -> Rule:
    """Return the rule of cat, which does not split the joined dim."""
    given = dtensors(args[0] if args else kwargs["tensors"])
    ndim = len(given[0]._spec.shape)
    dim = dim_of(args, kwargs, 1, ndim)
    labels = tuple([None if d == dim else d for d in range(ndim)])
    return Rule([labels] * len(given), [labels], linear=((True,) * len(given),))


@rule("stack")
def stack(func: Any, args: tuple, kwargs: dict) -> Rule:
    """Return the rule of stack, which does not split the new dim."""
    given = dtensors(args[0] if args else kwargs["tensors"])
    labels = tuple(range(len(given[0]._spec.shape)))
    dim = dim_of(args, kwargs, 1, len(labels) + 1)
    return Rule([labels] * len(given), [(*labels[:dim], None, *labels[dim:])], linear=((True,) * len(given),))


@rule("gather", "take_along_dim", "scatter", "scatter_add", "index_add", "index_copy", "index_fill")
def by_index(func: Any, args: tuple, kwargs: dict) -> Rule | None:
    """Return the rule of gather and scatter: a dim may be split if it is not ``dim`` and has one size in all tensors."""
    given, name = dtensors(args, kwargs), func.__name__
    if name.startswith("index_") or name == "take_along_dim" or len({len(t._spec.shape) for t in given}) != 1:
        return None
    ndim = len(given[0]._spec.shape)
    dim = dim_of(args, kwargs, 1, ndim)
    labels = tuple([d if d != dim and len({t._spec.shape[d] for t in given}) == 1 else None for d in range(ndim)])
    return Rule([labels] * len(given), [labels])


@rule("tril", "triu")
def triangle(func: Any, args: tuple, kwargs: dict) -> Rule:
    """Return the rule of tril and triu, which do not split the last two dims."""
    ndim = len(args[0]._spec.shape)
    labels = (*range(ndim - 2), None, None)
    return Rule([labels], [labels])


# ---------------------------------------------------------------- embedding

@rule("embedding")
def embedding(func: Any, args: tuple, kwargs: dict) -> Rule | None:
    """Return the rule of embedding, which is split by index and by the table's columns."""
    given = dtensors(args[:2], {k: v for k, v in kwargs.items() if k in ("input", "weight")})
    if len(given) != 2 or argument(args, kwargs, 3, "max_norm") is not None:
        return None
    labels = tuple([("index", d) for d in range(len(given[0]._spec.shape))])
    return Rule([labels, (None, "column")], [(*labels, "column")])


@handler("embedding")
def embedding_of_rows(func: Any, args: tuple, kwargs: dict) -> Any:
    """Look up an embedding whose rows are split: each rank looks up its own rows, and the result is the sum over ranks."""
    index, weight = argument(args, kwargs, 0, "input"), argument(args, kwargs, 1, "weight")
    split = isinstance(weight, DTensor) and isinstance(index, DTensor) and [
        i for i, p in enumerate(weight._spec.placements) if p == Shard(0)]
    if not split or any(not isinstance(p, Replicate) for i, p in enumerate(weight._spec.placements) if i not in split):
        return NotImplemented
    mesh = weight._spec.mesh
    at: tuple[Placement, ...] = tuple([Replicate() if i in split or isinstance(p, Partial) else p
                                       for i, p in enumerate(index._spec.placements)])
    out = tuple([Partial() if i in split else p for i, p in enumerate(at)])
    made = _looked_up(func, local_of(moved(index, at)), weight, [i for i, p in enumerate(at) if isinstance(p, Shard)])
    shape = (*index._spec.shape, weight._spec.shape[1])
    return wrapped(made, Layout(mesh, out, shape, whole_stride(made.stride(), shape)))


def _looked_up(func: Any, index: Any, weight: DTensor, entered: list[int]) -> Any:
    mesh = weight._spec.mesh
    (rows, _), (first, _) = local_part(weight._spec.shape, mesh, weight._spec.placements)
    elsewhere = (index < first) | (index >= first + rows)
    table = enter(local_of(weight), mesh, entered)
    found = func((index - first).masked_fill(elsewhere, 0), table)
    return found.masked_fill(elsewhere.unsqueeze(-1), 0.0)

