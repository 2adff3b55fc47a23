"""torch.jit.annotations: types for annotations of TorchScript."""
from __future__ import annotations

from typing import Any, Dict, List, Optional, Tuple, Union  # noqa: F401, UP035 (PyTorch's names, which packages import from here)

from jtorch.futures import Future as Future
from jtorch.tensor import Tensor as Tensor


class BroadcastingListCls:
    """The type ``BroadcastingList2[int]`` in an annotation: several numbers, or one number for all."""

    def __getitem__(self, types: Any) -> None:
        """Return None, since annotations are not read."""


for _n in range(1, 7):
    globals()[f"BroadcastingList{_n}"] = BroadcastingListCls()

del BroadcastingListCls      # PyTorch's module does not have this name
