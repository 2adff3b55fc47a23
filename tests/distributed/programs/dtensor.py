"""DTensor: made, moved, computed with, differentiated; what is refused. Unmodified PyTorch."""

import torch
import torch.nn.functional as F
from ranks import saying
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import (
    DTensor,
    Partial,
    Replicate,
    Shard,
    distribute_module,
    distribute_tensor,
    empty,
    full,
    ones,
    zeros,
)
from torch.distributed.tensor._utils import compute_local_shape_and_global_offset


def wave(*shape, start=0.):
    return torch.sin(torch.arange(float(torch.Size(shape).numel())) * 1.3 + start).view(shape)


def shown(t):
    return [round(v, 3) + 0. for v in t.detach().double().reshape(-1).tolist()]


def made(say, mesh, rank, n):
    for shape in ((4, 3), (5, 3), (1, 3)):
        say(compute_local_shape_and_global_offset(shape, mesh, [Shard(0)]), Shard.local_shard_size_and_offset(shape[0], n, rank))
    x = distribute_tensor(torch.arange(12.).view(4, 3) * (rank == 0), mesh, [Shard(0)])
    say(x.shape, x.stride(), x.placements, x.numel(), x.size(1), x.dim(), x.dtype, x.is_leaf, len(x), x.is_contiguous())
    say(x)
    for p in (Replicate(), Shard(1), Shard(-1)):
        y = x.redistribute(placements=[p])
        say(p, str(p), y.placements, tuple(y.to_local().shape), shown(y.full_tensor()))
    say(shown(DTensor.from_local(torch.full((2,), rank + 1.), mesh, [Partial()]).full_tensor()))
    say(shown(DTensor.from_local(torch.full((2,), rank + 1.), mesh, [Partial("max")]).full_tensor()))
    say(shown(DTensor.from_local(torch.full((2, 2 * n), rank + 1.), mesh, [Partial()]).redistribute(placements=[Shard(1)]).to_local()))
    uneven = distribute_tensor(torch.arange(7.), mesh, [Shard(0)])
    say(shown(uneven.to_local()), shown(uneven.full_tensor()), uneven.shape)
    for make in (zeros, ones, empty):
        y = make(4, 6, device_mesh=mesh, placements=[Shard(1)])
        say(y.shape, tuple(y.to_local().shape), y.placements, y.dtype)
    say(full((3,), 2., device_mesh=mesh, requires_grad=True).requires_grad)


def computed(say, mesh):
    a, b = distribute_tensor(wave(4, 6), mesh, [Shard(0)]), distribute_tensor(wave(6, 4), mesh, [Replicate()])
    for name, y in {"mm": a @ b, "columns": b.t() @ a.t(), "inner": a.t().redistribute(placements=[Shard(1)]) @ a, "sum": a.sum(),
                    "rows": a.sum(0), "mean": a.mean(1), "plus": a * 2 + 1, "relu": F.relu(a), "softmax": a.softmax(1),
                    "turned": a.transpose(0, 1), "flat": a.view(24), "cat": torch.cat([a, a], 1), "max": a.max(),
                    "less": a < 0, "norm": F.layer_norm(a, (6,)), "more": a.unsqueeze(0), "part": a[:, 1:3]}.items():
        say(name, y.shape, y.placements, shown(y.full_tensor()))
    say("same size", a.is_same_size(b.t()), a.is_same_size(b))


def differentiated(say, mesh):
    x = distribute_tensor(wave(8, 6), mesh, [Shard(0)])
    w = distribute_tensor(wave(6, 4, start=1), mesh, [Shard(1)]).requires_grad_()
    v = distribute_tensor(wave(4, 2, start=2), mesh, [Shard(0)]).requires_grad_()
    loss = (((x.redistribute(placements=[Replicate()]) @ w).tanh() @ v) ** 2).mean()
    loss.backward()
    say(shown(loss.full_tensor()), w.grad.placements, shown(w.grad.full_tensor()), shown(v.grad.full_tensor()))
    local = wave(2, 3).requires_grad_()
    y = DTensor.from_local(local, mesh, [Shard(0)]) * 3
    y.redistribute(placements=[Replicate()]).to_local().pow(2).sum().backward()
    say(shown(local.grad))
    table = distribute_tensor(wave(8, 3), mesh, [Shard(0)]).requires_grad_()
    index = distribute_tensor(torch.tensor([[1, 3], [7, 0]]), mesh, [Replicate()])
    F.embedding(index, table).sum().backward()
    say(shown(table.grad.full_tensor()))
    net = distribute_module(torch.nn.Linear(6, 3), mesh)
    with torch.no_grad():
        net.weight.copy_(distribute_tensor(wave(3, 6), mesh, [Replicate()]))
        net.bias.zero_()
    optimizer = torch.optim.SGD(net.parameters(), lr=.1, momentum=.9)
    target = distribute_tensor(torch.arange(8) % 3, mesh, [Shard(0)])
    for _ in range(3):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), target)
        loss.backward()
        optimizer.step()
        say(f"{loss.full_tensor().item():.4f}", shown(net.weight.full_tensor()))


def refused(say, mesh, n):
    x = distribute_tensor(torch.ones(4, 4), mesh, [Shard(0)])
    for wrong in (lambda: x + torch.ones(4, 4), lambda: DTensor.from_local(x, mesh), lambda: x.redistribute(),
                  lambda: distribute_tensor(torch.ones(2), mesh, [Shard(0), Shard(0)]),
                  lambda: distribute_tensor(torch.ones(2, requires_grad=True) * 2, mesh),
                  lambda: x.redistribute(placements=[Partial()]), lambda: distribute_tensor(x, mesh, [Replicate()]),
                  lambda: zeros(2, device_mesh=mesh, placements=[Shard(0)] * 2), lambda: distribute_tensor(torch.ones(2)),
                  lambda: distribute_module(distribute_module(torch.nn.Linear(2, 2), mesh), mesh)):
        try:
            say(wrong())
        except Exception as error:
            say(type(error).__name__, str(error).split("operators!")[0].split("but got <")[0])


def on_two_dimensions(say, n):
    mesh = init_device_mesh("cpu", (n // 2, 2), mesh_dim_names=("a", "b"))
    x = wave(8, 4)
    for placements in ([Shard(0), Shard(0)], [Shard(0), Shard(1)], [Replicate(), Shard(1)], [Shard(1), Replicate()]):
        y = distribute_tensor(x, mesh, placements)
        say(placements, shown(y.to_local()), (y.full_tensor() == x).all().item(), shown((y * 2).sum(0).full_tensor()))
        for wanted in ([Shard(1), Shard(0)], [Replicate(), Shard(0)], [Shard(0), Shard(0)]):
            say(wanted, shown(y.redistribute(placements=wanted).to_local()))


if __name__ == "__main__":
    with saying() as (say, rank, n):
        mesh = init_device_mesh("cpu", (n,))
        made(say, mesh, rank, n)
        computed(say, mesh)
        differentiated(say, mesh)
        refused(say, mesh, n)
        on_two_dimensions(say, n)
