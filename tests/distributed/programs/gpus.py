"""Ranks with one GPU each: NCCL on ``cuda`` gives what Gloo gives on the CPU. A CPU of each rank stands in for its GPU."""
import os
import sys

import numpy as np

import jtorch as torch
import jtorch.distributed as dist
from jtorch.distributed.device_mesh import init_device_mesh
from jtorch.distributed.fsdp import fully_shard
from jtorch.distributed.tensor import Shard, distribute_tensor

RANK, N = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])


def values(t):
    """Return a result as nested lists, and check that it is where the call had its tensors."""
    if isinstance(t, torch.Tensor):
        return [t.dtype, *t.cpu().reshape(-1).tolist(), *torch.signbit(t.cpu().reshape(-1)).tolist()] if t.dtype is not torch.cfloat \
            else t.cpu().tolist()
    return [values(x) for x in t] if isinstance(t, (list, tuple)) else t


def reductions(on):
    found = []
    for op, dtype in (("SUM", torch.float64), ("SUM", torch.bool), ("PRODUCT", torch.bfloat16), ("MIN", torch.int64), ("MAX", torch.uint8)):
        x = (torch.arange(4.) + RANK).to(dtype).to(on)
        dist.all_reduce(x, getattr(dist.ReduceOp, op))
        found.append(x)
    x = torch.tensor(RANK + 1., device=on)
    dist.reduce(x, 1)
    found.append(x if RANK == 1 else None)
    part = torch.zeros(2, device=on)
    dist.reduce_scatter(part, [torch.tensor([i, RANK + 0.], device=on) for i in range(N)])
    found.append(part)
    work = dist.all_reduce(y := torch.ones(3, device=on) * RANK, async_op=True)
    work.wait()
    return [*found, y]


def moves(on):
    x = torch.full((2, 2), RANK - 1., device=on).to(torch.cfloat)
    dist.broadcast(x, N - 1)
    rows = [torch.zeros(2, device=on) for _ in range(N)]
    dist.all_gather(rows, torch.tensor([RANK, -0.0], device=on))
    at_first = [torch.zeros(2, dtype=torch.bool, device=on) for _ in range(N)] if RANK == 0 else None
    dist.gather(torch.tensor([RANK == 0, True], device=on), at_first, 0)
    mine = torch.zeros((), device=on)
    dist.scatter(mine, [torch.tensor(-0. if i else 3., device=on) for i in range(N)] if RANK == 0 else None, 0)
    uneven = torch.zeros(sum(range(1, N + 1)) if RANK == 0 else 0, device=on)
    dist.all_to_all_single(uneven, torch.arange(RANK + 1., device=on), [i + 1 if RANK == 0 else 0 for i in range(N)], [RANK + 1] + [0] * (N - 1))
    together = [torch.ones(2, device=on) * RANK, torch.ones(1, 2, dtype=torch.cfloat, device=on) * RANK]
    dist.all_reduce_coalesced(together)
    return x, rows, at_first, mine, uneven, together


def messages(on):
    """The ranks of a pair both send before they receive, and one sends long before the other receives."""
    sent, taken = torch.tensor([RANK, -0.0], device=on), torch.zeros(2, 1, device=on)
    other = RANK ^ 1
    works = [dist.isend(sent, other), dist.irecv(taken, other)]
    sent.fill_(9.)
    for work in works:
        work.wait()
    late = torch.zeros(1, device=on)
    if RANK % 2:
        assert dist.recv(late, other) == other
    else:
        dist.isend(torch.ones(1, device=on), other)
    dist.barrier()
    ring = torch.zeros(1, device=on)
    for work in dist.batch_isend_irecv([dist.P2POp(dist.isend, late + RANK, other), dist.P2POp(dist.irecv, ring, other)]):
        work.wait()
    return taken, late, ring


def net():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(6, 7), torch.nn.BatchNorm1d(7), torch.nn.Tanh(), torch.nn.Linear(7, 5))


def losses(model, on, optimizer=None):
    optimizer = optimizer or torch.optim.AdamW(model.parameters(), lr=.05)
    found = []
    for step in range(4):
        x = torch.randn(8, 6, generator=torch.Generator().manual_seed(10 * step + RANK)).to(on)
        optimizer.zero_grad()
        loss = (model(x) - x[:, :5]).square().mean()
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    return found


def data_parallel(on):
    ids = None if on == "cpu" else [torch.device(on).index]
    return losses(torch.nn.parallel.DistributedDataParallel(net().to(on), device_ids=ids), on)


