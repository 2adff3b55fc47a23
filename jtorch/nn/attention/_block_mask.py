"""BlockMask: the blocks of attention scores that are computed.

See torch.nn.attention.flex_attention.BlockMask.
"""
from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import jtorch._api.functions as functions
from jtorch.dtype import named
from jtorch.tensor import Tensor

DEFAULT_BLOCK_SIZE = 128
LARGE_BLOCK_SIZE = 1 << 30          # the block size of the mask that allows everything: one block for any lengths
_INT32, _BOOL = named("int32"), named("bool")
_UNORDERED = "the order of writes to a query's gradient (dq_write_order, dq_kv_order) is for a kernel of CUDA, and is not built"


def noop_mask(batch: Tensor, head: Tensor, token_q: Tensor, token_kv: Tensor) -> Tensor:
    """Return True for each position: nothing is masked. See torch.nn.attention.flex_attention.noop_mask."""
    return batch.new_ones(size=(), dtype=_BOOL, device=batch.device)


def sliced_mask(batch: Tensor, head: Tensor, token_q: Tensor, token_kv: Tensor) -> NoReturn:
    """Raise RuntimeError as the ``mask_mod`` of a sliced BlockMask, whose positions are unknown."""
    raise RuntimeError("Cannot use mask_mod from a sliced BlockMask. When you slice a BlockMask using [], the mask_mod attribute "
                       "is reset. You must set it from the original BlockMask's mask_mod."
                       "\n\nIncorrect usage:"
                       "\n  base_mask = create_block_mask(my_mask_fn, ...)"
                       "\n  sliced_mask = base_mask[:, :, block_idx]"
                       "\n  sliced_mask.mask_mod = apply_offset(sliced_mask.mask_mod, offset)  # WRONG!"
                       "\n\nCorrect usage:"
                       "\n  base_mask = create_block_mask(my_mask_fn, ...)"
                       "\n  sliced_mask = base_mask[:, :, block_idx]"
                       "\n  sliced_mask.mask_mod = apply_offset(base_mask.mask_mod, offset)  # Use base_mask!")


def _to_dense(counts: Tensor, indices: Tensor) -> Tensor:
    """Return 1 in the columns that the first ``counts`` entries of ``indices`` name, and 0 elsewhere."""
    columns = indices.shape[-1]
    used = functions.arange(columns, device=indices.device) < counts.unsqueeze(-1)
    places = functions.where(used, indices, columns).long()     # Unused entries go to an extra column.
    dense = indices.new_zeros((*indices.shape[:-1], columns + 1), dtype=_INT32)
    return dense.scatter(-1, places, functions.ones_like(places, dtype=_INT32))[..., :columns].contiguous()


def to_ordered(dense: Tensor) -> tuple[Tensor, Tensor]:
    """Return (the number of ones in each row, the row's columns with the ones first)."""
    dense = dense.to(_INT32)
    order = functions.argsort(dense, dim=-1, descending=True, stable=True)
    return dense.sum(dim=-1).to(_INT32).contiguous(), order.to(_INT32).contiguous()


def _transposed(counts: Tensor | None, indices: Tensor | None) -> tuple[Tensor | None, Tensor | None]:
    if counts is None or indices is None:
        return None, None
    return to_ordered(_to_dense(counts, indices).transpose(-2, -1))


def _cropped(counts: Tensor | None, indices: Tensor | None, rows: int, columns: int) -> tuple[Any, Any]:
    if counts is None or indices is None:
        return None, None
    counts = counts[:, :, :rows]
    return functions.where(counts < columns, counts, columns), indices[:, :, :rows, :columns]


