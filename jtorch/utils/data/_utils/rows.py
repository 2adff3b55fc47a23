"""Batches put together in host memory: samples that are computed already are copied once, and no call is recorded.

An op for each sample would make each batch a path of its own in the engine's records (a new index is a new path), so
that no training step would ever be the same as the one before. A batch made here is a new input of the step instead.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jtorch import engine, storage
from jtorch.creation import from_host
from jtorch.engine import CPU
from jtorch.no_grad import mode
from jtorch.ops.strided import contiguous_strides
from jtorch.storage import value_of
from jtorch.tensor import Tensor, requires_grad
from jtorch.utils.data.dataset import Subset, TensorDataset


def stacked(batch: Sequence[Tensor], always: bool) -> Tensor | None:
    """The tensors stacked along a new first dim, or None where ``torch.stack`` has to do it.

    That is where it would raise, where gradients flow, on accelerators, under JAX transformations, and where the tensors
    come from calls of the current record, which goes on with the stack then (``always``: it ends instead).
    """
    aval = storage.aval_of(batch[0])
    if aval.traced or aval.device is not CPU:
        return None
    for t in batch:
        if t.__class__ is not Tensor or storage.aval_of(t) is not aval or (mode.grad and requires_grad(t)):
            return None
    made = _of_one_storage(batch, aval)
    if made is None:
        arrays = [_computed(t, always) for t in batch]
        if any([a is None for a in arrays]):
            return None
        made = joined(arrays, aval.shape, aval.np)
    return from_host(made)


def joined(arrays: list, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Arrays of one shape and dtype, stacked."""
    if shape:
        return np.concatenate(arrays).reshape(len(arrays), *shape)
    made = np.empty(len(arrays), dtype)
    for i, a in enumerate(arrays):
        made[i] = a
    return made


def _computed(t: Tensor, always: bool) -> np.ndarray | None:
    """What the tensor shows, as an array that is not written to before it is copied; None if it is being recorded."""
    if t._storage.host is not None:
        return t._storage.host_view(t._view)
    value = value_of(t)
    if always:
        engine.read(value)
    elif value.array is None or value.born is engine.local.rec.stamp:
        return None
    return engine.host_array(value)


def _content(s: storage.Storage) -> np.ndarray | None:
    """All of a storage's elements in a row, if they are known."""
    if s.host is not None:
        return s.host
    if s.value.array is None:
        return None
    array = engine.host_array(s.value)
    return array.reshape(-1) if array.flags.c_contiguous else None


def _of_one_storage(batch: Sequence[Tensor], aval: engine.Aval) -> np.ndarray | None:
    """Equal blocks of one storage (rows of one large tensor), taken out of it with a single call."""
    s, n = batch[0]._storage, aval.numel
    stride = contiguous_strides(aval.shape)
    offsets = []
    for t in batch:
        view = t._view
        if t._storage is not s or view is None or view.stride != stride or view.offset % n:
            return None
        offsets.append(view.offset // n)
    flat = _content(s) if n and s.aval.np == aval.np else None
    if flat is None:
        return None
    rows = flat[:flat.size // n * n].reshape(-1, n)
    return rows.take(offsets, 0).reshape(len(batch), *aval.shape)


def batch_of(dataset: Any, indices: Any) -> list[Tensor] | None:
    """What ``default_collate`` makes of a TensorDataset's samples (or of a Subset of them) at ``indices``, all at once.

    None where the samples have to be asked for one by one: subclasses with another ``__getitem__``, gradients, indices that
    are not integers, or out of range.
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
    return array.take(at, 0) if array.flags.c_contiguous else array[at]     # take would copy all of a strided array
