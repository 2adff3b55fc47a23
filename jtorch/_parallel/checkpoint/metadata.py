"""The classes that a checkpoint's ``.metadata`` pickles, under PyTorch's names."""
from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from jtorch._base.layout import strided
from jtorch._base.size import Size
from jtorch.serialization import names


@dataclass
class ChunkStorageMetadata:
    """A shard of a tensor: its offsets and sizes."""

    offsets: Any
    sizes: Any


class _MEM_FORMAT_ENCODING(Enum):       # noqa: N801
    TORCH_CONTIGUOUS_FORMAT = 0
    TORCH_CHANNELS_LAST = 1
    TORCH_PRESERVE_FORMAT = 2


@dataclass
class TensorProperties:
    """The properties of a tensor: dtype, layout and so on."""

    dtype: Any = None
    layout: Any = strided
    requires_grad: bool = False
    memory_format: Any = _MEM_FORMAT_ENCODING.TORCH_CONTIGUOUS_FORMAT
    pin_memory: bool = False

    def __getstate__(self) -> tuple:
        return self.dtype, self.layout, self.requires_grad, self.memory_format, self.pin_memory

    def __setstate__(self, state: tuple) -> None:
        self.dtype, self.layout, self.requires_grad, self.memory_format, self.pin_memory = state


@dataclass
class TensorStorageMetadata:
    """A tensor's size, properties and shards."""

    properties: TensorProperties
    size: Any
    chunks: list[ChunkStorageMetadata]


@dataclass
class BytesStorageMetadata:
    """Stands for a value that is no tensor."""


@dataclass
class StorageMeta:
    """The folder of a checkpoint, and the id of its save."""

    checkpoint_id: str | os.PathLike | None = None
    save_id: str | None = None
    load_id: str | None = None
    modules: list[str] = field(default_factory=list)


@dataclass
class Metadata:
    """The content of a checkpoint."""

    state_dict_metadata: dict[str, Any]
    planner_data: Any = None
    storage_data: Any = None
    storage_meta: StorageMeta | None = None
    version: str | None = None


@dataclass(frozen=True)
class MetadataIndex:
    """Names a shard of a tensor; ``index`` is a hint at its position in the list of shards."""

    fqn: str
    offset: Any = None
    index: int | None = field(hash=False, compare=False, default=None)

    def __init__(self, fqn: str, offset: Sequence[int] | None = None, index: int | None = None):
        object.__setattr__(self, "fqn", fqn)
        object.__setattr__(self, "index", index)
        if offset is not None:
            object.__setattr__(self, "offset", Size(offset))


@dataclass
class _StorageInfo:
    """The place of a shard: its file, offset and length in bytes."""

    relative_path: str
    offset: int
    length: int
    transform_descriptors: Sequence[str] | None = None

    def __getstate__(self) -> dict:
        return {k: v for k, v in self.__dict__.items() if v is not None}


CLASSES = (ChunkStorageMetadata, _MEM_FORMAT_ENCODING, TensorProperties, TensorStorageMetadata, BytesStorageMetadata, StorageMeta,
           Metadata, MetadataIndex)
for _cls in CLASSES:
    names.register(_cls, "torch.distributed.checkpoint.metadata", _cls.__name__)
names.register(_StorageInfo, "torch.distributed.checkpoint.filesystem", "_StorageInfo")
