"""Conversions between nested tensors and padded tensors, whose components have one size."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jtorch._api import functions as torch
from jtorch.nested._internal.nested_tensor import NestedTensor

if TYPE_CHECKING:
    from jtorch.tensor import Tensor


def places(nt: NestedTensor) -> tuple[Tensor, Tensor]:
    """Return, for each index of the ragged dim of the values, its component and its place within the component."""
    if "places" not in nt._metadata_cache:
        lengths = torch.diff(nt._offsets)
        total = nt._values.shape[nt._ragged_idx - 1]
        rows = torch.repeat_interleave(torch.arange(len(nt), device=nt.device), lengths, output_size=total)
        nt._metadata_cache["places"] = rows, torch.arange(total, device=nt.device) - nt._offsets[rows]
    return nt._metadata_cache["places"]


def to_padded(nt: NestedTensor, padding: Any, size: int | None = None) -> Tensor:
    """Return a dense tensor of ``size`` in the ragged dim. Longer components are cut, and shorter ones end with ``padding``."""
    if nt._lengths is not None:
        raise RuntimeError("to_padded_tensor(): not supported for nested tensors with holes")
    size = nt._get_max_seqlen() if size is None else size
    rows, at = places(nt)
    values = torch.transpose(nt._values, nt._ragged_idx - 1, 0)
    if size < nt._get_max_seqlen():
        kept = at < size
        rows, at, values = rows[kept], at[kept], values[kept]
    out = torch.full((len(nt), size, *values.shape[1:]), padding, dtype=nt.dtype, device=nt.device)
    return torch.transpose(torch.index_put(out, (rows, at), values), nt._ragged_idx, 1)


def to_padded_tensor(nt: NestedTensor, padding: Any, output_size: Any = None) -> Tensor:
    """Return a padded tensor. By default its ragged size is the largest component's if known, else that of all values."""
    known = nt._maybe_max_seqlen
    size = nt._values.shape[0] if known is None else known
    return to_padded(nt, padding, size if output_size is None else output_size[nt._ragged_idx])


def from_padded(padded: Tensor, like: NestedTensor, ragged_idx: int | None = None) -> NestedTensor:
    """Return a nested tensor of the structure of ``like``, with the elements of a padded tensor."""
    ragged_idx = like._ragged_idx if ragged_idx is None else ragged_idx
    values = torch.transpose(padded, ragged_idx, 1)[places(like)]
    return like._like(torch.transpose(values, ragged_idx - 1, 0), ragged_idx)
