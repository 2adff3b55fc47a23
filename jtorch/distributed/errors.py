"""The errors of processes that work together. See torch.distributed."""
from __future__ import annotations


class DistError(RuntimeError):
    """Something between processes went wrong."""


class DistBackendError(DistError):
    """A collective failed in the transport."""


class DistNetworkError(DistError):
    """A connection could not be made, or broke."""


class DistStoreError(DistError):
    """A store did not answer in time."""


class QueueEmptyError(DistStoreError):
    """A queue of a store has nothing in it."""
