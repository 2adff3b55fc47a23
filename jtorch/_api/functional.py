"""torch's functions that are not ops: predicates, defaults, and functions that return Python values."""
from __future__ import annotations

import math
import os
from typing import Any

import numpy as np

import jtorch.dtype as dtypes
from jtorch import engine
from jtorch._api import functions
from jtorch._api.argument_errors import type_name
from jtorch._api.creation import from_host
from jtorch._api.names import put
from jtorch._base import deterministic
from jtorch._base.deterministic import choose
from jtorch._storage.typed import TypedStorage
from jtorch._storage.untyped import UntypedStorage
from jtorch.dispatch import call
from jtorch.dtype import can_cast
from jtorch.engine import call_of
from jtorch.no_grad import no_grad
from jtorch.ops import promotion
from jtorch.ops.registry import OPS, T
from jtorch.storage import aval_of
from jtorch.tensor import Tensor, class_of, with_grad


def is_tensor(obj: Any, /) -> bool:
    """Return whether ``obj`` is a tensor. See torch.is_tensor."""
    return isinstance(obj, Tensor)


def is_storage(obj: Any, /) -> bool:
    """Return whether ``obj`` is a storage. See torch.is_storage."""
    return isinstance(obj, (UntypedStorage, TypedStorage))


def numel(input: Tensor) -> int:
    """Return the number of elements. See torch.numel."""
    return aval_of(input).numel


def is_floating_point(input: Tensor) -> bool:
    """Return whether the dtype is a real floating-point dtype. See torch.is_floating_point."""
    return aval_of(input).dtype.is_floating_point


def is_complex(input: Tensor) -> bool:
    """Return whether the dtype is complex. See torch.is_complex."""
    return aval_of(input).dtype.is_complex


def is_nonzero(input: Tensor) -> bool:
    """Return whether the only element is not zero. See torch.is_nonzero."""
    n = aval_of(input).numel
    if n != 1:
        raise RuntimeError("Boolean value of Tensor with " + ("no values" if not n else "more than one value")
                           + " is ambiguous")
    return bool(class_of(input).item(input))


