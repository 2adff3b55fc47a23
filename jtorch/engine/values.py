"""Avals and values, the engine's data. A value never changes; a tensor changes by taking another value."""
from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from math import prod
from typing import Any

import jax
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec, Sharding, SingleDeviceSharding

import jtorch.device as devices
import jtorch.dtype as dtypes
from jtorch._base import jax_private
from jtorch.engine import out_of_memory, policy, wait


class Aval:
    """Shape, dtype and device of a value. Avals are interned: equal avals are one object, compared by identity.

    ``spec`` says how a value on a mesh is split: which dims over which axes of the mesh. None means that each device has all.
    """

    __slots__ = ("device", "dtype", "is_inexact", "nbytes", "np", "numel", "sds", "shape", "spec", "traced")

    def __init__(self, shape: tuple[int, ...], np_dtype: np.dtype, device: devices.device, spec: PartitionSpec | None = None):
        self.spec = spec
        self.shape, self.np, self.device = shape, np_dtype, device
        self.dtype = dtypes.of_numpy(np_dtype)
        self.numel = int(prod(shape))
        self.nbytes = self.numel * np_dtype.itemsize
        self.is_inexact = self.dtype.is_floating_point or self.dtype.is_complex   # True if the value can have a gradient.
        self.sds = jax.ShapeDtypeStruct(shape, np_dtype)
        self.traced = False

    def __repr__(self):
        return f"{self.dtype.name}{list(self.shape)}@{self.device}{'' if self.spec is None else tuple(self.spec)}"

    @property
    def placed(self) -> jax.ShapeDtypeStruct:
        """The shape and dtype with the sharding, for JAX's compiler."""
        return jax.ShapeDtypeStruct(self.shape, self.np, sharding=sharding_of(self.device, self.spec))


_avals: dict[tuple, Aval] = {}
_shardings: dict[devices.device | tuple, Sharding] = {}


def sharding_of(device: devices.device, spec: PartitionSpec | None = None) -> Sharding:
    """Return JAX's sharding for values of ``device``."""
    found = _shardings.get(device if spec is None else (device, spec))
    if found is None:
        on_mesh = device.type == "mesh"
        found = NamedSharding(devices.mesh_of(device), spec or PartitionSpec()) if on_mesh else \
            SingleDeviceSharding(devices.jax_device(device))
        _shardings[device if spec is None else (device, spec)] = found
    return found


def spec_of(sharding: Any) -> PartitionSpec | None:
    """Return the partition spec of a sharding on a mesh; None if it splits no dim."""
    return spec_from(sharding.spec)


def spec_from(dims: Iterable) -> PartitionSpec | None:
    """Return the normal form of a partition spec, from the axis, the axes or None of each dim; None if no dim is split."""
    entries = [e[0] if isinstance(e, tuple) and len(e) == 1 else e or None for e in dims]
    while entries and entries[-1] is None:
        entries.pop()
    return PartitionSpec(*entries) if entries else None


def is_mesh_of_cpus(device: devices.device) -> bool:
    """Return whether a device is a mesh of virtual CPUs."""
    return device.type == "mesh" and devices.jax_device(device).platform == "cpu"


def placed_on(device: devices.device) -> dict[str, Any]:
    """Return the arguments of ``jax.jit`` that place a function without inputs. Otherwise JAX would choose the device."""
    return {"out_shardings": sharding_of(device)}


def aval_of(shape: tuple[int, ...], np_dtype: np.dtype, device: devices.device, spec: PartitionSpec | None = None) -> Aval:
    """Return the only aval with this shape, dtype, device and spec."""
    key = (shape, np_dtype, device) if spec is None else (shape, np_dtype, device, spec)
    found = _avals.get(key)
    if found is None:
        if len(_avals) > 100_000:
            _avals.clear()
        found = _avals[key] = Aval(tuple(int(n) for n in shape), np.dtype(np_dtype), device, spec)
    return found


def traced_aval(tracer, device: devices.device | None = None) -> Aval:
    """Return a new aval for a JAX tracer, or for another object with a shape and a dtype. No trace matches such an aval."""
    aval = Aval(tuple(tracer.shape), np.dtype(tracer.dtype), CPU if device is None else device)
    aval.traced = True
    return aval


CPU = devices.device("cpu")


class Value:
    """An immutable array, perhaps not computed yet. Its memory may be overwritten once nobody can read the value any more.

    ``array`` is a NumPy or JAX array, or None while the value waits in the trace that made it (``born``). ``stamp`` is the trace
    that used it last, and ``slot`` its number in that trace.
    """

    __slots__ = ("array", "aval", "born", "slot", "stamp")

    def __init__(self, aval: Aval, array=None, stamp=None, slot=0):
        self.aval, self.array, self.slot = aval, array, slot
        self.stamp = self.born = stamp

    def __repr__(self):
        return f"<value {self.aval}{' pending' if self.array is None else ''}>"


def device_array(value: Value) -> jax.Array:
    """Return the JAX array of a computed value. A NumPy array is converted once."""
    array = value.array
    if array.__class__ is np.ndarray:
        array = value.array = put(array, value.aval.device, value.aval.spec)
    return array


