"""Views, which show the same elements in other dims."""
from __future__ import annotations

import math
from typing import Any

from jtorch._base.size import Size
from jtorch._parallel.layout import local_part
from jtorch._parallel.rule import Rule
from jtorch._parallel.rules.arguments import argument, dtensors, front, fronts, rule
from jtorch._parallel.rules.reductions import dim_of
from jtorch.tensor import Tensor

_ONE = ((True,),)


def _labels(x: Any) -> tuple:
    return tuple(range(len(x._spec.shape)))


def _ints(args: tuple, kwargs: dict, at: int, *names: str) -> list[int]:
    """Return sizes or dims that are given as one sequence or as several arguments."""
    given = args[at:] if len(args) > at else [next(kwargs[n] for n in names if n in kwargs)]
    return [int(n) for n in (given[0] if len(given) == 1 and isinstance(given[0], (tuple, list, Size)) else given)]


def _resolved(sizes: list[int], numel: int) -> list[int]:
    if -1 not in sizes:
        return sizes
    rest = math.prod([n for n in sizes if n != -1])
    return [numel // max(rest, 1) if n == -1 else n for n in sizes]


# ---------------------------------------------------------------- reshape

def groups(before: tuple[int, ...], after: tuple[int, ...]) -> list[tuple[list[int], list[int]]]:
    """Pair the dims of two shapes that hold the same elements, in the smallest groups."""
    made, i, j = [], 0, 0
    while i < len(before) or j < len(after):
        left, right = [i] if i < len(before) else [], [j] if j < len(after) else []
        i, j = i + len(left), j + len(right)
        a, b = math.prod([before[d] for d in left]), math.prod([after[d] for d in right])
        while a != b:
            if (a < b and i < len(before)) or j >= len(after):
                left, a, i = [*left, i], a * before[i], i + 1
            else:
                right, b, j = [*right, j], b * after[j], j + 1
        made.append((left, right))
    return made


def reshaping(x: Any, after: list[int], localize: Any) -> Rule:
    """Return the rule of a reshape: of joined or split dims, only the first can be split over ranks."""
    before = x._spec.shape
    ins, outs = [None] * len(before), [None] * len(after)
    sizes: dict[Any, int] = {}
    also: dict[Any, int] = {}
    even = set()
    for k, (left, right) in enumerate(groups(before, tuple(after)) if 0 not in before else []):
        a, b = [d for d in left if before[d] != 1], [d for d in right if after[d] != 1]
        if a and b:
            ins[a[0]], outs[b[0]] = ("group", k), ("group", k)      # type: ignore[call-overload]
            sizes["group", k], also["group", k] = after[b[0]], before[a[0]]
            if len(a) > 1 or len(b) > 1:
                even.add(("group", k))
    return Rule([tuple(ins)], [tuple(outs)], linear=_ONE, sizes=sizes, also=also, even=frozenset(even), localize=localize)


@rule("view", "reshape", "unsafe_view", "_unsafe_view", "_reshape_alias")
def view(func: Any, args: tuple, kwargs: dict) -> Rule | None:
    """Return the rule of view and reshape."""
    if any(not isinstance(a, (int, tuple, list, Size)) for a in args[1:]):
        return None      # The argument is a dtype.
    x = args[0]
    after = _resolved(_ints(args, kwargs, 1, "shape", "size"), x.numel())
    return reshaping(x, after, lambda a, k, outs, mesh: ((a[0], local_part(after, mesh, outs[0])[0]), {}))


@rule("view_as", "reshape_as")
def view_as(func: Any, args: tuple, kwargs: dict) -> Rule | None:
    """Return None, so that view_as and reshape_as run on whole tensors."""
    return None


@rule("flatten")
def flatten_dims(func: Any, args: tuple, kwargs: dict) -> Rule:
    """Return the rule of flatten."""
    x = args[0]
    shape, ndim = x._spec.shape, len(x._spec.shape)
    first = front(argument(args, kwargs, 1, "start_dim", default=0), ndim)
    last = front(argument(args, kwargs, 2, "end_dim", default=-1), ndim)
    after = [*shape[:first], math.prod(shape[first:last + 1]), *shape[last + 1:]]
    return reshaping(x, after, None)


@rule("unflatten")
def unflatten_dim(func: Any, args: tuple, kwargs: dict) -> Rule | None:
    """Return the rule of unflatten."""
    x, sizes = args[0], argument(args, kwargs, 2, "sizes")
    dim = front(argument(args, kwargs, 1, "dim"), len(x._spec.shape))
    if not all(isinstance(n, int) for n in sizes):
        return None
    shape = x._spec.shape
    after = [*shape[:dim], *_resolved(list(sizes), shape[dim]), *shape[dim + 1:]]
    return reshaping(x, after, lambda a, k, outs, mesh: (
        (a[0], dim, local_part(after, mesh, outs[0])[0][dim:dim + len(sizes)]), {}))


@rule("unsqueeze")
def unsqueeze(func: Any, args: tuple, kwargs: dict) -> Rule:
    """Return the rule of unsqueeze."""
    labels = _labels(args[0])
    dim = front(argument(args, kwargs, 1, "dim"), len(labels) + 1)
    return Rule([labels], [(*labels[:dim], None, *labels[dim:])], linear=_ONE)


@rule("squeeze")
def squeeze(func: Any, args: tuple, kwargs: dict) -> Rule:
    """Return the rule of squeeze."""
    x = args[0]
    shape = x._spec.shape
    dims = fronts(argument(args, kwargs, 1, "dim"), len(shape)) if shape else ()
    gone = [d for d in dims if shape[d] == 1]
    labels = tuple([None if n == 1 else d for d, n in enumerate(shape)])

    def localize(a: tuple, k: dict, outs: list, mesh: Any) -> tuple:
        return (a[0], tuple(gone)), {}
    return Rule([labels], [tuple([x for d, x in enumerate(labels) if d not in gone])], linear=_ONE, localize=localize)


# ---------------------------------------------------------------- permutations of dims

def permuted(x: Any, dims: list[int] | tuple[int, ...]) -> Rule:
    """Return the rule of a permutation of dims."""
    labels = _labels(x)
    return Rule([labels], [tuple([labels[d] for d in dims])], linear=_ONE)


@rule("transpose", "swapaxes", "swapdims")
def transpose(func: Any, args: tuple, kwargs: dict) -> Rule:
    """Return the rule of a transpose of two dims."""
    ndim = len(args[0]._spec.shape)
    a, b = front(argument(args, kwargs, 1, "dim0", "axis0"), ndim), front(argument(args, kwargs, 2, "dim1", "axis1"), ndim)
    dims = list(range(ndim))
    dims[a], dims[b] = b, a
    return permuted(args[0], dims)


@rule("t", "adjoint")
def t(func: Any, args: tuple, kwargs: dict) -> Rule:
    """Return the rule of a matrix transpose."""
    ndim = len(args[0]._spec.shape)
    return permuted(args[0], [0] * ndim if ndim < 2 else [*range(ndim - 2), ndim - 1, ndim - 2])


@rule("permute")
def permute(func: Any, args: tuple, kwargs: dict) -> Rule:
    """Return the rule of permute."""
    return permuted(args[0], fronts(_ints(args, kwargs, 1, "dims"), len(args[0]._spec.shape)))


@rule("movedim", "moveaxis")
def movedim(func: Any, args: tuple, kwargs: dict) -> Rule:
    """Return the rule of movedim."""
    ndim = len(args[0]._spec.shape)
    source = fronts(argument(args, kwargs, 1, "source"), ndim)
    target = fronts(argument(args, kwargs, 2, "destination"), ndim)
    dims = [d for d in range(ndim) if d not in source]
    for to, d in sorted(zip(target, source, strict=True)):
        dims.insert(to, d)
    return permuted(args[0], dims)


# ---------------------------------------------------------------- expanding, slicing and indexing

@rule("expand", "expand_as", "broadcast_to")
def expand(func: Any, args: tuple, kwargs: dict) -> Rule | None:
    """Return the rule of expand, which splits the dims that keep their size."""
    x = args[0]
    if func.__name__ == "expand_as":
        return None
    sizes, shape = _ints(args, kwargs, 1, "size"), x._spec.shape
    more = len(sizes) - len(shape)
    after = [shape[d - more] if n == -1 else n for d, n in enumerate(sizes)]
    labels = tuple([d if n == after[d + more] else None for d, n in enumerate(shape)])
    return Rule([labels], [(*(None,) * more, *labels)], linear=_ONE,
                localize=lambda a, k, outs, mesh: ((a[0], local_part(after, mesh, outs[0])[0]), {}))


@rule("select")
def select(func: Any, args: tuple, kwargs: dict) -> Rule:
    """Return the rule of select, whose dim is not split."""
    labels = _labels(args[0])
    dim = dim_of(args, kwargs, 1, len(labels))
    return Rule([(*labels[:dim], None, *labels[dim + 1:])], [(*labels[:dim], *labels[dim + 1:])], linear=_ONE)


@rule("narrow", "split", "chunk", "unbind", "tensor_split", "split_with_sizes", "slice_copy", "index_select")
def along_a_dim(func: Any, args: tuple, kwargs: dict) -> Rule | None:
    """Return the rule of slices and splits along a dim, which is not split over ranks."""
    labels, name = _labels(args[0]), func.__name__
    dim = dim_of(args, kwargs, 1 if name in ("narrow", "unbind", "index_select") else 2, len(labels))
    without = (*labels[:dim], None, *labels[dim + 1:])
    out = (*labels[:dim], *labels[dim + 1:]) if name == "unbind" else without
    index = [(None,) * len(t._spec.shape) for t in dtensors(args[1:], kwargs)]
    pieces = 1 if name in ("narrow", "index_select") else args[0]._spec.shape[dim] or 1
    return Rule([without, *index], [out] * pieces, linear=() if index else _ONE)


@rule("getitem")
def getitem(func: Any, args: tuple, kwargs: dict) -> Rule | None:
    """Return the rule of indexing by integers, slices, None and ``...``. Only dims whose index is ``:`` can be split."""
    x, index = args[0], args[1] if isinstance(args[1], tuple) else (args[1],)
    if any(isinstance(i, (Tensor, list, bool)) for i in index):
        return None
    ndim, used = len(x._spec.shape), sum([i is not None and i is not Ellipsis for i in index])
    at = index.index(Ellipsis) if Ellipsis in index else len(index)
    full = (*index[:at], *(slice(None),) * (ndim - used), *index[at + 1:])
    ins: list[Any] = []
    out: list[Any] = []
    d = 0
    for i in full:
        if i is None:
            out.append(None)
            continue
        label = d if isinstance(i, slice) and i == slice(None) else None
        ins.append(label)
        if isinstance(i, slice):
            out.append(label)
        d += 1
    return Rule([tuple(ins)], [tuple(out)], linear=_ONE)
