"""FullyShardedDataParallel: losses, clipping, state_dict, no_sync, wrapping. Unmodified PyTorch."""
import functools

import torch
from ranks import saying
from torch.distributed.fsdp import FullOptimStateDictConfig, FullStateDictConfig, ShardingStrategy, StateDictType
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.distributed.fsdp.wrap import transformer_auto_wrap_policy


def made():
    net = torch.nn.Sequential(torch.nn.Linear(6, 10), torch.nn.ReLU(), torch.nn.Linear(10, 3))
    with torch.no_grad():
        for i, p in enumerate(net.parameters()):
            p.copy_(torch.sin(torch.arange(p.numel()).float() * (i + 1) * .7).view_as(p) * .5)
    return net


def loss_of(net, rank, step):
    x = torch.cos(torch.arange(24.) * .3 + rank * 5 + step).view(4, 6)
    return torch.nn.functional.mse_loss(net(x), x[:, :3].sin())


def main(say, rank, n):
    policy = functools.partial(transformer_auto_wrap_policy, transformer_layer_cls={torch.nn.Linear})
    for strategy in (ShardingStrategy.FULL_SHARD, ShardingStrategy.SHARD_GRAD_OP):
        net = FSDP(made(), auto_wrap_policy=policy, sharding_strategy=strategy, use_orig_params=True, device_id=torch.device("cpu"))
        optimizer = torch.optim.AdamW(net.parameters(), lr=.01)
        for step in range(3):
            with net.no_sync():
                loss_of(net, rank, step).backward()
            loss = loss_of(net, rank, step + 5)
            loss.backward()
            norm = net.clip_grad_norm_(.5)
            optimizer.step()
            optimizer.zero_grad()
            say(step, f"{loss.item():.4f} {norm.item():.3f}")
        states_of_the_optimizer(say, net, optimizer)
        state = net.state_dict()
        say([(k, type(v).__name__, f"{v.double().sum().item():.3f}") for k, v in state.items()])
        net.load_state_dict({k: v * 2 for k, v in state.items()})
        say(f"{loss_of(net, rank, 0).item():.3f}")
        gathered(say, net, rank)


def gathered(say, net, rank):
    """Parameters and gradients within ``summon_full_params``, and what remains of writes to them."""
    def show(what):
        is_whole = not any(hasattr(p, "placements") for p in net.parameters()) and sum(p.numel() for p in net.parameters()) == 103
        say(what, [(type(p).__name__, tuple(p.shape), f"{p.sum().item():.3f}", f"{p.grad.sum().item():.3f}" if "with_grads" in what else None)
                   for p in net.parameters()] if is_whole else "shards")
    loss_of(net, rank, 0).backward()
    for options in ({}, {"with_grads": True}, {"with_grads": True, "writeback": False}, {"writeback": False, "rank0_only": True}):
        with FSDP.summon_full_params(net, **options), torch.no_grad():
            if "with_grads" in options or "rank0_only" in options:
                show(options)
            if "rank0_only" not in options:
                for p in net.parameters():
                    p.mul_(2)
                    if "with_grads" in options:
                        p.grad.mul_(3)
        with FSDP.summon_full_params(net, with_grads=True):
            show({"with_grads": "after"})
    for options in ({"rank0_only": True}, {"with_grads": True, "offload_to_cpu": True}):
        try:
            with FSDP.summon_full_params(net, **options):
                pass
        except NotImplementedError as error:
            say(error)
    net.zero_grad()


def states_of_the_optimizer(say, net, optimizer):
    """Names, kinds and shapes: of FSDP on CPUs PyTorch gives zeros as averages."""
    states = FSDP.optim_state_dict(net, optimizer)
    say(sorted((name, k, type(v).__name__, tuple(v.shape)) for name, state in states["state"].items() for k, v in state.items()),
        [group["params"] for group in states["param_groups"]])
    with FSDP.state_dict_type(net, StateDictType.FULL_STATE_DICT, FullStateDictConfig(rank0_only=True),
                              FullOptimStateDictConfig(rank0_only=True)):
        say(len(net.state_dict()), len(FSDP.optim_state_dict(net, optimizer)), type(FSDP.get_state_dict_type(net)).__name__)
    say(len(FSDP.fsdp_modules(net, root_only=True)))


if __name__ == "__main__":
    with saying() as (say, rank, n):
        main(say, rank, n)
