"""Splitting batches into microbatches, and merging their results."""
from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from jtorch._api import functions
from jtorch._api.creation import tensor
from jtorch._base.pytree import flatten, tree_map, unflatten
from jtorch.nn.attention._block_mask import BlockMask
from jtorch.tensor import Tensor

DEFAULT_CHUNK_DIM = 0


class _CustomReducer:
    """Reduces the microbatches' values to one by ``reduce_fn``, beginning with ``init_value``."""

    def __init__(self, init_value: Any, reduce_fn: Callable[[Any, Any], Any]):
        self.init_value, self.reduce_fn = init_value, reduce_fn


class _LossReducer(_CustomReducer):
    pass


sum_reducer = _LossReducer(tensor(0.0), operator.add)


class TensorChunkSpec:
    """The dim along which an input is split. See torch.distributed.pipelining.microbatch.TensorChunkSpec.

    >>> str(TensorChunkSpec.from_tuple((0, 1))[1])
    'TensorChunkSpec(1)'

    """

    def __init__(self, split_dim: int):
        self.split_dim = split_dim

    def __repr__(self) -> str:
        return f"torch.distributed.pipelining.microbatch.{self}"

    def __str__(self) -> str:
        return f"TensorChunkSpec({self.split_dim})"

    @staticmethod
    def from_tuple(chunk_dims: tuple[int, ...]) -> Any:
        """Return a spec for each positional input."""
        return tree_map(TensorChunkSpec, chunk_dims)

    @staticmethod
    def from_dict(chunk_dims: dict[str, int]) -> Any:
        """Return a spec for each input by name."""
        return tree_map(TensorChunkSpec, chunk_dims)


class _Replicate:
    """Marks a value that all microbatches get whole."""


def _is_mask(x: Any) -> bool:
    return isinstance(x, BlockMask)


def _split_block_mask(mask: BlockMask, n: int) -> list[BlockMask]:
    """Split a block mask along the batch."""
    batch = mask.kv_num_blocks.size(0)
    if batch == 1:      # All batches share the mask.
        return [mask] * n
    if batch < n:
        raise AssertionError("Block mask has fewer batch size than the number of chunks. ")
    parts = [[None] * n if t is None else functions.tensor_split(t, n)
             for t in (mask.kv_num_blocks, mask.kv_indices, mask.full_kv_num_blocks, mask.full_kv_indices)]
    made, before = [], 0
    for counts, indices, full_counts, full_indices in zip(*parts, strict=True):
        made.append(BlockMask.from_kv_blocks(counts, indices, full_counts, full_indices, mask.BLOCK_SIZE,
                                             _shifted(mask.mask_mod, before), mask.seq_lengths))
        before += counts.size(0)
    return made


def _shifted(mask_mod: Callable, batches: int) -> Callable:
    return lambda b, h, q, kv: mask_mod(b + functions.full_like(b, batches), h, q, kv)


def _split_tensor(whole: Tensor, spec: TensorChunkSpec, num_chunks: int) -> Sequence[Tensor]:
    """Split a tensor; AssertionError if it has fewer than ``num_chunks`` elements along the dim."""
    if whole.size(spec.split_dim) < num_chunks:
        raise AssertionError(f"Tensor size {whole.size(spec.split_dim)} is smaller than num_chunks")
    parts = functions.tensor_split(whole, num_chunks, spec.split_dim)
    if whole.requires_grad and whole.is_leaf:
        for part in parts:
            part.retain_grad()      # A stage's backward reads these gradients.
    return parts


def _most_chunks(value: Any, spec: Any, wanted: int) -> int:
    """Return the greatest number of chunks into which a value can be split, or ``wanted`` if there is no limit."""
    if spec is _Replicate or isinstance(spec, _Replicate):
        return wanted
    if not isinstance(value, (Tensor, BlockMask)):
        raise ValueError(f"Unsupported chunk spec: {spec} and value: {value} combination.")
    if not isinstance(spec, TensorChunkSpec):
        raise AssertionError(f"Expected TensorChunkSpec, got {type(spec)}")
    if isinstance(value, Tensor):
        return value.size(spec.split_dim)
    if spec.split_dim != 0:
        raise AssertionError("BlockMask only supports split_dim=0")
    batch = value.kv_num_blocks.size(0)
    return wanted if batch == 1 else batch


def _chunks_of(value: Any, spec: Any, n: int) -> Sequence[Any]:
    if spec is _Replicate or isinstance(spec, _Replicate):
        return [value] * n
    return _split_tensor(value, spec, n) if isinstance(value, Tensor) else _split_block_mask(value, n)


