"""Tensor methods that change dtype, device or layout, that copy, and that make tensors like another tensor."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jtorch.device as devices
import jtorch.dtype as dtypes
from jtorch import engine, storage
from jtorch._api import functions, overridden
from jtorch._api.creation import empty_strided, legacy_tensor_of, place_of, tensor
from jtorch._api.names import put
from jtorch._api.typed_tensors import NAMED, MemoryFormat, tensortype
from jtorch._backward.view_history import edge_of, requires_grad
from jtorch._base import late_bindings
from jtorch._base.error_notes import with_note
from jtorch._nodes.hooks import as_tensor, as_value
from jtorch.dispatch import call
from jtorch.dispatch.samples import sample_of
from jtorch.engine import Value, batched, call_of
from jtorch.no_grad import mode
from jtorch.ops.layout import channels_last, suggests_channels_last
from jtorch.ops.promotion import warn_of_lost
from jtorch.ops.registry import OPS, T
from jtorch.ops.strided import contiguous_strides, extent
from jtorch.storage import value_of
from jtorch.tape import Node, node_class
from jtorch.tensor import Tensor, class_of, with_grad, wrap


def to(self: Tensor, *args: Any, dtype: Any = None, device: Any = None, non_blocking: bool = False,
       copy: bool = False, memory_format: Any = None) -> Tensor:
    """Return the tensor in another dtype or on another device, or the tensor itself if nothing changes. See torch.Tensor.to."""
    flags = []
    for a in args:
        if isinstance(a, dtypes.dtype) or a.__class__ is type:
            dtype = a
        elif isinstance(a, Tensor):
            dtype, device = storage.aval_of(a).dtype, storage.aval_of(a).device
        elif isinstance(a, (str, devices.device)) or (a.__class__ is int and device is None):
            device = a
        elif a.__class__ is bool:
            flags.append(a)         # the flags are non_blocking and copy, in this order
        elif a is not None:
            raise TypeError(f"to() received an invalid combination of arguments - got ({type(a).__name__}), but expected one of: "
                            "(torch.device device, torch.dtype dtype, ...)")
    here = storage.aval_of(self)
    place = here.device if device is None else place_of(device)
    t, dtype = self, dtypes.as_dtype(dtype, "to")
    copy = copy or flags[1:] == [True] or (memory_format is not None and place is here.device and not _looks(self, memory_format))
    if (dtype is not None and dtype is not here.dtype) or (copy and place is here.device):
        dtype = dtype or here.dtype
        warn_of_lost(here.dtype.np, dtype.np)
        t = call(call_of(OPS["_to_dtype"], (T, dtype)), (t,))
    if place is not here.device:
        t = to_device(t, place)
    return t if t is self else in_format(t, memory_format)


def in_format(t: Tensor, memory_format: Any) -> Tensor:
    """Give a new tensor the strides of a torch.memory_format and return it."""
    name = getattr(memory_format, "name", "preserve_format")
    shape = storage.aval_of(t).shape
    if name.startswith("channels_last") and storage.aval_of(t).traced:
        batched.refuse(value_of(t), "NYI: Tensor.clone(memory_format) inside vmap is only supported with memory_format "
                                   "torch.preserve_format or torch.contiguous_format (got "
                                   f"{'ChannelsLast' if name == 'channels_last' else 'ChannelsLast3d'})")
    if name == "contiguous_format":
        storage.lay_out(t, contiguous_strides(shape))
    elif name != "preserve_format":
        rank = 4 if name == "channels_last" else 5
        if len(shape) != rank:
            raise RuntimeError(f"required rank {rank} tensor to use {name} format")
        storage.lay_out(t, channels_last(shape))
    return t


def _looks(t: Tensor, memory_format: Any) -> bool:
    """Return whether ``to`` treats the tensor as being in a memory format already."""
    if memory_format.name == "preserve_format":
        return True
    size, stride, _ = storage.geometry_of(t)
    found = "contiguous_format" if not suggests_channels_last(size, stride) else \
        "channels_last" if len(size) == 4 else "channels_last_3d"
    return found == memory_format.name


def clone(input: Tensor, *, memory_format: Any = None) -> Tensor:
    """Return a differentiable copy, by default in the same memory format. See torch.clone."""
    aten = late_bindings.aten
    seen = aten.clone(input, memory_format) if aten is not None and memory_format is not None else None
    if seen is not None:
        return seen
    return in_format(overridden.clone(input), memory_format)


class _ToDevice(Node):
    """The node of a copy to another device. It copies the gradient back."""

    __slots__ = ("source", "spec")
    source: devices.device
    spec: Any

    def run(self, grads: dict, create_graph: bool, needs: list[bool]) -> list:
        back = to_device(as_tensor(grads[0]), self.source, self.spec)
        return [back if create_graph else as_value(back)]


def to_device(t: Tensor, place: devices.device, spec: Any = None) -> Tensor:
    """Return a copy on another device. ``spec``: the sharding on a mesh."""
    value = value_of(t)
    if value.aval.device.type == "meta":
        raise NotImplementedError("Cannot copy out of meta tensor; no data!")
    engine.read(value)
    aval = engine.aval_of(value.aval.shape, value.aval.np, place, spec)
    moved = Value(aval, engine.bring(engine.host_array(value), place, spec) if devices.spans_processes(place)
                  else engine.moved(value, place, spec))
    if not (mode.grad and requires_grad(t)):
        return wrap(moved)
    node = node_class("ToCopyBackward0", _ToDevice)((edge_of(t),))
    node.source, node.spec = value.aval.device, value.aval.spec
    return wrap(moved, (node, 0))


def _typed(name: str):
    def cast(self: Tensor, *, memory_format: Any = None) -> Tensor:
        return to(self, dtypes.named(name), memory_format=memory_format)
    cast.__name__ = name
    cast.__doc__ = f"The tensor as {dtypes.named(name)}."
    return cast


def type_(self: Tensor, dtype: Any = None, non_blocking: bool = False):
    """Return the tensor's type as a string, or the tensor cast to one. See torch.Tensor.type.

    A class such as ``torch.cuda.FloatTensor``, or its name, also moves the tensor; a dtype does not.
    """
    if dtype is None:
        kind = self.device.type
        prefix = f"torch.{kind}." if kind in ("cuda", "meta") else "torch."
        return f"{prefix}{self.dtype.scalar_name}Tensor"
    wanted = NAMED.get(dtype) if isinstance(dtype, str) else dtype
    if isinstance(wanted, tensortype):
        return _to_class(self, wanted)
    wanted = dtypes.get_default_dtype() if wanted is Tensor else getattr(wanted, "dtype", wanted)
    if not isinstance(dtype, (str, type, dtypes.dtype)):
        raise TypeError("dtype must be a type, str, or dtype object")
    if not isinstance(wanted, dtypes.dtype):
        raise ValueError(f"invalid type: '{dtype.__name__ if isinstance(dtype, type) else dtype}'")
    return to(self, wanted)


def _to_class(t: Tensor, cls: tensortype) -> Tensor:
    if cls.is_cuda is (t.device.type == "cuda"):
        return to(t, cls.dtype)
    if cls.is_cuda and not devices.jax_devices("cuda"):
        raise with_note(RuntimeError("Cannot initialize CUDA without ATen_cuda library."), devices.NO_GPU)
    return to(t, "cuda" if cls.is_cuda else "cpu", cls.dtype)


def cpu(self: Tensor, *, memory_format: Any = None) -> Tensor:
    """Return the tensor on the CPU."""
    return to(self, engine.CPU, memory_format=memory_format)


def cuda(self: Tensor, device: Any = None, non_blocking: bool = False, memory_format: Any = None) -> Tensor:
    """Return the tensor on a GPU."""
    if device is not None and not isinstance(device, int) and devices.device(device).type != "cuda":
        raise RuntimeError("Invalid device, must be cuda device")
    return to(self, "cuda" if device is None else device, memory_format=memory_format)


def contiguous(self: Tensor, *, memory_format: Any = None) -> Tensor:
    """Return the tensor if it is contiguous in the memory format, else a contiguous copy."""
    if class_of(self).is_contiguous(self, memory_format):
        return self
    return clone(self, memory_format=memory_format or _CONTIGUOUS)


def new_tensor(self: Tensor, data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Return a tensor of ``data`` with this one's dtype and device. See torch.Tensor.new_tensor."""
    return tensor(data, dtype=dtype or storage.aval_of(self).dtype, device=device or storage.aval_of(self).device,
                  requires_grad=requires_grad)


