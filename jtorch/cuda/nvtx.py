"""torch.cuda.nvtx: marks for NVIDIA's tools, which are not built. Use torch.profiler.record_function."""
from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, NoReturn


def _absent(*args: Any, **kwargs: Any) -> NoReturn:
    raise RuntimeError("NVTX functions not installed. Are you sure you have a CUDA build?")


range_push = range_pop = range_start = range_end = mark = _absent


@contextlib.contextmanager
def range(msg: str, *args: Any, **kwargs: Any) -> Iterator[None]:
    """Raise RuntimeError on entry, as PyTorch does without CUDA. See torch.cuda.nvtx.range."""
    range_push(msg.format(*args, **kwargs))
    try:
        yield
    finally:
        range_pop()
