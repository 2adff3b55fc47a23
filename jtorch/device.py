"""torch.device: names of devices, their JAX devices, and the default device.

Importing this module starts no JAX backend. The first tensor on a device, or the first query about devices, starts one.
"""
from __future__ import annotations

import re
import threading
from collections.abc import Callable

import jax

TYPES = ("cpu", "cuda", "ipu", "xpu", "mkldnn", "opengl", "opencl", "ideep", "hip", "ve", "fpga", "maia", "xla", "lazy",
         "vulkan", "mps", "meta", "hpu", "mtia", "privateuseone")


class AcceleratorError(RuntimeError):
    """An accelerator failed, or does not exist. See torch.AcceleratorError."""


class OutOfMemoryError(RuntimeError):
    """An accelerator has no memory left for an array. See torch.OutOfMemoryError."""


_STRING = re.compile(r"([A-Za-z_]+)(?::(0|[1-9][0-9]*))?", re.ASCII)
_MAX_INDEX = 2**31 - 1
_INTERNED: dict[tuple[str, int | None], device] = {}
_PARSED: dict[str, device] = {}


class device:
    """The device of a tensor: a type and an optional index. As a context manager it sets the default device.

    Each type and index has only one object, so ``is`` and ``==`` agree. See torch.device.
    """

    __slots__ = ("__weakref__", "index", "type")
    type: str
    index: int | None

    def __new__(cls, *args, **kwargs):
        found = _of_one(args[0]) if len(args) == 1 and not kwargs else _of_arguments(args, kwargs)
        if found is None:
            raise TypeError(_invalid_combination(args, kwargs))
        return found

    def __setattr__(self, name, value):
        if name in ("type", "index"):
            raise AttributeError(f"attribute '{name}' of 'torch.device' objects is not writable")
        raise AttributeError(f"'torch.device' object has no attribute '{name}'")

    def __repr__(self):
        index = "" if self.index is None else f", index={self.index}"
        return f"device(type='{self.type}'{index})"

    def __str__(self):
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __reduce__(self):
        return (device, (self.type,) if self.index is None else (self.type, self.index))

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    def __lt__(self, other):
        raise TypeError("comparison not implemented")

    __le__ = __gt__ = __ge__ = __lt__

    def __enter__(self):
        _thread.stack = (*_thread.stack, self)
        return self

    def __exit__(self, *exc_info):
        _thread.stack = _thread.stack[:-1]


# -- parsing devices --------------------------------------------------------------------------------------------------


def interned(type: str, index: int | None = None) -> device:
    """Return the one device object of this type and index."""
    found = _INTERNED.get((type, index))
    if found is None:
        found = object.__new__(device)
        object.__setattr__(found, "type", type)
        object.__setattr__(found, "index", index)
        found = _INTERNED.setdefault((type, index), found)
    return found


def _known_type(name: str) -> str:
    if name not in TYPES:
        raise RuntimeError(f"Expected one of {', '.join(TYPES)} device type at start of device string: {name}")
    return name


def _parsed(text: str) -> device:
    if not text:
        raise RuntimeError("Device string must not be empty")
    match = _STRING.fullmatch(text)
    if match is None:
        raise RuntimeError(f"Invalid device string: '{text}'")
    name, digits = match.groups()
    _known_type(name)
    if digits is not None and int(digits) > _MAX_INDEX:
        raise RuntimeError(f"Could not parse device index '{digits}' in device string '{text}'")
    return _PARSED.setdefault(text, interned(name, None if digits is None else int(digits)))


def _of_accelerator(index: int) -> device:
    if index < 0:
        raise RuntimeError("Device index must not be negative")
    if index > 2**63 - 1:
        raise ValueError("Overflow when unpacking long long")
    kind = accelerator_type()
    if kind is None:
        raise RuntimeError("Cannot access accelerator device when none is available.")
    return interned(kind, index)


