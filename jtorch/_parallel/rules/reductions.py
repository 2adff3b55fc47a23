"""Reductions: splitting a reduced dim gives terms of the result."""
from __future__ import annotations

from typing import Any

from jtorch._parallel.dtensor import DTensor
from jtorch._parallel.rule import Rule
from jtorch._parallel.rules.arguments import argument, dtensors, front, fronts, handler, rule
from jtorch.no_grad import is_grad_enabled

_SUMS = {"sum": "sum", "nansum": "sum", "mean": "avg", "amax": "max", "amin": "min", "max": "max", "min": "min",
         "prod": "product", "all": "product", "any": "max"}


def _out(labels: tuple, dims: tuple[int, ...], keepdim: bool) -> tuple:
    return tuple([None if d in dims else x for d, x in enumerate(labels) if keepdim or d not in dims])


def _keeps(args: tuple, kwargs: dict, at: int) -> bool:
    return bool(argument(args, kwargs, at, "keepdim", "keepdims", default=False))


@rule("sum", "nansum", "mean", "amax", "amin")
def reduction(func: Any, args: tuple, kwargs: dict) -> Rule:
    """Return the rule of a reduction over some dims or all."""
    x, name = args[0], func.__name__
    labels = tuple(range(len(x._spec.shape)))
    dims = argument(args, kwargs, 1, "dim", "axis")
    if dims is not None and not isinstance(dims, (int, tuple, list)):
        dims = None      # The argument is a dtype.
    where = fronts(dims, len(labels))
    terms = ((True,),) if name in ("sum", "mean") else ()
    return Rule([labels], [_out(labels, where, _keeps(args, kwargs, 2))], _kind(name, x), terms)


def _kind(name: str, x: DTensor) -> str | None:
    """Return the reduction that combines the ranks' results of an op.

    None if ``x`` needs a gradient and the reduction is no sum or mean: the gradients of others are not built.
    """
    kind = _SUMS[name]
    return kind if kind in ("sum", "avg") or not (x.requires_grad and is_grad_enabled()) else None


@rule("max", "min", "prod", "all", "any")
def with_or_without_dim(func: Any, args: tuple, kwargs: dict) -> Rule | None:
    """Return the rule of a reduction over all dims, or over one dim, which is not split.

    Over one dim, max and min also return indices. With two tensors, max and min are elementwise.
    """
    given, name = dtensors(args, kwargs), func.__name__
    if len(given) != 1:
        from jtorch._parallel.rules.elementwise import elementwise
        return elementwise(func, args, kwargs)
    dim, labels = argument(args, kwargs, 1, "dim", "axis"), tuple(range(len(given[0]._spec.shape)))
    if dim is None:
        return Rule([labels], [()], None if name in ("all", "any") else _kind(name, given[0]))
    return _along(given[0], dim, _keeps(args, kwargs, 2), 2 if name in ("max", "min") else 1)


@rule("argmax", "argmin", "var", "std", "logsumexp", "median", "mode", "var_mean", "std_mean", "count_nonzero")
def along(func: Any, args: tuple, kwargs: dict) -> Rule | None:
    """Return the rule of a reduction over a dim that is not split."""
    x, dim, name = args[0], argument(args, kwargs, 1, "dim", "axis"), func.__name__
    if dim is None or (name in ("var", "std", "var_mean", "std_mean") and not isinstance(dim, (int, tuple, list))):
        return None
    third = name in ("argmax", "argmin", "logsumexp", "median", "mode")
    keeps = _keeps(args, kwargs, 2) if third else kwargs.get("keepdim")
    return _along(x, dim, bool(keeps), 2 if name in ("median", "mode", "var_mean", "std_mean") else 1)


def _along(x: DTensor, dim: Any, keeps: bool, results: int) -> Rule:
    ndim = len(x._spec.shape)
    dims = fronts(dim, ndim)
    labels = tuple([None if d in dims else d for d in range(ndim)])
    return Rule([labels], [_out(labels, dims, keeps)] * results)


@rule("softmax", "log_softmax", "_softmax", "_log_softmax", "softmin", "cumsum", "cumprod", "logcumsumexp", "flip", "roll",
      "sort", "argsort", "topk", "kthvalue", "normalize", "glu", "renorm", "cummax", "cummin")
def within(func: Any, args: tuple, kwargs: dict) -> Rule | None:
    """Return the rule of an op that mixes elements along one dim only."""
    x, name = args[0], func.__name__
    place = {"topk": 2, "kthvalue": 2, "normalize": 2, "roll": 2, "renorm": 2}.get(name, 1)
    default = {"normalize": 1}.get(name, -1)
    dim = argument(args, kwargs, place, "dim", "dims", default=default)
    if dim is None or isinstance(dim, bool):
        return None
    ndim = len(x._spec.shape)
    dims = fronts(dim, ndim)
    labels = tuple([None if d in dims else d for d in range(ndim)])
    out = tuple([x for d, x in enumerate(labels) if not (name == "kthvalue" and d in dims)])
    return Rule([labels], [out] * (2 if name in ("sort", "topk", "kthvalue", "cummax", "cummin") else 1))


@handler("norm", "vector_norm", "linalg_vector_norm", "linalg_norm")
def norm(func: Any, args: tuple, kwargs: dict) -> Any:
    """Compute a norm as a reduction of powers, so that the ranks' terms add up."""
    x, p = args[0], argument(args, kwargs, 1, "p", "ord", default=2)
    dim = argument(args, kwargs, 2, "dim")
    keeps, dtype = bool(argument(args, kwargs, 3, "keepdim", default=False)), kwargs.get("dtype")
    p = 2 if p in (None, "fro") else p
    of_matrices = getattr(func, "__name__", "") == "linalg_norm" and dim is not None
    if not isinstance(x, DTensor) or not isinstance(p, (int, float)) or of_matrices:
        return NotImplemented
    y = x.abs() if dtype is None else x.to(dtype).abs()
    dims = fronts(dim, len(x._spec.shape))
    if p == float("inf"):
        return y.amax(dims, keeps)
    if p == float("-inf"):
        return y.amin(dims, keeps)
    if p == 0:
        return (y != 0).to(y.dtype).sum(dims, keeps)
    total = (y if p == 1 else y * y if p == 2 else y ** p).sum(dims, keeps)
    return total if p == 1 else total.sqrt() if p == 2 else total ** (1 / p)


def dim_of(args: tuple, kwargs: dict, at: int, ndim: int, default: int = 0) -> int:
    """Return a call's dim as a non-negative integer."""
    return front(argument(args, kwargs, at, "dim", default=default), ndim)
