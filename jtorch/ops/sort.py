"""Sorting, order statistics and binary search. See torch.sort, torch.median, torch.quantile, torch.searchsorted."""
from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jtorch.ops import check, out_dtypes, promotion
from jtorch.ops import derivatives_from_result as from_result
from jtorch.ops.facts import Out, Saves
from jtorch.ops.layout import LIKE_FIRST
from jtorch.ops.reduce import along, nonempty, refuse, shared
from jtorch.ops.registry import Number, Tensor, op

# Sorting -------------------------------------------------------------------------------------------------------------
# NaN is greater than all numbers, in either direction; all sorts are stable. XLA sorts single integers several times
# faster than floats or pairs, so small elements are sorted as (order of the element, index) packed into 64 bits.


def _order(x):
    """Return signed integers in the same order as ``x``, with NaN last and -0 equal to 0."""
    bits = 8 * x.dtype.itemsize
    if promotion.is_float(x.dtype):
        top = np.iinfo(f"int{bits}").max
        order = lax.bitcast_convert_type(jnp.where(x == 0, jnp.zeros((), x.dtype), x), f"int{bits}")
        return jnp.where(jnp.isnan(x), top, jnp.where(order < 0, order ^ top, order))
    if x.dtype.kind == "u":
        return lax.bitcast_convert_type(x ^ (1 << (bits - 1)), f"int{bits}")
    return x.astype(jnp.int8) if x.dtype == bool else x


def _argsorted(input, dim: int, descending: bool = False):
    """Return the indices that sort ``input`` along ``dim``, counted from the front."""
    order = _order(lax.stop_gradient(input))
    order = ~order if descending else order
    index = lax.broadcasted_iota(jnp.int64, input.shape, dim)
    if order.dtype.itemsize > 4:
        return lax.sort((order, index), dimension=dim, num_keys=1)[1]
    packed = (order.astype(jnp.int64) << 32) | index
    return lax.sort(packed, dimension=dim, is_stable=False) & 0xFFFFFFFF


def _take(input, index, dim: int):
    return jnp.take_along_axis(input, index, dim, mode="promise_in_bounds")


def _sorted(input, dim: int, descending: bool = False):
    """Return ``input`` sorted along ``dim``, and the indices of its elements."""
    dim = check.wrap_dim(dim, input.ndim)
    if input.ndim == 0:
        return input, jnp.zeros((), jnp.int64)
    index = _argsorted(input, dim, descending)
    return _take(input, index, dim), index


def _refuse_complex(name: str, input) -> None:
    check.require(not promotion.is_complex(input.dtype), f" {name} does not support complex dtypes on CPU")


@op(saves=Saves(checks=check.nothing), returns="values indices",
    backward_name=lambda template: f"SortBackward{int(bool(template[3]))}", layout=LIKE_FIRST,
    out=Out(refuses=out_dtypes.EXPECTED))
def sort(input: Tensor, dim: int = -1, descending: bool = False, *, stable: bool = False):
    """Return the elements in order along ``dim``, with their indices; always stable. See torch.sort."""
    dim = check.wrap_dim(dim, input.ndim)
    _refuse_complex("Sort", input)
    return _sorted(input, dim, descending)


@op(differentiable=False, composite=True, layout=LIKE_FIRST)
def argsort(input: Tensor, dim: int = -1, descending: bool = False, *, stable: bool = False):
    """Return the indices that sort ``input`` along ``dim``. See torch.argsort."""
    return sort(input, dim, descending)[1]


@op(saves=Saves(checks=check.nothing), backward_name="SortBackward0", layout=LIKE_FIRST,
    out=Out(refuses=out_dtypes.EXPECTED))
def msort(input: Tensor):
    """Return the elements in order along the first dimension. See torch.msort."""
    return sort(input, 0)[0]


def _top_index(x, k: int, largest: bool):
    """Return the indices of the ``k`` largest or smallest elements along the last dimension."""
    if x.dtype.itemsize > 4 or (x.dtype.kind in "iu" and x.dtype.itemsize == 4):
        return lax.slice_in_dim(_argsorted(x, x.ndim - 1, largest), 0, k, axis=-1)
    # lax.top_k is fastest for float32; it puts NaN first and negative NaN last
    key = x.astype(jnp.float32)
    key = jnp.where(key == 0, 0, key if largest else -key)
    nan = np.uint32(0x7FC00000 if largest else 0xFFC00000).view(np.float32)
    return lax.top_k(jnp.where(jnp.isnan(key), nan, key), k)[1]


