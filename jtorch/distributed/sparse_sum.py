"""``all_reduce`` of tensors of which each rank stores other elements."""
from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from jtorch.distributed.arrays import array_of, tensor_of
from jtorch.distributed.groups import ProcessGroup
from jtorch.no_grad import no_grad


def sum_of_sparse(pg: ProcessGroup, tensor: Any, op: Any, gathered: Callable) -> None:
    """Makes ``tensor`` the sum: the elements of all ranks, those of the same place added up."""
    if op.name != "SUM":
        raise RuntimeError("unsupported reduction operation (allreduce of sparse tensors only works with ReduceOp.SUM)")
    places, values = array_of(tensor._indices()).T, array_of(tensor._values())
    counts = gathered(pg, "all_reduce of sparse tensors", np.array([len(values)]), tuple(tensor.shape))[:, 0]
    everybodys = [_rows(pg, array, counts, gathered) for array in (places, values)]
    sparse = importlib.import_module("jtorch.sparse.creation")
    made = sparse.sparse_coo_tensor(tensor_of(everybodys[0].T.copy()), tensor_of(everybodys[1]), tuple(tensor.shape))
    with no_grad():
        tensor.copy_(made.coalesce())


def _rows(pg: ProcessGroup, array: np.ndarray, counts: np.ndarray, gathered: Callable) -> np.ndarray:
    """The rows of all ranks, behind one another: each rank has another number of them, and sends as many as the longest."""
    filled = np.zeros((counts.max(), *array.shape[1:]), array.dtype)
    filled[:len(array)] = array
    everybodys = gathered(pg, "all_reduce of sparse tensors", filled)
    return np.concatenate([rows[:n] for rows, n in zip(everybodys, counts, strict=True)])
