"""The devices of a checkpoint's storages: the tags in the file, and ``map_location``."""
from __future__ import annotations

import re
import threading
from collections.abc import Callable
from typing import Any

from jtorch._storage.untyped import UntypedStorage
from jtorch.device import device as device_class
from jtorch.device import interned, jax_devices, single

Tagger = Callable[[UntypedStorage], str | None]
Deserializer = Callable[[UntypedStorage, str], UntypedStorage | None]

_registry: list[tuple[int, Tagger, Deserializer]] = []


class _OfThread(threading.local):
    map_location: Any = None


of_thread = _OfThread()


def register_package(priority: int, tagger: Tagger, deserializer: Deserializer) -> None:
    """Register a kind of device for checkpoints. See torch.serialization.register_package.

    Args:
        priority: the order in which registered functions are asked, the lowest first, until one does not return None.
        tagger: a function of a storage that returns its location's tag, or None.
        deserializer: a function of a storage and a tag that returns the storage on its device, or None.

    """
    _registry.append((priority, tagger, deserializer))
    _registry.sort(key=lambda entry: entry[0])


def location_tag(storage: UntypedStorage) -> str:
    """Return the tag of a storage's location."""
    found = next((tag for _, tagger, _ in _registry if (tag := tagger(storage))), None)
    if found is None:
        raise RuntimeError(f"don't know how to determine data location of {_typename(storage)}")
    return found


def default_restore_location(storage: UntypedStorage, location: str) -> UntypedStorage:
    """Move a storage from the CPU's memory to the location of its tag; RuntimeError for an unknown tag."""
    for _, _, deserializer in _registry:
        made = deserializer(storage, location)
        if made is not None:
            return made
    raise RuntimeError(f"don't know how to restore data location of {_typename(storage)} (tagged with {location})")


def _typename(storage: Any) -> str:
    return "torch.storage.UntypedStorage" if isinstance(storage, UntypedStorage) else type(storage).__name__


def restorer(map_location: Any) -> Callable[[UntypedStorage, str], UntypedStorage]:
    """Return the function that moves a storage as ``map_location`` (a device, string, dict, callable or None) says."""
    if map_location is None:
        return default_restore_location
    if isinstance(map_location, dict):
        return lambda storage, location: default_restore_location(storage, map_location.get(location, location))
    if isinstance(map_location, (str, bytes, device_class)):
        place = map_location.decode() if isinstance(map_location, bytes) else str(map_location)
        return lambda storage, location: default_restore_location(storage, place)

    def restore(storage: UntypedStorage, location: str) -> UntypedStorage:
        made = map_location(storage, location)
        return default_restore_location(storage, location) if made is None else made
    return restore


def place_of(tag: str) -> Any:
    """Return the device to load a tensor to, if its pickle names the device ``tag`` instead of a storage with a tag."""
    given = of_thread.map_location
    if callable(given):
        raise RuntimeError("Callable map_location not supported with _rebuild_wrapper_subclass or "
                           "_rebuild_device_tensor_from_numpy")
    return given.get(tag, tag) if isinstance(given, dict) else given or tag


def validate_cuda_device(location: str) -> int:
    """Return the index of the GPU that a tag names; RuntimeError if there is no such GPU."""
    index = device_class(location).index or 0
    count = len(jax_devices("cuda"))
    if not count:
        raise RuntimeError("Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False. If you are "
                           "running on a CPU-only machine, please use torch.load with map_location=torch.device('cpu') to map "
                           "your storages to the CPU.")
    if index >= count:
        raise RuntimeError(f"Attempting to deserialize object on CUDA device {index} but torch.cuda.device_count() is {count}. "
                           "Please use torch.load with map_location to map your storages to an existing device.")
    return index


def _tagger_of(kind: str) -> Tagger:
    return lambda storage: kind if storage.device.type == kind else None


def _to_cuda(storage: UntypedStorage, location: str) -> UntypedStorage | None:
    if not re.fullmatch(r"cuda(:?[0-9]+)?", location):
        return None
    index = validate_cuda_device(re.sub(r"cuda(?=[0-9])", "cuda:", location))
    return storage.to(device=interned("cuda", index))


register_package(10, _tagger_of("cpu"), lambda storage, location: storage if location == "cpu" else None)
register_package(20, lambda storage: str(storage.device) if storage.is_cuda else None, _to_cuda)
# A tensor on a mesh of several devices is saved as a tensor on the first device.
register_package(21, lambda storage: str(single(storage.device)) if storage.device.type == "mesh" else None, lambda *_: None)
register_package(22, _tagger_of("meta"), lambda storage, location: storage.to(device="meta") if location == "meta" else None)
# These tags stand for JAX's virtual CPUs and other accelerators. Only map_location has them: PyTorch could not read them.
register_package(30, lambda storage: None, lambda storage, location: storage.to(device=location)
                 if re.fullmatch(r"cpu:[0-9]+|xla(:[0-9]+)?", location) else None)
