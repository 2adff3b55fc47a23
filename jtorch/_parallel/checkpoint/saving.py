"""Saving: each rank writes its shards, and one rank writes replicated values. See torch.distributed.checkpoint.save."""
from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from copy import deepcopy
from typing import Any

import jtorch.distributed as dist
from jtorch._base import warned
from jtorch._base.pytree import tree_map
from jtorch._base.size import Size
from jtorch._parallel.checkpoint.exchange import Alone, ByStore, Together, done_by_all
from jtorch._parallel.checkpoint.files import FileSystemWriter, written
from jtorch._parallel.checkpoint.flattening import flattened
from jtorch._parallel.checkpoint.metadata import (
    BytesStorageMetadata,
    ChunkStorageMetadata,
    Metadata,
    MetadataIndex,
    TensorProperties,
    TensorStorageMetadata,
)
from jtorch._parallel.dtensor import DTensor
from jtorch._parallel.layout import local_part
from jtorch._parallel.placements import Partial
from jtorch.tensor import Tensor


def chunk_of(t: Tensor) -> ChunkStorageMetadata:
    """Return the place of this rank's shard in a tensor.

    If XLA's programs span the tensor's mesh, this is the part of all devices of this process.
    """
    if not isinstance(t, DTensor):
        return ChunkStorageMetadata(Size([0] * t.dim()), Size(t.shape))
    if t.device_mesh._own is not None:
        offsets, sizes = t._place_of_part()     # type: ignore[attr-defined]
        return ChunkStorageMetadata(Size(offsets), Size(sizes))
    if any(isinstance(p, Partial) for p in t.placements):
        raise ValueError("Any checkpointing related operations are not supported for DTensor with partial placements!")
    sizes, offsets = local_part(t._spec.shape, t._spec.mesh, t._spec.placements)
    return ChunkStorageMetadata(Size(offsets), Size(sizes))


def _items(values: dict[str, Any]) -> dict[MetadataIndex, Any]:
    """Return the shards and values that this rank could write, with their metadata."""
    made: dict[MetadataIndex, Any] = {}
    for key, value in values.items():
        if not isinstance(value, Tensor):
            made[MetadataIndex(key)] = None
            continue
        chunk = chunk_of(value)
        if value.numel() and 0 in chunk.sizes:
            continue
        made[MetadataIndex(key, chunk.offsets)] = chunk, TensorProperties(value.dtype, requires_grad=value.requires_grad), \
            Size(value.shape)
    return made


def _weight(what: Any) -> int:
    return 1 if what is None else max(what[2].numel() * what[1].dtype.itemsize, 1)


def _choose_writers(plans: list[dict]) -> tuple[list[list[MetadataIndex]], dict[str, Any]]:
    """Choose the rank that writes each item, so that the ranks write about the same amount; all ranks compute the same
    choice.
    """
    chosen: list[list[MetadataIndex]] = [[] for _ in plans]
    load: list[int] = [0] * len(plans)
    known: dict[str, Any] = {}
    for index, what in {i: w for plan in plans for i, w in plan.items()}.items():
        rank = min([r for r, plan in enumerate(plans) if index in plan], key=lambda r: load[r])
        load[rank] += _weight(what)
        chosen[rank].append(index)
        if what is None:
            known[index.fqn] = BytesStorageMetadata()
        else:
            known.setdefault(index.fqn, TensorStorageMetadata(what[1], what[2], [])).chunks.append(what[0])
    return chosen, known


def _save(values: dict, paths: dict, writer: FileSystemWriter, ranks: Any) -> Metadata:
    def plan() -> dict:
        writer.prepare()
        return _items(values)
    plans = done_by_all(ranks, "plan", plan)
    chosen, known = _choose_writers(plans)
    all_paths = {k: p for found in done_by_all(ranks, "paths", lambda: paths) for k, p in found.items()}

    def write() -> list:
        return writer.write(ranks.rank, [(index, _content(values[index.fqn])) for index in chosen[ranks.rank]])
    places = done_by_all(ranks, "write", write)
    metadata = Metadata(known, all_paths)
    done_by_all(ranks, "finish", lambda: writer.finish(metadata, places) if ranks.rank == 0 else None)
    return metadata


def _content(value: Any) -> Any:
    if not isinstance(value, Tensor):
        return written(value)
    return (value._part() if isinstance(value, DTensor) else value.detach()).contiguous()      # type: ignore[attr-defined]


def stateful(state_dict: dict[str, Any]) -> dict[str, Any]:
    """Replace objects that have a state dict by their state dicts."""
    return {k: v.state_dict() if is_stateful(v) else v for k, v in state_dict.items()}


def is_stateful(value: Any) -> bool:
    """Return whether an object has ``state_dict`` and ``load_state_dict``."""
    return not isinstance(value, type) and hasattr(value, "state_dict") and hasattr(value, "load_state_dict")


