"""torch.utils.data.datapipes.iter: the standard iterable pipes."""
from __future__ import annotations

from jtorch.utils.data.datapipes.iter.combinatorics import SamplerIterDataPipe as Sampler
from jtorch.utils.data.datapipes.iter.combinatorics import ShufflerIterDataPipe as Shuffler
from jtorch.utils.data.datapipes.iter.pipes import BatcherIterDataPipe as Batcher
from jtorch.utils.data.datapipes.iter.pipes import CollatorIterDataPipe as Collator
from jtorch.utils.data.datapipes.iter.pipes import ConcaterIterDataPipe as Concater
from jtorch.utils.data.datapipes.iter.pipes import FilterIterDataPipe as Filter
from jtorch.utils.data.datapipes.iter.pipes import IterableWrapperIterDataPipe as IterableWrapper
from jtorch.utils.data.datapipes.iter.pipes import MapperIterDataPipe as Mapper
from jtorch.utils.data.datapipes.iter.pipes import ShardingFilterIterDataPipe as ShardingFilter
from jtorch.utils.data.datapipes.iter.pipes import UnBatcherIterDataPipe as UnBatcher
from jtorch.utils.data.datapipes.iter.pipes import ZipperIterDataPipe as Zipper

__all__ = ["Batcher", "Collator", "Concater", "Filter", "IterableWrapper", "Mapper", "Sampler", "ShardingFilter", "Shuffler",
           "UnBatcher", "Zipper"]
