"""The operators of collectives: ``torch.ops._c10d_functional``, its older form ``c10d_functional``, and ``c10d.scatter_``.

An operator of the first two namespaces returns a new, complete tensor, so ``wait_tensor`` returns its argument.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jtorch import distributed
from jtorch._library.libraries import Library
from jtorch.distributed.for_packages import _resolve_process_group, _world
from jtorch.distributed.groups import ProcessGroup
from jtorch.distributed.reductions import ReduceOp
from jtorch.tensor import Tensor

SCHEMAS = (
    "all_reduce(Tensor input, str reduce_op, Any group_name) -> Tensor",
    "all_gather_into_tensor(Tensor input, int group_size, Any group_name) -> Tensor",
    "reduce_scatter_tensor(Tensor input, str reduce_op, int group_size, Any group_name) -> Tensor",
    "broadcast(Tensor input, int src, Any group_name) -> Tensor",
    "all_to_all_single(Tensor input, SymInt[] output_split_sizes, SymInt[] input_split_sizes, Any group_name) -> Tensor",
    "_wrap_tensor_autograd(Tensor input) -> Tensor",
    "wait_tensor(Tensor tensor) -> Tensor",
)
# The older form names a group by its ranks.
_RANKS = "str tag, int[] ranks, int group_size"
OLDER = (
    f"all_reduce(Tensor self, str reduceOp, {_RANKS}) -> Tensor",
    f"all_gather_into_tensor(Tensor shard, {_RANKS}) -> Tensor",
    f"reduce_scatter_tensor(Tensor input, str reduceOp, {_RANKS}) -> Tensor",
    f"broadcast(Tensor self, int src, {_RANKS}) -> Tensor",
    f"all_to_all_single(Tensor input, SymInt[]? output_split_sizes, SymInt[]? input_split_sizes, {_RANKS}) -> Tensor",
)
SCATTER = ("scatter_(Tensor[] output_tensors, Tensor[][] input_tensors, __torch__.torch.classes.c10d.ProcessGroup process_group, "
           "int root_rank, bool async_op=True, int timeout=-1) -> (Tensor[], __torch__.torch.classes.c10d.Work)")


def _group(name: Any) -> Any:
    return name if isinstance(name, ProcessGroup) else _resolve_process_group(name)


def _group_of(ranks: Sequence[int]) -> Any:
    """Return the group of these ranks. Raise RuntimeError if there is none."""
    for pg in _world.pg_map:
        if list(pg.ranks) == list(ranks):
            return pg
    raise RuntimeError(f"Could not resolve the process group of ranks {list(ranks)}")


def _by_ranks(name: str) -> Callable:
    """Return an operator whose arguments name a group by its ranks."""
    def run(*args: Any) -> Tensor:
        *given, _tag, ranks, size = args
        sized = (size,) if name in ("all_gather_into_tensor", "reduce_scatter_tensor") else ()
        if name == "all_to_all_single":
            given[1:] = [sizes or [given[0].shape[0] // size] * size for sizes in given[1:]]
        return globals()[name](*given, *sized, _group_of(ranks))
    return run


def _reduction(name: str) -> Any:
    return getattr(ReduceOp, name.upper())


def _rows(x: Tensor, count: int) -> Tensor:
    """Return an uninitialized tensor like ``x`` with ``count`` rows."""
    return x.new_empty((count, *x.shape[1:]))       # type: ignore[attr-defined]


def all_reduce(input: Tensor, reduce_op: str, group_name: Any) -> Tensor:
    """Return the reduction over all ranks."""
    out = input.detach().clone()        # type: ignore[attr-defined]
    distributed.all_reduce(out, _reduction(reduce_op), _group(group_name))
    return out


def all_gather_into_tensor(input: Tensor, group_size: int, group_name: Any) -> Tensor:
    """Return the rows of all ranks."""
    out = _rows(input, input.shape[0] * group_size)
    distributed.all_gather_into_tensor(out, input, _group(group_name))
    return out


def reduce_scatter_tensor(input: Tensor, reduce_op: str, group_size: int, group_name: Any) -> Tensor:
    """Return this rank's part of the reduction."""
    out = _rows(input, input.shape[0] // group_size)
    distributed.reduce_scatter_tensor(out, input, _reduction(reduce_op), _group(group_name))
    return out


def broadcast(input: Tensor, src: int, group_name: Any) -> Tensor:
    """Return the tensor of one rank."""
    out = input.detach().clone()        # type: ignore[attr-defined]
    distributed.broadcast(out, src, _group(group_name))
    return out


def all_to_all_single(input: Tensor, output_split_sizes: Sequence[int], input_split_sizes: Sequence[int],
                      group_name: Any) -> Tensor:
    """Return the rows that all ranks send to this rank."""
    out = _rows(input, sum(output_split_sizes))
    distributed.all_to_all_single(out, input, list(output_split_sizes), list(input_split_sizes), _group(group_name))
    return out


def wait_tensor(tensor: Tensor) -> Tensor:
    """Return the tensor itself, which is already computed."""
    return tensor


def _wrap_tensor_autograd(input: Tensor) -> Tensor:
    return input


def scatter_(output_tensors: Sequence[Tensor], input_tensors: Sequence[Sequence[Tensor]], process_group: Any, root_rank: int,
             async_op: bool = True, timeout: int = -1) -> tuple:
    """Write to each rank's output tensor the tensor that the root has for this rank."""
    given = list(input_tensors[0]) if input_tensors else None
    work = distributed.scatter(output_tensors[0], given, root_rank, _group(process_group), async_op)
    return list(output_tensors), work


def define() -> list[Library]:
    """Register the operators."""
    functional, older, plain = (Library(name, "FRAGMENT") for name in ("_c10d_functional", "c10d_functional", "c10d"))
    for schema in SCHEMAS:
        functional.define(schema)
        name = schema.partition("(")[0]
        functional.impl(name, globals()[name], "CompositeExplicitAutograd")
    for schema in (*OLDER, SCHEMAS[-1]):
        older.define(schema)
        name = schema.partition("(")[0]
        older.impl(name, wait_tensor if name == "wait_tensor" else _by_ranks(name), "CompositeExplicitAutograd")
    plain.define(SCATTER)
    plain.impl("scatter_", scatter_, "CompositeExplicitAutograd")
    return [functional, older, plain]


LIBRARIES = define()
