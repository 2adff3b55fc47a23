"""``all_reduce`` of sparse tensors, whose ranks may store different elements."""
from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from jtorch.distributed.arrays import array_of, tensor_of
from jtorch.distributed.backends import Backend
from jtorch.distributed.groups import ProcessGroup
from jtorch.no_grad import no_grad


def sum_of_sparse(pg: ProcessGroup, tensor: Any, op: Any, gathered: Callable) -> None:
    """Replace ``tensor`` by the sum over ranks, as a coalesced sparse tensor."""
    if op.name != "SUM":
        raise RuntimeError("unsupported reduction operation (allreduce of sparse tensors only works with ReduceOp.SUM)")
    if pg.backends.get(tensor.device.type) == Backend.NCCL:
        raise RuntimeError("NCCL does not support all_reduce with sparse tensors. Please use dense tensors instead.")
    places, values = array_of(pg, tensor._indices()).T, array_of(pg, tensor._values())
    counts = gathered(pg, "all_reduce of sparse tensors", np.array([len(values)]), tuple(tensor.shape))[:, 0]
    everybodys = [_rows(pg, array, counts, gathered) for array in (places, values)]
    sparse = importlib.import_module("jtorch.sparse.creation")
    made = sparse.sparse_coo_tensor(tensor_of(everybodys[0].T.copy()), tensor_of(everybodys[1]), tuple(tensor.shape))
    with no_grad():
        tensor.copy_(made.coalesce())


def _rows(pg: ProcessGroup, array: np.ndarray, counts: np.ndarray, gathered: Callable) -> np.ndarray:
    """Return the rows of all ranks, concatenated; each rank pads its rows to the longest for the all-gather."""
    filled = np.zeros((counts.max(), *array.shape[1:]), array.dtype)
    filled[:len(array)] = array
    everybodys = gathered(pg, "all_reduce of sparse tensors", filled)
    return np.concatenate([rows[:n] for rows, n in zip(everybodys, counts, strict=True)])
