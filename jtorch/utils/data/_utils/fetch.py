"""Fetching: from indices to a batch, in the main process or in a worker."""
from __future__ import annotations

import itertools
from typing import Any

from jtorch.tensor import Tensor
from jtorch.utils.data._utils import collate, rows


class MapFetcher:
    """Fetches the samples of a map-style dataset at given indices."""

    def __init__(self, dataset: Any, auto_collation: bool, collate_fn: Any, drop_last: bool) -> None:
        self.dataset, self.auto_collation, self.collate_fn = dataset, auto_collation, collate_fn

    def fetch(self, index: Any) -> Any:
        """Return the batch of the samples at ``index`` (a list), or without automatic batching the sample at ``index``."""
        if not self.auto_collation:
            return self.collate_fn(self.dataset[index])
        if self.collate_fn is collate.default_collate and \
                collate.default_collate_fn_map.get(Tensor) is collate.collate_tensor_fn:
            made = rows.batch_of(self.dataset, index)
            if made is not None:
                return made
        whole = getattr(self.dataset, "__getitems__", None)
        return self.collate_fn(whole(index) if whole else [self.dataset[i] for i in index])


class IterableFetcher:
    """Fetches the next samples of an iterable dataset; only the number of indices matters."""

    def __init__(self, dataset: Any, auto_collation: bool, collate_fn: Any, drop_last: bool) -> None:
        self.auto_collation, self.collate_fn, self.drop_last = auto_collation, collate_fn, drop_last
        self.samples = iter(dataset)
        self.ended = False

    def fetch(self, index: Any) -> Any:
        """Return the next batch, or sample; StopIteration at the end."""
        if self.ended:
            raise StopIteration
        if not self.auto_collation:
            return self.collate_fn(next(self.samples))
        data = list(itertools.islice(self.samples, len(index)))
        self.ended = len(data) < len(index)
        if not data or (self.drop_last and self.ended):
            raise StopIteration
        return self.collate_fn(data)