@op(saves=Saves(checks=check.nothing), returns="values indices", out=Out(refuses=out_dtypes.EXPECTED))
def topk(input: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True):
    """Return the ``k`` largest (or smallest) elements along ``dim``, always in order, with their indices. See torch.topk."""
    _refuse_complex("topk", input)
    check.require(input.dtype != bool, "topk does not support bool dtypes on CPU")
    dim = check.wrap_dim(dim, input.ndim)
    check.require(0 <= k <= (input.shape[dim] if input.ndim else 1), "selected index k out of range")
    if input.ndim == 0:
        return input, jnp.zeros((), jnp.int64)
    rows = jnp.moveaxis(lax.stop_gradient(input), dim, -1)
    index = jnp.moveaxis(_top_index(rows, k, largest), -1, dim).astype(jnp.int64)
    return _take(input, index, dim), index


# Order statistics ----------------------------------------------------------------------------------------------------

def _at(index, position, dim: int):
    """Return the indices at ``position``, an int or one position for each row."""
    if isinstance(position, check.Int):
        return lax.slice_in_dim(index, position, position + 1, axis=dim)
    return _take(index, position, dim)


@op(saves=Saves(checks=check.nothing), returns="values indices", out=Out(refuses=out_dtypes.OF_KTHVALUE))
def kthvalue(input: Tensor, k: int, dim: int = -1, keepdim: bool = False):
    """Return the ``k``-th smallest element along ``dim``, with its index. See torch.kthvalue."""
    dim = check.wrap_dim(dim, input.ndim)
    nonempty("kthvalue", input, (dim,))
    check.require(1 <= k <= (input.shape[dim] if input.ndim else 1),
                  f"kthvalue(): selected number k out of range for dimension {dim}")
    refuse("kthvalue_cpu", input, "bc")
    return along("kthvalue", lambda x, d: _at(_argsorted(x, d), k - 1, d), input, dim, keepdim)


