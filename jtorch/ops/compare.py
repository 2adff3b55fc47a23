"""Comparison ops. See https://docs.pytorch.org/docs/stable/torch.html#comparison-ops."""
from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from jtorch.ops import check, out_dtypes, promotion
from jtorch.ops.elementwise import broadcast, derivative, kind, unsupported
from jtorch.ops.facts import InPlace, Out
from jtorch.ops.layout import ISFINITE, ISINF, ISREAL, ITERATED
from jtorch.ops.registry import Number, T, Tensor, op


def _inplace(name: str):
    return lambda template: f"{name}Backward{int(template[1] is T)}"


@op(promote="bool", operators=("__eq__",), differentiable=False, inplace=InPlace(name=_inplace("Eq")))
def eq(input: Tensor, other: Tensor | Number):
    """Return whether the elements are equal. See torch.eq."""
    return input == other


@op(promote="bool", aliases=("not_equal",), operators=("__ne__",), differentiable=False,
    inplace=InPlace(name=_inplace("Ne")))
def ne(input: Tensor, other: Tensor | Number):
    """Return whether the elements differ. See torch.ne."""
    return input != other


@op(promote="bool", aliases=("less",), operators=("__lt__",), differentiable=False,
    inplace=InPlace(name=_inplace("Lt")), result_dtype=np.bool_)
def lt(input: Tensor, other: Tensor | Number):
    """Return whether ``input`` is less. See torch.lt."""
    unsupported("lt_cpu", input, "c")
    return input < other


@op(promote="bool", aliases=("less_equal",), operators=("__le__",), differentiable=False,
    inplace=InPlace(name=_inplace("Le")), result_dtype=np.bool_)
def le(input: Tensor, other: Tensor | Number):
    """Return whether ``input`` is less or equal. See torch.le."""
    unsupported("le_cpu", input, "c")
    return input <= other


@op(promote="bool", aliases=("greater",), operators=("__gt__",), differentiable=False,
    inplace=InPlace(name=_inplace("Gt")), result_dtype=np.bool_)
def gt(input: Tensor, other: Tensor | Number):
    """Return whether ``input`` is greater. See torch.gt."""
    unsupported("gt_cpu", input, "c")
    return input > other


@op(promote="bool", aliases=("greater_equal",), operators=("__ge__",), differentiable=False,
    inplace=InPlace(name=_inplace("Ge")), result_dtype=np.bool_)
def ge(input: Tensor, other: Tensor | Number):
    """Return whether ``input`` is greater or equal. See torch.ge."""
    unsupported("ge_cpu", input, "c")
    return input >= other


def _require_tolerances(rtol: float, atol: float) -> None:
    for name, value in (("rtol", rtol), ("atol", atol)):
        check.require(value >= 0, f"{name} must be greater than or equal to zero, but got {value:g}")


@op(out=False, differentiable=False, composite=True, layout=ITERATED)
def isclose(input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False):
    """Return whether the elements differ by no more than ``atol + rtol * |other|``. See torch.isclose."""
    check.require(input.dtype == other.dtype,
                  f"{check.scalar_name(input.dtype)} did not match {check.scalar_name(other.dtype)}")
    _require_tolerances(rtol, atol)
    input, other = broadcast(input, other)
    close = input == other
    if equal_nan and kind(input) in "fc":
        close = close | (jnp.isnan(input) & jnp.isnan(other))
    if rtol == 0 and atol == 0:
        return close
    if kind(input) in "bi":
        default = promotion.to_float(np.dtype(input.dtype))
        input, other = input.astype(default), other.astype(default)
    error = jnp.abs(input - other)
    allowed = jnp.asarray(atol, error.dtype) + jnp.asarray(rtol, error.dtype) * jnp.abs(other)
    return close | (jnp.isfinite(error) & (error <= allowed))


@op(name="all_close", method=False, function=False, out=False, differentiable=False, tested=False)
def all_close(input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False):
    """Return whether all elements are close: ``isclose(...).all()``, what torch.allclose reads."""
    return jnp.all(isclose(input, other, rtol, atol, equal_nan))


@op(name="all_equal", method=False, function=False, out=False, differentiable=False, tested=False)
def all_equal(input: Tensor, other: Tensor):
    """Return whether the tensors have the same size and elements: what torch.equal reads."""
    if input.shape != other.shape:
        return jnp.zeros((), bool)
    check.require(input.dtype == other.dtype, f"Expected object of data type {check.scalar_name(input.dtype)} but got "
                  f"data type {check.scalar_name(other.dtype)} for argument #2 'other'")
    return jnp.all(input == other)