def _of_one(what) -> device | None:
    """Return ``torch.device(what)``, or None if ``what`` does not have an accepted type."""
    kind = type(what)
    if kind is str:
        return _PARSED.get(what) or _parsed(what)
    if kind is device:
        return what
    if kind is int:
        return _of_accelerator(what)
    if isinstance(what, bytes):
        return _of_one(what.decode())
    return _of_one(str.__str__(what)) if isinstance(what, str) else None


def _of_type_and_index(name: str, index) -> device:
    if ":" in name:
        raise RuntimeError(f"type (string) must not include an index because index was passed explicitly: {name}")
    parsed = _parsed(name)
    if index is None:
        return parsed
    if index < 0:
        raise RuntimeError("Device index must not be negative")
    if index > 2**63 - 1:
        raise ValueError("Overflow when unpacking long long")
    return interned(parsed.type, index)


def _of_arguments(args: tuple, kwargs: dict) -> device | None:
    """Return the device for ``torch.device(device=d)`` or ``torch.device(type, index)``, with keywords allowed."""
    if not args and kwargs.keys() == {"device"}:
        return _of_one(kwargs["device"])
    if len(args) > 2 or not (args or "type" in kwargs) or (len(args) == 2 and "index" in kwargs):
        return None
    if args and "type" in kwargs:
        raise TypeError("device() got multiple values for argument 'type'")
    name = args[0] if args else kwargs["type"]
    if not isinstance(name, (str, bytes)):
        if not args:
            return None
        raise TypeError(f"device(): argument 'type' (position 1) must be str, not {_type_name(name)}")
    if unexpected := kwargs.keys() - {"type", "index"}:
        raise TypeError(f"device() got an unexpected keyword argument '{sorted(unexpected)[0]}'")
    name = name if isinstance(name, str) else name.decode()
    if len(args) < 2 and "index" not in kwargs:
        return _of_one(name)
    index = args[1] if len(args) == 2 else kwargs["index"]
    if index is not None and (not isinstance(index, int) or isinstance(index, bool)):
        position = " (position 2)" if len(args) == 2 else ""
        raise TypeError(f"device(): argument 'index'{position} must be int, not {_type_name(index)}")
    return _of_type_and_index(name, index)


def _type_name(value) -> str:
    return "torch.device" if isinstance(value, device) else type(value).__name__


def _invalid_combination(args: tuple, kwargs: dict) -> str:
    got = ", ".join([_type_name(a) for a in args] + [f"{k}={_type_name(v)}" for k, v in kwargs.items()])
    if kwargs and not args:
        got += ", "
    return (f"device() received an invalid combination of arguments - got ({got}), but expected one of:\n"
            " * (torch.device device)\n * (str type, int index = -1)\n")


def as_device(what, function: str = "") -> device:
    """Return the device for a ``device=`` argument; None means the default device. The result may have no index."""
    if what is None:
        return default_device()
    found = _of_one(what)
    if found is None:
        where = f"{function}(): " if function else ""
        raise TypeError(f"{where}argument 'device' must be torch.device, not {_type_name(what)}")
    return found


# -- the default device and the current index, per thread -------------------------------------------------------------


class _Thread(threading.local):
    stack: tuple[device, ...] = ()
    base: device | None = None
    cuda_index: int = 0


_thread = _Thread()
_CPU = interned("cpu")


def default_device() -> device:
    """Return the default device without checking that it exists, since each creation calls this."""
    stack = _thread.stack
    return stack[-1] if stack else _thread.base or _CPU


def chosen_devices() -> tuple[tuple[device, ...], device | None]:
    """Return the state of this thread's default device: the open ``with`` blocks, and the device that was set."""
    return _thread.stack, _thread.base


def choose_devices(chosen: tuple[tuple[device, ...], device | None]) -> None:
    """Restore the state that ``chosen_devices`` returned, in this thread or another."""
    _thread.stack, _thread.base = chosen


def get_default_device() -> device:
    """Return the device of tensors made without ``device=``. See torch.get_default_device."""
    chosen = default_device()
    return chosen if chosen.index is not None else canonical(chosen)


