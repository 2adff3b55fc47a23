"""The loop of one worker of a DataLoader, be it a process or a thread, and what it knows about itself."""
from __future__ import annotations

import os
import random
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from jtorch import engine
from jtorch import random as numbers
from jtorch._base.generator import Generator
from jtorch.utils.data._utils.errors import ExceptionWrapper

MP_STATUS_CHECK_INTERVAL = 5.0      # seconds that a worker is given to end by itself


@dataclass(frozen=True, slots=True)
class _RNG:
    """The random number generators of one worker thread, which must not share those of the process."""

    random_generator: random.Random
    torch_generator: Generator
    numpy_generator: Any = None


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """What ``get_worker_info()`` gives: the worker's number, how many there are, its seed and its copy of the dataset.

    ``worker_method`` is ``"multiprocessing"`` or ``"thread"``; ``rng`` holds a thread's own generators.
    """

    id: int
    num_workers: int
    seed: int
    dataset: Any
    rng: _RNG | None = None
    worker_method: str | None = "multiprocessing"


class _Here(threading.local):
    info: WorkerInfo | None = None


_here = _Here()


class ManagerWatchdog:
    """Whether the process that has started this one is still there. PyTorch's name, for loaders of other packages."""

    def __init__(self) -> None:
        self.manager_pid, self.manager_dead = os.getppid(), False

    def is_alive(self) -> bool:
        """True until another process has become the parent."""
        self.manager_dead = self.manager_dead or os.getppid() != self.manager_pid
        return not self.manager_dead


def get_worker_info() -> WorkerInfo | None:
    """What the DataLoader worker that runs this code knows about itself; None outside of workers.

    See torch.utils.data.get_worker_info.

    Returns:
        an object with ``id``, ``num_workers``, ``seed`` and ``dataset``, or None.

    Example::

        >>> torch.utils.data.get_worker_info() is None
        True

    """
    return _here.info or _worker_info


@dataclass(frozen=True)
class IterableEnd:
    """Sent by a worker whose iterable dataset has no more samples."""

    worker_id: int


@dataclass(frozen=True)
class Resume:
    """Sent to a worker that stays for another epoch, and sent back."""


@dataclass(frozen=True)
class _ResumeIteration:
    """Sent to workers that stay for another epoch, by loaders of other packages: PyTorch's name."""

    seed: int | None = None


_IterableDatasetStopIteration = IterableEnd
_worker_info: WorkerInfo | None = None      # what loaders of other packages set in workers of theirs


@dataclass
class Job:
    """All that a worker has to know. ``make_fetcher`` is the class of fetcher for the kind of dataset."""

    dataset: Any
    make_fetcher: Any
    iterable: bool
    auto_collation: bool
    collate_fn: Any
    drop_last: bool
    base_seed: int
    init_fn: Callable[[int], Any] | None
    num_workers: int

    def fetcher(self) -> Any:
        """Return a fetcher at the dataset's start."""
        return self.make_fetcher(self.dataset, self.auto_collation, self.collate_fn, self.drop_last)


def _generate_state(base_seed: int, worker_id: int) -> list[int]:
    """``numpy_seed`` as a list of ints: PyTorch's name, which packages import."""
    return numpy_seed(base_seed, worker_id).tolist()


def numpy_seed(base_seed: int, worker_id: int) -> np.ndarray:
    """Return the four words that ``numpy.random`` is seeded with, so that its numbers are not those of ``random``."""
    low, high = base_seed & 0xFFFFFFFF, base_seed >> 32
    return np.random.SeedSequence([worker_id, low, high, 0]).generate_state(4)


def enter_process(job: Job, worker_id: int) -> None:
    """Make this process the worker: the default generators get seeds of their own."""
    seed = job.base_seed + worker_id
    random.seed(seed)
    numbers.manual_seed(seed)
    np.random.seed(numpy_seed(job.base_seed, worker_id))
    _Here.info = WorkerInfo(worker_id, job.num_workers, seed, job.dataset)      # for threads of the worker too


def enter_thread(job: Job, worker_id: int) -> None:
    """Make this thread the worker: torch's default generator is its own; ``random`` and ``numpy.random`` are shared."""
    seed = job.base_seed + worker_id
    own = Generator().manual_seed(seed)
    numbers.use_in_thread(own)
    rng = _RNG(random.Random(seed), own, np.random.default_rng(numpy_seed(job.base_seed, worker_id)))
    _here.info = WorkerInfo(worker_id, job.num_workers, seed, job.dataset, rng, "thread")


def work(job: Job, worker_id: int, where: str, receive: Callable[[], Any], send: Callable[[Any], None]) -> None:
    """Fetch what ``receive`` asks for, (number, indices), and sends (number, batch), until ``receive`` gives None.

    An exception, one of ``worker_init_fn`` too, is sent in place of the batch; the end of an iterable dataset once.
    """
    wrapped, fetcher, ended = None, None, False
    try:
        if job.init_fn is not None:
            job.init_fn(worker_id)
        fetcher = job.fetcher()
    except Exception:  # noqa: BLE001 (raised in the main process)
        wrapped = ExceptionWrapper(where=where)
    while (message := receive()) is not None:
        if isinstance(message, Resume):
            send((message, None))
            ended, fetcher = False, job.fetcher()
        elif not ended:
            number, index = message
            data = wrapped if wrapped is not None else _fetched(job, fetcher, index, worker_id, where)
            wrapped, ended = None, isinstance(data, IterableEnd)
            send((number, data))
            del data, message, index        # a worker that waits holds no batch


def _fetched(job: Job, fetcher: Any, index: Any, worker_id: int, where: str) -> Any:
    try:
        data = fetcher.fetch(index)
        engine.end()        # so that nobody has to compute what this thread has recorded
    except Exception as error:  # noqa: BLE001 (raised in the main process)
        if isinstance(error, StopIteration) and job.iterable:
            return IterableEnd(worker_id)
        return ExceptionWrapper(where=where)
    return data