def zero_stride_array(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Return an array of this shape and dtype in the memory of one element, as meta tensors have it."""
    return np.broadcast_to(np.zeros((), dtype), shape)


zero_stride_arrays: dict[Aval, np.ndarray] = {}


def shape_only_value(value: Value) -> Value:
    """Return a value with the aval of ``value`` but without its memory, for uses that read only the aval."""
    aval = value.aval
    found = zero_stride_arrays.get(aval)
    if found is None:
        if aval.traced:
            return value
        if len(zero_stride_arrays) > 4096:
            zero_stride_arrays.clear()
        found = zero_stride_arrays[aval] = zero_stride_array(aval.shape, aval.np)
    return Value(aval, found)


_ones: dict[Aval, Value] = {}


def ones_of(aval: Aval) -> Value:
    """Return the value of ones that backward starts from. It is the same value each time, so programs can rely on it."""
    found = _ones.get(aval)
    if found is None:
        if len(_ones) > 256:
            _ones.clear()
        ones = np.ones(aval.shape, aval.np)
        found = _ones[aval] = Value(aval, ones if aval.device is CPU else put(ones, aval.device, aval.spec))
    return found


def is_ones(value: Value) -> bool:
    """Return whether a value comes from ``ones_of``."""
    return _ones.get(value.aval) is value


@functools.lru_cache(256)
def constant(number: float) -> Value:
    """Return the value of a number that many calls share.

    Each Python number has its own place in a program's inputs. With a shared value the calls have equal code, which XLA
    compiles once.
    """
    return Value(aval_of((), np.dtype(np.float64), CPU), np.array(number, np.float64))


@functools.lru_cache(4096)
def _shaped(shape: tuple[int, ...], dtype: np.dtype) -> jax.core.ShapedArray:
    with jax.enable_x64(True):
        return jax.core.ShapedArray(shape, dtype)


_quick = True       # False once jaxlib's ``batched_device_put`` was not as expected. It is faster than ``jax.device_put``.


def _copied_quickly(array: np.ndarray, device: devices.device) -> jax.Array | None:
    places = devices.all_jax_devices(device)
    return put_in_parts([array] * len(places), array.shape, sharding_of(device), places)


def put_in_parts(parts: list[np.ndarray], shape: tuple[int, ...], sharding: Sharding,
                 places: list[jax.Device], shared: bool = False) -> jax.Array | None:
    """Return a JAX array of this shape with one part on each of these devices, made by jaxlib directly.

    The parts are copied. ``shared`` parts are not copied if they are aligned as XLA needs it, so nobody may write to them.
    Other devices of the sharding belong to other processes. The result is None if jaxlib is not as expected.
    """
    global _quick
    if not _quick:
        return None
    try:
        how = jax_private.HostBufferSemantics
        return jax_private.batched_device_put(_shaped(shape, parts[0].dtype), sharding, parts, places, True, not shared,
                                             how.ZERO_COPY if shared else how.IMMUTABLE_ONLY_DURING_CALL, enable_x64=True)
    except (AttributeError, TypeError):
        _quick = False
        return None


def put(array: np.ndarray, device: devices.device, spec: PartitionSpec | None = None) -> jax.Array:
    """Copy a host array into JAX's memory. The result is no alias, because a program may overwrite its buffer."""
    if device.type == "meta":
        return zero_stride_array(array.shape, array.dtype)     # type: ignore[return-value]
    made = _copied_quickly(array, device) if spec is None else None
    if made is not None:
        return made
    if devices.spans_processes(device):     # Each process copies its own part.
        array = array.copy()
        with jax.enable_x64(True):
            return jax.make_array_from_callback(array.shape, sharding_of(device, spec), lambda part: array[part])
    with jax.enable_x64(True):
        made = jax.device_put(array.copy(), sharding_of(device, spec))  # JAX shares aligned memory in spite of may_alias=False.
    if not isinstance(made, jax.core.Tracer):
        return made
    with jax.ensure_compile_time_eval():    # The caller is inside a jit, and the value outlives its JAX trace.
        return put(array, device, spec)


ALIGNMENT = 64          # Bytes. XLA reads host memory without a copy if the address is a multiple of this.


def aligned_zeros(n: int, dtype: np.dtype) -> np.ndarray:
    """Return ``n`` zeros in memory that XLA can read without a copy."""
    memory = np.zeros(n * dtype.itemsize + ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % ALIGNMENT
    return memory[start:start + n * dtype.itemsize].view(dtype)




def shared(array: np.ndarray) -> np.ndarray | jax.Array:
    """Return a JAX array in the memory of a NumPy array that is large and aligned; else return the array itself.

    Nobody may write to the array afterwards. JAX does not own the memory, so a program that donates the array copies it.
    """
    if array.size < 4 * policy.CACHED or not array.flags.c_contiguous or array.ctypes.data % ALIGNMENT:
        return array
    made = put_in_parts([array], array.shape, sharding_of(CPU), devices.all_jax_devices(CPU), shared=True)
    return array if made is None else made


gather: list[Callable[[Value], Value]] = []     # The function ``gathered`` of ``trace``, which records a call.


def host_array(value: Value) -> np.ndarray:
    """Return a computed value's elements as a NumPy array. Nobody may write to it."""
    array = value.array
    if array.__class__ is np.ndarray:
        return array
    if value.aval.device is CPU and not value.aval.traced:
        return wait.host(array)
    if wait.is_split_over_processes(array):
        return host_array(gather[0](value))
    try:
        return np.asarray(array)
    except jax.errors.JaxRuntimeError as error:     # An accelerator may raise its errors when a result is read.
        raise out_of_memory.told(error)     # noqa: B904  (its __cause__ is set)


def moved(value: Value, device: devices.device, spec: PartitionSpec | None = None):
    """Return a copy of a computed value's array on another device."""
    if device is CPU:
        return np.array(value.array if value.array.__class__ is np.ndarray else host_array(value))
    return put(host_array(value), device, spec)
