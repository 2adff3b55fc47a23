"""torch.load: the detection of a file's format, the restoration of storages, and the choice of the unpickler."""
from __future__ import annotations

import contextlib
import io
import mmap as memory_map
import os
import pickle
import re
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from jtorch import engine
from jtorch._base import warned
from jtorch._storage.untyped import UntypedStorage
from jtorch.serialization import legacy, locations, names, settings, weights_only
from jtorch.serialization.archive import Reader
from jtorch.serialization.for_packages import _is_zipfile
from jtorch.serialization.legacy import flat_storage, text
from jtorch.serialization.rebuild import Stored
from jtorch.serialization.settings import LoadEndianness, Settings
from jtorch.storage import Storage, of_memory

UNSAFE = ("In PyTorch 2.6, we changed the default value of the `weights_only` argument in `torch.load` from `False` to `True`. "
          "With `weights_only=False` the file will likely load, but loading it can then run any code: do that only if you trust "
          "where the file comes from.")


def load(f: Any, map_location: Any, pickle_module: Any, weights_only: bool, mmap: bool, options: dict[str, Any]) -> Any:
    """Load an object. See ``torch.load``."""
    if isinstance(f, (str, os.PathLike)) and os.fspath(f).endswith(".safetensors"):
        return _load_safetensors(f, map_location)
    with _opened(f) as file:
        before, locations.of_thread.map_location = locations.of_thread.map_location, map_location
        try:
            return _load_from(f, file, locations.restorer(map_location), None if weights_only else pickle_module or pickle, mmap,
                              options)
        except pickle.UnpicklingError as e:
            if not weights_only:
                raise
            raise pickle.UnpicklingError(_failure_text(str(e))) from None
        finally:
            locations.of_thread.map_location = before


def _load_from(f: Any, file: Any, restore: Callable, pickle_module: Any, mmap: bool, options: dict[str, Any]) -> Any:
    if not _is_zipfile(file):
        if mmap:
            raise RuntimeError("mmap can only be used with files saved with `torch.save(_use_new_zipfile_serialization=True)`, "
                               "please torch.save your checkpoint with this option in order to use mmap.")
        return _load_stream(file, restore, pickle_module, options)
    reader = Reader(file)
    if reader.has("constants.pkl"):
        _refuse_torchscript(pickle_module)
    if mmap and not isinstance(f, (str, os.PathLike)):
        raise ValueError("f must be a file path in order to use the mmap argument")
    archive = Archive(reader, restore, _mapped(file) if mmap else None)
    unpickle = _unpickler(io.BytesIO(reader.record("data.pkl")), pickle_module, options)
    result = unpickle(archive.persistent_load)
    for stored in archive.found.values():
        stored.finish()
    return result


def _load_stream(file: Any, restore: Callable, pickle_module: Any, options: dict[str, Any]) -> Any:
    if legacy.is_tar(file):
        if pickle_module is None:
            raise RuntimeError(f"Cannot use ``weights_only=True`` with files saved in the legacy .tar format. {UNSAFE}")
        raise NotImplementedError("jtorch does not read the tar format of PyTorch 0.1: load the file with PyTorch and save it")
    stream = legacy.Stream(file, restore)
    return legacy.load(file, stream, _unpickler(file, pickle_module, options))


def _unpickler(file: Any, pickle_module: Any, options: dict[str, Any]) -> Callable[[Any], Any]:
    """Return a function of ``persistent_load`` that reads a file's next pickle. Without ``pickle_module`` it is restricted."""
    if pickle_module is None:
        return lambda persistent_load: weights_only.Unpickler(file, persistent_load, options.get("encoding", "utf-8")).load()

    class Unpickler(pickle_module.Unpickler):
        def find_class(self, module: str, name: str) -> Any:
            return names.find(module, name) if names.is_torch(module) else super().find_class(module, name)

    def unpickle(persistent_load: Any) -> Any:
        unpickler = Unpickler(file, **options)
        if persistent_load is not None:
            unpickler.persistent_load = persistent_load
        return unpickler.load()
    return unpickle


# -- files ------------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def _opened(f: Any):
    if isinstance(f, (str, os.PathLike)):
        with open(f, "rb") as file:
            yield file
        return
    try:
        f.seek(f.tell())
    except (io.UnsupportedOperation, AttributeError) as e:
        if not any(word in str(e) for word in ("seek", "tell")):
            raise
        raise type(e)(f"{e}. You can only torch.load from a file that is seekable. Please pre-load the data into a buffer like "
                      "io.BytesIO and try to load from it instead.") from e
    yield f


def _mapped(file: Any) -> memory_map.mmap:
    """Map the whole file; writes reach the file only if the user has set ``mmap.MAP_SHARED``."""
    size = os.fstat(file.fileno()).st_size
    if settings.MAP_SHARED is None or settings.MAP_PRIVATE is None:
        return memory_map.mmap(file.fileno(), size, access=memory_map.ACCESS_READ)
    if Settings.mmap_flags != settings.MAP_SHARED:
        return memory_map.mmap(file.fileno(), size, settings.MAP_PRIVATE, memory_map.PROT_READ)
    with open(file.name, "r+b") as writable:
        return memory_map.mmap(writable.fileno(), size, settings.MAP_SHARED)


