"""torch._C._distributed_c10d: names of torch.distributed that PyTorch defines in C++."""
from __future__ import annotations

from typing import Any

from jtorch._base.not_built import placeholder as _placeholder

Reducer = _placeholder("_C._distributed_c10d", "Reducer")


def __getattr__(name: str) -> Any:
    from jtorch import distributed
    if not name.startswith("__") and hasattr(distributed, name):
        return getattr(distributed, name)
    raise AttributeError(f"module 'torch._C._distributed_c10d' has no attribute {name!r}")
