"""Batches assembled in host memory: computed samples are copied once, and no call is recorded.

An op for each sample would give each batch its own path in the trie, because new indices make a new path. No training step
would then repeat an earlier one. A batch that is assembled here is a new input of the same step.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jtorch import engine, storage
from jtorch._api.creation import from_host
from jtorch._backward.view_history import requires_grad
from jtorch.engine import CPU
from jtorch.no_grad import mode
from jtorch.ops.strided import contiguous_strides
from jtorch.storage import value_of
from jtorch.tensor import Tensor
from jtorch.utils.data.dataset import Subset, TensorDataset


def stacked(batch: Sequence[Tensor], always: bool) -> Tensor | None:
    """Return the tensors stacked along a new first dim, or None if ``torch.stack`` has to do it.

    Return None if ``torch.stack`` would raise, if gradients flow, on accelerators and under JAX transformations. Return None
    also for tensors that are deferred in the current trace, so that ``torch.stack`` continues the trace. With ``always`` the
    trace ends instead.
    """
    aval = storage.aval_of(batch[0])
    if aval.traced or aval.device is not CPU:
        return None
    alike = all([t.__class__ is Tensor and (t._view or t._storage).aval is aval for t in batch])
    if not alike or (mode.grad and _tracked(batch)):
        return None
    made = _of_one_storage(batch, aval)
    if made is None:
        arrays = [_computed(t, always) for t in batch]
        if any([a is None for a in arrays]):
            return None
        made = joined(arrays, aval.shape, aval.np)
    return from_host(made)


def _tracked(batch: Sequence[Tensor]) -> bool:
    """Return whether any tensor requires grad, itself or through its base."""
    if any([t._requires_grad for t in batch]):
        return True
    bases = {id(t._base): t for t in batch if t._base is not None}      # Rows of one tensor share one base.
    return any([requires_grad(t) for t in bases.values()])


def joined(arrays: list, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Stack arrays of one shape and dtype."""
    if shape:
        return np.concatenate(arrays).reshape(len(arrays), *shape)
    made = np.empty(len(arrays), dtype)
    for i, a in enumerate(arrays):
        made[i] = a
    return made


def _computed(t: Tensor, always: bool) -> np.ndarray | None:
    """Return the tensor's elements as an array that is not written to before it is copied; None if they are deferred."""
    if t._storage.host is not None:
        return t._storage.host_view(t._view)
    value = value_of(t)
    if always:
        engine.read(value)
    elif value.array is None or value.born is engine.current():
        return None
    return engine.host_array(value)


def _content(s: storage.Storage) -> np.ndarray | None:
    """Return all of a storage's elements as a flat array, if they are computed."""
    if s.host is not None:
        return s.host
    value = s.content()
    if value.array is None:
        return None
    array = engine.host_array(value)
    return array.reshape(-1) if array.flags.c_contiguous else None


def _of_one_storage(batch: Sequence[Tensor], aval: engine.Aval) -> np.ndarray | None:
    """Take equal blocks of one storage (rows of one large tensor) with a single call; None if the tensors are no such blocks."""
    s, n = batch[0]._storage, aval.numel
    if not n or s.aval.np != aval.np or not all([t._storage is s and t._view is not None for t in batch]):
        return None
    views: list[Any] = [t._view for t in batch]
    stride = contiguous_strides(aval.shape)
    at, rest = np.divmod([v.offset for v in views], n)
    if rest.any() or not all([v.stride == stride for v in views]):
        return None
    flat = _content(s)
    if flat is None:
        return None
    return flat[:flat.size // n * n].reshape(-1, n).take(at, 0).reshape(len(batch), *aval.shape)


def batch_of(dataset: Any, indices: Any) -> list[Tensor] | None:
    """Return the batch of a TensorDataset's samples (or a Subset's) at ``indices``, as ``default_collate`` makes it.

    Return None if the samples have to be fetched one by one: for subclasses with another ``__getitem__``, with gradients, or
    for indices that are no integers or out of range.
    """
    while dataset.__class__ is Subset:
        try:
            dataset, indices = dataset.dataset, [dataset.indices[i] for i in indices]
        except (IndexError, TypeError):
            return None
    if type(dataset).__getitem__ is not TensorDataset.__getitem__ or not _plain(dataset.tensors):
        return None
    try:
        at = np.asarray(indices)
        if at.dtype.kind != "i" or at.ndim != 1 or not at.size:
            return None
        return [from_host(_rows(t, at)) for t in dataset.tensors]
    except (IndexError, ValueError):
        return None


def _plain(tensors: Sequence[Tensor]) -> bool:
    for t in tensors:
        aval = storage.aval_of(t)
        if t.__class__ is not Tensor or aval.traced or aval.device is not CPU or (mode.grad and requires_grad(t)):
            return False
    return True


def _rows(t: Tensor, at: np.ndarray) -> np.ndarray:
    array = _computed(t, always=True)
    assert array is not None
    return array.take(at, 0) if array.flags.c_contiguous else array[at]     # take would first copy a whole strided array.
