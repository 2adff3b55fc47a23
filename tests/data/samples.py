"""Datasets and functions that worker processes import by name."""
from __future__ import annotations

import os
import random
import signal
import time

import numpy as np

import jtorch


class Squares:
    """A map-style dataset of (index, square)."""

    def __init__(self, n: int):
        self.n = n

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, i):
        return i, float(i * i)


class Mixed(Squares):
    """A dataset whose samples hold values of several types, for ``default_collate``."""

    def __getitem__(self, i):
        return {"int": i, "float": i / 2, "array": np.full((2, 3), i, np.float32), "scalar": np.int16(i), "text": str(i),
                "pair": (i, [i, i + 1]), "flag": i % 2 == 0}


class Drawn(Squares):
    """A dataset of random numbers of each generator seeded by a worker."""

    def __init__(self, n: int, torch_name: str):
        super().__init__(n)
        self.torch_name = torch_name

    def __getitem__(self, i):
        import importlib
        xp = importlib.import_module(self.torch_name)
        return i, random.random(), np.random.rand(), float(xp.rand(1)), xp.utils.data.get_worker_info().seed


class Failing(Squares):
    """A dataset that raises at one index."""

    def __init__(self, n: int, error: type, at: int = 2):
        super().__init__(n)
        self.error, self.at = error, at

    def __getitem__(self, i):
        if i == self.at:
            raise self.error("wrong", i) if self.error is UnicodeDecodeError else self.error("wrong sample")
        return i


class TwoArguments(Exception):
    """An exception that needs more than a message."""

    def __init__(self, a, b):
        super().__init__(a, b)


class RaisesTwo(Squares):
    """A dataset that raises ``TwoArguments``."""

    def __getitem__(self, i):
        raise TwoArguments(1, 2)


class Dying(Squares):
    """A dataset that ends its process at index 1, by itself or by a signal."""

    def __init__(self, n: int, how: str):
        super().__init__(n)
        self.how = how

    def __getitem__(self, i):
        if i == 1:
            os._exit(7) if self.how == "exit" else os.kill(os.getpid(), signal.SIGKILL)
        return i


class Slow(Squares):
    """A dataset with a slow first sample."""

    def __init__(self, n: int, seconds: float):
        super().__init__(n)
        self.seconds = seconds

    def __getitem__(self, i):
        if i == 0:
            time.sleep(self.seconds)
        return i


class Large(Squares):
    """A dataset of samples sent in shared memory. Each holds the number of its process."""

    def __init__(self, n: int, size: int):
        super().__init__(n)
        self.table = np.arange(n * size, dtype=np.float32).reshape(n, size)

    def __getitem__(self, i):
        return self.table[i], os.getpid()


class WorkerOf(Squares):
    """A dataset that returns the worker of each sample, and the mark of ``worker_init_fn`` on the worker's copy."""

    note = -1

    def __getitem__(self, i):
        info = jtorch.utils.data.get_worker_info()
        return info.id, info.num_workers, info.dataset.note, os.getpid()


def leave_note(worker_id: int) -> None:
    jtorch.utils.data.get_worker_info().dataset.note = worker_id * 10


def fail_at_start(worker_id: int) -> None:
    raise ValueError("no start")


class Stream(jtorch.utils.data.IterableDataset):
    """A dataset of 0 … n-1, shared among the workers."""

    def __init__(self, n: int):
        self.n = n

    def __iter__(self):
        info = jtorch.utils.data.get_worker_info()
        return iter(range(self.n)) if info is None else iter(range(info.id, self.n, info.num_workers))

    def __len__(self) -> int:
        return self.n - 1       # The length is wrong on purpose.


class Rows(Squares):
    """A dataset of rows of a tensor."""

    def __init__(self, x):
        super().__init__(len(x))
        self.x = x

    def __getitem__(self, i):
        return self.x[i]


class XlaStarted(Squares):
    """A dataset that returns whether the worker has started XLA."""

    def __getitem__(self, i):
        from jax._src import xla_bridge
        y = jtorch.ones(3, 3) * i @ jtorch.ones(3, 3)
        return y, len(xla_bridge._backends)
