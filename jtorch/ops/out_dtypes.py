"""Which dtypes of ``out=`` PyTorch does not cast a result to, and in which words: an op names its own, ``Out(refuses=…)``.

Most structured kernels want exactly the result's dtype; calls of TensorIterator cast, but for those that forbid it.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import jtorch.dtype as dtypes
from jtorch.ops import check, promotion


def refusal(text: str) -> Callable:
    """Refuses in these words. {made}, {out}: the dtypes' names; {made_cpp}, {out_cpp}: those of C++; {made_type}, {out_type}:
    those of tensors.
    """
    def refuses(made: Any, out: Any, template: tuple, first: Any) -> None:
        raise RuntimeError(text.format(made=check.scalar_name(made.dtype), out=check.scalar_name(out.dtype),
                                       made_cpp=check.cpp_name(made.dtype), out_cpp=check.cpp_name(out.dtype),
                                       made_type=check.type_name(made.dtype), out_type=check.type_name(out.dtype)))
    return refuses


FOUND = refusal("Found dtype {out} but expected {made}")
EXPECTED = refusal("Expected out tensor to have dtype {made_cpp}, but got {out_cpp} instead")
OF_DOT = refusal("result dtype {out} does not match input dtype {made}")


def expects_complex(name: str) -> Callable:
    """Of FFTs, which ask for numbers of a kind and say the name of what they call."""
    return _unless(promotion.is_complex, "complex", name)


def expects_floating(name: str) -> Callable:
    """Of FFTs that give real numbers."""
    return _unless(promotion.is_float, "floating point", name)


def _unless(fits: Callable, what: str, name: str) -> Callable:
    def refuses(made: Any, out: Any, *rest: Any) -> None:
        check.require(fits(out.dtype), f"{name} expects a {what} output tensor, but got "
                      f"{check.scalar_name(out.dtype)}")
        if name in ("ifft", "ihfft"):       # these scale what they have written
            FOUND(made, out, *rest)
    return refuses


def only_bool(name: str) -> Callable:
    """Of ``all`` and ``any``, which give uint8 for uint8."""
    def refuses(made: Any, out: Any, *rest: Any) -> None:
        check.require(out.dtype == np.uint8, f"{name} only supports bool tensor for result, got: {check.scalar_name(out.dtype)}")
    return refuses


def of_abs(made: Any, out: Any, template: tuple, first: Any) -> None:
    """The sizes of complex numbers are written to complex numbers of the same precision, or cast."""
    casts = promotion.is_complex(first.dtype) and not promotion.is_complex(out.dtype)
    if not casts and out.dtype != first.dtype:
        FOUND(first, out, template, first)


def of_extreme(made: Any, out: Any, template: tuple, first: Any) -> None:
    """Casts where all elements are reduced, or two tensors are compared."""
    if isinstance(template[1], int):
        EXPECTED(made, out, template, first)


def of_matmul(made: Any, out: Any, template: tuple, first: Any) -> None:
    """In the words of what it calls."""
    (EXPECTED if first.shape[1:] or made.shape else OF_DOT)(made, out, template, first)


def of_clamp(made: Any, out: Any, template: tuple, first: Any) -> None:
    """Casts where a bound is a tensor."""
    if not any([getattr(bound, "number_type", 1) is None for bound in template[1:]]):
        FOUND(made, out, template, first)


def _value_and_place(of_value: str, of_place: str) -> Callable:
    """For the two results of ops that find an element along a dim: each has a text of its own."""
    def refuses(made: Any, out: Any, template: tuple, first: Any) -> None:
        refusal(of_value if made.dtype == first.dtype else of_place)(made, out, template, first)
    return refuses


def _if_castable(otherwise: str, casts: Callable = lambda template: False) -> Callable:
    """For ops that first ask whether the result can be cast, and then want its dtype all the same, unless they cast it."""
    def refuses(made: Any, out: Any, template: tuple, first: Any) -> None:
        castable = dtypes.can_cast(dtypes.of_numpy(np.dtype(made.dtype)), dtypes.of_numpy(np.dtype(out.dtype)))
        if not (castable and casts(template)):
            (EXPECTED if castable else refusal(otherwise))(made, out, template, first)
    return refuses


def _is_copied(template: tuple) -> bool:
    """Whether a power of a matrix is squared several times, or the matrix itself; other products are made in ``out=``."""
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
