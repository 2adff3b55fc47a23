"""DataLoader: batches of a dataset in order, loaded by this process or by workers."""
from __future__ import annotations

import math
import multiprocessing
import os
from collections.abc import Callable, Iterable
from multiprocessing.context import BaseContext
from typing import Any, Generic, TypeVar

from jtorch._base import warned
from jtorch._base.generator import Generator
from jtorch.utils.data._utils import server
from jtorch.utils.data._utils.collate import default_collate, default_convert
from jtorch.utils.data._utils.worker import get_worker_info
from jtorch.utils.data.dataset import Dataset, IterableDataset
from jtorch.utils.data.iterators import (
    _BaseDataLoaderIter,
    _DatasetKind,
    _MultiProcessingDataLoaderIter,
    _SingleProcessDataLoaderIter,
)
from jtorch.utils.data.sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler

__all__ = ["DataLoader", "default_collate", "default_convert", "get_worker_info"]

_T_co = TypeVar("_T_co", covariant=True)


class _InfiniteConstantSampler(Sampler):
    """Yields None forever, since an iterable dataset ends by itself."""

    def __iter__(self):
        while True:
            yield None


class DataLoader(Generic[_T_co]):
    """Batches of a dataset's samples, in the order of a sampler. See torch.utils.data.DataLoader.

    Args:
        dataset: map-style (``__getitem__`` and ``__len__``) or an ``IterableDataset``.
        batch_size: the number of samples in a batch; None gives single samples (through ``default_convert``).
        shuffle: whether each epoch has a new random order. After ``torch.manual_seed`` the orders are PyTorch's.
        sampler, batch_sampler: iterables of indices, or of lists of indices, in place of ``shuffle``.
        num_workers: the number of workers; 0 loads in this process when a batch is asked for.
        collate_fn: a function that makes a batch from a list of samples; ``default_collate``, if None.
        pin_memory: whether to call ``pin_memory()`` on custom batches if there is an accelerator; tensors stay as they are.
        drop_last: whether to omit a last batch that is smaller.
        timeout: the seconds to wait for a worker's batch before RuntimeError is raised; 0 waits forever.
        worker_init_fn: a function that each worker calls with its id after seeding.
        multiprocessing_context: the kind of workers, see below.
        generator: the source of the order and of the workers' seeds.
        prefetch_factor: the number of batches that each worker loads ahead (2).
        persistent_workers: whether the workers, and their copies of the dataset, stay for the next epoch.
        pin_memory_device: deprecated.
        in_order: False gives batches in the order in which they arrive.

    Workers are processes. This process must not be forked, because JAX runs threads in it. So a small server process, which
    has jtorch loaded, is started once and forks a worker quickly. A worker computes on the host and does not start XLA. Large
    arrays, also the dataset's, are passed in shared memory.

    The dataset and the functions are pickled. A lambda, a class of a notebook, or a class of a script without ``if __name__
    == "__main__":`` cannot be pickled, since a worker would have to run the script again. cloudpickle sends these if it is
    installed. Without it the workers are threads, with a warning. Each thread has a shallow copy of the dataset and its own
    default generator. But ``random`` and ``numpy.random`` are shared, and Python code runs in one thread at a time.

    ``multiprocessing_context="thread"`` asks for threads. ``"spawn"``, ``"forkserver"`` and ``"fork"`` (at your own risk) use
    Python's own ways of starting processes.

    Worker ``i`` has the seed ``base_seed + i``. ``base_seed`` is drawn from ``generator`` at the start of each epoch, as in
    PyTorch. An exception in a worker is raised in this process with the worker's traceback in its message. A worker that dies
    raises RuntimeError.

    Batches are new inputs of the step that uses them. So training steps repeat and get compiled in any order of the samples.

    >>> x = torch.arange(6.0).reshape(6, 1)
    >>> loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, x * 10), batch_size=4)
    >>> for inputs, targets in loader:
    ...     print(tuple(inputs.shape), targets.flatten().tolist())
    (4, 1) [0.0, 10.0, 20.0, 30.0]
    (2, 1) [40.0, 50.0]

    """

    dataset: Dataset[_T_co]
    batch_size: int | None
    num_workers: int
    pin_memory: bool
    drop_last: bool
    timeout: float
    sampler: Sampler | Iterable
    pin_memory_device: str
    prefetch_factor: int | None
    _iterator: _BaseDataLoaderIter | None
    __initialized = False

    def __init__(self, dataset: Dataset[_T_co], batch_size: int | None = 1, shuffle: bool | None = None,
                 sampler: Sampler | Iterable | None = None, batch_sampler: Sampler[list] | Iterable[list] | None = None,
                 num_workers: int = 0, collate_fn: Callable[[list], Any] | None = None, pin_memory: bool = False,
                 drop_last: bool = False, timeout: float = 0, worker_init_fn: Callable[[int], None] | None = None,
                 multiprocessing_context: str | BaseContext | None = None, generator: Generator | None = None, *,
                 prefetch_factor: int | None = None, persistent_workers: bool = False, pin_memory_device: str = "",
                 in_order: bool = True) -> None:
        _check_workers(num_workers, timeout, prefetch_factor, persistent_workers)
        self.dataset = dataset
        self.num_workers = num_workers
        self.prefetch_factor = 2 if num_workers > 0 and prefetch_factor is None else prefetch_factor
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = multiprocessing_context
        self.in_order = in_order
        iterable = isinstance(dataset, IterableDataset)
        self._dataset_kind = _DatasetKind.Iterable if iterable else _DatasetKind.Map
        if iterable:
            _check_iterable(shuffle, sampler, batch_sampler)
        _check_batches(batch_size, bool(shuffle), sampler, batch_sampler, drop_last)
        if sampler is None:
            sampler = self._default_sampler(bool(shuffle), generator)
        self.batch_size = batch_size if batch_sampler is None else None
        self.drop_last = drop_last
        self.sampler = sampler
        if batch_size is not None and batch_sampler is None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_sampler = batch_sampler
        self.generator = generator
        self.collate_fn = collate_fn or (default_collate if self._auto_collation else default_convert)
        self.persistent_workers = persistent_workers
        self._IterableDataset_len_called: int | None = None
        self._iterator = None
        self.__initialized = True
        self.check_worker_number_rationality()
        if num_workers and multiprocessing_context is None:
            server.start()

    def _default_sampler(self, shuffle: bool, generator: Generator | None) -> Sampler:
        if self._dataset_kind == _DatasetKind.Iterable:
            return _InfiniteConstantSampler()
        dataset: Any = self.dataset
        return RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)

    @property
    def multiprocessing_context(self) -> Any:
        """The kind of workers: None, ``"thread"`` or a context of ``multiprocessing``."""
        return self.__multiprocessing_context

    @multiprocessing_context.setter
    def multiprocessing_context(self, multiprocessing_context: Any) -> None:
        self.__multiprocessing_context = _context(multiprocessing_context, self.num_workers)

    def __setattr__(self, attr: str, val: Any) -> None:
        if self.__initialized and attr in _FIXED:
            raise ValueError(f"{attr} attribute should not be set after {self.__class__.__name__} is initialized")
        super().__setattr__(attr, val)

    def _get_iterator(self) -> _BaseDataLoaderIter:
        if self.num_workers == 0:
            return _SingleProcessDataLoaderIter(self)
        self.check_worker_number_rationality()
        return _MultiProcessingDataLoaderIter(self)

    def __iter__(self) -> _BaseDataLoaderIter:
        if not (self.persistent_workers and self.num_workers > 0):
            return self._get_iterator()
        if self._iterator is None:
            self._iterator = self._get_iterator()
        else:
            self._iterator._reset(self)
        return self._iterator

    @property
    def _auto_collation(self) -> bool:
        return self.batch_sampler is not None

    @property
    def _index_sampler(self) -> Any:
        return self.batch_sampler if self._auto_collation else self.sampler

    def __len__(self) -> int:
        if self._dataset_kind == _DatasetKind.Map:
            return len(self._index_sampler)
        n = self._IterableDataset_len_called = len(self.dataset)        # type: ignore[arg-type]
        if self.batch_size is None:
            return n
        return n // self.batch_size if self.drop_last else math.ceil(n / self.batch_size)

    def check_worker_number_rationality(self) -> None:
        """Warn if there are more workers than processors."""
        has_affinity = hasattr(os, "sched_getaffinity")
        room = len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count()
        if not self.num_workers or (room is not None and self.num_workers <= room):
            return
        suggestion = "DataLoader is not able to compute a suggested max number of worker in current system."
        if room is not None:
            suggestion = (f"Our suggested max number of worker in current system is {room}"
                          f"{'' if has_affinity else ' (`cpuset` is not taken into account)'}, which is smaller than what this "
                          "DataLoader is going to create.")
        warned.warn(f"This DataLoader will create {self.num_workers} worker processes in total. {suggestion} Please be aware "
                    "that excessive worker creation might get DataLoader running slow or even freeze, lower the worker number "
                    "to avoid potential slowness/freeze if necessary.")


