"""torch.cuda.profiler: control of NVIDIA's profiler, which is not built. Use torch.profiler."""
from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import NoReturn


def start() -> NoReturn:
    """Raise NotImplementedError. See torch.cuda.profiler.start."""
    raise NotImplementedError("torch.cuda.profiler is not built; torch.profiler.profile writes a timeline, GPUs included.")


stop = init = start


@contextlib.contextmanager
def profile() -> Iterator[None]:
    """Raise NotImplementedError. See torch.cuda.profiler.profile."""
    start()
    yield
