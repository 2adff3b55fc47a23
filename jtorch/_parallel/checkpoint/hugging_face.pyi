# Written by tools/stubs.py from the op records: change those, then run `python -m tools.stubs`.
# mypy: disable-error-code="override, misc, overload-overlap, overload-cannot-match"
# pyright: reportIncompatibleMethodOverride=false, reportOverlappingOverload=false
import builtins
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias, overload

import numpy as _np

from jtorch.device import device as _device
from jtorch.dtype import dtype as _dtype
from jtorch._base.generator import Generator as _Generator
from jtorch._base.size import Size as _Size
from jtorch._C import Any as Any
from jtorch._api.declared import dataclass as dataclass
from jtorch._api.torch_function import Iterable as Iterable
from jtorch._base.caller import Path as Path
from jtorch._base.pytree import defaultdict as defaultdict
from jtorch._base.size import Size as Size
from jtorch._parallel.checkpoint.files import FileSystemReader as FileSystemReader
from jtorch._parallel.checkpoint.files import FileSystemWriter as FileSystemWriter
from jtorch._parallel.checkpoint.metadata import ChunkStorageMetadata as ChunkStorageMetadata
from jtorch._parallel.checkpoint.metadata import Metadata as Metadata
from jtorch._parallel.checkpoint.metadata import MetadataIndex as MetadataIndex
from jtorch._parallel.checkpoint.metadata import StorageMeta as StorageMeta
from jtorch._parallel.checkpoint.metadata import TensorProperties as TensorProperties
from jtorch._parallel.checkpoint.metadata import TensorStorageMetadata as TensorStorageMetadata
from jtorch.serialization.atomic import replacing as replacing
from jtorch.tensor import Tensor as Tensor

_Number: TypeAlias = builtins.int | builtins.float | builtins.complex
_DeviceLike: TypeAlias = _device | builtins.str | builtins.int

HuggingFaceStorageReader: Any
HuggingFaceStorageWriter: Any
INDEX: builtins.str
OFFSETS: builtins.str
SHARDING: builtins.str
SHARDS: builtins.str
@overload
def zeros(*size: builtins.int, dtype: _dtype | None = None, out: Tensor | None = None, layout: Any = None, device: _DeviceLike | None = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool = False) -> Tensor: ...
@overload
def zeros(size: Sequence[builtins.int], *, dtype: _dtype | None = None, out: Tensor | None = None, layout: Any = None, device: _DeviceLike | None = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool = False) -> Tensor:
    """Return a tensor of zeros. See torch.zeros."""
