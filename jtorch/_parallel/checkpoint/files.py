"""The files of a checkpoint: ``.metadata``, and ``.distcp`` files with parts behind one another.

A save writes files of new names, then replaces ``.metadata`` at once, then deletes files that it no longer names. So whoever is
killed at any moment leaves a checkpoint that is whole: the one before or the new one.
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
    """Writes a checkpoint into a folder. See torch.distributed.checkpoint.FileSystemWriter."""

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
        """Makes the folder; RuntimeError where it has a checkpoint that is not to be overwritten."""
        self.path.mkdir(parents=True, exist_ok=True)
        if not self.overwrite and (self.path / METADATA).exists():
            raise RuntimeError(f"Checkpoint already exists and self.overwrite={self.overwrite!r}.")

    def file_name(self, rank: int) -> str:
        """The first name for a rank's file that is not taken."""
        return next(name for i in range(10**9) if not (self.path / (name := f"__{rank}_{i}{SUFFIX}")).exists())

    def write(self, rank: int, items: list[tuple[Any, Any]]) -> list[tuple[Any, _StorageInfo]]:
        """Writes parts (index, tensor or bytes) behind one another; where each is."""
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
        """Writes ``.metadata`` in place of the one before, and deletes what only that named."""
        metadata = replace(metadata, version="1.0.0", storage_data={index: info for rank in places for index, info in rank},
                           storage_meta=StorageMeta(str(self.path), self.save_id))
        with replacing(str(self.path / METADATA)) as file:
            file.write(pickled(metadata, Storages(), pickle, 4))
        named = {info.relative_path for info in metadata.storage_data.values()}
        for old in self.path.glob(f"__*{SUFFIX}"):
            if old.name not in named and re.fullmatch(rf"__\d+_\d+\{SUFFIX}", old.name):
                old.unlink(missing_ok=True)


class FileSystemReader:
    """Reads a checkpoint from a folder. See torch.distributed.checkpoint.FileSystemReader."""

    def __init__(self, path: str | os.PathLike, **kwargs: Any):
        self.path = Path(path)

    @property
    def checkpoint_id(self) -> Path:
        """The folder."""
        return self.path

    def read_metadata(self) -> Metadata:
        """What the checkpoint has."""
        with open(self.path / METADATA, "rb") as file:
            return _MetadataUnpickler(file).load()

    def read(self, info: _StorageInfo) -> bytes:
        """The bytes of a part."""
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
        """A part that is a tensor."""
        return read_back(self.read(info), weights_only=True)


class _MetadataUnpickler(pickle.Unpickler):
    """Makes what PyTorch's metadata consist of, and nothing else."""

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
    """What torch.save writes."""
    buffer = io.BytesIO()
    serialization.save(obj, buffer)
    return buffer.getvalue()


def read_back(data: bytes, weights_only: bool) -> Any:
    """What torch.load reads."""
    return serialization.load(io.BytesIO(data), map_location="cpu", weights_only=weights_only)