def set_default_device(device: device | str | int | None) -> None:
    """Set this thread's device for tensors made without ``device=``; None: the CPU. See torch.set_default_device."""
    chosen = None if device is None else as_device(device)
    _thread.base = chosen
    if _thread.stack:
        _thread.stack = (*_thread.stack[:-1], chosen or _CPU)


def current_cuda_index() -> int:
    """Return the index that ``cuda`` without an index means in this thread."""
    return _thread.cuda_index


def chosen_cuda_index() -> int | None:
    """Return the index that ``set_current_cuda_index`` has set in this thread; None if it has not been called."""
    return _thread.__dict__.get("cuda_index")


def set_current_cuda_index(index: int) -> None:
    """Set the index that ``cuda`` without an index means in this thread."""
    _thread.cuda_index = index


# -- JAX's devices ----------------------------------------------------------------------------------------------------

ACCELERATORS = ("cuda", "mps", "xla")     # torch's device types that JAX may support
_BACKENDS = {"cpu": "cpu", "cuda": "gpu", "mps": "METAL", "xla": None}  # JAX's names; None is JAX's default backend
_JAX_DEVICES: dict[str, tuple] = {}
# _base/gpus.py adds its ``counted``, which returns the number of GPUs, or None if only JAX can tell.
count_gpus: list[Callable[[], int | None]] = []
_stand_in = {"cpu": False}      # Whether CPUs take the GPUs' place.


def jax_devices(type: str) -> tuple:
    """Return this process's JAX devices of a torch device type, ordered by index; empty if there are none."""
    found = _JAX_DEVICES.get(type)
    if found is None:
        found = _JAX_DEVICES[type] = _ask_jax(type)
    return found


def _ask_jax(type: str) -> tuple:
    if type not in _BACKENDS:
        return ()
    if _stand_in["cpu"]:
        return _of_cpus(type)
    try:
        return tuple(jax.local_devices(backend=_BACKENDS[type]))
    except RuntimeError:  # JAX raises this if a backend is not installed or fails to start.
        return ()


def let_cpus_stand_in() -> None:
    """Let ``cuda`` and ``xla`` mean all virtual CPUs but the first, or the only CPU, to run programs for GPUs without a GPU."""
    _stand_in["cpu"] = True


def _of_cpus(type: str) -> tuple:
    found = tuple(jax.local_devices(backend="cpu"))
    return {"cpu": found[:1], "cuda": found[1:] or found, "xla": found[1:] or found}.get(type, ())


def cuda_count() -> int:
    """Return the number of GPUs that this process may use, without starting JAX if possible."""
    found = _JAX_DEVICES.get("cuda")
    if found is None:
        counted = next((n for count in count_gpus if (n := count()) is not None), None)
        return len(jax_devices("cuda")) if counted is None else counted
    return len(found)


def set_own_gpu(own: jax.Device, index: int, count: int) -> None:
    """Make one GPU of ``count`` the only one of this process. All indices name it, and ``index`` is the current one at first.

    JAX gives each process of a job its own GPUs. Code for another rank's GPU, such as ``map_location="cuda:0"``, uses this one.
    """
    _JAX_DEVICES["cuda"] = (own,) * max(count, index + 1)
    _Thread.cuda_index = index


def is_accelerator(d: device | None) -> bool:
    """Return whether a device has an accelerator's type; None does not."""
    return d is not None and d.type in ACCELERATORS


def accelerator_type() -> str | None:
    """Return the accelerator's type: ``cuda`` for a GPU, ``xla`` for any other, None if there is only a CPU."""
    if cuda_count():
        return "cuda"
    return None if jax_devices("xla")[0].platform == "cpu" else "xla"


def canonical(d: device) -> device:
    """Return the device that a tensor on ``d`` reports: ``cpu`` has no index, ``cuda`` defaults to the current one.

    If JAX has several virtual CPUs, ``cpu:1`` and so on are separate devices. Raises RuntimeError for a device that
    does not exist.
    """
    if d.type == "cpu":
        return _canonical_cpu(d)
    if d.type == "meta":
        return interned("meta")
    if d.index is None:
        d = interned(d.type, _thread.cuda_index if d.type == "cuda" else 0)
    jax_device(d)
    return d