def new(self: Tensor, *args: Any, **kw: Any) -> Tensor:
    """Return ``torch.Tensor(...)`` with this tensor's dtype and device. See torch.Tensor.new."""
    return legacy_tensor_of(args, kw, storage.aval_of(self).dtype, storage.aval_of(self).device)


def new_empty_strided(self: Tensor, size: Any, stride: Any, dtype: Any = None, device: Any = None, **kw: Any) -> Tensor:
    """Return ``torch.empty_strided(...)`` with this tensor's dtype and device."""
    own = storage.aval_of(self)
    levels = batched.levels_of_value(value_of(self))[::-1] if own.traced else []
    counts, whole = [n for _, n in levels], (*size,)
    strides, apart = (*stride,), extent(size, stride)
    for n in counts[::-1]:
        whole, strides, apart = (n, *whole), (apart, *strides), apart * n
    made = empty_strided(whole, strides, dtype=dtype or own.dtype, device=device or own.device, **kw)
    for level, _ in levels:
        made = sample_of(made, 0, level)
    return made


def _of_each_sample(like: Tensor, made: Tensor) -> Tensor:
    """Batch a new tensor in the ``vmap`` levels of ``like``, so that its samples may get different values."""
    value = value_of(like)
    if not batched.is_batched(value):
        return made
    whole = value.array.value
    outer = _of_each_sample(wrap(whole), made.detach())
    samples = value_of(outer.expand(whole.aval.shape[0], *outer.shape))
    return wrap(batched.of_samples(samples, value.array.level)).requires_grad_(made.requires_grad)


