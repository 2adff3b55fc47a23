"""PyTorch's rules for the strides of results, from the sizes and strides of the arguments.

They follow PyTorch's TensorIterator.cpp. If dims of size 1 or equal strides allow several orders of the dims, the order decides
in which TensorIterator compares strides.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from jtorch.ops.strided import compute_view_stride, contiguous_strides, is_contiguous, is_non_overlapping_and_dense

Geometry = tuple[tuple[int, ...], tuple[int, ...]]      # size and stride
Rule = Callable[..., tuple[int, ...]]       # (result's shape, arguments' geometries, template, first argument's dtype) -> strides
_CHANNELS_LAST = {4: (1, 3, 2, 0), 5: (1, 4, 3, 2, 0)}      # the dims from the fastest to the slowest


def in_order(size: Sequence[int], order: Sequence[int]) -> tuple[int, ...]:
    """Return dense strides for dims in this order, the fastest dim first."""
    stride, step = [0] * len(size), 1
    for d in order:
        stride[d] = step
        step *= max(size[d], 1)
    return tuple(stride)


def _as_iterated(size: Sequence[int], order: Sequence[int]) -> tuple[int, ...]:
    """Return ``in_order`` as PyTorch's iterator computes it: after a dim of size 0 all strides are 0."""
    stride, step = [0] * len(size), 1
    for d in order:
        stride[d] = step
        step *= size[d]
    return tuple(stride)


def channels_last(size: Sequence[int]) -> tuple[int, ...]:
    """Return the strides of torch.channels_last and channels_last_3d."""
    return in_order(size, _CHANNELS_LAST[len(size)])


def is_channels_last(size: Sequence[int], stride: Sequence[int], ndim: int = 0) -> bool:
    """Return whether the elements are dense in channels-last order. ``ndim``: the required number of dims, if not 0."""
    if len(size) not in _CHANNELS_LAST or (ndim and len(size) != ndim):
        return False
    expected = 1
    for d in _CHANNELS_LAST[len(size)]:
        if size[d] != 1:
            if stride[d] != expected:
                return False
            expected *= size[d]
    return True


def suggests_channels_last(size: Sequence[int], stride: Sequence[int]) -> bool:
    """Return whether strides are in channels-last order, possibly with gaps. Ambiguous strides are not."""
    if len(size) not in _CHANNELS_LAST or stride[1] == 0:
        return False
    least = 0
    for d in _CHANNELS_LAST[len(size)]:
        if size[d] == 0 or stride[d] < least or (d == 0 and least == stride[1]):
            return False
        least = stride[d] * max(size[d], 1)
    return True


def _sorted_dims(ndim: int, compare: Callable[[int, int], int]) -> list[int]:
    """Return the dims from fastest to slowest, by an insertion sort, since the comparison does not order all pairs."""
    order = list(range(ndim))[::-1]
    for i in range(1, ndim):
        at = i
        for j in range(i - 1, -1, -1):
            found = compare(order[j], order[at])
            if found > 0:
                order[j], order[at] = order[at], order[j]
                at = j
            elif found < 0:
                break
    return order


def _compared(size: Sequence[int], strides: Sequence[Sequence[int]]) -> Callable[[int, int], int]:
    def compare(a: int, b: int) -> int:
        for stride in strides:
            if stride[a] == 0 or stride[b] == 0:
                continue
            if stride[a] != stride[b]:
                return -1 if stride[a] < stride[b] else 1
            if size[a] > size[b]:
                return 1
        return 0
    return compare


def preserved(size: Sequence[int], stride: Sequence[int]) -> tuple[int, ...]:
    """Return the strides of a torch.preserve_format copy: the same if they are dense, else dense in the same order."""
    if is_non_overlapping_and_dense(size, stride):
        return tuple(stride)
    return in_order(size, _sorted_dims(len(size), _compared(size, [stride])))


def suggested(size: Sequence[int], stride: Sequence[int]) -> tuple[int, ...]:
    """Return channels-last strides if the given strides suggest it, else contiguous strides."""
    return channels_last(size) if suggests_channels_last(size, stride) else contiguous_strides(size)


def iterated(shape: tuple[int, ...], operands: Sequence[Geometry], *_: Any) -> tuple[int, ...]:
    """Return the strides of an elementwise result of this shape. A reduced loss is 0-dim."""
    if not shape:
        return ()
    if all([size == shape for size, _ in operands]):
        if all([is_contiguous(*g) for g in operands]):
            return contiguous_strides(shape)
        if all([is_channels_last(*g, 4) for g in operands]):
            return channels_last(shape)
        if all([stride == operands[0][1] for _, stride in operands]) and is_non_overlapping_and_dense(*operands[0]):
            return operands[0][1]
    strides = [_broadcast(size, stride, shape) for size, stride in operands]
    return _as_iterated(shape, _sorted_dims(len(shape), _compared(shape, strides)))