_FIXED = {"batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers"}


def _check_workers(num_workers: int, timeout: float, prefetch_factor: int | None, persistent_workers: bool) -> None:
    if num_workers < 0:
        raise ValueError("num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.")
    if timeout < 0:
        raise ValueError("timeout option should be non-negative")
    if num_workers == 0 and prefetch_factor is not None:
        raise ValueError("prefetch_factor option could only be specified in multiprocessing.let num_workers > 0 to enable "
                         "multiprocessing, otherwise set prefetch_factor to None.")
    if prefetch_factor is not None and prefetch_factor < 0:
        raise ValueError("prefetch_factor option should be non-negative")
    if persistent_workers and num_workers == 0:
        raise ValueError("persistent_workers option needs num_workers > 0")


def _check_iterable(shuffle: bool | None, sampler: Any, batch_sampler: Any) -> None:
    given = {"shuffle": shuffle or None, "sampler": sampler, "batch_sampler": batch_sampler}
    for name, value in given.items():
        if value is not None:
            raise ValueError(f"DataLoader with IterableDataset: expected unspecified {name} option, but got {name}={value}")


def _check_batches(batch_size: int | None, shuffle: bool, sampler: Any, batch_sampler: Any, drop_last: bool) -> None:
    if sampler is not None and shuffle:
        raise ValueError("sampler option is mutually exclusive with shuffle")
    if batch_sampler is not None and (batch_size != 1 or shuffle or sampler is not None or drop_last):
        raise ValueError("batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last")
    if batch_sampler is None and batch_size is None and drop_last:
        raise ValueError("batch_size=None option disables auto-batching and is mutually exclusive with drop_last")


