"""The standard pipes whose samples have keys."""
from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from jtorch.utils.data.datapipes.datapipe import MapDataPipe, functional_datapipe


class SequenceWrapperMapDataPipe(MapDataPipe):
    """A pipe over a sequence or dict, which is copied unless ``deepcopy`` is False."""

    def __init__(self, sequence: Any, deepcopy: bool = True):
        self.sequence = copy.deepcopy(sequence) if deepcopy else sequence

    def __getitem__(self, index: Any) -> Any:
        return self.sequence[index]

    def __len__(self) -> int:
        return len(self.sequence)


@functional_datapipe("map")
class MapperMapDataPipe(MapDataPipe):
    """Applies ``fn`` to each sample."""

    def __init__(self, datapipe: Any, fn: Callable = lambda x: x):
        self.datapipe, self.fn = datapipe, fn

    def __getitem__(self, index: Any) -> Any:
        return self.fn(self.datapipe[index])

    def __len__(self) -> int:
        return len(self.datapipe)


@functional_datapipe("concat")
class ConcaterMapDataPipe(MapDataPipe):
    """Several pipes, one after the other, with integers from 0 as keys."""

    def __init__(self, *datapipes: Any):
        self.datapipes = datapipes

    def __getitem__(self, index: int) -> Any:
        offset = 0
        for pipe in self.datapipes:
            if index - offset < len(pipe):
                return pipe[index - offset]
            offset += len(pipe)
        raise IndexError(f"Index {index} is out of range.")

    def __len__(self) -> int:
        return sum([len(pipe) for pipe in self.datapipes])


@functional_datapipe("zip")
class ZipperMapDataPipe(MapDataPipe):
    """Tuples of one sample of each pipe."""

    def __init__(self, *datapipes: Any):
        self.datapipes = datapipes

    def __getitem__(self, index: Any) -> tuple:
        return tuple([pipe[index] for pipe in self.datapipes])

    def __len__(self) -> int:
        return min([len(pipe) for pipe in self.datapipes])
