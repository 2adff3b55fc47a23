"""Iterators of a DataLoader: one pass over a dataset, in this process or with workers."""
from __future__ import annotations

import itertools
import queue
from collections.abc import Iterator
from typing import Any

from jtorch import cuda
from jtorch._base import warned
from jtorch.utils.data._utils import fetch
from jtorch.utils.data._utils.errors import ExceptionWrapper
from jtorch.utils.data._utils.pin_memory import pin_memory
from jtorch.utils.data._utils.process import CannotSend, Processes
from jtorch.utils.data._utils.thread import Threads
from jtorch.utils.data._utils.worker import IterableEnd, Job, Resume
from jtorch.utils.data.sampler import drawn_seed


class _DatasetKind:
    """The two kinds of datasets, and their fetchers."""

    Map = 0
    Iterable = 1

    @staticmethod
    def create_fetcher(kind: int, dataset: Any, auto_collation: bool, collate_fn: Any, drop_last: bool) -> Any:
        """Return a fetcher at the dataset's start."""
        return _FETCHERS[kind](dataset, auto_collation, collate_fn, drop_last)


_FETCHERS: tuple[Any, Any] = (fetch.MapFetcher, fetch.IterableFetcher)


class _BaseDataLoaderIter:
    """The common part of iterators with and without workers: the indices, the seed and the count."""

    def __init__(self, loader: Any) -> None:
        self._dataset = loader.dataset
        self._dataset_kind = loader._dataset_kind
        self._IterableDataset_len_called = loader._IterableDataset_len_called
        self._auto_collation = loader._auto_collation
        self._drop_last = loader.drop_last
        self._index_sampler = loader._index_sampler
        self._num_workers = loader.num_workers
        self._pin_memory = loader.pin_memory and _can_pin(loader)
        self._timeout = loader.timeout
        self._collate_fn = loader.collate_fn
        self._sampler_iter = iter(self._index_sampler)
        self._base_seed = drawn_seed(loader.generator)      # The seed is drawn without workers too, as in PyTorch.
        self._persistent_workers = loader.persistent_workers
        self._num_yielded = 0

    def __iter__(self) -> Iterator[Any]:
        return self

    def _reset(self, loader: Any, first_iter: bool = False) -> None:
        self._sampler_iter = iter(self._index_sampler)
        self._num_yielded = 0
        self._IterableDataset_len_called = loader._IterableDataset_len_called

    def _next_index(self) -> Any:
        return next(self._sampler_iter)

    def _next_data(self) -> Any:
        raise NotImplementedError

    def __next__(self) -> Any:
        data = self._next_data()
        self._num_yielded += 1
        expected = self._IterableDataset_len_called
        if expected is not None and self._num_yielded > expected and self._dataset_kind == _DatasetKind.Iterable:
            self._warn_of_length(expected)
        return pin_memory(data) if self._pin_memory else data

    def _warn_of_length(self, expected: int) -> None:
        text = (f"Length of IterableDataset {self._dataset} was reported to be {expected}(when accessing len(dataloader)), but "
                f"{self._num_yielded} samples have been fetched. ")
        if self._num_workers > 0:
            text += ("For multiprocessing data-loading, this could be caused by not properly configuring the IterableDataset "
                     "replica at each worker. Please see https://pytorch.org/docs/stable/data.html#torch.utils.data."
                     "IterableDataset for examples.")
        warned.warn(text)

    def __len__(self) -> int:
        return len(self._index_sampler)

    def __getstate__(self) -> Any:
        raise NotImplementedError("{} cannot be pickled", self.__class__.__name__)


def _can_pin(loader: Any) -> bool:
    if loader.pin_memory_device:
        warned.warn("pin_memory_device is deprecated, the current accelerator will be used as the device,"
                    f"ignore pin_memory_device='{loader.pin_memory_device}'.")
    if not cuda.is_available():
        warned.warn("'pin_memory' argument is set as true but no accelerator is found, then device pinned memory won't be "
                    "used.")
    return cuda.is_available()


class _SingleProcessDataLoaderIter(_BaseDataLoaderIter):
    """A pass in this process."""

    def __init__(self, loader: Any) -> None:
        super().__init__(loader)
        if self._timeout != 0:
            raise AssertionError("_SingleProcessDataLoaderIter requires timeout == 0")
        self._dataset_fetcher = _DatasetKind.create_fetcher(self._dataset_kind, self._dataset, self._auto_collation,
                                                            self._collate_fn, self._drop_last)

    def _next_data(self) -> Any:
        return self._dataset_fetcher.fetch(self._next_index())