def _context(given: Any, num_workers: int) -> Any:
    """Check ``multiprocessing_context``, and return it with names replaced by contexts."""
    if given is None:
        return None
    if num_workers <= 0:
        raise ValueError("multiprocessing_context can only be used with multi-process loading (num_workers > 0), but got "
                         f"num_workers={num_workers}")
    if given == "thread":
        return given
    if isinstance(given, str):
        valid = multiprocessing.get_all_start_methods()
        if given not in valid:
            raise ValueError(f"multiprocessing_context option should specify a valid start method in {valid!r}, but got "
                             f"multiprocessing_context={given!r}")
        return multiprocessing.get_context(given)
    if not isinstance(given, BaseContext):
        raise TypeError("multiprocessing_context option should be a valid context object or a string specifying the start "
                        f"method, but got multiprocessing_context={given}")
    return given


def _sharding_worker_init_fn(worker_init_fn: Any, world_size: int, rank_id: int, worker_id: int) -> None:
    """Give a worker its shard of a pipe, among all workers of all processes, before ``worker_init_fn``."""
    from jtorch.utils.data.graph_settings import apply_sharding
    info = get_worker_info()
    if info is None:
        raise AssertionError("Worker info is None in sharding worker init function")
    apply_sharding(info.dataset, info.num_workers * world_size, worker_id * world_size + rank_id)
    if worker_init_fn is not None:
        worker_init_fn(worker_id)


_collate_fn_t, _worker_init_fn_t = Callable[[list], Any], Callable[[int], None]     # PyTorch's names for annotations.