def _shard_dict_of_args(args_dict: dict, args_chunk_spec: dict, num_chunks: int) -> list[dict]:
    """Return the inputs of each microbatch: ``num_chunks`` of them, or fewer if an input is too short."""
    if not args_dict:
        return [{} for _ in range(num_chunks)]
    if len(args_dict) != len(args_chunk_spec):
        raise AssertionError(f"args_dict.keys() = {list(args_dict)} args_chunk_spec.keys() = {list(args_chunk_spec)}")
    values, form = flatten(args_dict, is_leaf=_is_mask)
    specs, _ = flatten(args_chunk_spec, is_leaf=_is_mask)
    pairs = list(zip(values, specs, strict=True))
    n = min([num_chunks, *[_most_chunks(v, s, num_chunks) for v, s in pairs]])
    columns = [_chunks_of(v, s, n) for v, s in pairs]
    return [unflatten([column[i] for column in columns], form) for i in range(n)]


def _default_spec(value: Any) -> TensorChunkSpec | _Replicate:
    return TensorChunkSpec(DEFAULT_CHUNK_DIM) if isinstance(value, (Tensor, BlockMask)) else _Replicate()


def split_args_kwargs_into_chunks(args: tuple[Any, ...], kwargs: dict[str, Any] | None, chunks: int,
                                  args_chunk_spec: tuple[TensorChunkSpec, ...] | None = None,
                                  kwargs_chunk_spec: dict[str, TensorChunkSpec] | None = None) -> tuple[list[tuple], list[dict]]:
    """Split a batch's inputs into microbatches. See torch.distributed.pipelining.microbatch.split_args_kwargs_into_chunks.

    Args:
        args: the inputs of the whole batch.
        kwargs: inputs by name.
        chunks: the number of microbatches; there are fewer if a tensor is too short.
        args_chunk_spec: the dim along which each input is split; if None, tensors are split along dim 0 and other values are
            not.
        kwargs_chunk_spec: the same by name.

    Returns:
        A list of positional inputs for each microbatch, and a list of inputs by name.

    Raises:
        AssertionError: another number of specs than inputs.
        ValueError: a spec for a value that can't be split.

    >>> split_args_kwargs_into_chunks((torch.arange(4), 7), None, 2)[0]
    [(tensor([0, 1]), 7), (tensor([2, 3]), 7)]

    """
    kwargs = kwargs or {}
    if args_chunk_spec is None:
        args_chunk_spec = tree_map(_default_spec, args, is_leaf=_is_mask)
    if kwargs_chunk_spec is None:
        kwargs_chunk_spec = tree_map(_default_spec, kwargs, is_leaf=_is_mask)
    by_place, specs = dict(enumerate(args)), dict(enumerate(args_chunk_spec))
    args_split = _shard_dict_of_args(by_place, specs, chunks)
    kwargs_split = _shard_dict_of_args(kwargs, kwargs_chunk_spec, len(args_split))
    if len(kwargs_split) < len(args_split):
        args_split = _shard_dict_of_args(by_place, specs, len(kwargs_split))
    if len(args_split) != len(kwargs_split):
        raise RuntimeError(f"args and kwargs are split into different number of chunks: {len(args_split)}, {len(kwargs_split)}")
    return [tuple(chunk[i] for i in range(len(chunk))) for chunk in args_split], kwargs_split


def _merged(values: list[Any], spec: Any) -> Any:
    if isinstance(spec, TensorChunkSpec):
        return functions.cat(values, spec.split_dim)
    if isinstance(spec, _CustomReducer):
        made = spec.init_value
        for value in values:
            made = spec.reduce_fn(made, value)
        return made
    for value in values[1:]:
        if value != values[0]:
            raise AssertionError(f"Expected {values[0]}, got {value}")
    return values[0]


def merge_chunks(chunks: list[Any], chunk_spec: Any) -> Any:
    """Merge the results of microbatches. See torch.distributed.pipelining.microbatch.merge_chunks.

    Args:
        chunks: one result for each microbatch, in order.
        chunk_spec: for each value a ``TensorChunkSpec``, or another object if all microbatches have the same value; None if
            all values are tensors to concatenate along dim 0.

    Returns:
        The merged result.

    Raises:
        ValueError: a microbatch has another number of values than the spec.
        AssertionError: values that should be equal differ.

    >>> merge_chunks([torch.zeros(1), torch.ones(1)], None)
    tensor([0., 1.])

    """
    first, form = flatten(chunks[0] if chunk_spec is None else chunk_spec)
    specs = [TensorChunkSpec(DEFAULT_CHUNK_DIM)] * len(first) if chunk_spec is None else first
    rows = [flatten(chunk)[0] for chunk in chunks]
    for chunk, row in zip(chunks, rows, strict=True):
        if len(row) != len(specs):
            raise ValueError(f"Chunk {chunk} did not match chunk spec {chunk_spec}")
    return unflatten([_merged([row[i] for row in rows], spec) for i, spec in enumerate(specs)], form)
