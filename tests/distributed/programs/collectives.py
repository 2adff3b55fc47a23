"""Every collective, on any number of processes: each rank prints what it has. Unmodified PyTorch."""
import datetime
import os
import warnings

import torch
import torch.distributed as dist


def reductions(say, rank):
    for op in ("SUM", "PRODUCT", "MIN", "MAX"):
        x = torch.arange(4.) + rank + 1
        dist.all_reduce(x, op=getattr(dist.ReduceOp, op))
        say(op, x)
    for op in ("BAND", "BOR", "BXOR"):
        x = torch.arange(4) + rank
        dist.all_reduce(x, op=getattr(dist.ReduceOp, op))
        say(op, x)
    for dtype in (torch.float64, torch.int64, torch.int32, torch.uint8, torch.bfloat16, torch.float16):
        x = (torch.arange(3) + rank).to(dtype)
        dist.all_reduce(x)
        say(dtype, x)
    x = torch.tensor([rank + 1.])
    dist.reduce(x, 0)
    say("reduce", x if rank == 0 else "")
    part = torch.zeros(2)
    dist.reduce_scatter(part, [torch.tensor([i, rank + 0.]) for i in range(dist.get_world_size())])
    say("reduce_scatter", part)


def moves(say, rank, n):
    x = torch.full((2, 2), float(rank))
    dist.broadcast(x, n - 1)
    say("broadcast", x)
    rows = [torch.zeros(2) for _ in range(n)]
    dist.all_gather(rows, torch.tensor([rank, -0.0]))
    say("all_gather", rows)
    rows = [torch.zeros(2) for _ in range(n)] if rank == 0 else None
    dist.gather(torch.tensor([rank, 1.]), rows, 0)
    say("gather", rows)
    x = torch.zeros(2)
    dist.scatter(x, [torch.tensor([i, i * 2.]) for i in range(n)] if rank == 0 else None, 0)
    say("scatter", x)
    rows = [torch.zeros(1) for _ in range(n)]
    dist.all_to_all(rows, [torch.tensor([rank * 10. + i]) for i in range(n)])
    say("all_to_all", rows)
    x = torch.zeros(sum(range(1, n + 1)) if rank == 0 else 0)
    dist.all_to_all_single(x, torch.arange(float(rank + 1)), [i + 1 if rank == 0 else 0 for i in range(n)],
                           [rank + 1] + [0] * (n - 1))
    say("all_to_all_single", x)


def messages(say, rank, n):
    if rank == 0:
        dist.send(torch.tensor([1., 2.]), 1)
        x = torch.zeros(1)
        say(dist.recv(x, n - 1), x)
    if rank == 1:
        x = torch.zeros(2)
        say(dist.recv(x, 0), x)
    if rank == n - 1:
        dist.send(torch.tensor([7.]), 0)
    ahead, behind = torch.tensor([float(rank)]), torch.zeros(1)
    for work in dist.batch_isend_irecv([dist.P2POp(dist.isend, ahead, (rank + 1) % n), dist.P2POp(dist.irecv, behind, (rank - 1) % n)]):
        work.wait()
    say("ring", behind)


def objects(say, rank, n):
    found = [None] * n
    dist.all_gather_object(found, {"rank": rank})
    say(found)
    found = [rank, {"a": rank}]
    dist.broadcast_object_list(found, 0)
    say(found)
    found = [None]
    dist.scatter_object_list(found, [f"for {i}" for i in range(n)] if rank == 0 else None, 0)
    say(found)


def groups(say, rank):
    first = dist.new_group([0, 1])
    x = torch.ones(1) * rank
    if rank < 2:
        dist.all_reduce(x, group=first)
    say("group", x, dist.get_rank(first))
    work = dist.all_reduce(y := torch.ones(3), async_op=True)
    work.wait()
    say("async", y)


def together(say, rank, n):
    """Several tensors at once, and the methods that communication hooks call."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)      # PyTorch's, that these will go
        tensors = [torch.ones(2) * rank, torch.ones(2, 2, dtype=torch.cfloat) * rank]
        dist.all_reduce_coalesced(tensors)
        say("all_reduce_coalesced", tensors)
        rows = [[torch.zeros(2), torch.zeros(1, 3)] for _ in range(n)]
        dist.all_gather_coalesced(rows, [torch.ones(2) * rank, torch.ones(1, 3) + rank])
        say("all_gather_coalesced", rows)
    world = dist.group.WORLD
    x, options = torch.ones(2) + rank, dist.BroadcastOptions()
    say("allreduce", world.allreduce([x]).get_future().then(lambda done: done.value()[0] * 2).wait())
    options.rootRank = n - 1
    world.broadcast([x := torch.ones(2) * rank], options).wait()
    say("broadcast", x)
    rows = [torch.zeros(1) for _ in range(n)]
    world.allgather([rows], [torch.ones(1) * rank]).wait()
    say("allgather", rows)
    x = torch.sparse_coo_tensor(torch.tensor([[0, rank]]), torch.tensor([1., 2.]), (n + 1,))
    dist.all_reduce(x)
    say("sparse", x.to_dense())
    dist.monitored_barrier(timeout=datetime.timedelta(seconds=60))
    own, made = dist.new_subgroups(n // 2, dist.new_group())
    say("subgroups", dist.get_process_group_ranks(own), len(made))


def in_a_profile(say, rank, n):
    with torch.autograd.profiler.profile(record_shapes=True) as seen:
        dist.all_reduce(torch.ones(2, 3))
        dist.all_gather([torch.zeros(2, dtype=torch.cfloat) for _ in range(n)], torch.zeros(2, dtype=torch.cfloat))
    say("profile", [(e.name, e.count, e.is_async, [list(s) for s in e.input_shapes]) for e in seen.function_events
                    if e.name.startswith("gloo:")])


def level(say):
    say("level", dist.get_debug_level(), repr(dist.DebugLevel.INFO))
    dist.set_debug_level(dist.DebugLevel.INFO)
    say(dist.get_debug_level())
    dist.set_debug_level_from_env()
    say(dist.get_debug_level(), dist.get_default_backend_for_device("cpu"))


def mistakes(say, n):
    for wrong in (lambda: dist.all_gather([torch.zeros(2)] * n, torch.zeros(3)), lambda: dist.all_reduce("no tensor"),
                  lambda: dist.init_process_group("gloo"), lambda: dist.new_group([n]),
                  lambda: dist.all_reduce(torch.ones(1, dtype=torch.cfloat), dist.ReduceOp.PRODUCT),
                  lambda: dist.new_subgroups(n + 1), lambda: dist.new_subgroups_by_enumeration([[0], [0]]),
                  lambda: dist.set_debug_level("INFO"), lambda: dist.all_gather_coalesced((), [torch.zeros(1)]),
                  lambda: dist.monitored_barrier(timeout="soon")):
        try:
            wrong()
        except (ValueError, RuntimeError, TypeError) as error:
            say(type(error).__name__, str(error)[:60].splitlines()[0])


def main():
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=120))
    rank, n = dist.get_rank(), dist.get_world_size()
    lines = [f"rank {rank} of {n}"]

    def say(*words):
        lines.append(" ".join(map(str, words)))
    reductions(say, rank)
    moves(say, rank, n)
    messages(say, rank, n)
    objects(say, rank, n)
    groups(say, rank)
    together(say, rank, n)
    in_a_profile(say, rank, n)
    level(say)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        mistakes(say, n)
    for i in range(n):
        if i == rank:
            with open(os.environ["PRINTED"], "a") as printed:
                print("\n".join(lines), file=printed, flush=True)
        dist.barrier()
    dist.destroy_process_group()


main()
