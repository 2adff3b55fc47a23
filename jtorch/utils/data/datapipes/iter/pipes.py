"""The standard pipes, which map, filter, batch, unbatch, concatenate, zip and shard samples."""
from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Sized
from typing import Any

from jtorch.utils.data.dataloader import default_collate
from jtorch.utils.data.datapipes.datapipe import IterDataPipe, functional_datapipe


class _OfOne(IterDataPipe):
    def __init__(self, datapipe: Any):
        self.datapipe = datapipe

    def __len__(self) -> int:
        if isinstance(self.datapipe, Sized):
            return len(self.datapipe)
        raise TypeError(f"{type(self).__name__} instance doesn't have valid length")


class IterableWrapperIterDataPipe(_OfOne):
    """A pipe over an iterable; each pass copies the iterable, unless ``deepcopy`` is False."""

    def __init__(self, iterable: Iterable, deepcopy: bool = True):
        self.iterable, self.deepcopy = iterable, deepcopy

    @property
    def datapipe(self) -> Any:
        """The iterable whose length the pipe has."""
        return self.iterable

    def __iter__(self) -> Iterator:
        try:
            source = copy.deepcopy(self.iterable) if self.deepcopy else self.iterable
        except TypeError:       # An iterable that cannot be copied allows one pass.
            source = self.iterable
        yield from source


@functional_datapipe("map")
class MapperIterDataPipe(_OfOne):
    """Applies ``fn`` to each sample, or to its column ``input_col``."""

    def __init__(self, datapipe: Any, fn: Callable, input_col: Any = None, output_col: Any = None):
        super().__init__(datapipe)
        if input_col is None and output_col is not None:
            raise ValueError("`output_col` must be None when `input_col` is None.")
        self.fn, self.input_col, self.output_col = fn, input_col, output_col

    def _apply_fn(self, data: Any) -> Any:
        if self.input_col is None:
            return self.fn(data)
        columns = self.input_col if isinstance(self.input_col, (list, tuple)) else (self.input_col,)
        made = self.fn(*[data[column] for column in columns])
        where = self.output_col if self.output_col is not None else columns[0]
        changed = list(data) if isinstance(data, tuple) else copy.copy(data)
        if where == -1 and isinstance(changed, list):
            changed.append(made)
        else:
            changed[where] = made
        return tuple(changed) if isinstance(data, tuple) else changed

    def __iter__(self) -> Iterator:
        for data in self.datapipe:
            yield self._apply_fn(data)


@functional_datapipe("collate")
class CollatorIterDataPipe(MapperIterDataPipe):
    """Collates each sample, which is a list, to tensors."""

    def __init__(self, datapipe: Any, conversion: Any = default_collate, collate_fn: Callable | None = None):
        super().__init__(datapipe, collate_fn or conversion)


@functional_datapipe("filter")
class FilterIterDataPipe(IterDataPipe):
    """The samples for which ``filter_fn`` is true."""

    def __init__(self, datapipe: Any, filter_fn: Callable, input_col: Any = None):
        self.datapipe, self.filter_fn, self.input_col = datapipe, filter_fn, input_col

    def _keeps(self, data: Any) -> bool:
        if self.input_col is None:
            return self.filter_fn(data)
        columns = self.input_col if isinstance(self.input_col, (list, tuple)) else (self.input_col,)
        return self.filter_fn(*[data[column] for column in columns])

    def __iter__(self) -> Iterator:
        for data in self.datapipe:
            if self._keeps(data):
                yield data


@functional_datapipe("batch")
class BatcherIterDataPipe(_OfOne):
    """Lists of ``batch_size`` samples."""

    def __init__(self, datapipe: Any, batch_size: int, drop_last: bool = False, wrapper_class: Callable = list):
        if batch_size <= 0:
            raise AssertionError("Batch size is required to be larger than 0!")
        super().__init__(datapipe)
        self.batch_size, self.drop_last, self.wrapper_class = batch_size, drop_last, wrapper_class

    def __iter__(self) -> Iterator:
        batch: list = []
        for data in self.datapipe:
            batch.append(data)
            if len(batch) == self.batch_size:
                yield self.wrapper_class(batch)
                batch = []
        if batch and not self.drop_last:
            yield self.wrapper_class(batch)

    def __len__(self) -> int:
        count = super().__len__()
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)


@functional_datapipe("unbatch")
class UnBatcherIterDataPipe(IterDataPipe):
    """The elements of samples that are lists, ``unbatch_level`` levels deep; -1 for all levels."""

    def __init__(self, datapipe: Any, unbatch_level: int = 1):
        if unbatch_level < -1:
            raise ValueError("unbatch_level must be -1 or >= 0")
        self.datapipe, self.unbatch_level = datapipe, unbatch_level

    def __iter__(self) -> Iterator:
        for data in self.datapipe:
            yield from self._taken_apart(data, self.unbatch_level)

    def _taken_apart(self, data: Any, level: int) -> Iterator:
        if level == 0 or (level == -1 and not isinstance(data, list)):
            yield data
            return
        if not isinstance(data, list):
            raise IndexError(f"unbatch_level {self.unbatch_level} exceeds the depth of the DataPipe")
        for part in data:
            yield from self._taken_apart(part, level if level == -1 else level - 1)


class _OfSeveral(IterDataPipe):
    def __init__(self, *datapipes: Any):
        if not datapipes or not all([isinstance(pipe, IterDataPipe) for pipe in datapipes]):
            raise TypeError(f"All inputs are required to be `IterDataPipe` for {type(self).__name__}.")
        self.datapipes = datapipes


@functional_datapipe("concat")
class ConcaterIterDataPipe(_OfSeveral):
    """Several pipes, one after the other."""

    def __iter__(self) -> Iterator:
        for pipe in self.datapipes:
            yield from pipe

    def __len__(self) -> int:
        return sum([len(pipe) for pipe in self.datapipes])


@functional_datapipe("zip")
class ZipperIterDataPipe(_OfSeveral):
    """Tuples of one sample of each pipe, until the shortest ends."""

    def __iter__(self) -> Iterator:
        yield from zip(*self.datapipes, strict=False)

    def __len__(self) -> int:
        return min([len(pipe) for pipe in self.datapipes])


@functional_datapipe("sharding_filter")
class ShardingFilterIterDataPipe(_OfOne):
    """The shard of the samples of each worker, once ``apply_sharding`` is called."""

    def __init__(self, source_datapipe: Any, sharding_group_filter: Any = None):
        super().__init__(source_datapipe)
        self.source_datapipe, self.num_of_instances, self.instance_id = source_datapipe, 1, 0

    def apply_sharding(self, num_of_instances: int, instance_id: int, sharding_group: Any = None) -> None:
        """Select shard ``instance_id`` of ``num_of_instances``."""
        if instance_id >= num_of_instances:
            raise ValueError(f"instance_id({instance_id}) should be smaller than num_of_instances({num_of_instances})")
        self.num_of_instances, self.instance_id = num_of_instances, instance_id

    def __iter__(self) -> Iterator:
        for i, data in enumerate(self.source_datapipe):
            if i % self.num_of_instances == self.instance_id:
                yield data

    def __len__(self) -> int:
        count = super().__len__()
        return count // self.num_of_instances + (self.instance_id < count % self.num_of_instances)
