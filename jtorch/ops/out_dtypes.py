"""Which dtypes of ``out=`` PyTorch does not cast a result to, and in which words. All others it casts where ``can_cast`` says so.

Most structured kernels want exactly the result's dtype; calls of TensorIterator cast, but for those that forbid it.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import jtorch.dtype as dtypes
from jtorch.ops import check, promotion

# Ops that refuse an expanded ``out=`` even where it will take another shape; elementwise ones do so too.
NOT_EXPANDED = {"index_select", "take", "scatter", "outer"}
_FOUND = "Found dtype {out} but expected {made}"
_EXPECTED = "Expected out tensor to have dtype {made_cpp}, but got {out_cpp} instead"
# What is said where the dtypes differ -> ops. {made}, {out}: the dtypes' names; {made_cpp}, {out_cpp}: those of C++;
# {made_type}, {out_type}: those of tensors.
_TEXTS = {
    _FOUND: "neg bitwise_not ceil floor trunc round frac conj_physical sgn sign",
    _EXPECTED:
        "sum prod cumsum cumprod aminmax sort topk mm bmm mv addmm addmv addbmm baddbmm cross "
        "linalg.cross softmax log_softmax norm "
        "linalg.vector_norm argmax argmin isin tril triu renorm msort gather take_along_dim scatter scatter_add "
        "scatter_reduce index_add index_copy index_reduce slice_scatter alias_copy as_strided_copy diagonal_copy expand_copy "
        "permute_copy squeeze_copy t_copy transpose_copy unfold_copy unsqueeze_copy view_copy linalg.cholesky linalg.det "
        "linalg.eigvalsh linalg.inv linalg.ldl_solve linalg.lu_factor linalg.lu_factor_ex "
        "linalg.lu_solve linalg.solve linalg.svdvals lu_solve",
    "Expected out type to be {made} but got {out}": "where",
    "torch.linalg.eigvals: Expected eigenvalues to be safely castable from {made} dtype, but got eigenvalues with dtype {out}":
        "linalg.eigvals",
    "Expected object of scalar type {made} but got scalar type {out} for argument 'out'": "complex polar",
    "expected scalar_type {made} but found {out}": "logcumsumexp cummax cummin",
    "result dtype {out} does not match input dtype {made}": "dot vdot",
    "index_select(): self and result must have the same scalar type": "index_select",
    "take(): self and out expected to have the same dtype, but got self.dtype = {made} and out.dtype = {out}": "take",
    "nan_to_num: dtype of out: {out} should be same as input: {made}": "nan_to_num",
    "heaviside is not yet implemented for tensors with different dtypes.": "heaviside",
    "Expected self.dtype() == output.dtype() to be true, but got false": "narrow_copy",
    "quantile() out tensor must be same dtype as the input tensor": "quantile nanquantile",
    "nonzero: Expected out tensor to have scalar type {made} but got scalar type{out}": "nonzero",
    "signbit does not support non-boolean outputs.": "signbit",
    "isposinf does not support non-boolean outputs.": "isposinf",
    "isneginf does not support non-boolean outputs.": "isneginf",
    "the output given to float_power has dtype {out} but the operation's result requires dtype {made}": "float_power",
    "torch.histogram: input tensor and hist tensor should have the same dtype, but got input {made_cpp} and hist {out_cpp}":
        "histc",
    "torch.searchsorted(): output tensor's dtype is wrong, it can only be Int(int32) or Long(int64) depending on whether "
    "out_int32 flag is True, but we got output tensor's dtype {out} and out_int32 flag is False": "searchsorted bucketize",
    "tensordot: Expected the output tensor to have dtype {made}, but got an output tensor with dtype {out}": "tensordot",
    "multi_dot(): expected out tensor to have dtype {made} but got {out}": "linalg.multi_dot",
    "linalg.vecdot: Expected out of dtype{made} but found {out}": "linalg.vecdot",
    "linalg.norm expected out tensor dtype {made} but got: {out}": "linalg.norm",
    "linalg.matrix_norm expected out tensor dtype {made} but got: {out}": "linalg.matrix_norm"}
# FFTs ask for numbers of a kind, and say the name of what they call.
_COMPLEX = {"fft": "fft", "ifft": "ifft", "fft2": "fftn", "fftn": "fftn", "ifft2": "fftn", "ifftn": "fftn", "rfft": "rfft",
            "rfft2": "rfftn", "rfftn": "rfftn", "ihfft": "ihfft", "ihfft2": "ihfftn", "ihfftn": "ihfftn"}
_REAL = {"hfft": "hfft", "hfft2": "hfftn", "hfftn": "hfftn", "irfft": "irfft", "irfft2": "irfftn", "irfftn": "irfftn"}
# Ops that take the dtype of ``out=`` for their ``dtype=`` too.
COMPUTED_IN_IT = {"sum", "prod", "cumsum", "cumprod", "full", "ones", "zeros", "eye", "linspace", "logspace", "arange", "range"}
# What results are of whatever the arguments' common dtype is.
ALWAYS_OF = {**dict.fromkeys(("ge", "gt", "le", "lt"), np.bool_), **dict.fromkeys([f"fft.{op}" for op in _COMPLEX], np.complex64)}


def _refusal(text: str) -> Callable:
    def refuses(made: Any, out: Any, template: tuple, first: Any) -> None:
        raise RuntimeError(text.format(made=check.scalar_name(made.dtype), out=check.scalar_name(out.dtype),
                                       made_cpp=check.cpp_name(made.dtype), out_cpp=check.cpp_name(out.dtype),
                                       made_type=check.type_name(made.dtype), out_type=check.type_name(out.dtype)))
    return refuses


def _unless(fits: Callable, what: str, name: str) -> Callable:
    def refuses(made: Any, out: Any, *rest: Any) -> None:
        check.require(fits(out.dtype), f"{name} expects a {what} output tensor, but got "
                      f"{check.scalar_name(out.dtype)}")
        if name in ("ifft", "ihfft"):       # these scale what they have written
            _refusal(_FOUND)(made, out, *rest)
    return refuses


def _only_bool(name: str) -> Callable:
    def refuses(made: Any, out: Any, *rest: Any) -> None:
        check.require(out.dtype == np.uint8, f"{name} only supports bool tensor for result, got: {check.scalar_name(out.dtype)}")
    return refuses


def _abs(made: Any, out: Any, template: tuple, first: Any) -> None:
    """The sizes of complex numbers are written to complex numbers of the same precision, or cast."""
    casts = promotion.is_complex(first.dtype) and not promotion.is_complex(out.dtype)
    if not casts and out.dtype != first.dtype:
        _refusal(_FOUND)(first, out, template, first)


def _extreme(made: Any, out: Any, template: tuple, first: Any) -> None:
    """Casts where all elements are reduced, or two tensors are compared."""
    if isinstance(template[1], int):
        _refusal(_EXPECTED)(made, out, template, first)


def _matmul(made: Any, out: Any, template: tuple, first: Any) -> None:
    """In the words of what it calls."""
    (_RULES["mm"] if first.shape[1:] or made.shape else _RULES["dot"])(made, out, template, first)


def _clamp(made: Any, out: Any, template: tuple, first: Any) -> None:
    """Casts where a bound is a tensor."""
    if not any([getattr(bound, "number_type", 1) is None for bound in template[1:]]):
        _refusal(_FOUND)(made, out, template, first)


def _value_and_place(of_value: str, of_place: str) -> Callable:
    """For the two results of ops that find an element along a dim: each has a text of its own."""
    def refuses(made: Any, out: Any, template: tuple, first: Any) -> None:
        _refusal(of_value if made.dtype == first.dtype else of_place)(made, out, template, first)
    return refuses


def _if_castable(otherwise: str, casts: Callable = lambda template: False) -> Callable:
    """For ops that first ask whether the result can be cast, and then want its dtype all the same, unless they cast it."""
    def refuses(made: Any, out: Any, template: tuple, first: Any) -> None:
        castable = dtypes.can_cast(dtypes.of_numpy(np.dtype(made.dtype)), dtypes.of_numpy(np.dtype(out.dtype)))
        if not (castable and casts(template)):
            _refusal(_EXPECTED if castable else otherwise)(made, out, template, first)
    return refuses


def _is_copied(template: tuple) -> bool:
    """Whether a power of a matrix is squared several times, or the matrix itself; other products are made in ``out=``."""
    n = abs(template[1])
    return n == 0 or template[1] == 1 or (n >= 4 and n & (n - 1) == 0)


_RULES: dict[str, Callable] = {
    **{name: _refusal(text) for text, names in _TEXTS.items() for name in names.split()},
    **{f"fft.{op}": _unless(promotion.is_complex, "complex", name) for op, name in _COMPLEX.items()},
    **{f"fft.{op}": _unless(promotion.is_float, "floating point", name) for op, name in _REAL.items()},
    **{name: _only_bool(name) for name in ("all", "any")},
    "kthvalue": _value_and_place("output values must be of same type as input", "output indices must be of scalar type {made}"),
    "mode": _value_and_place("expected scalar type '{made}' but got '{out}' for values output",
                             "expected scalar type '{made}' but got '{out}' for indices output"),
    **{name: _value_and_place("Expected tensor for 'values' to have the same type as tensor for argument #2 'self'; but type "
                              "{out_type} does not equal {made_type} (while checking arguments for median)",
                              "Expected tensor for argument #1 'indices' to have scalar type {made}; but got {out_type} instead "
                              "(while checking arguments for median)") for name in ("median", "nanmedian")},
    "diag": _if_castable("diag: result type {made} can't be cast to the desired out= type {out}"),
    "linalg.matrix_power":
        _if_castable("matrix_power: Expected result to be safely castable from {made} dtype, but got result with dtype {out}",
                     _is_copied),
    "abs": _abs, "clamp": _clamp, "clamp_min": _clamp, "clamp_max": _clamp, "max": _extreme, "min": _extreme, "matmul": _matmul}


def rule_of(name: str) -> Callable | None:
    """A function of a result, an ``out=`` of another dtype, the call's template and its first argument; None for a mere cast."""
    return _RULES.get(name)
