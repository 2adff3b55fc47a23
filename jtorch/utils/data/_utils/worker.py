"""The loop of one DataLoader worker, process or thread, and the worker's description of itself."""
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

MP_STATUS_CHECK_INTERVAL = 5.0      # Seconds that a worker has to end by itself.


@dataclass(frozen=True, slots=True)
class _RNG:
    """The random number generators of one worker thread, which are separate from those of the process."""

    random_generator: random.Random
    torch_generator: Generator
    numpy_generator: Any = None


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """The result of ``get_worker_info()``: the worker's id, the number of workers, its seed and its copy of the dataset.

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
    """Watches the process that started this one. Loaders of other packages use PyTorch's name."""

    def __init__(self) -> None:
        self.manager_pid, self.manager_dead = os.getppid(), False

    def is_alive(self) -> bool:
        """Return True until another process becomes the parent."""
        self.manager_dead = self.manager_dead or os.getppid() != self.manager_pid
        return not self.manager_dead


def get_worker_info() -> WorkerInfo | None:
    """Return the description of the DataLoader worker that runs this code; None outside of workers.

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
    """A worker sends this when its iterable dataset has no more samples."""

    worker_id: int


@dataclass(frozen=True)
class Resume:
    """A message to a worker that stays for another epoch. The worker sends the message back."""


@dataclass(frozen=True)
class _ResumeIteration:
    """A message of other packages' loaders to workers that stay for another epoch, under PyTorch's name."""

    seed: int | None = None


_IterableDatasetStopIteration = IterableEnd
_worker_info: WorkerInfo | None = None      # Loaders of other packages set this in their workers.


@dataclass
class Job:
    """The job of a worker. ``make_fetcher`` is the fetcher class for the kind of dataset."""

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
    """Return ``numpy_seed`` as a list of ints; packages import this PyTorch name."""
    return numpy_seed(base_seed, worker_id).tolist()


def numpy_seed(base_seed: int, worker_id: int) -> np.ndarray:
    """Return the four seed words of ``numpy.random``, which differ from those of ``random``."""
    low, high = base_seed & 0xFFFFFFFF, base_seed >> 32
    return np.random.SeedSequence([worker_id, low, high, 0]).generate_state(4)


def enter_process(job: Job, worker_id: int) -> None:
    """Make this process a worker: seed its default generators."""
    seed = job.base_seed + worker_id
    random.seed(seed)
    numbers.manual_seed(seed)
    np.random.seed(numpy_seed(job.base_seed, worker_id))
    # The class attribute serves the worker's other threads too.
    _Here.info = WorkerInfo(worker_id, job.num_workers, seed, job.dataset)


def enter_thread(job: Job, worker_id: int) -> None:
    """Make this thread a worker with its own default generator; ``random`` and ``numpy.random`` stay shared."""
    seed = job.base_seed + worker_id
    own = Generator().manual_seed(seed)
    numbers.use_in_thread(own)
    rng = _RNG(random.Random(seed), own, np.random.default_rng(numpy_seed(job.base_seed, worker_id)))
    _here.info = WorkerInfo(worker_id, job.num_workers, seed, job.dataset, rng, "thread")


def work(job: Job, worker_id: int, where: str, receive: Callable[[], Any], send: Callable[[Any], None]) -> None:
    """Receive requests (number, indices) and send (number, batch), until ``receive`` returns None.

    An exception, also one of ``worker_init_fn``, is sent in place of the batch. The end of an iterable dataset is sent once.
    """
    wrapped, fetcher, ended = None, None, False
    try:
        if job.init_fn is not None:
            job.init_fn(worker_id)
        fetcher = job.fetcher()
    except Exception:  # noqa: BLE001  (the main process raises it)
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
            del data, message, index        # A waiting worker must not hold a batch.


def _fetched(job: Job, fetcher: Any, index: Any, worker_id: int, where: str) -> Any:
    try:
        data = fetcher.fetch(index)
        engine.end()        # Ends the trace, so that no other thread has to compute what this thread has recorded.
    except Exception as error:  # noqa: BLE001  (the main process raises it)
        if isinstance(error, StopIteration) and job.iterable:
            return IterableEnd(worker_id)
        return ExceptionWrapper(where=where)
    return data
