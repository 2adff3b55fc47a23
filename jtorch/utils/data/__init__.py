"""torch.utils.data: datasets, samplers and the DataLoader.

``dataset``, ``sampler`` and ``distributed`` define datasets and samplers. ``dataloader`` checks arguments, and ``iterators``
runs an epoch. ``_utils`` has the parts of an epoch: collating, fetching, workers (processes or threads) and their messages.
"""
from __future__ import annotations

import importlib
from typing import Any

from jtorch.utils.data import _utils as _utils
from jtorch.utils.data.dataloader import DataLoader as DataLoader
from jtorch.utils.data.dataloader import default_collate as default_collate
from jtorch.utils.data.dataloader import default_convert as default_convert
from jtorch.utils.data.dataloader import get_worker_info as get_worker_info
from jtorch.utils.data.dataset import ChainDataset as ChainDataset
from jtorch.utils.data.dataset import ConcatDataset as ConcatDataset
from jtorch.utils.data.dataset import Dataset as Dataset
from jtorch.utils.data.dataset import IterableDataset as IterableDataset
from jtorch.utils.data.dataset import StackDataset as StackDataset
from jtorch.utils.data.dataset import Subset as Subset
from jtorch.utils.data.dataset import TensorDataset as TensorDataset
from jtorch.utils.data.dataset import random_split as random_split
from jtorch.utils.data.distributed import DistributedSampler as DistributedSampler
from jtorch.utils.data.iterators import _DatasetKind as _DatasetKind
from jtorch.utils.data.sampler import BatchSampler as BatchSampler
from jtorch.utils.data.sampler import RandomSampler as RandomSampler
from jtorch.utils.data.sampler import Sampler as Sampler
from jtorch.utils.data.sampler import SequentialSampler as SequentialSampler
from jtorch.utils.data.sampler import SubsetRandomSampler as SubsetRandomSampler
from jtorch.utils.data.sampler import WeightedRandomSampler as WeightedRandomSampler

__all__ = ["BatchSampler", "ChainDataset", "ConcatDataset", "DataLoader", "Dataset", "DistributedSampler", "IterableDataset",
           "RandomSampler", "Sampler", "SequentialSampler", "StackDataset", "Subset", "SubsetRandomSampler", "TensorDataset",
           "WeightedRandomSampler", "_DatasetKind", "default_collate", "default_convert", "get_worker_info", "random_split"]

# Pipes are imported on first access.
_PIPES = ("DFIterDataPipe", "IterDataPipe", "MapDataPipe", "argument_validation", "functional_datapipe", "runtime_validation")
_MODULES = ("datapipes", "graph_settings")


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"jtorch.utils.data.{name}")
    if name in _PIPES:
        return getattr(importlib.import_module("jtorch.utils.data.datapipes.datapipe"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