def indexed(shape: tuple[int, ...], operands: Sequence[Geometry], template: tuple, dtype: Any) -> tuple[int, ...]:
    """Return the strides of a tensor indexed by tensors, at the dims whose template entries are not None."""
    (size, stride), *given = operands
    marks = template[1]
    dims = [d for d, m in enumerate(marks) if m is not None]
    lead = dims[0] if dims == list(range(dims[0], dims[-1] + 1)) else 0
    rest = [d for d in range(len(size)) if d not in dims]
    inner = len(shape) - len(rest)
    source = [*[stride[d] for d in rest[:lead]], *[0] * inner, *[stride[d] for d in rest[lead:]]]
    places = [[0] * lead + _broadcast(n, s, shape[lead:lead + inner]) + [0] * (len(rest) - lead) for n, s in given]
    return _as_iterated(shape, _sorted_dims(len(shape), _compared(shape, [source, *places])))


def _broadcast(size: tuple[int, ...], stride: tuple[int, ...], shape: tuple[int, ...]) -> list[int]:
    more = len(shape) - len(size)
    return [0] * more + [0 if n == 1 and shape[more + d] != 1 else s for d, (n, s) in enumerate(zip(size, stride, strict=True))]


def memory_order(size: Sequence[int], stride: Sequence[int]) -> tuple[int, ...] | None:
    """Return the dims of a dense geometry from slowest to fastest, or None for other geometries."""
    if not is_non_overlapping_and_dense(size, stride):
        return None
    return tuple(sorted(range(len(size)), key=lambda d: (-stride[d], size[d] != 1)))


# ---------------------------------------------------------------- rules


def like_first(shape: tuple[int, ...], operands: Sequence[Geometry], *_: Any) -> tuple[int, ...]:
    """Return the strides of a copy of the first argument, or contiguous strides if the result has another shape."""
    size, stride = operands[0]
    return preserved(size, stride) if size == shape else contiguous_strides(shape)


def _copied_if(which: Callable[[Any], bool]) -> Rule:
    """Return the rule of an op that PyTorch computes by ``empty_like`` and a copy for some dtypes, else elementwise."""
    def rule(shape: tuple[int, ...], operands: Sequence[Geometry], template: tuple, dtype: Any) -> tuple[int, ...]:
        return (like_first if which(dtype) else iterated)(shape, operands)
    return rule


def _as_first_suggests(shape: tuple[int, ...], operands: Sequence[Geometry], *_: Any) -> tuple[int, ...]:
    return _suggested_by(any, shape, operands[:1])


def _as_all_suggest(shape: tuple[int, ...], operands: Sequence[Geometry], *_: Any) -> tuple[int, ...]:
    return _suggested_by(all, shape, operands)


def _as_any_suggests(shape: tuple[int, ...], operands: Sequence[Geometry], *_: Any) -> tuple[int, ...]:
    return _suggested_by(any, shape, operands)


def _unless_contiguous(shape: tuple[int, ...], operands: Sequence[Geometry], *_: Any) -> tuple[int, ...]:
    """Return contiguous strides for a contiguous first argument, else the strides that it suggests.

    With dims of size 1 a geometry may be contiguous and suggest channels-last strides too.
    """
    return contiguous_strides(shape) if is_contiguous(*operands[0]) else _as_first_suggests(shape, operands)


def _rms_normed(shape: tuple[int, ...], operands: Sequence[Geometry], *_: Any) -> tuple[int, ...]:
    return operands[0][1] if is_contiguous(*operands[0]) else _as_first_suggests(shape, operands)


def _padded(shape: tuple[int, ...], operands: Sequence[Geometry], template: tuple, dtype: Any) -> tuple[int, ...]:
    return contiguous_strides(shape) if template[2] == "circular" else _as_first_suggests(shape, operands)


def _stacked(shape: tuple[int, ...], operands: Sequence[Geometry], template: tuple, dtype: Any) -> tuple[int, ...]:
    """Return the strides of a stack, which PyTorch computes as a concatenation along the dim and a view."""
    dim = template[-1] % len(shape)
    if dim == len(shape) - 1:
        return contiguous_strides(shape)
    joined = (*shape[:dim], shape[dim] * shape[dim + 1], *shape[dim + 2:])
    return compute_view_stride(joined, _suggested_by(all, joined, operands), shape) or contiguous_strides(shape)


def _halves(shape: tuple[int, ...], operands: Sequence[Geometry], *_: Any) -> tuple[int, ...]:
    return iterated(shape, [(shape, operands[0][1])])