class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter):
    """A pass in which workers load batches ahead; with persistent workers, several passes.

    Tasks are numbered in the order of sending. Their batches are returned in that order, unless ``in_order`` is False.
    ``_tasks`` maps the number of each open task to its worker, or to ``_Done`` with the data if the data came before its turn.
    """

    _shutdown = True

    def __init__(self, loader: Any) -> None:
        super().__init__(loader)
        self._prefetch_factor = loader.prefetch_factor
        self._in_order = loader.in_order
        if self._prefetch_factor <= 0:
            raise AssertionError("prefetch_factor must be greater than 0 for MultiProcessingDataLoaderIter")
        job = Job(self._dataset, _FETCHERS[self._dataset_kind], self._dataset_kind == _DatasetKind.Iterable, self._auto_collation,
                  self._collate_fn, self._drop_last, self._base_seed, loader.worker_init_fn, self._num_workers)
        self._crew = _crew(job, loader.multiprocessing_context)
        self._workers = self._crew.members
        self._shutdown = False
        self._reset(loader, first_iter=True)

    def _reset(self, loader: Any, first_iter: bool = False) -> None:
        super()._reset(loader, first_iter)
        self._send_idx = self._rcvd_idx = 0
        self._tasks: dict[int, int | _Done] = {}
        self._outstanding = [0] * self._num_workers
        self._workers_status = [True] * self._num_workers       # A worker's status is True while it has samples in this pass.
        self._turns = itertools.cycle(range(self._num_workers))
        if not first_iter:
            self._resume()
        for _ in range(self._prefetch_factor * self._num_workers):
            self._try_put_index()

    def _resume(self) -> None:
        """Start another pass of persistent workers, and drop the remaining results of the last one."""
        for i in range(self._num_workers):
            self._crew.send(i, Resume())
        waiting = self._num_workers
        while waiting:
            number, _ = self._get_data()
            waiting -= isinstance(number, Resume)

    def _get_data(self) -> Any:
        try:
            return self._crew.receive(self._timeout or None, self._workers_status)
        except queue.Empty:
            raise RuntimeError(f"DataLoader timed out after {self._timeout} seconds") from None

    def _next_data(self) -> Any:
        while self._has_task():
            task = self._tasks[self._rcvd_idx]
            if isinstance(task, _Done):
                del self._tasks[self._rcvd_idx]
                return self._give_out(task.data, task.worker_id)
            number, data = self._get_data()
            worker_id = self._tasks[number]
            assert isinstance(worker_id, int)
            if isinstance(data, IterableEnd):
                self._mark_worker_as_unavailable(data.worker_id)
                self._try_put_index()
            elif number == self._rcvd_idx or not self._in_order:
                del self._tasks[number]
                return self._give_out(data, worker_id)
            else:
                self._tasks[number] = _Done(worker_id, data)
        if not self._persistent_workers:
            self._shutdown_workers()
        raise StopIteration

    def _has_task(self) -> bool:
        """Advance to the next task that is, or will be, done; return whether there is one."""
        while self._rcvd_idx < self._send_idx:
            task = self._tasks.get(self._rcvd_idx)
            if isinstance(task, _Done) or (task is not None and self._workers_status[task]):
                return True
            self._tasks.pop(self._rcvd_idx, None)
            self._rcvd_idx += 1
        return False

    def _give_out(self, data: Any, worker_id: int) -> Any:
        self._outstanding[worker_id] -= 1
        self._try_put_index()
        if isinstance(data, ExceptionWrapper):
            data.reraise()
        return data

    def _try_put_index(self) -> None:
        try:
            index = self._next_index()
        except StopIteration:
            return
        worker_id = self._next_worker()
        if worker_id is None:
            return
        self._crew.send(worker_id, (self._send_idx, index))
        self._tasks[self._send_idx] = worker_id
        self._outstanding[worker_id] += 1
        self._send_idx += 1

    def _next_worker(self) -> int | None:
        """Return the next worker in turn that has not ended; without order, one that has not got its share of tasks."""
        active = sum(self._workers_status)
        for worker_id in itertools.islice(self._turns, self._num_workers):
            if self._workers_status[worker_id] and (
                    self._in_order or self._outstanding[worker_id] < self._prefetch_factor * self._num_workers // active):
                return worker_id
        return None

    def _mark_worker_as_unavailable(self, worker_id: int) -> None:
        self._workers_status[worker_id] = False
        if not self._persistent_workers:
            self._crew.stop(worker_id)

    def _shutdown_workers(self) -> None:
        if not self._shutdown:
            self._shutdown = True
            self._crew.close()

    def __del__(self) -> None:
        self._shutdown_workers()


class _Done:
    """A batch that came before its turn."""

    __slots__ = ("data", "worker_id")

    def __init__(self, worker_id: int, data: Any) -> None:
        self.worker_id, self.data = worker_id, data


def _crew(job: Job, context: Any) -> Processes | Threads:
    """Create the workers: of the requested kind, or processes if the job can be sent to them, else threads."""
    if context == "thread":
        return Threads(job)
    try:
        return Processes(job, context)
    except CannotSend as error:
        warned.warn("DataLoader uses threads as workers, since the dataset or a function cannot be sent to a process "
                    f"({error}). Random numbers of random and numpy.random are then shared, and Python code runs in one "
                    "thread at a time. Define them in a module, or install cloudpickle, for processes; "
                    "multiprocessing_context='thread' is for threads without this warning.")
        return Threads(job)