def _taken_over(name: str, self: Tensor, size: tuple, dtype: Any, device: Any, kw: dict) -> Any:
    """Return the result of a mode or class with ``__torch_dispatch__`` that takes the call over, or None."""
    size = kw.get("size", size)
    fill = kw.get("fill_value")
    if name == "new_full" and fill is None and len(size) == 2:
        size, fill = size
    shape = size[0] if len(size) == 1 and isinstance(size[0], (list, tuple)) else size
    given = {"dtype": dtype, "device": device, "fill_value": fill}
    return late_bindings.aten.function(name, {"self": self, "size": list(shape), "pin_memory": False,
                                     **{k: v for k, v in given.items() if v is not None}})


def _refuse_others(name: str, kw: dict[str, Any]) -> None:
    """Raise TypeError for arguments that ``new_zeros`` and similar methods do not take."""
    odd = next((k for k in kw if k not in ("fill_value", "size", "layout", "pin_memory", "names")), None)
    if odd is not None:
        raise TypeError(f"{name}() got an unexpected keyword argument '{odd}'")


def _new_like(maker: Callable):
    def make(self: Tensor, *size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False, **kw: Any) -> Tensor:
        if late_bindings.aten is not None:
            seen = _taken_over(name, self, size, dtype, device, kw)
            if seen is not None:
                return with_grad(seen, requires_grad)
        if kw:
            _refuse_others(name, kw)
        own = storage.aval_of(self)
        made = maker(*size, dtype=dtype or own.dtype, device=device if device is not None else own.device,
                     requires_grad=requires_grad, **{k: v for k, v in kw.items() if k in ("fill_value", "size")})
        return _of_each_sample(self, made) if batched.is_running() else made
    name = make.__name__ = f"new_{maker.__name__}"
    make.__doc__ = f"torch.{maker.__name__} with this tensor's dtype and device."
    return make


def resolve(self: Tensor) -> Tensor:
    """Return the tensor itself, since conjugation and negation are never lazy and memory is never pinned."""
    return self


def is_pinned(self: Tensor, device: Any = None) -> bool:
    """Return False, since jtorch pins no memory. See torch.Tensor.is_pinned."""
    return False


def type_as(self: Tensor, other: Tensor) -> Tensor:
    """Return the tensor in the dtype and on the device of ``other``. See torch.Tensor.type_as."""
    return to(self, other.dtype, device=other.device)


def never(self: Tensor) -> bool:
    """Return False, since conjugation and negation are never lazy."""
    return False


def is_set_to(self: Tensor, tensor: Tensor) -> bool:
    """Return whether both tensors have the same storage and geometry."""
    return self._storage is tensor._storage and storage.geometry_of(self) == storage.geometry_of(tensor)


def bind() -> None:
    """Add the methods of this module to Tensor."""
    put(functions, {"clone": clone}, replaces=True)
    put(Tensor, {"clone": clone}, replaces=True)
    names = ("float", "double", "half", "bfloat16", "long", "int", "short", "bool", "cfloat", "cdouble")
    put(Tensor, {**{n: _typed(n) for n in names}, "char": _typed("int8"), "byte": _typed("uint8")})
    put(Tensor, {f"new_{f.__name__}": _new_like(f) for f in (functions.zeros, functions.ones, functions.empty, functions.full)},
        replaces=True)
    type_.__name__ = type_.__qualname__ = "type"
    put(Tensor, {"to": to, "type": type_, "cpu": cpu, "cuda": cuda, "contiguous": contiguous, "new_tensor": new_tensor,
                 "new": new, "new_empty_strided": new_empty_strided, "is_set_to": is_set_to,
                 "type_as": type_as,
                 **dict.fromkeys(("resolve_conj", "resolve_neg", "pin_memory"), resolve),
                 **dict.fromkeys(("is_conj", "is_neg"), never), "is_pinned": is_pinned})


_CONTIGUOUS = MemoryFormat("contiguous_format")