def _canonical_cpu(d: device) -> device:
    if not d.index or len(jax_devices("cpu")) == 1:  # PyTorch accepts any index for its one CPU
        return _CPU
    jax_device(d)
    return d


_RESOLVED: dict[device, jax.Device] = {}
_MESHES: list[jax.sharding.Mesh] = []


def of_mesh(mesh: jax.sharding.Mesh) -> device:
    """Return the device of type ``mesh`` that stands for several JAX devices. Its arrays are sharded over them."""
    if mesh not in _MESHES:
        _RESOLVED[interned("mesh", len(_MESHES))] = mesh.local_devices[0]
        _MESHES.append(mesh)
    return interned("mesh", _MESHES.index(mesh))


def mesh_of(d: device) -> jax.sharding.Mesh:
    """Return the JAX mesh of a device of type ``mesh``."""
    return _MESHES[d.index or 0]


def spans_processes(d: device) -> bool:
    """Return whether ``d`` is a mesh with devices of several processes."""
    return d.type == "mesh" and mesh_of(d).is_multi_process


def single(d: device) -> device:
    """Return ``d``, or this process's first device of a mesh; a mesh of virtual CPU devices gives the CPU."""
    if d.type != "mesh":
        return d
    return _CPU if jax_device(d).platform == "cpu" else of_jax(jax_device(d))


def all_jax_devices(d: device) -> list[jax.Device]:
    """Return this process's JAX devices of ``d``."""
    return list(mesh_of(d).local_devices) if d.type == "mesh" else [jax_device(d)]


def jax_device(d: device) -> jax.Device:
    """Return the JAX device of ``d``; raise PyTorch's error if there is none."""
    found = _RESOLVED.get(d)
    return _resolve(d) if found is None else found


def _resolve(d: device) -> jax.Device:
    if d.type == "meta":
        raise NotImplementedError("Cannot copy out of meta tensor; no data!")
    devices = jax_devices(d.type)
    if not devices:
        raise _absent(d.type)
    if d.type == "cpu" and len(devices) == 1:
        return _RESOLVED.setdefault(d, devices[0])
    if d.index is None and d.type == "cuda":  # The current device can change, so it is not cached.
        return devices[_thread.cuda_index]
    index = d.index or 0
    if index >= len(devices):
        raise invalid_ordinal(d.type)
    return _RESOLVED.setdefault(d, devices[index])


def invalid_ordinal(type: str) -> AcceleratorError:
    """Return the error for an index out of range."""
    count = len(jax_devices(type))
    return AcceleratorError(f"{type.upper()} error: invalid device ordinal\nThere are {count} {type} devices.")


NO_GPU = ('JAX has found no GPU. Write torch.device("cuda" if torch.cuda.is_available() else "cpu"), or install JAX for the GPU: '
          'pip install "jax[cuda13]".')


def _absent(type: str) -> Exception:
    """Return PyTorch's error for a missing device type. Here "compiled" means that JAX supports the type."""
    if type in ("cuda", "xpu", "mtia"):
        error = AssertionError(f"Torch not compiled with {type.upper()} enabled")
        if type == "cuda":
            error.add_note(NO_GPU)
        return error
    return RuntimeError(f"PyTorch is not linked with support for {type} devices")


def of_jax(d: jax.Device) -> device:
    """Return the torch device of a JAX device: ``cpu`` or ``cuda`` with its index, ``xla`` for any other kind."""
    kind = {"cpu": "cpu", "gpu": "cuda"}.get(d.platform, "xla")
    if _stand_in["cpu"] and d not in jax_devices("cpu"):
        kind = "cuda"
    there = jax_devices(kind)
    current = _thread.cuda_index if kind == "cuda" else 0
    index = current if current < len(there) and there[current] == d else there.index(d)
    return _CPU if kind == "cpu" and index == 0 else interned(kind, index)