def ranks_of(process_group: Any, no_dist: bool, what: str, by_store: bool = False) -> Any:
    """Return an object whose ``gather`` exchanges data between the ranks that save or load together."""
    if no_dist or not dist.is_initialized():
        warned.warn(f"torch.distributed is disabled, unavailable or uninitialized, assuming the intent is to {what} in a "
                    "single process.")
        return Alone()
    return ByStore(process_group) if by_store else Together(process_group)


def _writer(given: Any, checkpoint_id: Any, planner: Any) -> FileSystemWriter:
    if planner is not None and type(planner) is not DefaultSavePlanner:
        raise NotImplementedError("checkpoints with a planner of one's own are not built: change the state dict before save")
    if given is None and checkpoint_id is None:
        raise RuntimeError("`checkpoint_id` must be specified if storage_reader/storage_writer is None.")
    if given is not None and not isinstance(given, FileSystemWriter):
        raise NotImplementedError(f"checkpoints by {type(given).__name__} are not built: FileSystemWriter writes to folders")
    return FileSystemWriter(checkpoint_id) if given is None else given


class DefaultSavePlanner:
    """Saves each shard once. See torch.distributed.checkpoint.DefaultSavePlanner."""

    def __init__(self, flatten_state_dict: bool = True, flatten_sharded_tensors: bool = True,
                 dedup_replicated_tensors: bool | None = None, dedup_save_to_lowest_rank: bool = False,
                 enable_plan_caching: bool = False):
        if not flatten_state_dict:
            raise NotImplementedError("DefaultSavePlanner: flatten_state_dict=False is not built")


def save(state_dict: dict[str, Any], *, checkpoint_id: Any = None, storage_writer: Any = None, planner: Any = None,
         process_group: Any = None, no_dist: bool = False, use_collectives: bool = True) -> Metadata:
    """Write a state dict of all ranks into a folder. See torch.distributed.checkpoint.save.

    Each rank writes its shards of DTensors. Other values must be the same on all ranks, and one of them writes each.

    Args:
        state_dict: the state dict, which may be nested. Objects with a ``state_dict`` are saved by it.
        checkpoint_id: the folder.
        storage_writer: a FileSystemWriter, in place of ``checkpoint_id``.
        planner: a DefaultSavePlanner, which changes nothing.
        process_group: the ranks; all, if None.
        no_dist: whether this process saves alone.
        use_collectives: accepted and ignored.

    Returns:
        The metadata of the checkpoint.

    Raises:
        CheckpointException: raised on all ranks if one could not write.

    >>> import tempfile
    >>> metadata = torch.distributed.checkpoint.save({"w": torch.ones(2)}, checkpoint_id=tempfile.mkdtemp())
    >>> list(metadata.state_dict_metadata)
    ['w']

    """
    writer = _writer(storage_writer, checkpoint_id, planner)
    return _save(*flattened(stateful(state_dict)), writer, ranks_of(process_group, no_dist, "save"))


def async_save(state_dict: dict[str, Any], *, checkpoint_id: Any = None, storage_writer: Any = None, planner: Any = None,
               process_group: Any = None, async_checkpointer_type: Any = None, async_stager: Any = None, no_dist: bool = False,
               use_collectives: bool = True) -> Future:
    """Save in another thread the values that the tensors have now. See torch.distributed.checkpoint.async_save."""
    writer, ranks = _writer(storage_writer, checkpoint_id, planner), ranks_of(process_group, no_dist, "save", by_store=True)
    values, paths = flattened(stateful(state_dict))
    copies = {k: _copied(v) for k, v in values.items()}
    return _in_thread(lambda: _save(copies, paths, writer, ranks))


def _copied(value: Any) -> Any:
    def copy(t: Any) -> Any:
        if isinstance(t, DTensor):
            return deepcopy(t.detach())
        return t.detach().clone() if isinstance(t, Tensor) else t
    return tree_map(copy, value)


def _in_thread(do: Callable[[], Any]) -> Future:
    made: Future = Future()

    def run() -> None:
        try:
            made.set_result(do())
        except BaseException as error:      # noqa: BLE001  (whoever waits for it gets it)
            made.set_exception(error)
    threading.Thread(target=run, name="checkpoint").start()
    return made


def save_state_dict(state_dict: dict[str, Any], storage_writer: Any, process_group: Any = None, coordinator_rank: int = 0,
                    no_dist: bool = False, planner: Any = None) -> Metadata:
    """Save a checkpoint under the deprecated name of ``save``. See torch.distributed.checkpoint.save_state_dict."""
    warned.warn("`save_state_dict` is deprecated and will be removed in future versions. Please use `save` instead.",
                FutureWarning)
    return _save_state_dict(state_dict, storage_writer, process_group, coordinator_rank, no_dist, planner)


def _save_state_dict(state_dict: dict[str, Any], storage_writer: Any, process_group: Any = None, coordinator_rank: int = 0,
                     no_dist: bool = False, planner: Any = None) -> Metadata:
    """Save a checkpoint without the warning of ``save_state_dict``."""
    return save(state_dict, storage_writer=storage_writer, planner=planner, process_group=process_group, no_dist=no_dist)
