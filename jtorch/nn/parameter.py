"""Parameters and buffers, also uninitialized ones without a shape. See torch.nn.parameter."""
from __future__ import annotations

import sys
from typing import Any

from jtorch import storage
from jtorch._backward.view_history import set_requires_grad
from jtorch.nn.modules._make import empty
from jtorch.no_grad import no_grad
from jtorch.tensor import Parameter as Parameter
from jtorch.tensor import Tensor, alias, blank

_ParameterMeta = type(Parameter)

__all__ = ["Buffer", "Parameter", "UninitializedBuffer", "UninitializedParameter", "is_lazy"]


class _BufferMeta(type):
    """Makes ``isinstance(t, Buffer)`` true for tensors of class Tensor that are marked as buffers."""

    def __instancecheck__(cls, instance: Any) -> bool:
        if cls is Buffer and isinstance(instance, Tensor) and getattr(instance, "_is_buffer", False):
            return True
        return super().__instancecheck__(instance)


class Buffer(Tensor, metaclass=_BufferMeta):
    """A tensor that a module registers as a buffer when it is assigned to an attribute. See torch.nn.Buffer.

    ``Buffer(data)`` is a tensor that shares the memory and is marked as a buffer. ``persistent`` decides if state dicts
    include it.

    Shape: that of ``data``, any dtype.

    >>> class Counter(nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.count = nn.Buffer(torch.zeros(1))
    >>> list(Counter().state_dict())
    ['count']
    """

    persistent: bool

    def __new__(cls, data: Tensor | None = None, *, persistent: bool = True) -> Any:
        t: Any = alias(empty(0) if data is None else data)
        t.persistent, t._is_buffer = persistent, True
        return t.requires_grad_(data is not None and data.requires_grad)


# Modules within the library, whose frames ``_caller`` skips. If jtorch serves as torch, they have PyTorch's names.
_PLUMBING = ("jtorch.dispatch", "jtorch.storage", "torch.storage", "jtorch.tensor", "jtorch.tape", "jtorch._api.generate",
             "jtorch.nn.parameter", "torch.nn.parameter")


