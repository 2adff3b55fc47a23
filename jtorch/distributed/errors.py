"""The errors of torch.distributed."""
from __future__ import annotations


class DistError(RuntimeError):
    """An error of communication between processes."""


class DistBackendError(DistError):
    """A collective failed, or the ranks disagree about it."""


class DistNetworkError(DistError):
    """A connection failed or broke."""


class DistStoreError(DistError):
    """A store failed to answer in time."""


class QueueEmptyError(DistStoreError):
    """A queue of a store is empty."""