def _rolled(shape: tuple[int, ...], operands: Sequence[Geometry], template: tuple, dtype: Any) -> tuple[int, ...]:
    """Return the strides of roll, which PyTorch computes dim by dim: it splits each dim and concatenates the parts."""
    shifts, dims = ((d,) if isinstance(d, int) else tuple(d or ()) for d in template[1:3])
    stride = operands[0][1] if dims else contiguous_strides(shape)
    for shift, dim in zip(shifts, dims, strict=False):
        start = -shift % max(shape[dim], 1)
        sizes = [tuple(n if d == dim % len(shape) else m for d, m in enumerate(shape)) for n in (shape[dim] - start, start)]
        stride = _suggested_by(all, shape, [(size, stride) for size in sizes])
    return stride


def _turned(shape: tuple[int, ...], operands: Sequence[Geometry], template: tuple, dtype: Any) -> tuple[int, ...]:
    """Return the strides of rot90: those of a flipped copy, transposed for odd quarters."""
    if template[1] % 4 == 0:
        return contiguous_strides(shape)
    stride, (a, b) = list(preserved(*operands[0])), template[2]
    if template[1] % 2:
        stride[a], stride[b] = stride[b], stride[a]
    return tuple(stride)


def _attended(shape: tuple[int, ...], operands: Sequence[Geometry], template: tuple, dtype: Any) -> tuple[int, ...]:
    """Return the strides of attention. PyTorch's flash kernel (4 dims, dense rows, masks of 2 or 4 dims) uses the query's."""
    (q, k, v), masks = [size for size, _ in operands[:3]], [size for size, _ in operands[3:]]
    flash = len(q) == len(k) == len(v) == 4 and k[:2] == v[:2] and q[0] == k[0] and q[3] == k[3] == v[3] and q[2] and k[2] \
        and (q[1] == k[1] or template[-1]) and all([stride[-1] == 1 for _, stride in operands[:3]]) \
        and all([len(m) in (2, 4) for m in masks])
    return preserved(*operands[0]) if flash else contiguous_strides(shape)


def _suggested_by(which: Callable, shape: tuple[int, ...], operands: Sequence[Geometry]) -> tuple[int, ...]:
    fits = len(shape) in _CHANNELS_LAST and which([suggests_channels_last(*g) for g in operands if len(g[0]) == len(shape)])
    return channels_last(shape) if fits else contiguous_strides(shape)


def _differences(shape: tuple[int, ...], operands: Sequence[Geometry], *_: Any) -> tuple[int, ...]:
    return iterated(shape, [(shape, operands[0][1])]) if len(operands) == 1 else contiguous_strides(shape)


def _columns(shape: tuple[int, ...], operands: Sequence[Geometry], *_: Any) -> tuple[int, ...]:
    return 1, shape[0]


def _by_columns(shape: tuple[int, ...], operands: Sequence[Geometry], *_: Any) -> tuple[int, ...]:
    """Return column-major strides for results that are matrices, and contiguous strides for values, pivots and infos."""
    return _column_major(shape) if len(shape) == max(len(size) for size, _ in operands) else contiguous_strides(shape)


def _solved(left_at: int | None) -> Rule:
    """Return the rule for solutions of linear systems: contiguous strides for XA = B and for infos, else column-major strides.

    PyTorch solves XA = B as a transposed system. Vectors for a batch of systems count as one matrix. ``left_at``: the place of
    ``left`` in the template, or None.
    """
    def rule(shape: tuple[int, ...], operands: Sequence[Geometry], template: tuple, dtype: Any) -> tuple[int, ...]:
        info = len(shape) < max(len(size) for size, _ in operands) - 1
        transposed = left_at is not None and template[left_at] is False
        return contiguous_strides(shape) if info or transposed else _column_major(shape)
    return rule


def _column_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    last = len(shape) - 1
    return in_order(shape, [last - 1, last, *range(last - 2, -1, -1)] if last > 0 else range(last + 1))


def _with_scalar(shape: tuple[int, ...], stride: tuple[int, ...]) -> tuple[int, ...]:
    return iterated(shape, [(shape, stride), ((), ())])


def _part(shape: tuple[int, ...], operands: Sequence[Geometry]) -> Geometry:
    """Return the geometry of a real or imaginary part, which is a view with gaps."""
    return shape, tuple([2 * s for s in operands[0][1]])


def _isinf(shape: tuple[int, ...], operands: Sequence[Geometry], template: tuple, dtype: Any) -> tuple[int, ...]:
    """Return the strides of ``abs(x) == inf``, or of this comparison of the parts for complex numbers."""
    if not (dtype.is_complex or dtype.is_floating_point):
        return like_first(shape, operands)
    return _with_scalar(shape, iterated(shape, [_part(shape, operands)] if dtype.is_complex else operands))


