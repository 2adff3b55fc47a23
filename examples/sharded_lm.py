"""Train a small language model sharded over two processes with fully_shard, and save a checkpoint.

Any number of processes can load the checkpoint.

Run it with ``python -m jtorch -m torch.distributed.run --standalone --nproc-per-node 2 examples/sharded_lm.py``.
"""
import argparse
import tempfile

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
import torch.nn.functional as F
from pictures import losses, tqdm
from torch.distributed.checkpoint.state_dict import get_state_dict
from torch.distributed.fsdp import fully_shard


class Block(torch.nn.Module):
    """Adds the result of a network of two layers to each vector."""

    def __init__(self, width: int):
        super().__init__()
        self.norm = torch.nn.LayerNorm(width)
        self.up, self.down = torch.nn.Linear(width, 4 * width), torch.nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.down(F.gelu(self.up(self.norm(x))))


class Model(torch.nn.Module):
    """Predicts a character from the four characters before it."""

    def __init__(self, characters: int, width: int = 64, blocks: int = 2):
        super().__init__()
        self.table = torch.nn.Embedding(characters, width // 4)
        self.blocks = torch.nn.ModuleList([Block(width) for _ in range(blocks)])
        self.out = torch.nn.Linear(width, characters)

    def forward(self, x):
        x = self.table(x).flatten(1)
        for block in self.blocks:
            x = block(x)
        return self.out(x)


def main(steps: int, out: str) -> None:
    dist.init_process_group("gloo")
    rank, n = dist.get_rank(), dist.get_world_size()
    text = ("the quick brown fox jumps over the lazy dog; pack my box with five dozen liquor jugs. " * 20)
    letters = sorted(set(text))
    numbers = torch.tensor([letters.index(c) for c in text])
    inputs, targets = numbers.unfold(0, 4, 1)[:-1], numbers[4:]

    torch.manual_seed(0)                        # All ranks draw the same parameters; each then keeps its part.
    net = Model(len(letters))
    for block in net.blocks:
        fully_shard(block)                      # Each rank gathers the whole parameters of one block at a time.
    fully_shard(net)
    optimizer = torch.optim.AdamW(net.parameters(), lr=3e-3)
    curve = []
    bar = tqdm(range(steps), unit="step", disable=None if rank == 0 else True)
    for step in bar:
        chosen = (torch.arange(64) + step * 64 * n + rank * 64) % len(inputs)       # Each rank has its own batch.
        loss = F.cross_entropy(net(inputs[chosen]), targets[chosen])
        loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.)
        optimizer.step()
        optimizer.zero_grad()
        mean = loss.detach() / n
        dist.all_reduce(mean)
        curve.append(mean.item())
        bar.set_postfix_str(f"loss {curve[-1]:.3f}")
        if rank == 0 and (step % 20 == 0 or step == steps - 1):
            bar.write(f"step {step:3d}  loss {curve[-1]:.3f}")

    folder = [tempfile.mkdtemp() if rank == 0 else None]
    dist.broadcast_object_list(folder)
    model, optim = get_state_dict(net, optimizer)
    dcp.save({"model": model, "optim": optim}, checkpoint_id=folder[0])
    if rank == 0:
        held = sum(p.to_local().numel() for p in net.parameters())
        total = sum(p.numel() for p in net.parameters())
        print(f"rank 0 holds {held} of {total} parameters; checkpoint in {folder[0]}", flush=True)
    dist.destroy_process_group()
    if rank == 0:
        losses({"mean of all ranks": curve}, out)
        print(f"loss curve in {out}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--out", default="sharded_lm_loss.png", help="the PNG file of the loss")
    options = parser.parse_args()
    main(options.steps, options.out)
