"""fully_shard: losses, gradients, clipping, accumulation, mixed precision, replicas, state_dict. Unmodified PyTorch."""

import torch
from ranks import saying
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FSDPModule, MixedPrecisionPolicy, fully_shard


def made(width=10):
    net = torch.nn.Sequential(torch.nn.Linear(6, width), torch.nn.Sequential(torch.nn.LayerNorm(width), torch.nn.Linear(width, 7)),
                              torch.nn.ReLU(), torch.nn.Linear(7, 3, bias=False))
    with torch.no_grad():
        for i, p in enumerate(net.parameters()):
            p.copy_(torch.sin(torch.arange(p.numel()).float() * (i + 1) * .7).view_as(p) * .5)
    return net


def batch(rank, step):
    x = torch.cos(torch.arange(24.) * .3 + rank * 5 + step).view(4, 6)
    return x, x[:, :3].sin()


def steps(say, net, rank, n, how, optimizer_class=torch.optim.AdamW, **options):
    optimizer = optimizer_class(net.parameters(), lr=.01, **options)
    for step in range(4):
        x, y = batch(rank, step)
        loss = torch.nn.functional.mse_loss(net(x).float(), y)
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(net.parameters(), .5)
        norm = norm.full_tensor() if hasattr(norm, "full_tensor") else norm
        optimizer.step()
        optimizer.zero_grad()
        say(how, step, f"{loss.item():.4f} {norm.item():.3f}")
    return optimizer


def kept_after_backward(say, rank, n):
    """Whole parameters stay after backward, and later forwards use them until a reshard."""
    def step(update=True):
        x, y = batch(rank, 0)
        loss = torch.nn.functional.mse_loss(net(x), y)
        loss.backward()
        say([type(p).__name__ for p in net.parameters()], [p.requires_grad for p in net.parameters()], f"{loss.item():.4f}")
        if update:
            optimizer.step()
    net = made()
    fully_shard(net[1], reshard_after_forward=True)
    fully_shard(net)
    optimizer = torch.optim.SGD(net.parameters(), lr=.05)
    net.set_reshard_after_backward(False)
    net.set_unshard_in_backward(True)
    step()
    step()                                      # It uses the parameters from before the update.
    net.state_dict()                            # It reshards.
    step(False)
    net[1].reshard()
    net.set_reshard_after_backward(True)
    step()
    for _ in range(2):
        net.unshard()
        step()
    with torch.no_grad():
        net.unshard()
        say([type(p).__name__ for p in net.parameters()])
    step()


def main(say, rank, n):
    net = made()
    fully_shard(net[1])
    fully_shard(net)
    say(type(net).__name__, isinstance(net, FSDPModule), isinstance(net[1], FSDPModule), isinstance(net[0], FSDPModule))
    for name, p in net.named_parameters():
        say(name, tuple(p.shape), p.placements, tuple(p.to_local().shape), p.device_mesh, isinstance(p, torch.nn.Parameter))
    optimizer = steps(say, net, rank, n, "adamw")
    for name, value in net.state_dict().items():
        say(name, type(value).__name__, value.placements, f"{value.full_tensor().double().sum().item():.3f}")
    state = optimizer.state[net[0].weight]
    say(type(state["exp_avg"]).__name__, state["exp_avg"].placements, tuple(state["exp_avg"].to_local().shape), state["step"])

    net, whole = made(), made()
    for part in (net[0], net[1], net[3], net):
        fully_shard(part, reshard_after_forward=True)
    steps(say, net, rank, n, "sgd", torch.optim.SGD, momentum=.9)
    for step in range(3):                       # gradients of three backwards, reduced once
        net.set_requires_gradient_sync(step == 2)
        x, y = batch(rank, step)
        torch.nn.functional.mse_loss(net(x), y).backward()
        say(step, [p.grad is None for p in net.parameters()])
    say([f"{p.grad.full_tensor().double().abs().sum().item():.4f}" for p in net.parameters()])
    net.load_state_dict({k: torch.distributed.tensor.distribute_tensor(v, p.device_mesh, p.placements)
                         for (k, v), p in zip(whole.state_dict().items(), net.parameters())})
    say(f"{torch.nn.functional.mse_loss(net(batch(0, 0)[0]), batch(0, 0)[1]).item():.4f}")

    net = made()                                # two modules that are gathered together
    fully_shard(net[1])
    fully_shard([net[0], net[3]])
    fully_shard(net)
    say([type(m).__name__ for m in net], [p.placements for p in net.parameters()])
    steps(say, net, rank, n, "together")
    net[0](batch(rank, 0)[0])                   # the other one does not run
    net[0].reshard()
    steps(say, net, rank, n, "together again")

    kept_after_backward(say, rank, n)

    net = made()
    fully_shard(net, mp_policy=MixedPrecisionPolicy(torch.bfloat16, torch.float32, torch.float32))
    x, y = batch(rank, 0)
    out = net(x)
    torch.nn.functional.mse_loss(out, y).backward()
    say("bf16", out.dtype, net[0].weight.dtype, net[0].weight.grad.dtype, f"{net[3].weight.grad.full_tensor().sum().item():.1f}")
    if n == 4:
        net = made()
        fully_shard(net, mesh=init_device_mesh("cpu", (2, 2), mesh_dim_names=("replicate", "shard")))
        steps(say, net, rank, n, "replicas", torch.optim.SGD)
        say(net[0].weight.placements, tuple(net[0].weight.to_local().shape))
    for wrong in (lambda: fully_shard(torch.nn.ModuleList([made()])), lambda: net.set_reshard_after_forward(1)):
        try:
            wrong()
        except Exception as error:
            say(type(error).__name__, str(error).split("\n")[0].split(":")[0])


if __name__ == "__main__":
    with saying() as (say, rank, n):
        main(say, rank, n)
