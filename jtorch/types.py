"""torch.types: names for annotations."""
from __future__ import annotations

import os
from collections.abc import Sequence
from typing import IO, Any

from jtorch._base.size import Size
from jtorch._storage.untyped import UntypedStorage as Storage
from jtorch.device import device
from jtorch.dtype import dtype
from jtorch.tensor import Tensor

__all__ = ["Device", "FileLike", "Number", "Storage"]

Number = int | float | bool
Device = device | str | int | None
FileLike = str | os.PathLike | IO[bytes]
TensorOrTensors = Tensor | Sequence[Tensor]
_dtype, _device, _size, _int, _float, _bool, _TensorOrTensors = dtype, device, Size, int, float, bool, TensorOrTensors
_layout: Any = object