class BlockMask:
    """For each block of queries, the blocks of keys that it attends to.

    See torch.nn.attention.flex_attention.BlockMask.

    ``full_`` blocks need no ``mask_mod``, since nothing in them is masked. jtorch computes the scores of all blocks and
    masks them by ``mask_mod``. So the blocks describe the mask, but save no work.
    """

    _TENSOR_ATTRS = ("kv_num_blocks", "kv_indices", "full_kv_num_blocks", "full_kv_indices", "q_num_blocks", "q_indices",
                     "full_q_num_blocks", "full_q_indices", "dq_write_order", "dq_write_order_full", "dq_kv_order")

    def __init__(self, seq_lengths: tuple[int, int], kv_num_blocks: Tensor, kv_indices: Tensor,
                 full_kv_num_blocks: Tensor | None, full_kv_indices: Tensor | None, q_num_blocks: Tensor | None,
                 q_indices: Tensor | None, full_q_num_blocks: Tensor | None, full_q_indices: Tensor | None,
                 BLOCK_SIZE: tuple[int, int] = (DEFAULT_BLOCK_SIZE, DEFAULT_BLOCK_SIZE), mask_mod: Callable = noop_mask, *,
                 dq_write_order: Any = None, dq_write_order_full: Any = None, dq_kv_order: Any = None,
                 dq_kv_order_spt: Any = None):
        if kv_indices.dim() < 2:
            raise RuntimeError("BlockMask must have at least 2 dimensions")
        _check_pair("kv", full_kv_num_blocks, full_kv_indices)
        _check_pair("q", full_q_num_blocks, full_q_indices)
        if not dq_write_order is dq_write_order_full is dq_kv_order is dq_kv_order_spt is None:
            raise NotImplementedError(_UNORDERED)
        self.seq_lengths, self.BLOCK_SIZE, self.mask_mod = seq_lengths, BLOCK_SIZE, mask_mod
        self.kv_num_blocks, self.kv_indices = kv_num_blocks, kv_indices
        self.full_kv_num_blocks, self.full_kv_indices = full_kv_num_blocks, full_kv_indices
        self.q_num_blocks, self.q_indices = q_num_blocks, q_indices
        self.full_q_num_blocks, self.full_q_indices = full_q_num_blocks, full_q_indices
        self.dq_write_order = self.dq_write_order_full = self.dq_kv_order = self.dq_kv_order_spt = None

    @classmethod
    def from_kv_blocks(cls, kv_num_blocks: Tensor, kv_indices: Tensor, full_kv_num_blocks: Tensor | None = None,
                       full_kv_indices: Tensor | None = None, BLOCK_SIZE: int | tuple[int, int] = DEFAULT_BLOCK_SIZE,
                       mask_mod: Callable | None = None, seq_lengths: tuple[int, int] | None = None,
                       compute_q_blocks: bool = True, *, dq_write_order: Any = None, dq_write_order_full: Any = None,
                       dq_kv_order: Any = None) -> BlockMask:
        """Create a mask from each query block's key blocks; the query blocks of each key block are computed."""
        if kv_indices.dim() < 2:
            raise RuntimeError("BlockMask must have at least 2 dimensions")
        _check_pair("kv", full_kv_num_blocks, full_kv_indices)
        block = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else BLOCK_SIZE
        of_queries, full = ((_transposed(kv_num_blocks, kv_indices), _transposed(full_kv_num_blocks, full_kv_indices))
                            if compute_q_blocks else ((None, None), (None, None)))
        lengths = seq_lengths or (kv_indices.shape[-2] * block[0], kv_indices.shape[-1] * block[1])
        return cls(lengths, kv_num_blocks, kv_indices, full_kv_num_blocks, full_kv_indices, *of_queries, *full, block,
                   mask_mod or noop_mask, dq_write_order=dq_write_order, dq_write_order_full=dq_write_order_full,
                   dq_kv_order=dq_kv_order)

    def as_tuple(self, flatten: bool = True) -> tuple:
        """Return all attributes; ``flatten`` gives the lengths and block sizes as two numbers each."""
        lengths, block = (tuple(self.seq_lengths), tuple(self.BLOCK_SIZE)) if flatten else ((self.seq_lengths,),
                                                                                           (self.BLOCK_SIZE,))
        return (*lengths, *[getattr(self, name) for name in self._TENSOR_ATTRS], self.dq_kv_order_spt, *block, self.mask_mod)

    @property
    def shape(self) -> tuple[int, ...]:
        """Return (batch, heads, queries, keys)."""
        return (*self.kv_indices.shape[:-2], *self.seq_lengths)

    def __getitem__(self, index: Any) -> BlockMask:
        given = index if isinstance(index, tuple) else (index,)
        padded = (*given, slice(None), slice(None), slice(None))[:3]
        parts = tuple([_kept_dim(i, n) for i, n in zip(padded, self.kv_num_blocks.shape[:3], strict=True)])
        counts, indices, full_counts, full_indices = [None if t is None else t[parts] for t in self._of_keys()]
        return self._with((counts, indices, full_counts, full_indices), sliced_mask, self.seq_lengths)

    def _of_keys(self) -> tuple:
        return self.kv_num_blocks, self.kv_indices, self.full_kv_num_blocks, self.full_kv_indices

    def _with(self, of_keys: tuple[Any, Any, Any, Any], mask_mod: Callable, lengths: tuple[int, int]) -> BlockMask:
        return type(self).from_kv_blocks(*of_keys, self.BLOCK_SIZE, mask_mod, lengths, self.q_indices is not None)

    def _adjust(self, new_q_len: int, new_kv_len: int) -> BlockMask:
        rows, columns = -(-new_q_len // self.BLOCK_SIZE[0]), -(-new_kv_len // self.BLOCK_SIZE[1])
        of_keys = (*_cropped(self.kv_num_blocks, self.kv_indices, rows, columns),
                   *_cropped(self.full_kv_num_blocks, self.full_kv_indices, rows, columns))
        return self._with(of_keys, self.mask_mod, (new_q_len, new_kv_len))

    def numel(self) -> int:
        """Return the number of elements of the mask, masked ones included."""
        return math.prod(self.shape)

    def sparsity(self) -> float:
        """Return the percentage of blocks that are not computed."""
        blocks = self.kv_num_blocks.sum()
        if self.full_kv_num_blocks is not None:
            blocks = blocks + self.full_kv_num_blocks.sum()
        return 100 * (1 - blocks.item() * self.BLOCK_SIZE[0] * self.BLOCK_SIZE[1] / self.numel())

    def to_dense(self) -> Tensor:
        """Return 1 for each block that is computed, and 0 for the others."""
        partial = _to_dense(self.kv_num_blocks, self.kv_indices)
        if self.full_kv_num_blocks is None or self.full_kv_indices is None:
            return partial
        return partial | _to_dense(self.full_kv_num_blocks, self.full_kv_indices)

    def to(self, device: Any) -> BlockMask:
        """Return the mask on another device."""
        moved: dict[str, Any] = {name: t if t is None else t.to(device) for name in self._TENSOR_ATTRS
                                 for t in [getattr(self, name)]}
        return BlockMask(self.seq_lengths, **moved, BLOCK_SIZE=self.BLOCK_SIZE, mask_mod=self.mask_mod)

    def to_string(self, grid_size: int | tuple[int, int] = (20, 20), limit: int = 4) -> str:
        """Return a text picture for each batch and head, at most ``limit``. Grid size -1 shows each block."""
        dense = self.to_dense()
        shown = []
        for at, where in enumerate(itertools.product(*[range(n) for n in dense.shape[:-2]])):
            if at == limit:
                shown += ["...", "To print out more, set BlockMask.to_string(limit=N)",
                          "You can also index (BlockMask[batch, head]) to choose a specific batch or head"]
                break
            shown.append(f"{where}\n" + "".join([f"{line}\n" for line in _picture(dense[where], grid_size)]))
        return "\n".join(shown)

    def __str__(self):
        return f"BlockMask(shape={self.shape}, sparsity={self.sparsity():.2f}%, \n{self.to_string().strip()}\n)"

    def __repr__(self):
        shapes = [f"    {name}={None if t is None else t.shape},\n"
                  for name in self._TENSOR_ATTRS[:8] for t in [getattr(self, name)]]
        return (f"BlockMask(\n{''.join(shapes)}    BLOCK_SIZE={self.BLOCK_SIZE},\n    shape={self.shape},\n"
                f"    sparsity={self.sparsity():.2f}%,\n    mask_mod={getattr(self.mask_mod, '__name__', self.mask_mod)}\n)")


def _check_pair(kind: str, counts: Any, indices: Any) -> None:
    if (counts is None) != (indices is None):
        raise AssertionError(f"full_{kind}_num_blocks and full_{kind}_indices must be both provided or omitted")


def _kept_dim(index: Any, size: int) -> Any:
    """Return an index that keeps the dim: an int becomes a slice of length 1."""
    if not isinstance(index, int):
        return index
    start = index + size if -size <= index < 0 else index
    return slice(start, start + 1)


def _picture(dense: Tensor, grid: int | tuple[int, int]) -> Iterator[str]:
    """Yield a line of text for each row of cells."""
    rows, columns = dense.shape
    across, down = (grid, grid) if isinstance(grid, int) else grid
    high, wide = max(1, -(-rows // across)), max(1, -(-columns // down))
    for r in range(0, rows, high):
        yield "".join([2 * _cell(dense[r:r + high, c:c + wide]) for c in range(0, columns, wide)])


def _cell(part: Tensor) -> str:
    filled = part.float().mean().item()
    return "█" if filled == 1 else " " if filled == 0 else "░"
