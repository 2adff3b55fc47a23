"""Block layouts: a BSR (BSC) matrix stores blocks of one size, by rows (columns) of blocks."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jtorch._base.layout import IN_WORDS, layout, sparse_bsr
from jtorch.sparse import places
from jtorch.sparse.tensor import CLASSES, CompressedTensor, CooTensor, coo, make
from jtorch.tensor import Tensor


def is_block(wanted: Any) -> bool:
    """Return whether a layout stores blocks."""
    return wanted.name in ("sparse_bsr", "sparse_bsc")


def elements(t: CompressedTensor) -> CooTensor:
    """Return all elements of the stored blocks in COO layout, block by block."""
    starts, others = map(places.host, t.stored_indices)
    blocks = places.rows_of(starts), others
    rows, columns = blocks if t.layout is sparse_bsr else blocks[::-1]
    height, width = t.stored_values.shape[1:]
    shape = len(rows), height, width
    at = [np.broadcast_to(rows[:, None, None] * height + np.arange(height)[:, None], shape),
          np.broadcast_to(columns[:, None, None] * width + np.arange(width), shape)]
    indices = places.tensor(np.stack([a.reshape(-1) for a in at]), t.stored_indices[0])
    return coo(indices, t.stored_values.reshape(-1), tuple(t.shape))


def checked_size(t: Any, blocksize: Any, where: str) -> tuple[int, int]:
    """Return the height and width of blocks; raise RuntimeError for a size that does not divide the matrix."""
    size = [blocksize] * 2 if isinstance(blocksize, int) else list(blocksize)
    if len(size) != 2:
        raise RuntimeError(f"{where}: blocksize needs to be a tuple of size 2, but got {len(size)}")
    if min(size) < 1:
        raise RuntimeError(f"{where}: blocksize needs to be positive, but got {size}")
    n, m = t.shape
    if n % size[0] or m % size[1]:
        raise RuntimeError(f"{where}: tensor sparse size ({n},{m}) must be divisible by given blocksize ({size[0]},{size[1]})")
    return size[0], size[1]


def from_dense(t: Tensor, wanted: layout, blocksize: Any) -> CompressedTensor:
    """Return a block matrix of the blocks of a dense matrix that have a nonzero element."""
    if t.dim() < 2:
        raise IndexError("Dimension out of range (expected to be in range of [-1, 0], but got -2)")
    if t.dim() > 2:
        raise NotImplementedError("batches of sparse matrices, and sparse ones with dense dims, are not built")
    height, width = checked_size(t, blocksize, f"dense_to_{wanted.name}")
    n, m = t.shape[0] // height, t.shape[1] // width
    order = (0, 2, 1, 3) if wanted is sparse_bsr else (2, 0, 1, 3)
    blocks = t.reshape((n, height, m, width)).permute(order).reshape((n * m, height, width))
    array = blocks.detach()._numpy_copy()
    kept = np.flatnonzero(array.reshape(n * m, -1).any(-1)) if array.size else np.zeros(0, np.int64)
    return _made(wanted, kept, (n, m), blocks[places.tensor(kept, t)], tuple(t.shape))      # type: ignore[index]


def from_coo(t: CooTensor, wanted: layout, blocksize: Any, where: str) -> CompressedTensor:
    """Return a block matrix of the blocks in which a COO matrix stores an element."""
    from jtorch.sparse.convert import summed
    height, width = checked_size(t, blocksize, where)
    n, m = t.shape[0] // height, t.shape[1] // width
    rows, columns = places.host(t.stored_indices[0])
    outer, inner = (rows // height, columns // width) if wanted is sparse_bsr else (columns // width, rows // height)
    kept, block = places.unique(outer * (m if wanted is sparse_bsr else n) + inner)
    at = (block * height + rows % height) * width + columns % width
    total = len(kept) * height * width
    return _made(wanted, kept, (n, m), summed(t.stored_values, at, total).reshape((-1, height, width)), tuple(t.shape))


def _made(wanted: layout, numbers: np.ndarray, blocks: tuple[int, int], values: Tensor, size: tuple) -> CompressedTensor:
    """Return a block matrix with the given values. ``numbers`` are the sorted flat indices of its blocks."""
    outer, inner = blocks if wanted is sparse_bsr else blocks[::-1]
    over, plain = np.divmod(numbers, max(inner, 1))
    parts = tuple([places.tensor(a, values) for a in (places.begins(over, outer), plain)])
    return make(CLASSES[wanted], parts, values, size)       # type: ignore[no-any-return]


def to_blocks(t: CompressedTensor | CooTensor, wanted: layout, blocksize: Any) -> Any:
    """Return a sparse matrix in a block layout, or the tensor itself if it has the layout and block size."""
    if is_block(t.layout):
        have = list(t.stored_values.shape[1:])
        size = have if blocksize is None else [blocksize] * 2 if isinstance(blocksize, int) else list(blocksize)
        if size != have:
            raise RuntimeError(f"to_{wanted.name}: conversion from {IN_WORDS[t.layout]} to {IN_WORDS[wanted]} with blocksize "
                               f"changed from {have} to {size} is not supported")
        return t if t.layout is wanted else from_coo(elements(t), wanted, size, "")     # type: ignore[arg-type]
    from jtorch.sparse.convert import as_coo, coalesce
    kind = "coo" if isinstance(t, CooTensor) else "compressed"
    return from_coo(coalesce(as_coo(t)), wanted, blocksize, f"sparse_{kind}_to_{wanted.name}")


def inferred_size(starts: Tensor, others: Tensor, blocks: Sequence[int], wanted: layout) -> tuple[int, int]:
    """Return the smallest size that contains all blocks."""
    array = places.host(others)
    outer, inner = starts.shape[0] - 1, int(array.max()) + 1 if array.size else 0
    n, m = (outer, inner) if wanted is sparse_bsr else (inner, outer)
    return n * blocks[0], m * blocks[1]


def check(starts: Tensor, others: Tensor, values: Tensor, shape: tuple, wanted: layout) -> None:
    """Raise RuntimeError for indices that do not describe blocks of a matrix."""
    begin, plain, by_rows = places.host(starts), places.host(others), wanted is sparse_bsr
    blocks = tuple(values.shape[1:])
    for d in range(2):
        if shape[d] % blocks[d]:
            raise RuntimeError(f"tensor shape[{d}] (={shape[d]}) must be divisible with blocksize[{d}] (={blocks[d]}) as defined "
                               "by values shape")
    counts = shape[0] // blocks[0], shape[1] // blocks[1]
    (c, outer, of), (p, inner, in_all) = (("crow", counts[0], "nrows"), ("col", counts[1], "ncols")) if by_rows else \
        (("ccol", counts[1], "ncols"), ("row", counts[0], "nrows"))
    rules = ((len(begin) == outer + 1, f"{c}_indices.shape[-1] must be equal to {of} + 1 as defined by {c}_indices, but got"),
             (len(plain) == len(values), f"{p}_indices.shape[-1] must be equal to nnz (={len(values)}) as defined by "
                                         f"values.shape[0], but got {len(plain)}"),
             (not len(begin) or begin[0] == 0, f"`{c}_indices[..., 0] == 0` is not satisfied."),
             (not len(begin) or begin[-1] == len(plain), f"`{c}_indices[..., -1] == nnz` is not satisfied."),
             (bool(np.all(np.diff(begin) >= 0)), f"`0 <= {c}_indices[..., 1:] - {c}_indices[..., :-1] <= {in_all}` is not "
                                                 "satisfied."),
             (not plain.size or (plain.min() >= 0 and plain.max() < inner), f"`0 <= {p}_indices < {in_all}` is not satisfied."))
    for holds, text in rules:
        if not holds:
            raise RuntimeError(text)