def _isfinite(shape: tuple[int, ...], operands: Sequence[Geometry], template: tuple, dtype: Any) -> tuple[int, ...]:
    """Return the strides of ``(x == x) * (abs(x) != inf)``, or of a copy for integers."""
    if not (dtype.is_complex or dtype.is_floating_point):
        return like_first(shape, operands)
    return iterated(shape, [(shape, stride := iterated(shape, operands)), (shape, _with_scalar(shape, stride))])


def _isreal(shape: tuple[int, ...], operands: Sequence[Geometry], template: tuple, dtype: Any) -> tuple[int, ...]:
    """Return the strides of ``x.imag == 0``, or of a copy for real numbers."""
    return _with_scalar(*_part(shape, operands)) if dtype.is_complex else like_first(shape, operands)


def _reciprocal(shape: tuple[int, ...], operands: Sequence[Geometry], template: tuple, dtype: Any) -> tuple[int, ...]:
    """Return the strides of a number divided by a tensor, for which PyTorch multiplies by the reciprocal."""
    return _with_scalar(shape, iterated(shape, _copies(operands) if _casts(dtype, float) else operands))


def _power(shape: tuple[int, ...], operands: Sequence[Geometry], template: tuple, dtype: Any) -> tuple[int, ...]:
    """Return the strides of pow: contiguous for a number as base. A number as exponent casts the base first."""
    base, exponent = template[:2]
    if getattr(base, "number_type", None) is not None:
        return contiguous_strides(shape)
    if not hasattr(exponent, "number_type") and _casts(dtype, exponent[0] if isinstance(exponent, tuple) else type(exponent)):
        operands = _copies(operands)
    return iterated(shape, operands)


def _copies(operands: Sequence[Geometry]) -> list[Geometry]:
    return [(size, preserved(size, stride)) for size, stride in operands]


def _casts(dtype: Any, number: type) -> bool:
    """Return whether an operation with a number of this type changes the kind of this dtype."""
    inexact = dtype.is_floating_point or dtype.is_complex
    return {complex: not dtype.is_complex, float: not inexact, int: dtype.name == "bool", bool: False}[number]


def _angle(shape: tuple[int, ...], operands: Sequence[Geometry], template: tuple, dtype: Any) -> tuple[int, ...]:
    return contiguous_strides(shape) if dtype.is_complex else iterated(shape, operands)


# ---------------------------------------------------------------- layouts in op records

@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """The strides of an op's results for non-contiguous arguments. Results of an op without a Layout are contiguous.

    strides:    the rule, or None with ``kept``: the result has the strides and offset of the first argument, including gaps.
    elementwise: the op uses PyTorch's TensorIterator, with its order of errors and its checks of ``out=``.
    always:     the results may not be contiguous even for contiguous arguments.
    out_in_order: for a complex first argument a resized ``out`` is contiguous, since PyTorch copies the argument.
    counts_numbers: PyTorch treats number operands as 0-dim tensors, which affect strides.
    """

    strides: Rule | None
    elementwise: bool = False
    always: bool = False
    kept: bool = False
    out_in_order: bool = False
    counts_numbers: bool = True


ITERATED = Layout(iterated, elementwise=True)
WITHOUT_NUMBERS = Layout(iterated, elementwise=True, counts_numbers=False)
COMPLEX_COPIED = Layout(_copied_if(lambda d: d.is_complex), elementwise=True, out_in_order=True)
COPIED = Layout(_copied_if(lambda d: True), elementwise=True)
ANGLE, ISINF, ISREAL = Layout(_angle, elementwise=True), Layout(_isinf, elementwise=True), Layout(_isreal, elementwise=True)
RECIPROCAL = Layout(_reciprocal, elementwise=True, counts_numbers=False)
POWER = Layout(_power, elementwise=True, counts_numbers=False)
ISFINITE = Layout(_isfinite)
LIKE_FIRST = Layout(like_first)
AS_FIRST_SUGGESTS, AS_ALL_SUGGEST, AS_ANY_SUGGESTS = Layout(_as_first_suggests), Layout(_as_all_suggest), Layout(_as_any_suggests)
UNLESS_CONTIGUOUS = Layout(_unless_contiguous)
RMS_NORMED = Layout(_rms_normed)
PADDED, HALVES, STACKED, ROLLED = Layout(_padded), Layout(_halves), Layout(_stacked), Layout(_rolled)
TURNED = Layout(_turned, always=True)
COLUMNS = Layout(_columns)
BY_COLUMNS, SOLVED = Layout(_by_columns, always=True), Layout(_solved(2), always=True)
SOLVED_BY_LU, SOLVED_BY_OLD_LU = Layout(_solved(3), always=True), Layout(_solved(None), always=True)
ATTENDED = Layout(_attended)
INDEXED = Layout(indexed)
DIFFERENCES = Layout(_differences)
KEPT = Layout(None, kept=True)
