"""Checkpoints of several ranks as safetensors files, which Hugging Face's libraries read.

Each rank writes its shards and their offsets in the whole tensors to ``shard-…-model-….safetensors``. Consolidation turns
these files into ``model-….safetensors`` of whole tensors, and ``model.safetensors.index.json`` says which file has which
tensor.
"""
from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jtorch._api.functions import zeros
from jtorch._base.size import Size
from jtorch._parallel.checkpoint.files import FileSystemReader, FileSystemWriter
from jtorch._parallel.checkpoint.metadata import (
    ChunkStorageMetadata,
    Metadata,
    MetadataIndex,
    StorageMeta,
    TensorProperties,
    TensorStorageMetadata,
    _StorageInfo,
)
from jtorch.serialization.atomic import replacing
from jtorch.tensor import Tensor
from jtorch.utils import safetensors

INDEX, SHARDS = "model.safetensors.index.json", "sharded"
SHARDING, OFFSETS = "DCP_SHARDING_INFO", "saved_offsets"      # These names appear in a file's metadata.


def _file_name(number: int, of: int, shard: int | None = None) -> str:
    name = f"model-{number:05d}-of-{of:05d}.safetensors"
    return name if shard is None else f"shard-{shard:05d}-{name}"


class HuggingFaceStorageWriter(FileSystemWriter):
    """Writes safetensors files. See torch.distributed.checkpoint.HuggingFaceStorageWriter.

    Args:
        path: the folder.
        fqn_to_index_mapping: maps each tensor's name to the number of its file, from 1; one file for all, if None.
        thread_count, thread_count_consolidation: accepted and ignored.
        save_distributed: whether each rank writes its own files; otherwise only the first rank may have something to write.
        enable_consolidation: whether the ranks write to the folder ``sharded`` within ``path``. With ``save_distributed``,
            files of whole tensors are made from these in ``path``.

    """

    def __init__(self, path: str | os.PathLike, fqn_to_index_mapping: dict[str, int] | None = None, thread_count: int = 1,
                 save_distributed: bool = False, enable_consolidation: bool = False, thread_count_consolidation: int = 1):
        super().__init__(Path(path, SHARDS) if enable_consolidation else path)
        self.whole, self.numbers = Path(path), fqn_to_index_mapping
        self.save_distributed, self.enable_consolidation = save_distributed, enable_consolidation

    def _number(self, name: str) -> int:
        return 1 if self.numbers is None else self.numbers[name]

    @property
    def _files(self) -> int:
        return 1 if self.numbers is None else max(self.numbers.values())

    def write(self, rank: int, items: list[tuple[Any, Any]]) -> list[tuple[Any, _StorageInfo]]:
        """Write a rank's shards; NotImplementedError for values that are no tensors."""
        if rank and items and not self.save_distributed:
            raise RuntimeError(f"rank {rank} has something to write too: HuggingFaceStorageWriter needs save_distributed=True")
        by_file: dict[int, list] = defaultdict(list)
        for index, value in items:
            if not isinstance(value, Tensor):
                raise NotImplementedError(f"safetensors files hold tensors alone: {index.fqn} is none")
            by_file[self._number(index.fqn)].append((index, value))
        return [place for number, parts in by_file.items() for place in self._write_file(number, rank, parts)]

    def _write_file(self, number: int, rank: int, parts: list) -> Iterable[tuple[Any, _StorageInfo]]:
        name = _file_name(number, self._files, rank + 1 if self.save_distributed else None)
        offsets = {index.fqn: {OFFSETS: list(index.offset)} for index, _ in parts}
        safetensors.save_file({index.fqn: value for index, value in parts}, self.path / name,
                              {SHARDING: json.dumps(offsets), "DCP_VERSION": "1.0", "format": "pt"})
        return [(index, _StorageInfo(name, 0, value.numel() * value.element_size())) for index, value in parts]   # type: ignore[attr-defined]

    def finish(self, metadata: Metadata, places: list[list[tuple[Any, _StorageInfo]]]) -> None:
        """Consolidate the files if that is enabled, and write the index."""
        files = {index.fqn: info.relative_path for rank in places for index, info in rank}
        if self.save_distributed and self.enable_consolidation:
            files = {name: _file_name(self._number(name), self._files) for name in metadata.state_dict_metadata}
            self._consolidate(metadata, [index_info for rank in places for index_info in rank], files)
        if not self.save_distributed or self.enable_consolidation:
            total = sum([info.length for rank in places for _, info in rank])
            folder = self.whole if self.save_distributed else self.path     # the folder of the files
            with replacing(str(folder / INDEX)) as file:
                file.write(json.dumps({"metadata": {"total_size": total}, "weight_map": files}, indent=2).encode())

    def _consolidate(self, metadata: Metadata, places: list[tuple[Any, _StorageInfo]], files: dict[str, str]) -> None:
        parts: dict[str, list] = defaultdict(list)
        for index, info in places:
            parts[index.fqn].append((index, info))
        for file in dict.fromkeys(files.values()):
            names = [name for name, of in files.items() if of == file]
            read = {of: safetensors.load_file(self.path / of)
                    for of in {info.relative_path for name in names for _, info in parts[name]}}
            whole = {name: _joined(metadata.state_dict_metadata[name], parts[name], read) for name in names}
            safetensors.save_file(whole, self.whole / file, {"format": "pt"})


def _joined(known: TensorStorageMetadata, parts: list, read: dict[str, dict[str, Tensor]]) -> Tensor:
    """Assemble a whole tensor from its shards."""
    whole: Any = zeros(known.size, dtype=known.properties.dtype)
    for index, info in parts:
        part = read[info.relative_path][index.fqn]
        whole[tuple([slice(at, at + n) for at, n in zip(index.offset, part.shape, strict=True)])] = part
    return whole


@dataclass(frozen=True)
class _Place:
    relative_path: str
    key: str


class HuggingFaceStorageReader(FileSystemReader):
    """Reads the safetensors files of a folder. See torch.distributed.checkpoint.HuggingFaceStorageReader.

    Args:
        path: the folder.
        thread_count: accepted and ignored.

    """

    def __init__(self, path: str | os.PathLike, thread_count: int = 1):
        super().__init__(path)
        # Caches files by name, since the shards of a tensor are in the files of all ranks.
        self._read: dict[str, dict[str, Tensor]] = {}

    def tensor(self, info: Any) -> Tensor:
        """Return a shard of a tensor."""
        name = info.relative_path
        if name not in self._read:
            self._read[name] = safetensors.load_file(self.path / name)
        return self._read[name][info.key]

    def read_metadata(self) -> Metadata:
        """Return the metadata of the tensors, from the files' headers."""
        self._read.clear()
        known: dict[str, TensorStorageMetadata] = {}
        places: dict[MetadataIndex, _Place] = {}
        for path in sorted(self.path.glob("*.safetensors")):
            more, parts = safetensors.header(path)
            sharding = json.loads(more.get(SHARDING, "{}"))
            for name, (dtype, shape) in parts.items():
                offset = sharding[name][OFFSETS] if sharding else [0] * len(shape)
                end = [at + n for at, n in zip(offset, shape, strict=True)]
                kept = known.setdefault(name, TensorStorageMetadata(TensorProperties(dtype), Size(end), []))
                kept.size = Size([max(m, n) for m, n in zip(kept.size, end, strict=True)])
                kept.chunks.append(ChunkStorageMetadata(Size(offset), Size(shape)))
                places[MetadataIndex(name, Size(offset))] = _Place(path.name, name)
        return Metadata(known, storage_data=places, storage_meta=StorageMeta(str(self.path)))
