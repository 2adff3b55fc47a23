"""Datasets and functions that worker processes import by name."""
from __future__ import annotations

import os
import random
import signal
import time

import numpy as np

import jtorch


class Squares:
    """Map-style: index, square."""

    def __init__(self, n: int):
        self.n = n

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, i):
        return i, float(i * i)


class Mixed(Squares):
    """All that ``default_collate`` knows, in one sample."""

    def __getitem__(self, i):
        return {"int": i, "float": i / 2, "array": np.full((2, 3), i, np.float32), "scalar": np.int16(i), "text": str(i),
                "pair": (i, [i, i + 1]), "flag": i % 2 == 0}


class Drawn(Squares):
    """Random numbers of each generator that a worker seeds."""

    def __init__(self, n: int, torch_name: str):
        super().__init__(n)
        self.torch_name = torch_name

    def __getitem__(self, i):
        import importlib
        xp = importlib.import_module(self.torch_name)
        return i, random.random(), np.random.rand(), float(xp.rand(1)), xp.utils.data.get_worker_info().seed


class Failing(Squares):
    """Raises at one index."""

    def __init__(self, n: int, error: type, at: int = 2):
        super().__init__(n)
        self.error, self.at = error, at

    def __getitem__(self, i):
        if i == self.at:
            raise self.error("wrong", i) if self.error is UnicodeDecodeError else self.error("wrong sample")
        return i


class TwoArguments(Exception):
    """An exception that cannot be made of a message alone."""

    def __init__(self, a, b):
        super().__init__(a, b)


class RaisesTwo(Squares):
    """Raises one of those."""

    def __getitem__(self, i):
        raise TwoArguments(1, 2)


class Dying(Squares):
    """Ends its process at index 1: by itself, or by a signal."""

    def __init__(self, n: int, how: str):
        super().__init__(n)
        self.how = how

    def __getitem__(self, i):
        if i == 1:
            os._exit(7) if self.how == "exit" else os.kill(os.getpid(), signal.SIGKILL)
        return i


class Slow(Squares):
    """The first sample takes long."""

    def __init__(self, n: int, seconds: float):
        super().__init__(n)
        self.seconds = seconds

    def __getitem__(self, i):
        if i == 0:
            time.sleep(self.seconds)
        return i


class Large(Squares):
    """Samples that are sent in shared memory, by the process whose number they hold."""

    def __init__(self, n: int, size: int):
        super().__init__(n)
        self.table = np.arange(n * size, dtype=np.float32).reshape(n, size)

    def __getitem__(self, i):
        return self.table[i], os.getpid()


class WorkerOf(Squares):
    """Which worker loads what, and what ``worker_init_fn`` left on its copy of the dataset."""

    note = -1

    def __getitem__(self, i):
        info = jtorch.utils.data.get_worker_info()
        return info.id, info.num_workers, info.dataset.note, os.getpid()


def leave_note(worker_id: int) -> None:
    jtorch.utils.data.get_worker_info().dataset.note = worker_id * 10


def fail_at_start(worker_id: int) -> None:
    raise ValueError("no start")


class Stream(jtorch.utils.data.IterableDataset):
    """0 … n-1, shared among the workers."""

    def __init__(self, n: int):
        self.n = n

    def __iter__(self):
        info = jtorch.utils.data.get_worker_info()
        return iter(range(self.n)) if info is None else iter(range(info.id, self.n, info.num_workers))

    def __len__(self) -> int:
        return self.n - 1       # The length is wrong on purpose.


class Rows(Squares):
    """Rows of a tensor."""

    def __init__(self, x):
        super().__init__(len(x))
        self.x = x

    def __getitem__(self, i):
        return self.x[i]


class XlaStarted(Squares):
    """Whether the worker has started XLA."""

    def __getitem__(self, i):
        from jax._src import xla_bridge
        y = jtorch.ones(3, 3) * i @ jtorch.ones(3, 3)
        return y, len(xla_bridge._backends)
