"""torch.cuda.profiler: NVIDIA's profiler switched on and off. torch.profiler writes timelines here."""
from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import NoReturn


def start() -> NoReturn:
    """Not built. See torch.cuda.profiler.start."""
    raise NotImplementedError("torch.cuda.profiler is not built; torch.profiler.profile writes a timeline, GPUs included.")


stop = init = start


@contextlib.contextmanager
def profile() -> Iterator[None]:
    """Not built. See torch.cuda.profiler.profile."""
    start()
    yield
