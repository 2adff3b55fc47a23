"""Sharded models from their start: nn.init, conversions of modules, the meta device, state dicts. Unmodified PyTorch."""
import warnings

import torch
from ranks import saying
from torch import nn
from torch.distributed.checkpoint.state_dict import *
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_module, distribute_tensor

INITIALIZERS = "uniform_ normal_ trunc_normal_ ones_ zeros_ xavier_uniform_ xavier_normal_ kaiming_uniform_ kaiming_normal_".split()


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(4, 6), nn.Linear(6, 4, bias=False)

    def forward(self, x):
        return x + self.down(self.up(x).relu())


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers, self.norm = nn.ModuleList([Block(), Block()]), nn.BatchNorm1d(4)
        self.register_buffer("scale", torch.ones(3))
        self.layers[1].up.bias.requires_grad_(False)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.norm(x)


def sharded(net):
    for layer in net.layers:
        fully_shard(layer)
    return fully_shard(net)


def on_meta():
    with torch.device("meta"):
        return sharded(Net())


def made():
    torch.manual_seed(0)
    return Net()


def total(t):
    return f"{(t.full_tensor() if isinstance(t, DTensor) else t).double().abs().sum().item():.3f}"


def losses(net, rank, optimizer=None):
    optimizer = optimizer or torch.optim.AdamW([p for p in net.parameters() if p.requires_grad], lr=.1)
    found = []
    for step in range(2):
        loss = net(torch.cos(torch.arange(32.) * .3 + rank * 5 + step).view(8, 4)).square().sum(1).add(1).log().sum()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        found.append(f"{loss.item():.3f}")
    return found


def initializers(say, mesh):
    for placement in (Shard(0), Shard(1), Replicate()):
        for name in INITIALIZERS:
            torch.manual_seed(0)
            p = nn.Parameter(distribute_tensor(torch.zeros(4, 6), mesh, [placement]))
            say(name, getattr(nn.init, name)(p) is p, type(p).__name__, isinstance(p, nn.Parameter), total(p))


def conversions(say, mesh):
    def shard(name, module, mesh):
        for key, p in list(module.named_parameters(recurse=False)):
            module.register_parameter(key, nn.Parameter(distribute_tensor(p, mesh, [Shard(0)])))
    ways = {"distributed": lambda: distribute_module(made(), mesh, shard), "sharded": lambda: sharded(made()), "meta": on_meta}
    changes = {"half": lambda m: m.half(), "double": lambda m: m.to(torch.float64), "type": lambda m: m.type(torch.bfloat16),
               "meta": lambda m: m.to("meta"), "cpu": lambda m: m.to("cpu"), "to_empty": lambda m: m.to_empty(device="cpu"),
               "reset": lambda m: m.apply(lambda x: x.reset_parameters() if hasattr(x, "reset_parameters") else None)}
    for way, make in ways.items():
        for change, do in changes.items():
            net = make()
            before = [id(p) for p in net.parameters()]
            torch.manual_seed(1)
            try:
                do(net)
            except NotImplementedError as error:
                say(way, change, error)
            say(way, change, before == [id(p) for p in net.parameters()],
                [(type(t).__name__, t.dtype, t.device, t.placements, "-" if t.is_meta or change == "to_empty" else total(t))
                 for t in net.state_dict(keep_vars=True).values() if isinstance(t, DTensor)])


def loading(say, rank):
    full = made().state_dict()
    net = on_meta()
    net.to_empty(device="cpu")
    torch.manual_seed(0)
    net.apply(lambda m: m.reset_parameters() if hasattr(m, "reset_parameters") else None)
    say("reset_parameters", losses(net, rank))
    for first_only in (True, False):
        net = on_meta()
        options = StateDictOptions(full_state_dict=True, broadcast_from_rank0=first_only)
        say(set_model_state_dict(net, dict(full) if rank == 0 or not first_only else {}, options=options), losses(net, rank))
    net = on_meta()
    empty = net.state_dict()
    parts = {k: nn.Parameter(distribute_tensor(v, empty[k].device_mesh, empty[k].placements)) if isinstance(empty[k], DTensor) else v
             for k, v in full.items()}
    say(net.load_state_dict(parts, assign=True), losses(net, rank))
    try:
        on_meta().load_state_dict(full, assign=True)
    except AttributeError as error:
        say(error)


def options(say, rank):
    net = sharded(made())
    optimizer = torch.optim.AdamW([p for p in net.parameters() if p.requires_grad], lr=.1)
    losses(net, rank, optimizer)
    for given in ({}, {"full_state_dict": True}, {"cpu_offload": True}, {"full_state_dict": True, "cpu_offload": True},
                  {"keep_submodule_prefixes": False}, {"ignore_frozen_params": True}):
        for submodules in (None, {net.layers[1]}):
            if submodules is None or "ignore_frozen_params" not in given:
                found = get_model_state_dict(net, submodules=submodules, options=StateDictOptions(**given))
                say(given, {k: (type(v).__name__, total(v)) for k, v in found.items()})
    for given, wrong in (({}, {}), ({"broadcast_from_rank0": True}, {"a": 1}), ({"strict": False}, {})):
        try:
            say(set_model_state_dict(net, wrong, options=StateDictOptions(**given)))
        except (RuntimeError, ValueError) as error:
            say(type(error).__name__, error)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    with saying() as (say, rank, n):
        mesh = init_device_mesh("cpu", (n,))
        initializers(say, mesh)
        conversions(say, mesh)
        loading(say, rank)
        options(say, rank)