def zero(on):
    model = torch.nn.parallel.DistributedDataParallel(net().to(on))
    from jtorch.distributed.optim import ZeroRedundancyOptimizer
    return losses(model, on, ZeroRedundancyOptimizer(model.parameters(), torch.optim.Adam, lr=.05))


def sharded(on):
    """The module is moved to the mesh's devices, and so are the inputs."""
    mesh, model = init_device_mesh(torch.device(on).type, (N,)), net()
    fully_shard(model[0], mesh=mesh)
    fully_shard(model, mesh=mesh)
    found = losses(model, "cpu" if on == "cpu" else on)
    assert model[0].weight.device == model[1].running_mean.device == torch.device(on)
    return found


def tensors(on):
    mesh = init_device_mesh(torch.device(on).type, (N,))
    x = distribute_tensor(torch.arange(10.).reshape(5, 2), mesh, [Shard(0)])
    assert x.to_local().device == torch.device(on)
    w = distribute_tensor(torch.ones(2, 3), mesh, [Shard(1)]).requires_grad_()
    y = (x.redistribute(placements=[Shard(1)]) @ w).sum()
    y.backward()
    return y.full_tensor(), w.grad.full_tensor(), x.to_local()


def with_nccl_alone():
    """NCCL has no CPU tensors and fewer reductions. Objects go by the GPUs, and another group may use Gloo."""
    assert (dist.get_backend(), dist.get_backend_config(), dist.group.WORLD.name()) == ("undefined", "cuda:nccl", "nccl")
    found = [None] * N
    dist.all_gather_object(found, {"rank": RANK})
    assert found == [{"rank": r} for r in range(N)]
    if RANK == 0:
        dist.send_object_list([{"sent": 1}, "two"], 1)
    else:
        dist.recv_object_list(found, 0)
        assert found == [{"sent": 1}, "two"]
    x = torch.tensor([RANK, 3. - RANK], device="cuda")
    dist.all_reduce(x, dist.ReduceOp.AVG)
    assert x.tolist() == [(N - 1) / 2, 3 - (N - 1) / 2]
    on_cpus = dist.new_group(backend="gloo")
    dist.all_reduce(y := torch.ones(2), group=on_cpus)
    dist.monitored_barrier(on_cpus)
    assert y.tolist() == [N, N]
    for wrong, error, text in (
            (lambda: dist.all_reduce(torch.ones(1)), RuntimeError, "No backend type associated with device type cpu"),
            (lambda: dist.all_reduce(torch.ones(1, dtype=torch.int64, device="cuda"), dist.ReduceOp.BXOR), ValueError,
             "Cannot use ReduceOp.BXOR with NCCL"),
            (lambda: dist.all_reduce(torch.eye(2, device="cuda").to_sparse()), RuntimeError,
             "NCCL does not support all_reduce with sparse tensors. Please use dense tensors instead."),
            (lambda: dist.recv(torch.ones(1, device="cuda")), RuntimeError, "Backend nccl does not support recvAnysource"),
            (dist.monitored_barrier, ValueError, "monitored_barrier is only implemented for GLOO backend.")):
        try:
            wrong()
        except error as e:
            assert str(e).splitlines()[0] == text, e
        else:
            raise AssertionError(text)
    model = torch.distributed.fsdp.fully_shard(torch.nn.Linear(2, 2))
    assert model.weight.device_mesh.device_type == "cuda" and model(torch.ones(1, 2)).device.type == "cuda"


def started():
    """Begin as programs for GPUs do. Nothing here starts JAX, or the job could not be joined."""
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    assert torch.cuda.is_available() and torch.cuda.device_count() == torch.accelerator.device_count() == N
    assert torch.accelerator.current_accelerator() == torch.device("cuda") and torch.device(RANK) == torch.device("cuda", RANK)
    torch.manual_seed(0)


def main():
    started()
    dist.init_process_group("cpu:gloo,cuda:nccl", device_id=torch.device("cuda", RANK))
    torch.accelerator.set_device_index(RANK)
    assert torch.cuda.current_device() == torch.accelerator.current_device_index() == RANK
    own = str(torch.ones(1, device="cuda").device)
    assert own == f"cuda:{RANK}"
    for name in sys.argv[1:]:
        if name == "with_nccl_alone":
            dist.destroy_process_group()
            dist.init_process_group()
            with_nccl_alone()
            continue
        check = globals()[name]
        here, there = check("cpu"), check(own)
        if isinstance(here[0], float):
            np.testing.assert_allclose(there, here, rtol=1e-5)
        else:
            assert values(there) == values(here), (name, values(there), values(here))
    dist.destroy_process_group()


main()
sys.stdout.write("held\n")      # One write: print() with -u writes the line and its end apart, and lines of ranks would mix.
