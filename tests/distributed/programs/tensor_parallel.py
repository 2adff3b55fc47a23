"""parallelize_module: columns, rows, sequences, inputs, a loss over classes; with fully_shard on another dimension."""

import torch
import torch.nn.functional as F
from ranks import saying
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import Replicate, Shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInput,
    PrepareModuleOutput,
    RowwiseParallel,
    SequenceParallel,
    loss_parallel,
    parallelize_module,
)


class Attention(torch.nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.q, self.k, self.v, self.out = [torch.nn.Linear(width, width, bias=False) for _ in range(4)]
        self.size = width // heads

    def forward(self, x):
        q, k, v = [f(x).unflatten(-1, (-1, self.size)).transpose(1, 2) for f in (self.q, self.k, self.v)]
        return self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(-2))


class Block(torch.nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm1, self.norm2 = torch.nn.LayerNorm(width), torch.nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.up, self.down = torch.nn.Linear(width, 4 * width), torch.nn.Linear(4 * width, width)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Model(torch.nn.Module):
    def __init__(self, words=16, width=16, heads=4):
        super().__init__()
        self.table, self.block = torch.nn.Embedding(words, width), Block(width, heads)
        self.norm, self.out = torch.nn.LayerNorm(width), torch.nn.Linear(width, words, bias=False)
        with torch.no_grad():
            for i, p in enumerate(self.parameters()):
                p.copy_(torch.sin(torch.arange(p.numel()).float() * (i + 1) * .7).view_as(p) * .3)

    def forward(self, x):
        return self.out(self.norm(self.block(self.table(x))))


PLAIN = {"table": RowwiseParallel(input_layouts=Replicate()), "block.attention.[qkv]": ColwiseParallel(),
         "block.attention.out": RowwiseParallel(), "block.up": ColwiseParallel(), "block.down": RowwiseParallel(),
         "out": ColwiseParallel(output_layouts=Replicate())}
SEQUENCE = {"table": RowwiseParallel(input_layouts=Replicate(), output_layouts=Shard(1)), "block.norm1": SequenceParallel(),
            "block.attention": PrepareModuleInput(input_layouts=(Shard(1),), desired_input_layouts=(Replicate(),)),
            "block.attention.[qkv]": ColwiseParallel(), "block.attention.out": RowwiseParallel(output_layouts=Shard(1)),
            "block.norm2": SequenceParallel(), "block.up": ColwiseParallel(input_layouts=Shard(1)),
            "block.down": RowwiseParallel(output_layouts=Shard(1)), "norm": SequenceParallel(),
            "out": ColwiseParallel(input_layouts=Shard(1), output_layouts=Shard(-1), use_local_output=False)}


def trained(say, how, net, part, parts, over_classes=False):
    optimizer = torch.optim.AdamW(net.parameters(), lr=.01)
    words = torch.arange(8 * 8).view(8, 8).mul(7) % 16
    for step in range(3):
        x = words.chunk(parts)[part]
        out = net(x)
        if over_classes:
            with loss_parallel():
                loss = F.cross_entropy(out.flatten(0, 1), x.roll(-1, 1).flatten())
                loss.backward()
        else:
            loss = F.cross_entropy(out.flatten(0, 1), x.roll(-1, 1).flatten())
            loss.backward()
        clips = len({type(p) for p in net.parameters()}) == 1
        norm = torch.nn.utils.clip_grad_norm_(net.parameters(), 1.) if clips else torch.zeros(())
        norm = norm.full_tensor() if hasattr(norm, "full_tensor") else norm
        optimizer.step()
        optimizer.zero_grad()
        value = loss.full_tensor() if hasattr(loss, "full_tensor") else loss
        say(how, step, f"{value.item():.4f} {norm.item():.3f}")


def main(say, rank, n):
    trained(say, "one process", Model(), 0, 1)
    mesh = init_device_mesh("cpu", (n,), mesh_dim_names=("tp",))
    for style in (*PLAIN.values(), *SEQUENCE.values()):
        say(style)
    net = parallelize_module(Model(), mesh, PLAIN)
    for name, p in net.named_parameters():
        say(name, tuple(p.shape), getattr(p, "placements", None))
    say(tuple(net.block.up.weight.to_local().shape), net.block.up)
    trained(say, "tensor parallel", net, 0, 1)
    trained(say, "sequences", parallelize_module(Model(), mesh, SEQUENCE), 0, 1, over_classes=True)
    layer = parallelize_module(torch.nn.Linear(4, 4), mesh, PrepareModuleOutput(output_layouts=Replicate(), desired_output_layouts=Shard(0)))
    say(tuple(layer(torch.ones(8, 4)).shape))
    for wrong in (lambda: parallelize_module(torch.nn.LayerNorm(4), mesh, ColwiseParallel()),
                  lambda: parallelize_module(torch.nn.Linear(4, 4), mesh, 3)):
        try:
            say(wrong())
        except Exception as error:
            say(type(error).__name__, error)
    if n == 4:
        mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
        net = parallelize_module(Model(), mesh["tp"], PLAIN)
        for part in (net.block, net):
            fully_shard(part, mesh=mesh["dp"])
        for name, p in net.named_parameters():
            say(name, tuple(p.shape), p.placements, p.device_mesh, tuple(p.to_local().shape))
        optimizer = torch.optim.SGD(net.parameters(), lr=.1)
        words = (torch.arange(64).view(8, 8).mul(7) % 16).chunk(2)[mesh["dp"].get_local_rank()]
        for step in range(3):
            loss = F.cross_entropy(net(words).flatten(0, 1), words.roll(-1, 1).flatten())
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            say("both", step, f"{loss.item():.4f}")


if __name__ == "__main__":
    with saying() as (say, rank, n):
        main(say, rank, n)
