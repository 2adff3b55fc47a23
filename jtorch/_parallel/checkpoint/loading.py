"""Loading: each rank reads the parts of a checkpoint that overlap with its shards. See torch.distributed.checkpoint.load."""
from __future__ import annotations

from typing import Any

from jtorch._base import warned
from jtorch._parallel.checkpoint.exchange import done_by_all
from jtorch._parallel.checkpoint.files import FileSystemReader, read_back
from jtorch._parallel.checkpoint.flattening import flattened, set_at
from jtorch._parallel.checkpoint.metadata import BytesStorageMetadata, Metadata, MetadataIndex
from jtorch._parallel.checkpoint.saving import chunk_of, is_stateful, ranks_of
from jtorch._parallel.dtensor import DTensor
from jtorch.no_grad import no_grad
from jtorch.tensor import Tensor


class DefaultLoadPlanner:
    """Loads all entries of a state dict; with ``allow_partial_load`` those that the checkpoint has.

    See torch.distributed.checkpoint.DefaultLoadPlanner.
    """

    def __init__(self, flatten_state_dict: bool = True, flatten_sharded_tensors: bool = True, allow_partial_load: bool = False):
        self.allow_partial_load = allow_partial_load
        if not flatten_state_dict:
            raise NotImplementedError("DefaultLoadPlanner: flatten_state_dict=False is not built")


def load(state_dict: dict[str, Any], *, checkpoint_id: Any = None, storage_reader: Any = None, planner: Any = None,
         process_group: Any = None, no_dist: bool = False) -> None:
    """Read a checkpoint into the tensors of a state dict. See torch.distributed.checkpoint.load.

    The checkpoint may come from any number of ranks, with any placements. Values that are no tensors are replaced.

    Args:
        state_dict: the state dict, whose tensors are written to.
        checkpoint_id: the folder.
        storage_reader: a FileSystemReader, in place of ``checkpoint_id``.
        planner: a DefaultLoadPlanner, which says whether keys may be missing.
        process_group: the ranks; all, if None.
        no_dist: whether this process loads alone.

    Raises:
        CheckpointException: raised on all ranks if a key is missing on one, a tensor has another size, or a file can't be
            read.

    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> torch.distributed.checkpoint.save({"w": torch.ones(2)}, checkpoint_id=folder) is None
    False
    >>> state = {"w": torch.zeros(2)}
    >>> torch.distributed.checkpoint.load(state, checkpoint_id=folder)
    >>> state
    {'w': tensor([1., 1.])}

    """
    if planner is not None and type(planner) is not DefaultLoadPlanner:
        raise NotImplementedError("checkpoints with a planner of one's own are not built: change the state dict after load")
    if storage_reader is None and checkpoint_id is None:
        raise RuntimeError("`checkpoint_id` must be specified if storage_reader/storage_writer is None.")
    reader = FileSystemReader(checkpoint_id) if storage_reader is None else storage_reader
    if not isinstance(reader, FileSystemReader):
        raise NotImplementedError(f"checkpoints by {type(reader).__name__} are not built: FileSystemReader reads folders")
    partial = planner is not None and planner.allow_partial_load
    ranks = ranks_of(process_group, no_dist, "load")
    given = {k: state_dict[k].state_dict() if is_stateful(state_dict[k]) else state_dict[k] for k in sorted(state_dict)}
    done_by_all(ranks, "read", lambda: _read_all(given, reader, partial))
    for key, value in given.items():
        if is_stateful(state_dict[key]):
            state_dict[key].load_state_dict(value)
        else:
            state_dict[key] = value


def _read_all(state_dict: dict, reader: FileSystemReader, partial: bool) -> None:
    metadata = reader.read_metadata()
    values, paths = flattened(state_dict)
    for key, value in values.items():
        known = metadata.state_dict_metadata.get(key)
        if known is None:
            if not partial:
                raise RuntimeError(f"Missing key in checkpoint state_dict: {key}.")
        elif isinstance(known, BytesStorageMetadata):
            data = reader.read(metadata.storage_data[MetadataIndex(key)])
            set_at(state_dict, paths[key], read_back(data, weights_only=False))
        elif not isinstance(value, Tensor):
            raise ValueError(f"Invalid checkpoint metadata for {key}, expected BytesStorageMetadata but found {type(known)}")
        else:
            _read_tensor(key, value, known, metadata, reader)


@no_grad()
def _read_tensor(key: str, value: Tensor, known: Any, metadata: Metadata, reader: FileSystemReader) -> None:
    if tuple(known.size) != tuple(value.shape):
        raise ValueError(f"Size mismatch between saved {known.size} and current: {value.shape} for {key}")
    mine, target = chunk_of(value), value._part() if isinstance(value, DTensor) else value.detach()
    for chunk in known.chunks:
        overlap = _overlap(mine, chunk)
        if overlap is None:
            continue
        source, to = reader.tensor(metadata.storage_data[MetadataIndex(key, chunk.offsets)]), target
        for dim, (start, length) in enumerate(overlap):
            source = source.narrow(dim, start - chunk.offsets[dim], length)
            to = to.narrow(dim, start - mine.offsets[dim], length)      # type: ignore[attr-defined]
        to.copy_(source)      # type: ignore[attr-defined]
    if isinstance(value, DTensor):
        value._take_part(target)


def _overlap(a: Any, b: Any) -> list[tuple[int, int]] | None:
    """Return (start, length) of the overlap of two shards along each dim; None if they do not overlap."""
    made = []
    for x, m, y, n in zip(a.offsets, a.sizes, b.offsets, b.sizes, strict=True):
        start, end = max(x, y), min(x + m, y + n)
        if end <= start:
            return None
        made.append((start, end - start))
    return made


def load_state_dict(state_dict: dict[str, Any], storage_reader: Any, process_group: Any = None, coordinator_rank: int = 0,
                    no_dist: bool = False, planner: Any = None) -> None:
    """Load a checkpoint under the deprecated name of ``load``. See torch.distributed.checkpoint.load_state_dict."""
    warned.warn("`load_state_dict` is deprecated and will be removed in future versions. Please use `load` instead.",
                FutureWarning)
    return _load_state_dict(state_dict, storage_reader, process_group, coordinator_rank, no_dist, planner)


def _load_state_dict(state_dict: dict[str, Any], storage_reader: Any, process_group: Any = None, coordinator_rank: int = 0,
                     no_dist: bool = False, planner: Any = None) -> None:
    """Load a checkpoint without the warning of ``load_state_dict``."""
    return load(state_dict, storage_reader=storage_reader, planner=planner, process_group=process_group, no_dist=no_dist)
