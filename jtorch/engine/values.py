"""Avals and values: what the engine computes with. A value never changes; a tensor changes by taking another value."""
from __future__ import annotations

import functools
from collections.abc import Iterable
from math import prod
from typing import Any

import jax
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec, Sharding, SingleDeviceSharding
from jaxlib import xla_client

import jtorch.device as devices
import jtorch.dtype as dtypes
from jtorch.engine import out_of_memory, wait


class Aval:
    """Shape, dtype and device of a value. Interned: two equal avals are one object, compared by identity.

    ``spec`` says of a value on a mesh which dims are split over which of the mesh's axes; None: it is whole on each device.
    """

    __slots__ = ("device", "dtype", "is_inexact", "nbytes", "np", "numel", "sds", "shape", "spec", "traced")

    def __init__(self, shape: tuple[int, ...], np_dtype: np.dtype, device: devices.device, spec: PartitionSpec | None = None):
        self.spec = spec
        self.shape, self.np, self.device = shape, np_dtype, device
        self.dtype = dtypes.of_numpy(np_dtype)
        self.numel = int(prod(shape))
        self.nbytes = self.numel * np_dtype.itemsize
        self.is_inexact = self.dtype.is_floating_point or self.dtype.is_complex   # whether it can carry a gradient
        self.sds = jax.ShapeDtypeStruct(shape, np_dtype)
        self.traced = False

    def __repr__(self):
        return f"{self.dtype.name}{list(self.shape)}@{self.device}{'' if self.spec is None else tuple(self.spec)}"

    @property
    def placed(self) -> jax.ShapeDtypeStruct:
        """The same for JAX's compiler, with its device."""
        return jax.ShapeDtypeStruct(self.shape, self.np, sharding=sharding_of(self.device, self.spec))


_avals: dict[tuple, Aval] = {}
_shardings: dict[devices.device | tuple, Sharding] = {}


def sharding_of(device: devices.device, spec: PartitionSpec | None = None) -> Sharding:
    """JAX's name for the place where values of ``device`` live."""
    found = _shardings.get(device if spec is None else (device, spec))
    if found is None:
        on_mesh = device.type == "mesh"
        found = NamedSharding(devices.mesh_of(device), spec or PartitionSpec()) if on_mesh else \
            SingleDeviceSharding(devices.jax_device(device))
        _shardings[device if spec is None else (device, spec)] = found
    return found


def spec_of(sharding: Any) -> PartitionSpec | None:
    """How a sharding of a mesh's splits dims; None where it splits none."""
    return spec_from(sharding.spec)


def spec_from(dims: Iterable) -> PartitionSpec | None:
    """A partition spec, written in one way, of what each dim is split over (an axis, several, none); None where none is split."""
    entries = [e[0] if isinstance(e, tuple) and len(e) == 1 else e or None for e in dims]
    while entries and entries[-1] is None:
        entries.pop()
    return PartitionSpec(*entries) if entries else None


def is_mesh_of_cpus(device: devices.device) -> bool:
    """Whether a device is a mesh of virtual CPUs."""
    return device.type == "mesh" and devices.jax_device(device).platform == "cpu"


def placed_on(device: devices.device) -> dict[str, Any]:
    """Arguments of ``jax.jit`` for what is given no arrays, which would say where it runs; else that is JAX's choice."""
    return {"out_shardings": sharding_of(device)}


def aval_of(shape: tuple[int, ...], np_dtype: np.dtype, device: devices.device, spec: PartitionSpec | None = None) -> Aval:
    """The one aval of these."""
    key = (shape, np_dtype, device) if spec is None else (shape, np_dtype, device, spec)
    found = _avals.get(key)
    if found is None:
        if len(_avals) > 100_000:
            _avals.clear()
        found = _avals[key] = Aval(tuple(int(n) for n in shape), np.dtype(np_dtype), device, spec)
    return found


def traced_aval(tracer, device: devices.device | None = None) -> Aval:
    """An aval of its own for a JAX tracer, or what else has its shape and dtype, so that no trace ever matches it."""
    aval = Aval(tuple(tracer.shape), np.dtype(tracer.dtype), CPU if device is None else device)
    aval.traced = True
    return aval


CPU = devices.device("cpu")


class Value:
    """An immutable array, perhaps not computed yet. Nobody can tell that its memory was written to behind its last use.

    ``array`` is a NumPy or JAX array, or None while the value waits in the trace it was ``born`` in. ``stamp`` (a trace) and
    ``slot`` say where it stands in the trace that last met it.
    """

    __slots__ = ("array", "aval", "born", "slot", "stamp")

    def __init__(self, aval: Aval, array=None, stamp=None, slot=0):
        self.aval, self.array, self.slot = aval, array, slot
        self.stamp = self.born = stamp

    def __repr__(self):
        return f"<value {self.aval}{' pending' if self.array is None else ''}>"


def device_array(value: Value) -> jax.Array:
    """The JAX array of a computed value, made once."""
    array = value.array
    if array.__class__ is np.ndarray:
        array = value.array = put(array, value.aval.device, value.aval.spec)
    return array