def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Return whether two tensors have the same shape."""
    return aval_of(input).shape == aval_of(other).shape


def equal(input: Tensor, other: Tensor) -> bool:
    """Return whether two tensors have the same shape and elements. See torch.equal."""
    if not isinstance(other, Tensor):
        raise TypeError(f"equal(): argument 'other' (position 2) must be Tensor, not {type(other).__name__}")
    if not is_same_size(input, other):
        return False
    if not aval_of(input).numel:
        return True
    same = functions.all(functions.eq(input, other))
    return bool(class_of(same).item(same))


def allclose(input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    """Return whether all elements are close. See torch.allclose."""
    for at, (name, t) in enumerate((("input", input), ("other", other)), 1):
        if not isinstance(t, Tensor):
            raise TypeError(f"allclose(): argument '{name}' (position {at}) must be Tensor, not {type_name(t)}")
    for at, (name, tolerance) in enumerate((("rtol", rtol), ("atol", atol)), 3):
        if not isinstance(tolerance, (int, float, np.number)):
            raise TypeError(f"allclose(): argument '{name}' (position {at}) must be float, not {type_name(tolerance)}")
    first, second = aval_of(input).dtype, aval_of(other).dtype
    if first is not second:
        raise RuntimeError(f"{first.scalar_name} did not match {second.scalar_name}")
    with no_grad():
        close = call(call_of(OPS["isclose"], (T, T, *_tolerances(rtol, atol, equal_nan))), (input, other))
    close = functions.all(close)
    return bool(class_of(close).item(close))


def _tolerances(rtol: float, atol: float, equal_nan: bool) -> tuple:
    from jtorch.ops.registry import freeze
    return freeze(float(rtol)), freeze(float(atol)), bool(equal_nan)


def get_default_dtype() -> dtypes.dtype:
    """Return the dtype of tensors made from Python floats. See torch.get_default_dtype."""
    return dtypes.get_default_dtype()


def set_default_dtype(d: dtypes.dtype, /) -> None:
    """Set the dtype of tensors made from Python floats. See torch.set_default_dtype."""
    if not isinstance(d, dtypes.dtype) or not d.is_floating_point:
        raise TypeError(("invalid dtype object: " if not isinstance(d, dtypes.dtype) else "")
                        + "only floating-point types are supported as the default type")
    if d is not dtypes.get_default_dtype():
        engine.forget()     # first, so that pending calls are computed with the old default
        dtypes.use_default(d)


def promote_types(type1: dtypes.dtype, type2: dtypes.dtype) -> dtypes.dtype:
    """Return the smallest dtype to which both promote. See torch.promote_types."""
    return dtypes.of_numpy(promotion.promote_types(type1.np, type2.np))


def result_type(tensor1: Any, tensor2: Any) -> dtypes.dtype:
    """Return the dtype in which an operation on two operands computes. See torch.result_type."""
    def operand(x):
        if isinstance(x, Tensor):
            return x.dtype.np, promotion.DIM if x.dim() else promotion.ZERO_DIM
        return dtypes.default_of_number(type(x)), promotion.NUMBER
    return dtypes.of_numpy(promotion.result_type([operand(tensor1), operand(tensor2)]))


def broadcast_shapes(*shapes: Any):
    """Return the common shape to which shapes broadcast. See torch.broadcast_shapes."""
    from jtorch._base.size import Size
    from jtorch.ops.check import broadcast_shapes as common
    result: tuple = ()
    for k, s in enumerate(shapes):
        shape = (s,) if isinstance(s, int) else tuple(s)
        try:
            result = common(result, shape)
        except RuntimeError:
            _raise_mismatch(result, shape, k)
    return Size(result)


def _raise_mismatch(so_far: tuple, shape: tuple, k: int) -> None:
    for i in range(-1, -1 - min(len(so_far), len(shape)), -1):
        if shape[i] != so_far[i] and 1 not in (shape[i], so_far[i]):
            raise RuntimeError(f"Attempting to broadcast a dimension of length {shape[i]} at {i}! Mismatching argument at "
                               f"index {k} had {shape}; but expected shape should be broadcastable to {list(so_far)}")


class _Threads:
    """The chosen numbers of intra-op and inter-op threads; 0 if none was chosen."""

    number = between = 0


_threads = _Threads()


def get_num_threads() -> int:
    """Return the number of threads that an op may use. See torch.get_num_threads."""
    return _threads.number or _cores()


def set_num_threads(n: int) -> None:
    """Set the number of threads that an op may use on the CPU. See torch.set_num_threads.

    NumPy's OpenBLAS uses this number at once. With 1, programs compiled later run in one thread too.
    XLA's thread pool keeps its size, the number of cores that the process may use.
    """
    _threads.number = _checked_number(n, "set_num_threads")
    engine.use_threads(_threads.number)


def get_num_interop_threads() -> int:
    """Return the number that was set, or the number of cores. See torch.get_num_interop_threads."""
    return _threads.between or _cores()


def set_num_interop_threads(n: int) -> None:
    """Set the number for ``get_num_interop_threads``. It has no other effect. See torch.set_num_interop_threads."""
    _threads.between = _checked_number(n, "set_num_interop_threads")


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _checked_number(n: int, name: str) -> int:
    if not isinstance(n, (int, np.integer)) or isinstance(n, bool):
        raise RuntimeError(f"{name} expects an int, but got {type(n).__name__}")
    if n >= 1 << 63:
        raise ValueError("Overflow when unpacking long long")
    if n <= 0:
        raise RuntimeError(f"{name} expects a positive integer")
    return int(n)


def scalar_tensor(s: Any, *, dtype: dtypes.dtype | None = None, layout: Any = None, device: Any = None, pin_memory: bool = False,
                  requires_grad: bool = False) -> Tensor:
    """Return a 0-dim tensor of a number, by default in the default dtype. See torch.scalar_tensor."""
    d = dtypes.as_dtype(dtype, "scalar_tensor") or dtypes.get_default_dtype()
    if not isinstance(s, (int, float, complex, np.generic, Tensor)):
        raise TypeError(f"scalar_tensor(): argument 's' (position 1) must be Number, not {type(s).__name__}")
    dtypes.check_fits(s.item() if isinstance(s, Tensor) else s, d, scalar=True)
    made = from_host(np.asarray(s).astype(d.np))
    return with_grad(made, requires_grad)


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Turn deterministic mode on or off. See torch.use_deterministic_algorithms.

    The mode only fills new memory, since all algorithms are deterministic.
    """
    for name, given in ((" 'mode' (position 1)", mode), (" 'warn_only'", warn_only)):
        if not isinstance(given, bool):
            raise TypeError(f"_set_deterministic_algorithms(): argument{name} must be bool, not {type(given).__name__}")
    choose(mode, warn_only)


def are_deterministic_algorithms_enabled() -> bool:
    """Return whether deterministic mode is on."""
    return deterministic.Deterministic.on


e, pi, inf, nan, newaxis = math.e, math.pi, math.inf, math.nan, None
NAMES = ("is_tensor is_storage numel is_floating_point is_complex is_nonzero is_same_size equal allclose get_default_dtype "
         "set_default_dtype promote_types result_type can_cast broadcast_shapes get_num_threads set_num_threads "
         "get_num_interop_threads set_num_interop_threads use_deterministic_algorithms "
         "are_deterministic_algorithms_enabled e pi inf nan newaxis").split()
METHODS = ("equal", "allclose", "is_nonzero", "is_same_size")


def bind() -> None:
    """Add the names of this module to the package, and to Tensor those that PyTorch has as methods."""
    put(functions, {n: globals()[n] for n in NAMES})
    put(functions, {"scalar_tensor": scalar_tensor}, replaces=True)
    put(Tensor, {n: globals()[n] for n in METHODS})


__all__ = [*NAMES, "can_cast", "scalar_tensor"]

del _Threads      # torch.functional, which _api/moved.py maps to this file, does not have this name.
