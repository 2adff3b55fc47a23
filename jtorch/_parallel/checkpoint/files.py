"""The files of a checkpoint: ``.metadata``, and ``.distcp`` files of concatenated shards.

A save writes files under new names, then replaces ``.metadata`` atomically, then deletes the files that it no longer names.
So a process that is killed at any time leaves a complete checkpoint: the previous or the new one.
"""
from __future__ import annotations

import importlib
import io
import os
import pickle
import re
import uuid
from dataclasses import replace
from pathlib import Path
from typing import Any

from jtorch import serialization
from jtorch._parallel.checkpoint.metadata import Metadata, StorageMeta, _StorageInfo
from jtorch.serialization import names
from jtorch.serialization.atomic import replacing
from jtorch.serialization.pickler import Storages, pickled

METADATA, SUFFIX = ".metadata", ".distcp"
_BUILTINS = {("collections", "OrderedDict"), ("collections", "defaultdict"), ("builtins", "set"), ("builtins", "frozenset"),
             ("builtins", "dict"), ("builtins", "list"),
             *[("pathlib", f"{kind}{of}") for kind in ("", "Pure") for of in ("Path", "PosixPath", "WindowsPath")]}


class FileSystemWriter:
    """Writes a checkpoint into a folder. See torch.distributed.checkpoint.FileSystemWriter.

    Args:
        path: the folder.
        single_file_per_rank, thread_count, per_thread_copy_ahead, cache_staged_state_dict: accepted and ignored.
        sync_files: whether files are flushed to the disk.
        overwrite: whether a checkpoint in the folder may be replaced.

    """

    def __init__(self, path: str | os.PathLike, single_file_per_rank: bool = True, sync_files: bool = True, thread_count: int = 1,
                 per_thread_copy_ahead: int = 10_000_000, cache_staged_state_dict: bool = False, overwrite: bool = True,
                 **kwargs: Any):
        self.path, self.sync_files, self.overwrite = Path(path), sync_files, overwrite
        self.save_id = str(uuid.uuid4())

    @property
    def checkpoint_id(self) -> Path:
        """The folder."""
        return self.path

    def prepare(self) -> None:
        """Create the folder; RuntimeError if it has a checkpoint that must not be overwritten."""
        self.path.mkdir(parents=True, exist_ok=True)
        if not self.overwrite and (self.path / METADATA).exists():
            raise RuntimeError(f"Checkpoint already exists and self.overwrite={self.overwrite!r}.")

    def file_name(self, rank: int) -> str:
        """Return the first free name for a rank's file."""
        return next(name for i in range(10**9) if not (self.path / (name := f"__{rank}_{i}{SUFFIX}")).exists())

    def write(self, rank: int, items: list[tuple[Any, Any]]) -> list[tuple[Any, _StorageInfo]]:
        """Write the values of (index, tensor or bytes) one after another; return their places."""
        if not items:
            return []
        name, places = self.file_name(rank), []
        with open(self.path / name, "wb") as file:
            for index, value in items:
                offset = file.tell()
                file.write(value if isinstance(value, bytes) else written(value))
                places.append((index, _StorageInfo(name, offset, file.tell() - offset)))
            file.flush()
            if self.sync_files:
                os.fsync(file.fileno())
        return places

    def finish(self, metadata: Metadata, places: list[list[tuple[Any, _StorageInfo]]]) -> None:
        """Replace ``.metadata``, and delete the ``.distcp`` files of earlier saves that it no longer names."""
        metadata = replace(metadata, version="1.0.0", storage_data={index: info for rank in places for index, info in rank},
                           storage_meta=StorageMeta(str(self.path), self.save_id))
        with replacing(str(self.path / METADATA)) as file:
            file.write(pickled(metadata, Storages(), pickle, 4))
        named = {info.relative_path for info in metadata.storage_data.values()}
        for old in self.path.glob(f"__*{SUFFIX}"):
            if old.name not in named and re.fullmatch(rf"__\d+_\d+\{SUFFIX}", old.name):
                old.unlink(missing_ok=True)


class FileSystemReader:
    """Reads a checkpoint from a folder. See torch.distributed.checkpoint.FileSystemReader.

    Args:
        path: the folder.

    """

    def __init__(self, path: str | os.PathLike, **kwargs: Any):
        self.path = Path(path)

    @property
    def checkpoint_id(self) -> Path:
        """The folder."""
        return self.path

    def read_metadata(self) -> Metadata:
        """Return the checkpoint's metadata."""
        with open(self.path / METADATA, "rb") as file:
            return _MetadataUnpickler(file).load()

    def read(self, info: _StorageInfo) -> bytes:
        """Return the bytes of a shard or object."""
        if info.transform_descriptors:
            raise NotImplementedError(f"a checkpoint whose parts went through {info.transform_descriptors} cannot be read")
        inside = (self.path / info.relative_path).resolve()
        if not inside.is_relative_to(self.path.resolve()):
            raise ValueError(f"the checkpoint names a file outside its folder: {info.relative_path}")
        with open(inside, "rb") as file:
            file.seek(info.offset)
            found = file.read(info.length)
        if len(found) != info.length:
            raise EOFError(f"{inside} ends before byte {info.offset + info.length}: the checkpoint is damaged")
        return found

    def tensor(self, info: Any) -> Any:
        """Return a shard of a tensor."""
        return read_back(self.read(info), weights_only=True)


class _MetadataUnpickler(pickle.Unpickler):
    """Unpickles the classes of PyTorch's metadata, and those of the values in it; UnpicklingError for others."""

    def find_class(self, module: str, name: str) -> Any:
        if module in ("torch.distributed.checkpoint.metadata", "torch.distributed.checkpoint.filesystem"):
            return names.find(module, name)
        if module == "torch" or (module, name) == ("torch.serialization", "_get_layout"):
            found = names.find(module, name)
            if module != "torch" or name == "Size" or found.__class__.__name__ == "dtype":
                return found
        if (module, name) in _BUILTINS:
            return getattr(importlib.import_module(module), name)
        raise pickle.UnpicklingError(f"a checkpoint's metadata have no business with {module}.{name}")


def written(obj: Any) -> bytes:
    """Return the bytes that torch.save writes."""
    buffer = io.BytesIO()
    serialization.save(obj, buffer)
    return buffer.getvalue()


def read_back(data: bytes, weights_only: bool) -> Any:
    """Return the object that torch.load reads."""
    return serialization.load(io.BytesIO(data), map_location="cpu", weights_only=weights_only)
