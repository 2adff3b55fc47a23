"""Train the model of ``sharded_lm.py`` on eight devices of one process, split in three ways, with equal losses.

Run it with ``XLA_FLAGS=--xla_force_host_platform_device_count=8 python -m jtorch examples/eight_devices_lm.py``, or on GPUs
with ``--device cuda``. PyTorch has no equivalent, since it needs a process for each device.

The devices may belong to several processes, for example two with four devices each:
``XLA_FLAGS=--xla_force_host_platform_device_count=4 python -m jtorch -m torch.distributed.run --standalone --nproc-per-node 2
examples/eight_devices_lm.py``.
"""
import argparse
import os

import pictures
import torch
import torch.distributed as dist
import torch.nn.functional as F
from sharded_lm import Model
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import Replicate, Shard, distribute_module, distribute_tensor
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module


def one_device(model, device):
    """Leave the model on one device."""
    model.to(device)
    return lambda x: x.to(device)


def batches(model, device):
    """Split the batch: each device has all parameters and an eighth of the batch."""
    mesh = init_device_mesh(device, (8,))
    distribute_module(model, mesh)
    return lambda x: distribute_tensor(x, mesh, [Shard(0)])


def parameters(model, device):
    """Split all: each device has an eighth of parameters, gradients, the optimizer's states and the batch."""
    mesh = init_device_mesh(device, (8,))
    for block in model.blocks:
        fully_shard(block, mesh=mesh)
    fully_shard(model, mesh=mesh)
    return lambda x: distribute_tensor(x, mesh, [Shard(0)])


def layers(model, device):
    """Split layers: two groups of devices have half of the batch each, and a device of a group has a quarter of each
    layer.
    """
    mesh = init_device_mesh(device, (2, 4), mesh_dim_names=("dp", "tp"))
    plan = {"up": ColwiseParallel(use_local_output=False), "down": RowwiseParallel(use_local_output=False)}
    for block in model.blocks:
        parallelize_module(block, mesh["tp"], plan)
    distribute_module(model, mesh)
    return lambda x: distribute_tensor(x, mesh, [Shard(0), Replicate()])


def train(split, device: str, steps: int) -> list[float]:
    text = ("the quick brown fox jumps over the lazy dog; pack my box with five dozen liquor jugs. " * 20)
    letters = sorted(set(text))
    numbers = torch.tensor([letters.index(c) for c in text])
    inputs, targets = numbers.unfold(0, 4, 1)[:-1], numbers[4:]
    torch.manual_seed(0)
    model = Model(len(letters))
    spread = split(model, device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    losses = []
    bar = pictures.tqdm(range(steps), unit="step", desc=split.__name__, disable=None)
    for step in bar:
        chosen = (torch.arange(128) + step * 128) % len(inputs)
        loss = F.cross_entropy(model(spread(inputs[chosen])), spread(targets[chosen]))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
        bar.set_postfix_str(f"loss {losses[-1]:.3f}")
    weight = model.blocks[0].up.weight
    say(f"{split.__name__:10s}  losses {', '.join(f'{x:.4f}' for x in losses[::max(1, steps // 4)])}, {losses[-1]:.4f}; "
        f"a weight lies as {getattr(weight, 'placements', 'one tensor')}")
    return losses


def say(text: str) -> None:
    """Print a text, in a job by the first process only."""
    if not dist.is_initialized() or dist.get_rank() == 0:
        print(text, flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--out", default="eight_devices_lm_loss.png", help="the PNG file of the losses")
    options = parser.parse_args()
    if "RANK" in os.environ:        # A launcher has started this process.
        dist.init_process_group("xla")
    curves = {split.__name__: train(split, options.device, options.steps) for split in (one_device, batches, parameters, layers)}
    first, *others = curves.values()
    say(f"largest difference {max(abs(a - b) for curve in others for a, b in zip(first, curve, strict=True)):.1e}")
    if not dist.is_initialized() or dist.get_rank() == 0:
        pictures.losses(curves, options.out)
    say(f"loss curves in {options.out}")