@op(differentiable=False, method=False, out=Out(refuses=out_dtypes.EXPECTED))
def isin(elements: Tensor | Number, test_elements: Tensor | Number, *, assume_unique: bool = False,
         invert: bool = False):
    """Return whether each element is one of ``test_elements``. See torch.isin."""
    for x in (elements, test_elements):
        check.require(kind(x) not in "bc",
                      f"Unsupported input type encountered for isin(): {check.scalar_name(x.dtype)}")
    common = promotion.promote_types(np.dtype(elements.dtype), np.dtype(test_elements.dtype))
    found = jnp.isin(elements.astype(common), test_elements.astype(common), invert=invert)
    return found.reshape(elements.shape)


@op(out=False, differentiable=False, composite=True, layout=ISFINITE)
def isfinite(input: Tensor):
    """Return whether each element is finite. See torch.isfinite."""
    return jnp.isfinite(input) if kind(input) in "fc" else jnp.ones(input.shape, bool)


@op(out=False, differentiable=False, layout=ISINF)
def isinf(input: Tensor):
    """Return whether each element is infinite. See torch.isinf."""
    return jnp.isinf(input) if kind(input) in "fc" else jnp.zeros(input.shape, bool)


@op(out=False, differentiable=False, layout=ITERATED)
def isnan(input: Tensor):
    """Return whether each element is NaN. See torch.isnan."""
    return input != input


@op(differentiable=False, layout=ITERATED,
    out=Out(refuses=out_dtypes.refusal("isposinf does not support non-boolean outputs.")))
def isposinf(input: Tensor):
    """Return whether each element is positive infinity. See torch.isposinf."""
    check.require(kind(input) != "c", "isposinf does not support complex inputs.")
    return input == jnp.inf if kind(input) == "f" else jnp.zeros(input.shape, bool)


@op(differentiable=False, layout=ITERATED,
    out=Out(refuses=out_dtypes.refusal("isneginf does not support non-boolean outputs.")))
def isneginf(input: Tensor):
    """Return whether each element is negative infinity. See torch.isneginf."""
    check.require(kind(input) != "c", "isneginf does not support complex inputs.")
    return input == -jnp.inf if kind(input) == "f" else jnp.zeros(input.shape, bool)


@op(out=False, differentiable=False, layout=ISREAL)
def isreal(input: Tensor):
    """Return whether each element has no imaginary part. See torch.isreal."""
    return input.imag == 0 if kind(input) == "c" else jnp.ones(input.shape, bool)


def _share(t, a, b, loses):
    """Return the part of the tangent ``t`` that ``a`` passes on: all if it wins, half at a tie, 0 (even of nan) if it loses."""
    return jnp.where(loses, 0, jnp.where(a == b, t / 2, t))


@derivative(lambda t, r, a, b: _share(t, a, b, a < b), lambda t, r, a, b: _share(t, b, a, a > b))
def _maximum(a, b):
    return jnp.maximum(a, b)


@derivative(lambda t, r, a, b: _share(t, a, b, a > b), lambda t, r, a, b: _share(t, b, a, a < b))
def _minimum(a, b):
    return jnp.minimum(a, b)


@op(promote="numeric", inplace=False)
def maximum(input: Tensor, other: Tensor):
    """Return the greater of two elements, NaN if either is. See torch.maximum."""
    check.require(kind(input) != "c", "maximum not implemented for complex tensors.")
    return _maximum(input, other)


@op(promote="numeric", inplace=False)
def minimum(input: Tensor, other: Tensor):
    """Return the lesser of two elements, NaN if either is. See torch.minimum."""
    check.require(kind(input) != "c", "minimum not implemented for complex tensors.")
    return _minimum(input, other)


@op(promote="numeric", inplace=False)
def fmax(input: Tensor, other: Tensor):
    """Return the greater of two elements, ignoring a NaN. See torch.fmax."""
    check.require(kind(input) != "c", "fmax not implemented for complex tensors.")
    return jnp.where((input >= other) | (other != other), input, other)


@op(promote="numeric", inplace=False)
def fmin(input: Tensor, other: Tensor):
    """Return the lesser of two elements, ignoring a NaN. See torch.fmin."""
    check.require(kind(input) != "c", "fmin not implemented for complex tensors.")
    return jnp.where((input <= other) | (other != other), input, other)