def zero_stride_array(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """The array of a meta tensor: a shape and a dtype over one element."""
    return np.broadcast_to(np.zeros((), dtype), shape)


zero_stride_arrays: dict[Aval, np.ndarray] = {}


def shape_only_value(value: Value) -> Value:
    """A value in place of ``value`` where only its aval counts, so that its memory can go."""
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
    """The value of ones that backward starts from: the same one each time, so that a program may count on it."""
    found = _ones.get(aval)
    if found is None:
        if len(_ones) > 256:
            _ones.clear()
        ones = np.ones(aval.shape, aval.np)
        found = _ones[aval] = Value(aval, ones if aval.device is CPU else put(ones, aval.device, aval.spec))
    return found


def is_ones(value: Value) -> bool:
    """Whether a value is one of those of ``ones_of``."""
    return _ones.get(value.aval) is value


@functools.lru_cache(256)
def constant(number: float) -> Value:
    """A number that many calls share: what they do is the same code then, where Python numbers have a place in each.

    So the updates of 53 running statistics take 0.1 s to compile, and 0.5 with numbers.
    """
    return Value(aval_of((), np.dtype(np.float64), CPU), np.array(number, np.float64))


@functools.lru_cache(4096)
def _shaped(shape: tuple[int, ...], dtype: np.dtype) -> jax.core.ShapedArray:
    with jax.enable_x64(True):
        return jax.core.ShapedArray(shape, dtype)


_quick = True       # whether jaxlib has what ``jax.device_put`` ends in, behind 30 µs of Python


def _copied_quickly(array: np.ndarray, device: devices.device) -> jax.Array | None:
    places = devices.all_jax_devices(device)
    return put_in_parts([array] * len(places), array.shape, sharding_of(device), places)


def put_in_parts(parts: list[np.ndarray], shape: tuple[int, ...], sharding: Sharding,
                 places: list[jax.Device], shared: bool = False) -> jax.Array | None:
    """An array of this shape, of which these devices get copies of these parts, by way of jaxlib itself.

    None where jaxlib is not as expected. Other devices of the sharding are other processes'. What may be ``shared`` is not
    copied where it is aligned as XLA wants: nobody writes to it while the array is there.
    """
    global _quick
    if not _quick:
        return None
    try:
        how = xla_client.HostBufferSemantics
        return xla_client.batched_device_put(_shaped(shape, parts[0].dtype), sharding, parts, places, True, not shared,
                                             how.ZERO_COPY if shared else how.IMMUTABLE_ONLY_DURING_CALL, enable_x64=True)
    except (AttributeError, TypeError):
        _quick = False
        return None


def put(array: np.ndarray, device: devices.device, spec: PartitionSpec | None = None) -> jax.Array:
    """A copy of a host array in JAX's memory. Never an alias: the buffer may be given to a program to overwrite."""
    if device.type == "meta":
        return zero_stride_array(array.shape, array.dtype)     # type: ignore[return-value]
    made = _copied_quickly(array, device) if spec is None else None
    if made is not None:
        return made
    with jax.enable_x64(True):
        made = jax.device_put(array.copy(), sharding_of(device, spec))      # aligned memory is shared, may_alias=False or not
    if not isinstance(made, jax.core.Tracer):
        return made
    with jax.ensure_compile_time_eval():    # inside a caller's jit; the value outlives its trace
        return put(array, device, spec)


ALIGNMENT = 64          # bytes: XLA reads host memory where it is if it begins at a multiple


def aligned_zeros(n: int, dtype: np.dtype) -> np.ndarray:
    """So many zeros where XLA can read them without a copy."""
    memory = np.zeros(n * dtype.itemsize + ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % ALIGNMENT
    return memory[start:start + n * dtype.itemsize].view(dtype)


SHARED = 1 << 18        # bytes: a smaller array is copied in the 20 µs that it takes to share it


def shared(array: np.ndarray) -> np.ndarray | jax.Array:
    """An array that nobody will write to as one of JAX's in the same memory, if it is large and aligned; else itself.

    JAX knows that it does not own the memory: a program that may overwrite the array writes to a copy.
    """
    if array.nbytes < SHARED or not array.flags.c_contiguous or array.ctypes.data % ALIGNMENT:
        return array
    made = put_in_parts([array], array.shape, sharding_of(CPU), devices.all_jax_devices(CPU), shared=True)
    return array if made is None else made


def host_array(value: Value) -> np.ndarray:
    """A computed value's elements as a NumPy array that nobody may write to."""
    array = value.array
    if array.__class__ is np.ndarray:
        return array
    if value.aval.device is CPU and not value.aval.traced:
        return wait.host(array)
    try:
        return np.asarray(array)
    except jax.errors.JaxRuntimeError as error:     # an accelerator's errors may come when its results are asked for
        raise out_of_memory.told(error)     # noqa: B904  (it says what from)


def moved(value: Value, device: devices.device, spec: PartitionSpec | None = None):
    """A computed value's array on another device."""
    if device is CPU:
        return np.array(value.array)
    return put(host_array(value), device, spec)
