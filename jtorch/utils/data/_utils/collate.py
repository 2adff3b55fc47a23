"""Collation of samples to batches: ``default_collate``, and the table of types that extends it."""
from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

import jtorch.dtype as dtypes
from jtorch._api import functions
from jtorch._api.creation import as_tensor, from_host, tensor
from jtorch.tensor import Tensor
from jtorch.utils.data._utils import rows, worker
from jtorch.utils.data._utils.containers import is_namedtuple, mapping_like, sequence_like

Table = dict[type | tuple[type, ...], Callable]

np_str_obj_array_pattern = re.compile(r"[SaUO]")
default_collate_err_msg_format = ("default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}")


def default_convert(data: Any) -> Any:
    """Convert NumPy arrays and scalars in ``data`` to tensors; keep everything else. See torch.utils.data.default_convert.

    Args:
        data: a sample of any form.

    Returns:
        the same form with Tensors.

    Example::

        >>> torch.utils.data.default_convert({"x": np.array([0, 1]), "name": "a"})
        {'x': tensor([0, 1]), 'name': 'a'}

    """
    if isinstance(data, Tensor):
        return data
    if type(data).__module__ == "numpy" and not isinstance(data, np.str_):
        if isinstance(data, np.ndarray) and np_str_obj_array_pattern.search(data.dtype.str) is not None:
            return data
        return as_tensor(data)
    if isinstance(data, Mapping):
        return mapping_like(data, {key: default_convert(data[key]) for key in data})
    if is_namedtuple(data):
        return type(data)(*[default_convert(x) for x in data])
    if isinstance(data, tuple):
        return [default_convert(x) for x in data]
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        return sequence_like(data, [default_convert(x) for x in data])
    return data


def collate(batch: Any, *, collate_fn_map: Table | None = None) -> Any:
    """Collate a list of samples to one sample of batches. See torch.utils.data._utils.collate.collate.

    ``collate_fn_map`` maps types, or tuples of types, to the function that collates their instances. An exact type takes
    precedence over a base type. The elements of mappings and sequences are collated.
    """
    elem = batch[0]
    found = _function_for(elem, collate_fn_map or {})
    if found is not None:
        return found(batch, collate_fn_map=collate_fn_map)
    if isinstance(elem, Mapping):
        return mapping_like(elem, {k: collate([d[k] for d in batch], collate_fn_map=collate_fn_map) for k in elem})
    if is_namedtuple(elem):
        return type(elem)(*[collate(column, collate_fn_map=collate_fn_map) for column in zip(*batch, strict=False)])
    if isinstance(elem, Sequence):
        if any(len(x) != len(elem) for x in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        columns = [collate(column, collate_fn_map=collate_fn_map) for column in zip(*batch, strict=True)]
        return columns if isinstance(elem, tuple) else sequence_like(elem, columns)
    raise TypeError(default_collate_err_msg_format.format(type(elem)))


def _function_for(elem: Any, table: Table) -> Callable | None:
    exact = table.get(type(elem))
    if exact is not None:
        return exact
    return next((fn for kind, fn in table.items() if isinstance(elem, kind)), None)


def collate_tensor_fn(batch: Any, *, collate_fn_map: Table | None = None) -> Tensor:
    """Stack tensors of one shape."""
    made = rows.stacked(batch, always=worker.get_worker_info() is not None)
    return made if made is not None else functions.stack(list(batch), 0)


def collate_numpy_array_fn(batch: Any, *, collate_fn_map: Table | None = None) -> Any:
    """Convert NumPy arrays to tensors, and collate these."""
    elem = batch[0]
    if np_str_obj_array_pattern.search(elem.dtype.str) is not None:
        raise TypeError(default_collate_err_msg_format.format(elem.dtype))
    if (collate_fn_map or {}).get(Tensor) is collate_tensor_fn and _alike(batch):
        return from_host(rows.joined(list(batch), elem.shape, elem.dtype))
    return collate([as_tensor(x) for x in batch], collate_fn_map=collate_fn_map)


def _alike(batch: Sequence[np.ndarray]) -> bool:
    """Return whether arrays can be joined without conversion: they share a shape and a native dtype that tensors have."""
    dtype, shape = batch[0].dtype, batch[0].shape
    return dtype.isnative and dtype in _DTYPES and all(
        [isinstance(x, np.ndarray) and x.dtype == dtype and x.shape == shape and x.flags.c_contiguous for x in batch])


_DTYPES = {d.np for d in dtypes.ALL.values()}


def collate_numpy_scalar_fn(batch: Any, *, collate_fn_map: Table | None = None) -> Tensor:
    """Convert NumPy scalars to one tensor."""
    return as_tensor(batch)


def collate_float_fn(batch: Any, *, collate_fn_map: Table | None = None) -> Tensor:
    """Convert Python floats to a float64 tensor."""
    return tensor(batch, dtype=dtypes.float64)


def collate_int_fn(batch: Any, *, collate_fn_map: Table | None = None) -> Tensor:
    """Convert Python ints or bools to a tensor."""
    return tensor(batch)


def collate_str_fn(batch: Any, *, collate_fn_map: Table | None = None) -> Any:
    """Return text unchanged, as a list."""
    return batch


default_collate_fn_map: Table = {
    Tensor: collate_tensor_fn,
    np.ndarray: collate_numpy_array_fn,
    (np.bool_, np.number, np.object_): collate_numpy_scalar_fn,
    float: collate_float_fn,
    int: collate_int_fn,
    str: collate_str_fn,
    bytes: collate_str_fn,
}


def default_collate(batch: Any) -> Any:
    """Collate a list of samples to a batch with one more dim in front. See torch.utils.data.default_collate.

    Tensors, NumPy arrays and numbers become tensors (float64 for floats, int64 for ints). Mappings, named tuples and
    sequences keep their type, except that tuples become lists, and their elements are collated. Text stays a list.

    Args:
        batch (sequence): of samples of one form; tensors in the same place have one shape and dtype.

    Returns:
        one object of a sample's form.

    Raises:
        TypeError: elements that are none of these.
        RuntimeError: shapes or lengths that differ.

    Example::

        >>> torch.utils.data.default_collate([(torch.tensor([1.0, 2.0]), 0), (torch.tensor([3.0, 4.0]), 1)])
        [tensor([[1., 2.],
                [3., 4.]]), tensor([0, 1])]

    """
    return collate(batch, collate_fn_map=default_collate_fn_map)
