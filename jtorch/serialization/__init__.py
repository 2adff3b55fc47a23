"""torch.save and torch.load: PyTorch's checkpoints, written for PyTorch and read from it. See torch.serialization.

A checkpoint names PyTorch's classes and functions, never jtorch's, so that either library reads what the other has written.

| file | what it does |
|---|---|
| ``saving``, ``pickler`` | an object's pickle, and the storages it refers to |
| ``plain`` | tensors and storages in pickles that ``pickle.dumps`` writes |
| ``renaming`` | PyTorch's names in a pickle whose Pickler, written in C, cannot be told of them |
| ``archive``, ``atomic`` | PyTorch's zip archives; files that are replaced whole or not at all |
| ``loading``, ``legacy`` | the zip archives, and the streams of pickles that came before them |
| ``weights_only`` | the unpickler that runs nothing outside a list |
| ``rebuild`` | tensors from storages, checked |
| ``names``, ``locations``, ``settings`` | what things are called; ``map_location``; byte order, checksums, mapping |
"""
from __future__ import annotations

import importlib
import os
import pickle
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from jtorch._base import warned
from jtorch.device import device

if TYPE_CHECKING:
    from jtorch.serialization.legacy import MAGIC_NUMBER as MAGIC_NUMBER
    from jtorch.serialization.legacy import PROTOCOL_VERSION as PROTOCOL_VERSION
    from jtorch.serialization.locations import default_restore_location as default_restore_location
    from jtorch.serialization.locations import location_tag as location_tag
    from jtorch.serialization.locations import register_package as register_package
    from jtorch.serialization.locations import validate_cuda_device as validate_cuda_device
    from jtorch.serialization.names import StorageType as StorageType
    from jtorch.serialization.rebuild import _get_layout as _get_layout
    from jtorch.serialization.settings import LoadEndianness as LoadEndianness
    from jtorch.serialization.settings import get_crc32_options as get_crc32_options
    from jtorch.serialization.settings import get_default_load_endianness as get_default_load_endianness
    from jtorch.serialization.settings import get_default_mmap_options as get_default_mmap_options
    from jtorch.serialization.settings import set_crc32_options as set_crc32_options
    from jtorch.serialization.settings import set_default_load_endianness as set_default_load_endianness
    from jtorch.serialization.settings import set_default_mmap_options as set_default_mmap_options
    from jtorch.serialization.settings import skip_data as skip_data
    from jtorch.serialization.weights_only import add_safe_globals as add_safe_globals
    from jtorch.serialization.weights_only import clear_safe_globals as clear_safe_globals
    from jtorch.serialization.weights_only import get_safe_globals as get_safe_globals
    from jtorch.serialization.weights_only import safe_globals as safe_globals

MAP_LOCATION: TypeAlias = Callable[[Any, str], Any] | device | str | dict[str, str] | None

# In which file a public name is. They are imported when first asked for: most programs never save anything.
_WHERE = {name: file for file, names in {
    "for_packages": "normalize_storage_type _get_restore_location _is_path _is_torchscript_zip _is_zipfile _maybe_decode_ascii "
                    "_open_file_like _open_zipfile_reader",
    "legacy": "MAGIC_NUMBER PROTOCOL_VERSION",
    "locations": "default_restore_location location_tag register_package validate_cuda_device",
    "names": "StorageType",
    "rebuild": "_get_layout",
    "settings": "LoadEndianness get_crc32_options get_default_load_endianness get_default_mmap_options set_crc32_options "
                "set_default_load_endianness set_default_mmap_options skip_data",
    "weights_only": "add_safe_globals clear_safe_globals get_safe_globals safe_globals"}.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(importlib.import_module(f"{__name__}.{_WHERE[name]}"), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_WHERE})


DEFAULT_PROTOCOL = 2
_TRUE = ("1", "y", "yes", "true")


def save(obj: object, f: Any, pickle_module: Any = pickle, pickle_protocol: int = DEFAULT_PROTOCOL,
         _use_new_zipfile_serialization: bool = True, _disable_byteorder_record: bool = False) -> None:
    """Save an object to a file that PyTorch can load too. See torch.save.

    ``f`` is a path or a file-like object with ``write`` and ``flush``. A file given by its path is replaced at the end, at
    once: whoever looks at it, also after a crash, finds the old content or the new one. Tensors that share memory share it
    in the file, and a tensor that shows a part of its storage is saved with all of it. Hooks and gradients are not saved.
    Raises what pickle raises for objects that cannot be pickled, and then has written nothing.

    >>> import jtorch as torch, tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "x.pt")
    >>> torch.save({"x": torch.arange(3)}, path)
    >>> torch.load(path)
    {'x': tensor([0, 1, 2])}
    """
    from jtorch.serialization import saving
    saving.save(obj, f, pickle_module, pickle_protocol, _use_new_zipfile_serialization, not _disable_byteorder_record)


def load(f: Any, map_location: Any = None, pickle_module: Any = None, *, weights_only: bool | None = None,
         mmap: bool | None = None, **pickle_load_args: Any) -> Any:
    """Load what ``torch.save``, PyTorch's or jtorch's, has written. See torch.load.

    ``f`` is a path or a seekable file-like object. ``map_location`` says where tensors go: a device or its name, a dict from
    the places in the file to others, or a function of a storage and its place. With ``weights_only`` (the default, unless
    there is a ``pickle_module``) a file can only hold tensors, numbers, strings, their containers and what
    ``torch.serialization.add_safe_globals`` allows; without, loading a file can run any code. With ``mmap`` the elements are
    read from the file when they are first looked at, and checksums are not checked.

    Raises pickle.UnpicklingError for what ``weights_only`` does not allow, and RuntimeError for damaged files.
    """
    given = weights_only
    weights_only = _weights_only(weights_only, pickle_module)
    if weights_only and pickle_module is not None:
        raise RuntimeError("Can not safely load weights when explicit pickle_module is specified")
    if weights_only and pickle_load_args:
        warned.warn("pickle_load_args only works if `weights_only=False`.")
    if given is None and not weights_only and pickle_module is None:
        warned.warn("Environment variable TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD detected, since the`weights_only` argument was not "
                    "explicitly passed to `torch.load`, forcing weights_only=False.")
    from jtorch.serialization import loading
    options = {"encoding": "utf-8", **pickle_load_args}
    return loading.load(f, map_location, pickle_module, weights_only, bool(mmap), options)


def _weights_only(given: bool | None, pickle_module: Any) -> bool:
    """Return whether to load weights only, as the caller and the environment want it."""
    force, forbid = (os.getenv(name, "0").lower() in _TRUE
                     for name in ("TORCH_FORCE_WEIGHTS_ONLY_LOAD", "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD"))
    if force and forbid:
        raise RuntimeError("Only one of `TORCH_FORCE_WEIGHTS_ONLY_LOAD` or `TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD` should be set, but "
                           "both were set.")
    if given is not None:
        return given or force
    return force or (pickle_module is None and not forbid)


def get_unsafe_globals_in_checkpoint(f: Any) -> list[str]:
    """Return the names of classes and functions in a checkpoint that ``weights_only=True`` does not allow; nothing of it is run."""
    from jtorch.serialization import loading
    return loading.unsafe_globals(f)


class SourceChangeWarning(Warning):
    """A class has changed since it was saved. Never given here: source code is not saved."""
