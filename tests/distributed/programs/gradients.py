"""Collectives that a loss goes through, and gradients of DTensors: on any number of processes. Unmodified PyTorch."""
import io

import torch
import torch.distributed as dist
import torch.distributed.nn as dnn
from ranks import saying
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor

torch.set_printoptions(precision=3)


def shown(say, name, made, x):
    made = made if isinstance(made, tuple) else (made,)
    weights = [(torch.arange(float(m.numel())) + i + 1 + dist.get_rank()).reshape(m.shape) for i, m in enumerate(made)]
    gradient, = torch.autograd.grad([(m * w).sum() for m, w in zip(made, weights)], x)
    say(name, [m.tolist() for m in made], gradient.tolist())


def collectives(say, rank, n):
    x = (torch.arange(4.) + rank + 1).requires_grad_()
    shown(say, "all_reduce", dnn.all_reduce(x * x), x)
    shown(say, "all_gather", dnn.all_gather(x * x), x)
    shown(say, "broadcast", dnn.broadcast(x * x, n - 1), x)
    if rank == 0:
        shown(say, "reduce", dnn.reduce(x * x, 0), x)
    else:
        torch.autograd.grad(dnn.reduce(x * x, 0).sum(), x)
    y = (torch.arange(2. * n) + rank).reshape(n, 2).requires_grad_()
    shown(say, "reduce_scatter", dnn.functional.reduce_scatter(torch.zeros(2), list((y * y).unbind())), y)
    shown(say, "all_to_all", dnn.all_to_all([torch.zeros(2) for _ in range(n)], list((y * y).unbind())), y)
    shown(say, "all_to_all_single", dnn.all_to_all_single(torch.zeros(n, 2), y * y), y)
    shown(say, "scatter", dnn.scatter(list((y * y).unbind()), 0), y)


def of_dtensors(say, n):
    mesh = init_device_mesh("cpu", (n,))
    x = distribute_tensor(torch.arange(8.).reshape(4, 2).requires_grad_(), mesh, [Shard(0)])
    for name, gradient in (("sum", torch.autograd.grad((x * x).sum(), x)[0]), ("given", torch.autograd.grad(x * x, x, x.detach())[0]),
                           ("twice", torch.autograd.grad((x ** 3).full_tensor().sum(), x, create_graph=True)[0])):
        say(name, type(gradient).__name__, gradient.placements, gradient.full_tensor().tolist())
    file = io.BytesIO()
    torch.save({"x": x}, file)
    file.seek(0)
    read = torch.load(file)["x"]
    say("read", read.placements, read.requires_grad, read.to_local().tolist())
    made = torch.empty_like(distribute_tensor(torch.empty(4, 2, device="meta"), mesh, [Shard(0)]), device="cpu").fill_(2.)
    say("meta", made.placements, made.to_local().tolist())


def on_some_ranks(say, rank):
    first = init_device_mesh("cpu", (1,)) if dist.get_world_size() == 1 else dist.device_mesh.DeviceMesh("cpu", [0])
    x = DTensor.from_local(torch.ones(2, 3), first, [Replicate()])
    say("outside", x.shape, (x + 1).to_local().tolist() if rank == 0 else x.to_local().numel())


with saying() as (say, rank, n):
    collectives(say, rank, n)
    of_dtensors(say, n)
    on_some_ranks(say, rank)
