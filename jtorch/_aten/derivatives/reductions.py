"""The derivatives of reductions, ``cumsum``, ``sort`` and ``topk``."""
from __future__ import annotations

import math
from typing import Any

from jtorch._aten.context import Context
from jtorch._aten.derivatives.rules import rule, unary
from jtorch._aten.fitting import LISTS
from jtorch._library.namespaces import ops

aten = ops.aten


def dims_of(dim: Any, ndim: int) -> list[int]:
    """Return the dims of a reduction, counted from the front."""
    if not ndim or dim is None or (dim.__class__ in LISTS and not len(dim)):
        return list(range(ndim))
    return [d % ndim for d in (dim if dim.__class__ in LISTS else [dim])]


def restored(g: Any, x: Any, dim: Any, keepdim: Any) -> Any:
    """Return a gradient or result of a reduction of ``x`` with the dims in ``dim`` restored as dims of size 1."""
    if dim is None or keepdim or not x.dim():
        return g
    for d in sorted(dims_of(dim, x.dim())):
        g = g.unsqueeze(d)
    return g


def _expanded(c: Context, g: Any) -> Any:
    x = c.args["input"]
    return restored(g, x, c.args.get("dim"), c.args.get("keepdim")).expand(tuple(x.shape))


@unary("sum")
def _sum(c: Context, g: Any) -> Any:
    made = _expanded(c, g)
    dtype = c.args["input"].dtype
    return made if made.dtype is dtype else made.to(dtype)


@unary("mean")
def _mean(c: Context, g: Any) -> Any:
    x = c.args["input"]
    made = _expanded(c, g)
    made = made if made.dtype is x.dtype else made.to(x.dtype)
    return aten.div.Scalar(made, math.prod([x.shape[d] for d in dims_of(c.args.get("dim"), x.dim())]))


@unary("amax", "amin")
def _amax(c: Context, g: Any) -> Any:
    x, dim = c.args["input"], c.args.get("dim")
    shape = [1 if d in dims_of(dim, x.dim()) else n for d, n in enumerate(x.shape)]
    y = c.result()
    mask = (y if len(y.shape) == len(shape) else y.view(shape)) == x
    return ((g if len(g.shape) == len(shape) else g.view(shape)) / mask.sum(dims_of(dim, x.dim()), keepdim=True)) * mask


@rule("max", "min")
def _max(c: Context) -> Any:
    dim = c.args.get("dim")
    if not isinstance(dim, int) or dim.__class__ is bool:
        return NotImplemented
    return {"input": _scattered(c, c.grad(), c.kept(1), dim, c.args.get("keepdim"))}


def _scattered(c: Context, g: Any, indices: Any, dim: int, keepdim: Any = True) -> Any:
    """Scatter a gradient to the elements that a reduction or selection chose."""
    x = c.args["input"]
    if not keepdim and x.dim():
        g, indices = g.unsqueeze(dim), indices.unsqueeze(dim)
    return aten.new_zeros.default(g, list(x.shape)).scatter(dim, indices, g)


@rule("topk", "sort", "kthvalue", "mode", "median")
def _topk(c: Context) -> Any:
    dim = c.args.get("dim")
    if dim is None or c.grad() is None:
        return NotImplemented
    keeps = c.node.call.op.name in ("topk", "sort") or c.args.get("keepdim")
    return {"input": _scattered(c, c.grad(), c.kept(1), dim, keeps)}


@unary("logsumexp")
def _logsumexp(c: Context, g: Any) -> Any:
    x, dim = c.args["input"], c.args["dim"]
    y = restored(c.result(), x, dim, c.args.get("keepdim"))
    return restored(g, x, dim, c.args.get("keepdim")) * (x - y).exp()


@unary("cumsum")
def _cumsum(c: Context, g: Any) -> Any:
    return g.flip(c.dim).cumsum(c.dim).flip(c.dim)


@unary("var")
def _var(c: Context, g: Any) -> Any:
    return _var_of(c, g)


def _var_of(c: Context, g: Any) -> Any:
    x, dim = c.args["input"], c.args.get("dim")
    unbiased, correction = c.args.get("unbiased"), c.args.get("correction")
    if dim.__class__ is bool:
        dim, unbiased = None, dim
    if correction is None:
        correction = 0 if unbiased is False else 1
    count = math.prod([x.shape[d] for d in dims_of(dim, x.dim())])
    if count <= correction:
        return NotImplemented
    g = restored(g, x, dim, c.args.get("keepdim"))
    centered = x - (x.mean() if dim is None else x.mean(dims_of(dim, x.dim()), keepdim=True))
    return aten.mul.Scalar(g, 2.0 / (count - correction)) * centered


@unary("std")
def _std(c: Context, g: Any) -> Any:
    y = c.result()
    return _var_of(c, (g / aten.mul.Scalar(y, 2)).masked_fill_(y == 0, 0))


@unary("linalg.vector_norm")
def _vector_norm(c: Context, g: Any) -> Any:
    if c.ord != 2 or c.args.get("dtype") is not None:
        return NotImplemented
    x, dim, keep = c.x, c.args.get("dim"), c.args.get("keepdim")
    return _of_length(x, restored(c.result(), x, dim, keep), restored(g, x, dim, keep))


def _of_length(x: Any, length: Any, g: Any) -> Any:
    return (x / length).masked_fill_(length == 0, 0) * g


@unary("norm")
def _norm(c: Context, g: Any) -> Any:
    if c.args.get("p") not in ("fro", 2, 2.0, None) or c.args.get("dtype") is not None:
        return NotImplemented
    x, dim, keep = c.args["input"], c.args.get("dim"), c.args.get("keepdim")
    return _of_length(x, restored(c.result(), x, dim, keep), restored(g, x, dim, keep))
