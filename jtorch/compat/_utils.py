"""torch._utils: small helpers that packages import."""
from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator
from typing import Any

from jtorch import cuda
from jtorch._api.flattening import flattened, unflattened
from jtorch.device import accelerator_type
from jtorch.device import device as _device
from jtorch.dtype import dtype as _dtype
from jtorch.serialization.pickler import state_of
from jtorch.serialization.rebuild import (
    _rebuild_device_tensor_from_cpu_tensor as _rebuild_device_tensor_from_cpu_tensor,
)
from jtorch.serialization.rebuild import _rebuild_device_tensor_from_numpy as _rebuild_device_tensor_from_numpy
from jtorch.serialization.rebuild import _rebuild_meta_tensor_no_storage as _rebuild_meta_tensor_no_storage
from jtorch.serialization.rebuild import _rebuild_parameter as _rebuild_parameter
from jtorch.serialization.rebuild import _rebuild_parameter_with_state as _rebuild_parameter_with_state
from jtorch.serialization.rebuild import _rebuild_qtensor as _rebuild_qtensor
from jtorch.serialization.rebuild import _rebuild_sparse_tensor as _rebuild_sparse_tensor
from jtorch.serialization.rebuild import _rebuild_tensor as _rebuild_tensor
from jtorch.serialization.rebuild import _rebuild_tensor_v2 as _rebuild_tensor_v2
from jtorch.serialization.rebuild import _rebuild_tensor_v3 as _rebuild_tensor_v3
from jtorch.serialization.rebuild import _rebuild_wrapper_subclass as _rebuild_wrapper_subclass
from jtorch.serialization.rebuild import set_state as _set_obj_state  # noqa: F401
from jtorch.tensor import Tensor
from jtorch.utils.data._utils.errors import ExceptionWrapper as ExceptionWrapper
from jtorch.utils.data._utils.errors import _KeyErrorText as KeyErrorMessage

__all__ = ["ExceptionWrapper", "KeyErrorMessage"]


def _element_size(dtype: _dtype) -> int:
    """Return the size of an element in bytes."""
    return dtype.itemsize


def _get_obj_state(obj: Any) -> Any:
    """Return the attributes and slots that the user set on a tensor, or the result of the class's ``__getstate__``."""
    return state_of(obj)


def _get_available_device_type() -> str | None:
    """Return the type of the accelerator, such as ``cuda``; None if there is only a CPU."""
    return accelerator_type()


def _get_device_module(device_type: str) -> Any:
    """Return the module of a type of device: ``torch.cuda`` for ``cuda``."""
    try:
        return importlib.import_module(f"jtorch.{device_type}")
    except ModuleNotFoundError:
        raise RuntimeError(f"Device '{device_type}' does not have a corresponding module registered as "
                           f"'torch.{device_type}'.") from None


def _get_device_index(device: Any, optional: bool = False, allow_cpu: bool = False) -> int:
    """Return the index of a device; the current one's if ``optional``; -1 for the CPU if ``allow_cpu``."""
    found = _device(device) if isinstance(device, str) else device
    if isinstance(found, _device) and found.type == "cpu":
        if not allow_cpu:
            raise ValueError(f"Expected a non cpu device, but got: {found}")
        return -1
    index = found.index if isinstance(found, _device) else found
    if index is None and not optional:
        raise ValueError(f"Expected a torch.device with a specified index or an integer, but got:{device}")
    return index if index is not None else cuda.current_device() if cuda.is_available() else -1


def _flatten_dense_tensors(tensors: Any) -> Tensor:
    """Return all elements of all tensors as one flat tensor."""
    return flattened(tensors)


def _unflatten_dense_tensors(flat: Tensor, tensors: Any) -> tuple[Tensor, ...]:
    """Return the parts of a flat tensor, in the shapes of ``tensors``."""
    return tuple(unflattened(flat, tensors))


def _is_privateuse1_backend_available() -> bool:
    """Return False: custom devices cannot be registered."""
    return False


def is_compiling() -> bool:
    """Return False: torch.compile does not trace the user's code."""
    return False


def _import_dotted_name(name: str) -> Any:
    """Return the object ``a.b.c``, where ``a`` is a module."""
    first, *parts = name.split(".")
    found = importlib.import_module(first)
    for part in parts:
        found = getattr(found, part)
    return found


class _ClassPropertyDescriptor:
    def __init__(self, fget: Any, fset: Any = None):
        self.fget = fget

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self.fget.__get__(instance, owner or type(instance))()


def classproperty(func: Any) -> _ClassPropertyDescriptor:
    """Return a property of a class."""
    return _ClassPropertyDescriptor(func if isinstance(func, (classmethod, staticmethod)) else classmethod(func))


def _take_tensors(tensors: Iterable[Tensor], size_limit: int) -> Iterator[list[Tensor]]:
    """Yield groups of tensors of one type, each of at most ``size_limit`` bytes unless it is a single tensor."""
    groups: dict[str, tuple[list[Tensor], int]] = {}
    for tensor in tensors:
        kind, size = tensor.type(), _bytes(tensor)      # type: ignore[attr-defined]
        group, taken = groups.get(kind, ([], 0))
        if group and taken + size > size_limit:
            yield group
            group, taken = [], 0
        groups[kind] = [*group, tensor], taken + size
    yield from [group for group, _ in groups.values() if group]


def _bytes(t: Any) -> int:
    parts = (t._indices(), t._values()) if t.is_sparse else (t,)
    return sum(part.numel() * part.element_size() for part in parts)