def _refuse_torchscript(pickle_module: Any) -> None:
    warned.warn("'torch.load' received a zip file that looks like a TorchScript archive dispatching to 'torch.jit.load' (call "
                "'torch.jit.load' directly to silence this warning)")
    if pickle_module is None:
        raise RuntimeError(f"Cannot use ``weights_only=True`` with TorchScript archives passed to ``torch.load``. {UNSAFE}")
    raise NotImplementedError("jtorch does not run TorchScript")


def _load_safetensors(f: Any, map_location: Any) -> dict[str, Any]:
    from jtorch.utils.safetensors import load_file
    if isinstance(map_location, dict) or callable(map_location):
        kind = "dict" if isinstance(map_location, dict) else "callable"
        raise RuntimeError(f"Loading safetensors file with {kind} map_location is not supported. Use a device string or "
                           "torch.device instead.")
    return load_file(f, device="cpu" if map_location is None else map_location)


# -- storages ---------------------------------------------------------------------------------------------------------


class Archive:
    """The storages of one zip archive, each of which is read when the pickle first refers to it."""

    record_of = "data/{}"       # The name of a storage's record.

    def __init__(self, reader: Reader, restore: Callable, mapped: memory_map.mmap | None):
        self.reader, self.restore, self.mapped = reader, restore, mapped
        self.found: dict[str, Stored] = {}
        self.swapped = self._byteorder() != sys.byteorder

    def _byteorder(self) -> str:
        if not self.reader.has("byteorder"):
            return {LoadEndianness.BIG: "big", LoadEndianness.NATIVE: sys.byteorder}.get(Settings.endianness, "little")  # type: ignore[arg-type]
        found = self.reader.record("byteorder")
        if found not in (b"little", b"big"):
            raise ValueError(f"Unknown endianness type: {found.decode(errors='replace'):.20}")
        return found.decode()

    def persistent_load(self, saved: Any) -> Stored:
        """Return the storage of a persistent id."""
        if not isinstance(saved, tuple) or len(saved) != 5 or text(saved[0]) != "storage":
            raise RuntimeError("Unknown typename for persistent_load, expected 'storage'")
        kind, key, location, numel = saved[1:]
        if type(key) is not str or type(numel) is not int or numel < 0:
            raise RuntimeError("A storage in the checkpoint has no proper key or number of elements")
        if key not in self.found:
            self.found[key] = self._read(kind, key, text(location), numel)
        return self.found[key]

    def _read(self, kind: Any, key: str, location: str, numel: int) -> Stored:
        dtype = None if kind is UntypedStorage else getattr(kind, "dtype", None)
        if dtype is None and kind is not UntypedStorage:
            raise RuntimeError(f"A storage in the checkpoint is of the unknown kind {names.shown(kind)}")
        name, nbytes = self.record_of.format(key), numel * (1 if dtype is None else dtype.itemsize)
        size = self.reader.size(name)
        if size != nbytes:
            raise RuntimeError(f"record size ({size} bytes) does not match expected size ({nbytes} bytes = {nbytes} elements * 1 "
                               "bytes/element) for dtype Byte")
        content = self._content(name, nbytes, np.dtype(np.uint8) if dtype is None else dtype.np)
        return Stored(content, dtype, lambda storage: self.restore(storage, location))

    def _content(self, name: str, nbytes: int, kind: np.dtype) -> Storage:
        if settings.of_thread.skip_data:
            return flat_storage(np.zeros(nbytes, np.uint8).view(kind))
        if self.mapped is None:
            array = self.reader.array(name)[:nbytes].view(kind)
        else:
            array = np.frombuffer(self.mapped, np.uint8, nbytes, self.reader.offset(name)).view(kind)
        if self.swapped:
            array = array.copy()
            legacy.swap(array)
        elif array.flags.writeable and self.mapped is not None:
            return _shared(array)
        return flat_storage(array)


def _shared(array: np.ndarray) -> Storage:
    """Return a storage over memory that it does not own; writes to the storage's tensors change the memory."""
    return of_memory(engine.aval_of(array.shape, array.dtype, engine.CPU), array)


def _failure_text(message: str) -> str:
    """Return the error text for a failure of the restricted unpickler."""
    if re.search(r"GLOBAL \S+ was not an allowed global by default", message):
        return ("Weights only load failed. This file can still be loaded, to do so you have two options, \033[1mdo those steps "
                f"only if you trust the source of the checkpoint\033[0m. \n\t(1) {UNSAFE}\n\t(2) Or allow what the following "
                f"message names, and keep `weights_only=True`.\n\tWeightsUnpickler error: {message}")
    return f"Weights only load failed. {UNSAFE}\n\nWeightsUnpickler error: {message}"


def unsafe_globals(f: Any) -> list[str]:
    """Return the names in a checkpoint that ``weights_only=True`` does not allow."""
    with _opened(f) as file:
        if not _is_zipfile(file):
            raise ValueError("Expected input to be a checkpoint returned by torch.save")
        reader = Reader(file)
        if reader.has("constants.pkl"):
            raise ValueError("Expected input to be a checkpoint returned by torch.save but got a torchscript checkpoint")
        return weights_only.unsafe_globals(reader.record("data.pkl"))