def _median_index(skip_nan: bool):
    def choose(input, dim: int):
        values, index = _sorted(input, dim)
        n = input.shape[dim]
        if not promotion.is_float(input.dtype):
            return _at(index, (n - 1) // 2, dim)
        numbers = jnp.sum(~jnp.isnan(values), dim, keepdims=True, dtype=jnp.int64)
        # the first NaN follows the numbers
        position = jnp.maximum(numbers - 1, 0) // 2 if skip_nan else jnp.where(numbers < n, numbers, (n - 1) // 2)
        return _at(index, position, dim)
    return choose


def _median(name: str, input, dim: int | None, keepdim: bool):
    choose = _median_index(name == "nanmedian")
    dim = None if dim is None else check.wrap_dim(dim, input.ndim)
    if dim is None and input.size == 0 and input.dtype.kind in "bc":
        return jnp.full((), jnp.nan, input.dtype) if input.dtype.kind == "c" else jnp.ones((), np.bool_)
    if dim is not None and input.ndim and not input.shape[dim]:
        raise IndexError(f"median(): Expected reduction dim {dim} to have non-zero size.")
    refuse("median_cpu" if dim is None else "median_out", input, "bc")
    if dim is not None:
        return along("median", choose, input, dim, keepdim)
    if input.size == 0:
        return jnp.full((), jnp.nan if promotion.is_float(input.dtype) else np.iinfo(input.dtype).min, input.dtype)
    content = lax.stop_gradient(input).reshape(-1)
    return shared(input, content[choose(content, 0)[0]])


def _with_dim(name: str):
    return lambda template: f"{name}Backward{0 if template[1] is None else 1}"


@op(returns="values indices", backward_name=_with_dim("Median"),
    saves=Saves("both", checks=check.of_extreme, change=from_result.of_max), out=Out(refuses=out_dtypes.OF_MEDIAN))
def median(input: Tensor, dim: int | None = None, keepdim: bool = False):
    """Return the median (of an even number, the lower), of all or along ``dim`` with its index. See torch.median."""
    return _median("median", input, dim, keepdim)


@op(returns="values indices", backward_name=_with_dim("Nanmedian"),
    saves=Saves("both", checks=check.of_extreme, change=from_result.of_max), out=Out(refuses=out_dtypes.OF_MEDIAN))
def nanmedian(input: Tensor, dim: int | None = None, keepdim: bool = False):
    """Return the median of the elements that are not NaN. See torch.nanmedian."""
    return _median("nanmedian", input, dim, keepdim)


def _mode_index(input, dim: int):
    values, index = _sorted(input, dim)
    n = values.shape[dim]
    place = lax.broadcasted_iota(jnp.int64, values.shape, dim)
    new = lax.slice_in_dim(values, 1, n, axis=dim) != lax.slice_in_dim(values, 0, n - 1, axis=dim)
    new = jnp.concatenate([jnp.ones_like(lax.slice_in_dim(values, 0, 1, axis=dim), bool), new], dim)
    length = place - lax.cummax(jnp.where(new, place, 0), dim)      # length of the current run of equal elements
    return _at(index, jnp.argmax(length, dim, keepdims=True), dim)


@op(saves=Saves(checks=check.nothing), returns="values indices", out=Out(refuses=out_dtypes.OF_MODE))
def mode(input: Tensor, dim: int = -1, keepdim: bool = False):
    """Return the most frequent element along ``dim`` (the smallest such), with its last index. See torch.mode."""
    dim = check.wrap_dim(dim, input.ndim)
    refuse("mode_cpu", input, "c")
    return along("mode", _mode_index, input, dim, keepdim)


_INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")


def _check_quantile(input, q, interpolation: str) -> None:
    scalar = isinstance(q, (check.Int, float))
    check.require(not scalar or 0 <= q <= 1, f"quantile() q must be in the range [0, 1] but got {q}")
    check.require(input.size > 0, "quantile() input tensor must be non-empty")
    check.require(scalar or q.ndim <= 1, "quantile() q must be a scalar or 1D tensor")
    check.require(input.dtype in (np.float32, np.float64),
                  "quantile() input tensor must be either float or double dtype")
    check.require(scalar or q.dtype == input.dtype, "quantile() q tensor must be same dtype as the input tensor")
    check.require(interpolation in _INTERPOLATIONS, "quantile() interpolation must be one of linear, lower, higher, "
                  f"midpoint or nearest, but got {interpolation}")


def _ranks(rows, q, skip_nan: bool):
    """Return the floating-point positions of the quantiles ``q`` in each sorted row."""
    numbers = jnp.sum(~jnp.isnan(rows), -1, keepdims=True).astype(rows.dtype)
    n = rows.shape[-1]
    shape = (*rows.shape[:-1], q.shape[0])
    last = jnp.maximum(numbers - 1, 0) if skip_nan else jnp.full_like(numbers, n - 1)
    ranks = jnp.broadcast_to(last, shape) * jnp.broadcast_to(q, shape)
    return ranks if skip_nan else jnp.where(jnp.broadcast_to(numbers < n, shape), n - 1, ranks)


def _pick(rows, ranks):
    return jnp.take_along_axis(rows, ranks.astype(jnp.int64), -1, mode="clip")


def _lerp(a, b, weight):
    return jnp.where(weight < 0.5, a + weight * (b - a), b - (b - a) * (1 - weight))


def _interpolated(rows, ranks, interpolation: str):
    if interpolation in ("lower", "higher", "nearest"):
        return _pick(rows, {"lower": jnp.floor, "higher": jnp.ceil, "nearest": jnp.round}[interpolation](ranks))
    below = lax.stop_gradient(jnp.floor(ranks))
    weight = ranks - below if interpolation == "linear" else jnp.full_like(ranks, 0.5)
    return _lerp(_pick(rows, below), _pick(rows, lax.stop_gradient(jnp.ceil(ranks))), weight)


def _quantile(input, q, dim: int | None, keepdim: bool, interpolation: str, skip_nan: bool):
    _check_quantile(input, q, interpolation)
    axis = None if dim is None else check.wrap_dim(dim, input.ndim)
    flat = input.reshape(-1) if axis is None or input.ndim == 0 else jnp.moveaxis(input, axis, -1)
    rows = _sorted(flat, -1)[0]
    q = jnp.asarray(q, input.dtype)
    found = _interpolated(rows, _ranks(rows, q.reshape(-1), skip_nan), interpolation)
    found = jnp.moveaxis(found, -1, 0)
    kept = tuple(1 if axis in (None, i) else n for i, n in enumerate(input.shape)) if keepdim else found.shape[1:]
    return found.reshape(q.shape + kept)


def _q_outside(input, q, *rest, **options):
    if isinstance(q, (check.Int, float)):
        return jnp.zeros((), bool), jnp.zeros((), jnp.int64)
    return ~jnp.all((q >= 0) & (q <= 1)), jnp.zeros((), jnp.int64)


def _q_error(detail, *args, **options):
    return RuntimeError("quantile() q values must be in the range [0, 1]")


@op(value_check=(_q_outside, _q_error), backward_name="SqueezeBackward4", saves=Saves(checks=check.nothing),
    out=Out(refuses=out_dtypes.refusal("quantile() out tensor must be same dtype as the input tensor")))
def quantile(input: Tensor, q: Tensor | float, dim: int | None = None, keepdim: bool = False, *,
             interpolation: str = "linear"):
    """Return the ``q``-th quantiles, of all or along ``dim``. See torch.quantile."""
    return _quantile(input, q, dim, keepdim, interpolation, False)


@op(value_check=(_q_outside, _q_error), backward_name="SqueezeBackward4", saves=Saves(checks=check.nothing),
    out=Out(refuses=out_dtypes.refusal("quantile() out tensor must be same dtype as the input tensor")))
def nanquantile(input: Tensor, q: Tensor | float, dim: int | None = None, keepdim: bool = False, *,
                interpolation: str = "linear"):
    """Return the quantiles of the elements that are not NaN. See torch.nanquantile."""
    return _quantile(input, q, dim, keepdim, interpolation, True)


# Search --------------------------------------------------------------------------------------------------------------

def _check_search(sequence, values, sorter, side: str | None, right: bool) -> None:
    start = "torch.searchsorted(): "
    check.require(side in (None, "left", "right"), f"{start}side can only be 'left' or 'right' but got {side}")
    check.require(side != "left" or not right,
                  f"{start}side and right can't be set to opposites, got side of left while right was True")
    check.require(sequence.ndim > 0, f"{start}boundaries tensor should have positive dimension, but got 0 dimension")
    if sorter is not None:
        check.require(sorter.shape == sequence.shape, f"{start}boundary and sorter must have the same size, but got "
                      f"boundary tensor {list(sequence.shape)}and got sorter tensor {list(sorter.shape)}")
        check.require(sorter.dtype == np.int64, f"{start}sorter must be a tensor of long dtype but got dtype "
                      f"{check.scalar_name(sorter.dtype)}")
    if sequence.ndim > 1:
        _check_rows(sequence, values, start)


def _check_rows(sequence, values, start: str) -> None:
    check.require(values.ndim > 0, f"{start}input value can be a scalar only when boundaries tensor dimension is 1, "
                  f"but we got boundaries tensor dim({sequence.ndim}) and input value's dim(0) numel(1)")
    same = sequence.ndim == values.ndim and sequence.shape[:-1] == values.shape[:-1]
    check.require(same, f"{start}boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries "
                  "tensor and input value tensor must match, "
                  f"but we got boundaries tensor {list(sequence.shape)} and input value tensor {list(values.shape)}")


def _search(sequence, values, right: bool, out_int32: bool):
    """Return how many elements of the sorted ``sequence`` precede each of ``values``. All precede NaN."""
    found = promotion.result_type([(np.dtype(a.dtype), promotion.DIM if a.ndim else promotion.ZERO_DIM)
                                   for a in (sequence, values)])
    sequence, values = sequence.astype(found), values.astype(found)

    def one(row, v):
        return jnp.searchsorted(row, v, side="right" if right else "left")

    if sequence.shape[-1] == 0:
        index = jnp.zeros(values.shape, jnp.int64)
    elif sequence.ndim == 1:
        index = one(sequence, values)
    else:
        rows = jax.vmap(one)(sequence.reshape(-1, sequence.shape[-1]), values.reshape(-1, values.shape[-1]))
        index = rows.reshape(values.shape)
    return jnp.where(values != values, sequence.shape[-1], index).astype(jnp.int32 if out_int32 else jnp.int64)


def _sorter_outside(sorted_sequence, input, *, sorter, **options):
    none = jnp.zeros((), jnp.int64)
    return none != 0 if sorter is None else jnp.any((sorter < 0) | (sorter >= sorted_sequence.shape[-1])), none


_REFUSED = out_dtypes.refusal(
    "torch.searchsorted(): output tensor's dtype is wrong, it can only be Int(int32) or Long(int64) depending on whether "
    "out_int32 flag is True, but we got output tensor's dtype {out} and out_int32 flag is False")


@op(method=False, differentiable=False, loops=True, value_check=(
    _sorter_outside, lambda *args, **options: RuntimeError("torch.searchsorted(): sorter index out of range")),
    out=Out(refuses=_REFUSED))
def searchsorted(sorted_sequence: Tensor, input: Tensor | Number, *, out_int32: bool = False, right: bool = False,
                 side: str | None = None, sorter: Tensor | None = None):
    """Return the positions at which the values would be inserted into sorted rows. See torch.searchsorted."""
    _check_search(sorted_sequence, input, sorter, side, right)
    if sorter is not None:
        sorted_sequence = jnp.take_along_axis(sorted_sequence, sorter, -1, mode="clip")
    return _search(sorted_sequence, input, right or side == "right", out_int32)


@op(method=False, differentiable=False, loops=True,
    out=Out(refuses=_REFUSED))
def bucketize(input: Tensor | Number, boundaries: Tensor, *, out_int32: bool = False, right: bool = False):
    """Return the index of the bucket between the sorted ``boundaries`` that each value is in. See torch.bucketize."""
    check.require(boundaries.ndim == 1, f"boundaries tensor must be 1 dimension, but got dim({boundaries.ndim})")
    return _search(boundaries, input, right, out_int32)
