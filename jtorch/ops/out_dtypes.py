"""PyTorch's errors for dtypes of ``out=`` to which it does not cast a result. Ops name their error by ``Out(refuses=…)``.

Most structured kernels require the result's dtype. Most TensorIterator kernels cast.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import jtorch.dtype as dtypes
from jtorch.ops import check, promotion


def refusal(text: str) -> Callable:
    """Return a function that raises this message. {made}, {out}: the dtypes; {made_cpp}, {out_cpp}: their C++ names; {made_type},
    {out_type}: their tensor types.
    """
    def refuses(made: Any, out: Any, template: tuple, first: Any) -> None:
        raise RuntimeError(text.format(made=check.scalar_name(made.dtype), out=check.scalar_name(out.dtype),
                                       made_cpp=check.cpp_name(made.dtype), out_cpp=check.cpp_name(out.dtype),
                                       made_type=check.type_name(made.dtype), out_type=check.type_name(out.dtype)))
    return refuses


def of_safe_cast(name: str) -> Callable:
    """Return the check of functions of matrices that cast their result into ``out`` if that loses nothing."""
    return _if_castable(f"{name}: Expected result to be safely castable from {{made}} dtype, but got result with dtype {{out}}",
                        lambda template: True)


FOUND = refusal("Found dtype {out} but expected {made}")
EXPECTED = refusal("Expected out tensor to have dtype {made_cpp}, but got {out_cpp} instead")
OF_DOT = refusal("result dtype {out} does not match input dtype {made}")


def expects_complex(name: str) -> Callable:
    """Return the check of FFTs with complex results, whose message names the inner function."""
    return _unless(promotion.is_complex, "complex", name)


def expects_floating(name: str) -> Callable:
    """Return the check of FFTs with real results."""
    return _unless(promotion.is_float, "floating point", name)


def _unless(fits: Callable, what: str, name: str) -> Callable:
    def refuses(made: Any, out: Any, *rest: Any) -> None:
        check.require(fits(out.dtype), f"{name} expects a {what} output tensor, but got "
                      f"{check.scalar_name(out.dtype)}")
        if name in ("ifft", "ihfft"):       # PyTorch scales the results of ifft and ihfft in ``out``
            FOUND(made, out, *rest)
    return refuses


def only_bool(name: str) -> Callable:
    """Return the check of ``all`` and ``any``, which allow uint8."""
    def refuses(made: Any, out: Any, *rest: Any) -> None:
        check.require(out.dtype == np.uint8, f"{name} only supports bool tensor for result, got: {check.scalar_name(out.dtype)}")
    return refuses


def of_abs(made: Any, out: Any, template: tuple, first: Any) -> None:
    """Check ``out`` of abs: magnitudes of complex numbers may be cast to real dtypes."""
    casts = promotion.is_complex(first.dtype) and not promotion.is_complex(out.dtype)
    if not casts and out.dtype != first.dtype:
        FOUND(first, out, template, first)


def of_extreme(made: Any, out: Any, template: tuple, first: Any) -> None:
    """Check ``out`` of max and min: only results along a dim are not cast."""
    if isinstance(template[1], int):
        EXPECTED(made, out, template, first)


def of_matmul(made: Any, out: Any, template: tuple, first: Any) -> None:
    """Check ``out`` of matmul, with the message of the inner product."""
    (EXPECTED if first.shape[1:] or made.shape else OF_DOT)(made, out, template, first)


def of_clamp(made: Any, out: Any, template: tuple, first: Any) -> None:
    """Check ``out`` of clamp, which casts only if a bound is a tensor."""
    if not any([getattr(bound, "number_type", 1) is None for bound in template[1:]]):
        FOUND(made, out, template, first)


def _value_and_place(of_value: str, of_place: str) -> Callable:
    """Return the check for ops with values and indices along a dim, with a message for each result."""
    def refuses(made: Any, out: Any, template: tuple, first: Any) -> None:
        refusal(of_value if made.dtype == first.dtype else of_place)(made, out, template, first)
    return refuses


def _if_castable(otherwise: str, casts: Callable = lambda template: False) -> Callable:
    """Return the check of ops that first require a castable result and then, unless ``casts``, the exact dtype."""
    def refuses(made: Any, out: Any, template: tuple, first: Any) -> None:
        castable = dtypes.can_cast(dtypes.of_numpy(np.dtype(made.dtype)), dtypes.of_numpy(np.dtype(out.dtype)))
        if not (castable and casts(template)):
            (EXPECTED if castable else refusal(otherwise))(made, out, template, first)
    return refuses


def _is_copied(template: tuple) -> bool:
    """Return whether PyTorch copies the result of a matrix power into ``out`` instead of computing the last product there."""
    n = abs(template[1])
    return n == 0 or template[1] == 1 or (n >= 4 and n & (n - 1) == 0)


OF_KTHVALUE = _value_and_place("output values must be of same type as input", "output indices must be of scalar type {made}")
OF_MODE = _value_and_place("expected scalar type '{made}' but got '{out}' for values output",
                           "expected scalar type '{made}' but got '{out}' for indices output")
OF_MEDIAN = _value_and_place("Expected tensor for 'values' to have the same type as tensor for argument #2 'self'; but type "
                             "{out_type} does not equal {made_type} (while checking arguments for median)",
                             "Expected tensor for argument #1 'indices' to have scalar type {made}; but got {out_type} instead "
                             "(while checking arguments for median)")
OF_DIAG = _if_castable("diag: result type {made} can't be cast to the desired out= type {out}")
OF_MATRIX_POWER = _if_castable(
    "matrix_power: Expected result to be safely castable from {made} dtype, but got result with dtype {out}", _is_copied)
