"""torch.save and torch.load: checkpoints in PyTorch's format. See torch.serialization.

A checkpoint names PyTorch's classes and functions, never jtorch's. So each library reads the checkpoints of the other.

| file | what it does |
|---|---|
| ``saving``, ``pickler`` | an object's pickle, and the storages it refers to |
| ``plain`` | tensors and storages in pickles that ``pickle.dumps`` writes |
| ``renaming`` | PyTorch's names in a pickle of a Pickler in C, which cannot be customized |
| ``archive``, ``atomic`` | PyTorch's zip archives; files that are replaced atomically |
| ``loading``, ``legacy`` | the zip archives, and the earlier streams of pickles |
| ``weights_only`` | the restricted unpickler |
| ``rebuild`` | tensors from storages, with checks |
| ``names``, ``locations``, ``settings`` | names in checkpoints; ``map_location``; byte order, checksums, mapping |
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

# Maps each name of this module to the file that defines it. Names are imported on first access: most programs never save.
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

    A file given by its path is replaced atomically: a reader finds the old content or the new one, even after a crash.
    Tensors that share memory share it in the file. A tensor that shows a part of its storage is saved with all of it. Hooks
    and gradients are not saved. If an object cannot be pickled, pickle's error is raised and nothing is written.

    Args:
        obj: any object that can be pickled, with tensors of any dtype and device in it.
        f: a path, or a file-like object with ``write`` and ``flush``.
        pickle_module: a module with a ``Pickler``.
        pickle_protocol: the pickle protocol.
        _use_new_zipfile_serialization: whether to write a zip archive, rather than the older format.
        _disable_byteorder_record: whether to omit the record of the byte order.

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
    """Load an object that ``torch.save``, PyTorch's or jtorch's, wrote. See torch.load.

    With ``weights_only`` a file can only hold tensors, numbers, strings, their containers, and classes that
    ``torch.serialization.add_safe_globals`` allows. Without it, loading a file can run any code.

    Args:
        f: a path, or a seekable file-like object.
        map_location: the device of tensors: a device or its name, a dict from locations in the file to others, or a function
            of a storage and its location.
        pickle_module: a module with an ``Unpickler``.
        weights_only: True by default, unless there is a ``pickle_module``.
        mmap: whether elements are read from the file on first access; checksums are then not checked.
        pickle_load_args: arguments of the Unpickler, without ``weights_only``.

    Returns:
        The object.

    Raises:
        pickle.UnpicklingError: the file contains something that ``weights_only`` does not allow.
        RuntimeError: the file is damaged.

    >>> import io
    >>> file = io.BytesIO()
    >>> torch.save(torch.ones(2), file)
    >>> _ = file.seek(0)
    >>> torch.load(file)
    tensor([1., 1.])

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
    """Return whether to load weights only, as the caller and the environment say."""
    force, forbid = (os.getenv(name, "0").lower() in _TRUE
                     for name in ("TORCH_FORCE_WEIGHTS_ONLY_LOAD", "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD"))
    if force and forbid:
        raise RuntimeError("Only one of `TORCH_FORCE_WEIGHTS_ONLY_LOAD` or `TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD` should be set, but "
                           "both were set.")
    if given is not None:
        return given or force
    return force or (pickle_module is None and not forbid)


def get_unsafe_globals_in_checkpoint(f: Any) -> list[str]:
    """Return the names in a checkpoint that ``weights_only=True`` does not allow, without running the pickle."""
    from jtorch.serialization import loading
    return loading.unsafe_globals(f)


class SourceChangeWarning(Warning):
    """Warns that a class has changed since it was saved. It is never issued, because source code is not saved."""