class UninitializedTensorMixin:
    """A tensor with a dtype and a device but no elements, until ``materialize`` gives it a shape.

    Every access to the storage raises ValueError, and every op reads the storage.
    """

    cls_to_become: type = Tensor
    _empty: Any         # an empty tensor that holds the dtype and the device
    _requires_grad: bool

    @property
    def _storage(self) -> Any:
        raise ValueError(
            f"Attempted to use an uninitialized parameter in {_caller()}. This error happens when you are using a `LazyModule` "
            f"or explicitly manipulating `torch.nn.parameter.{type(self).__name__}` objects. When using LazyModules Call "
            "`forward` with a dummy batch to initialize the parameters before calling torch functions")

    def materialize(self, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Turn the tensor into an ordinary parameter or buffer of this shape, filled with zeros.

        See torch.nn.UninitializedParameter.
        """
        size = [shape] if isinstance(shape, int) else shape
        made = empty(*size, device=device or self._empty.device, dtype=dtype or self._empty.dtype)
        del self._empty
        self.__class__ = self.cls_to_become     # type: ignore[assignment]
        storage.show(self, made._storage, None)     # type: ignore[arg-type]

    @property
    def shape(self) -> Any:
        """Raise RuntimeError: the tensor has no shape yet."""
        raise RuntimeError("Can't access the shape of an uninitialized parameter or buffer. This error usually happens in "
                           "`load_state_dict` when trying to load an uninitialized parameter into an initialized one. Call "
                           "`forward` to initialize the parameters before accessing their attributes.")

    def share_memory_(self):
        """Raise RuntimeError: the tensor has no memory yet."""
        raise RuntimeError("Can't share memory on an uninitialized parameter or buffer. Call `forward` to initialize the "
                           "parameters before calling `module.share_memory()`.")

    dtype = property(lambda self: self._empty.dtype)
    device = property(lambda self: self._empty.device)
    requires_grad = property(lambda self: self._requires_grad,
                             lambda self, value: set_requires_grad(self, bool(value)))

    @property
    def data(self) -> Any:
        """Return the empty tensor that holds the dtype and the device."""
        return self._empty

    @data.setter
    def data(self, other: Any) -> None:
        self._empty = other._empty if is_lazy(other) else other

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    def __reduce_ex__(self, protocol: Any):
        return type(self), (self._requires_grad,)

    def _like(self: Any, empty: Any) -> Any:
        """Return a tensor of the same class with the dtype and device of ``empty``."""
        return type(self)(self._requires_grad, empty.device, empty.dtype)

    def __deepcopy__(self, memo: dict) -> Any:
        if id(self) not in memo:
            memo[id(self)] = self._like(self._empty)
        return memo[id(self)]


def _through_empty(name: str):
    """Return a method that reads or changes dtype or device, by the same method of the empty tensor."""
    def method(self, *args: Any, **kwargs: Any) -> Any:
        with no_grad():
            made = getattr(self._empty, name)(*args, **kwargs)
        if not isinstance(made, Tensor):
            return made
        return self if made is self._empty else self._like(made)
    method.__name__ = name
    return method


for _name in ("size", "is_complex", "is_floating_point", "get_device", "to", "cpu", "cuda", "type", "half", "float", "double",
              "bfloat16", "char", "short", "int", "long"):
    setattr(UninitializedTensorMixin, _name, _through_empty(_name))


def _caller() -> str:
    """Return the name of the function that the user called."""
    frame: Any = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__") in _PLUMBING:
        frame = frame.f_back
    return str(frame.f_code.co_name)


def is_lazy(param: Any) -> bool:
    """Return whether a parameter or buffer has no shape yet."""
    return isinstance(param, UninitializedTensorMixin)


class UninitializedParameter(UninitializedTensorMixin, Parameter):      # type: ignore[misc, override]
    """A parameter without a shape yet. See torch.nn.parameter.UninitializedParameter.

    Only dtype, device and ``requires_grad`` can be read and changed. ``materialize(shape)`` makes it an ordinary
    parameter. Everything else raises ValueError.

    Shape: none before ``materialize``.

    Args:
        requires_grad (bool): whether the parameter is learned.
        device (device or None): the parameter's device.
        dtype (dtype or None): its dtype, floating or complex.

    Example::

        >>> p = nn.parameter.UninitializedParameter()
        >>> p
        <UninitializedParameter>
        >>> p.materialize((2, 3))
        >>> type(p).__name__, p.shape
        ('Parameter', torch.Size([2, 3]))

    """

    cls_to_become = Parameter

    def __new__(cls, requires_grad: bool = True, device: Any = None, dtype: Any = None):
        t: Any = blank(cls)
        t._empty = empty(0, device=device, dtype=dtype)
        set_requires_grad(t, bool(requires_grad))
        return t

    def __init__(self, requires_grad: bool = True, device: Any = None, dtype: Any = None):
        pass


class UninitializedBuffer(UninitializedTensorMixin, Tensor):        # type: ignore[misc, override]
    """A buffer without a shape yet, like ``UninitializedParameter``. See torch.nn.parameter.UninitializedBuffer.

    Shape: none before ``materialize``.

    Args:
        requires_grad (bool): whether the buffer gets gradients.
        device (device or None): the buffer's device.
        dtype (dtype or None): its dtype, floating or complex.
        persistent (bool): whether the buffer is part of state dicts.

    Example::

        >>> buffer = nn.UninitializedBuffer()
        >>> buffer.materialize((2,))
        >>> buffer.shape
        torch.Size([2])

    """

    cls_to_become = Tensor

    def __new__(cls, requires_grad: bool = False, device: Any = None, dtype: Any = None, persistent: bool = True):
        t: Any = blank(cls)
        t._empty = empty(0, device=device, dtype=dtype)
        set_requires_grad(t, bool(requires_grad))
        t.persistent, t._is_buffer = persistent, True
        return t

    def __init__(self, requires_grad: bool = False, device: Any = None, dtype: Any = None, persistent: bool = True):
        pass
