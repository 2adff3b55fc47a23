"""What goes with DistributedDataParallel: join, communication hooks, ZeroRedundancyOptimizer, the older FSDP. Unmodified PyTorch."""

import torch
from ranks import saying
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
from torch.distributed.algorithms.join import Join
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel


def made():
    net = torch.nn.Sequential(torch.nn.Linear(6, 10), torch.nn.ReLU(), torch.nn.Linear(10, 3))
    with torch.no_grad():
        for i, p in enumerate(net.parameters()):
            p.copy_(torch.sin(torch.arange(p.numel()).float() * (i + 1) * .7).view_as(p) * .5)
    return net


def stepped(net, optimizer, rank, step):
    x = torch.cos(torch.arange(24.) * .3 + rank * 5 + step).view(4, 6)
    loss = torch.nn.functional.mse_loss(net(x), x[:, :3].sin())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return f"{loss.item():.4f}"


def total(net):
    return f"{sum(p.double().abs().sum().item() for p in net.parameters()):.3f}"


def main(say, rank, n):
    for name in ("allreduce_hook", "fp16_compress_hook"):
        net = DistributedDataParallel(made())
        net.register_comm_hook(None, getattr(default_hooks, name))
        optimizer = torch.optim.SGD(net.parameters(), lr=.1)
        say(name, [stepped(net, optimizer, rank, step)[:5] for step in range(3)])
    for divide in (True, False):
        net = DistributedDataParallel(made())
        optimizer = torch.optim.SGD(net.parameters(), lr=.1)
        with net.join(divide_by_initial_world_size=divide):
            losses = [stepped(net, optimizer, rank, step) for step in range(2 + 2 * rank)]
        say("join", losses, total(net))
    net = DistributedDataParallel(made())
    optimizer = torch.optim.SGD(net.parameters(), lr=.1)
    try:
        with Join([net], throw_on_early_termination=True):
            for step in range(2 + rank):
                stepped(net, optimizer, rank, step)
    except RuntimeError as error:
        say(error)
    net = DistributedDataParallel(made())
    optimizer = ZeroRedundancyOptimizer(net.parameters(), torch.optim.Adam, lr=.01)
    say([stepped(net, optimizer, rank, step) for step in range(4)], len(optimizer.optim.state), total(net))
    try:
        optimizer.state_dict()
    except RuntimeError as error:
        say(str(error).split(".")[0])
    optimizer.consolidate_state_dict(0)
    if rank == 0:
        state = optimizer.state_dict()
        say(sorted(state["state"]), [tuple(s["exp_avg"].shape) for s in state["state"].values()], state["param_groups"][0]["lr"])


if __name__ == "__main__":
    with saying() as (say, rank, n):
        main(say, rank, n)
