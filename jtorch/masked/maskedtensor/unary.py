"""Elementwise operators of one masked tensor: the operator on the data, and the mask as it is."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jtorch._library.namespaces import ops
from jtorch.masked.maskedtensor import places
from jtorch.masked.maskedtensor.core import data_of, wrapped
from jtorch.tensor import Tensor

UNARY_NAMES = """
    abs absolute acos arccos acosh arccosh angle asin arcsin asinh arcsinh atan arctan atanh arctanh bitwise_not ceil clamp clip
    conj_physical cos cosh deg2rad digamma erf erfc erfinv exp exp2 expm1 fix floor frac lgamma log log10 log1p log2 logit i0
    isnan nan_to_num neg negative positive pow rad2deg reciprocal round rsqrt sigmoid sign sgn signbit sin sinc sinh sqrt square
    tan tanh trunc
""".split()
INPLACE_UNARY_NAMES = [f"{n}_" for n in UNARY_NAMES if n not in ("angle", "positive", "signbit", "isnan")]
UNARY_NAMES_UNSUPPORTED = """
    atan2 arctan2 bitwise_left_shift bitwise_right_shift copysign float_power fmod frexp gradient imag ldexp lerp logical_not
    hypot igamma igammac mvlgamma nextafter polygamma real remainder true_divide xlogy
""".split()


def _unary(func: Any, inplace: bool) -> Callable:
    def run(*args: Any, **kwargs: Any) -> Any:
        if kwargs:
            raise ValueError("MaskedTensor unary ops require that len(kwargs) == 0. If you need support for this, please open an "
                             "issue on Github.")
        if any([isinstance(a, Tensor) for a in args[1:]]):
            raise TypeError("MaskedTensor unary ops do not support additional Tensor arguments")
        target = args[0]
        stored = places.Stored(data_of(target))
        made = stored.rebuilt(func(stored.values, *args[1:]))
        if not inplace:
            return wrapped(made, target._masked_mask)
        target._set_data_mask(made, target._masked_mask)
        return target
    return run


_aten = ops.aten
NATIVE_UNARY_MAP = {getattr(_aten, name): _unary(getattr(_aten, name), False) for name in UNARY_NAMES}
NATIVE_INPLACE_UNARY_MAP = {getattr(_aten, name): _unary(getattr(_aten, name), True) for name in INPLACE_UNARY_NAMES}
NATIVE_UNARY_FNS, NATIVE_INPLACE_UNARY_FNS = list(NATIVE_UNARY_MAP), list(NATIVE_INPLACE_UNARY_MAP)
