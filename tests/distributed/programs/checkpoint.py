"""Checkpoints: ``checkpoint.py save|load|async FOLDER``. Unmodified PyTorch, on any number of processes."""
import sys

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from ranks import saying
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_model_state_dict,
    get_optimizer_state_dict,
    get_state_dict,
    set_model_state_dict,
    set_state_dict,
)
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import Shard, distribute_tensor


class Counter:
    def __init__(self, count):
        self.count = count

    def state_dict(self):
        return {"count": self.count}

    def load_state_dict(self, state_dict):
        self.count = state_dict["count"]


def made(scale=1.):
    net = torch.nn.Sequential(torch.nn.Linear(6, 10, bias=False), torch.nn.BatchNorm1d(10), torch.nn.Linear(10, 3))
    with torch.no_grad():
        for i, p in enumerate(net.parameters()):
            p.copy_(torch.sin(torch.arange(p.numel()).float() * (i + 1) * .7).view_as(p) * scale)
    for part in (net[0], net):
        fully_shard(part)
    return net, torch.optim.AdamW(net.parameters(), lr=.01)


def stepped(net, optimizer):
    loss = net(torch.cos(torch.arange(48.)).view(8, 6)).pow(2).mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    return f"{loss.item():.5f}"


def whole(t):
    t = t.full_tensor() if hasattr(t, "full_tensor") else t
    return f"{round(t.double().sum().item(), 3) + 0.:.3f}"


def state_of(net, optimizer, mesh, count, fill):
    model, optim = get_state_dict(net, optimizer)
    return {"model": model, "optim": optim, "counter": Counter(count), "epoch": count, "name": {"of": ["a", count]},
            "uneven": distribute_tensor(torch.arange(7.) * fill, mesh, [Shard(0)]), "plain": torch.arange(3) * int(fill)}


def main(say, how, folder):
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    net, optimizer = made()
    if how != "load":
        say(stepped(net, optimizer), stepped(net, optimizer))
        state = state_of(net, optimizer, mesh, 5, 1)
        if how == "async":
            future = dcp.async_save(state, checkpoint_id=folder)
            stepped(net, optimizer)
            future.result()
        else:
            dcp.save(state, checkpoint_id=folder)
        full = get_model_state_dict(net, options=StateDictOptions(full_state_dict=True))
        say([(k, type(v).__name__, tuple(v.shape)) for k, v in full.items()])
        say(sorted(get_optimizer_state_dict(net, optimizer)["state"]))
        return
    net, optimizer = made(.1)
    state = state_of(net, optimizer, mesh, 0, 0)
    dcp.load(state, checkpoint_id=folder)
    set_state_dict(net, optimizer, model_state_dict=state["model"], optim_state_dict=state["optim"])
    say([(k, whole(v)) for k, v in net.state_dict().items()])
    say([(k, whole(v)) for s in optimizer.state.values() for k, v in s.items()], optimizer.param_groups[0]["lr"])
    say(state["counter"].count, state["epoch"], state["name"], whole(state["uneven"]), whole(state["plain"]), stepped(net, optimizer))
    full = get_model_state_dict(net, options=StateDictOptions(full_state_dict=True))
    net, _ = made(.2)
    say(set_model_state_dict(net, full, options=StateDictOptions(full_state_dict=True)), whole(net[2].weight))
    for wrong in ({"missing": torch.ones(2)}, {"plain": torch.ones(5)}):
        try:
            dcp.load(wrong, checkpoint_id=folder)
        except BaseException as error:
            say(type(error).__name__, str(error).strip().split("\n")[-1])


if __name__ == "__main__":
    with saying() as (say, _, _):
        main(say, sys.argv[1], sys.argv[2])
