"""Elementwise operators of two tensors. One is masked, or both are and their masks are equal."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jtorch._base.layout import sparse_coo, strided
from jtorch._library.namespaces import ops
from jtorch.masked.maskedtensor import places
from jtorch.masked.maskedtensor.core import data_of, is_masked_tensor, masks_match, tensors_match, wrapped
from jtorch.tensor import Tensor

BINARY_NAMES = """
    add atan2 arctan2 bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift div divide floor_divide fmod
    logaddexp logaddexp2 mul multiply nextafter remainder sub subtract true_divide eq ne le ge greater greater_equal gt less_equal
    lt less maximum minimum fmax fmin not_equal
""".split()
_NEVER_IN_PLACE = ("logaddexp", "logaddexp2", "fmin", "minimum", "maximum", "fmax")
INPLACE_BINARY_NAMES = [f"{n}_" for n in BINARY_NAMES if n not in _NEVER_IN_PLACE]


def _binary(func: Any, inplace: bool) -> Callable:
    def run(*args: Any, **kwargs: Any) -> Any:
        _check(args, kwargs)
        made = _of_data(func, [data_of(a) for a in args])
        if inplace:
            args[0]._set_data_mask(made, args[0]._masked_mask)
            return args[0]
        mask = next(a for a in args[:2] if is_masked_tensor(a)).get_mask()
        return wrapped(made, mask.expand_as(made) if made.layout is strided else mask)
    return run


def _check(args: tuple, kwargs: dict) -> None:
    if kwargs:
        raise ValueError("len(kwargs) must equal 0")
    if any([isinstance(a, Tensor) for a in args[2:]]):
        raise TypeError("MaskedTensor binary ops do not support Tensor arguments aside from the lhs and rhs")
    if not masks_match(*args[:2]):
        raise ValueError("Input masks must match. If you need support for this, please open an issue on Github.")


def _of_data(func: Any, args: list) -> Tensor:
    """Return the operator's result for data without masks. For sparse data only the stored values are computed."""
    first, second = args[:2]
    if not isinstance(first, Tensor) or first.layout is strided:
        return func(*args)
    stored, other = places.Stored(first), second
    if isinstance(second, Tensor) and second.layout is first.layout:
        _check_places(first, second)
        other = places.Stored(second).values
    return stored.rebuilt(func(stored.values, other, *args[2:]))


def _check_places(a: Tensor, b: Tensor) -> None:
    if a.layout is sparse_coo:
        if not tensors_match(a.indices(), b.indices()):
            raise ValueError("sparse_coo indices must match. If you need support for this, please open an issue on Github.")
        if a.size() != b.size():
            raise ValueError("input1 and input2 must have the same size for binary functions.")
    elif not (tensors_match(a.crow_indices(), b.crow_indices()) and tensors_match(a.col_indices(), b.col_indices())):
        raise ValueError("sparse_csr indices must match. If you need support for this, please open an issue on Github.")


_aten = ops.aten
NATIVE_BINARY_MAP = {getattr(_aten, name): _binary(getattr(_aten, name), False) for name in BINARY_NAMES}
NATIVE_INPLACE_BINARY_MAP = {getattr(_aten, name): _binary(getattr(_aten, name), True) for name in INPLACE_BINARY_NAMES}
NATIVE_BINARY_FNS, NATIVE_INPLACE_BINARY_FNS = list(NATIVE_BINARY_MAP), list(NATIVE_INPLACE_BINARY_MAP)
