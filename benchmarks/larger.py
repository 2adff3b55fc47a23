"""Workloads of real sizes: convolutions of many kinds, a GPT, loops over elements, many small parameters."""
from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from benchmarks.models import _labels, _numbers, training
from benchmarks.workload import Step, Workload


class _Kind(NamedTuple):
    """A convolution: its input, filters and arguments."""

    name: str
    size: tuple[int, ...]
    filters: tuple[int, ...]
    arguments: dict[str, Any]
    transposed: bool = False

    def function(self, torch: Any) -> Any:
        """Return the convolution function of a library."""
        return getattr(torch.nn.functional, f"conv{'_transpose' if self.transposed else ''}{len(self.size) - 2}d")


CONVOLUTIONS = "conv "      # The names of workloads with a single convolution begin with this text.
KINDS = (
    _Kind("3x3, 64 channels", (8, 64, 32, 32), (64, 64, 3, 3), {"padding": 1}),
    _Kind("1x1", (8, 128, 28, 28), (128, 128, 1, 1), {}),
    _Kind("depthwise", (8, 128, 28, 28), (128, 1, 3, 3), {"padding": 1, "groups": 128}),
    _Kind("depthwise 7x7", (8, 96, 28, 28), (96, 1, 7, 7), {"padding": 3, "groups": 96}),
    _Kind("8 groups", (8, 128, 28, 28), (128, 16, 3, 3), {"padding": 1, "groups": 8}),
    _Kind("32 groups", (8, 128, 28, 28), (128, 4, 3, 3), {"padding": 1, "groups": 32}),
    _Kind("one dimension", (16, 64, 256), (64, 64, 5), {"padding": 2}),
    _Kind("three dimensions", (2, 16, 16, 32, 32), (32, 16, 3, 3, 3), {"padding": 1}),
    _Kind("transposed 4x4 by 2", (8, 64, 16, 16), (64, 32, 4, 4), {"stride": 2, "padding": 1}, True),
    _Kind("9x9 to 3 channels", (2, 64, 64, 64), (3, 64, 9, 9), {"padding": 4}),
    _Kind("dilated", (8, 64, 32, 32), (64, 64, 3, 3), {"padding": 2, "dilation": 2}),
    _Kind("strided", (8, 128, 28, 28), (128, 128, 3, 3), {"padding": 1, "stride": 2}),
    _Kind("7x7 by 2 of 3 channels", (8, 3, 64, 64), (64, 3, 7, 7), {"padding": 3, "stride": 2}),
)


def _convolution(kind: _Kind, wanted: str) -> Any:
    """Return the steps of a convolution and its gradient of ``wanted``: "input", "filters", or "nothing" for forward only."""
    def make(torch: Any) -> Step:
        x = torch.tensor(_numbers(*kind.size), requires_grad=wanted == "input")
        w = torch.tensor(0.05 * _numbers(*kind.filters), requires_grad=wanted == "filters")
        run, total = kind.function(torch), 1.0

        def step():
            nonlocal total
            total = -total      # Turns without a gradient alternate between x and -x.
            y = run(x * total if wanted == "nothing" else x, w, **kind.arguments)
            if wanted == "nothing":
                return y.flatten()[0].item()
            leaf = x if wanted == "input" else w
            return torch.autograd.grad(y, leaf, y.detach())[0].flatten()[0].item()
        return step
    return make


def transformer_layers(nn: Any, width: int) -> type:
    """Return a module class with the layers of a transformer block, without a forward."""
    class Layers(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.qkv, self.out = nn.LayerNorm(width), nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.norm2 = nn.LayerNorm(width)
            self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
    return Layers


def gpt(torch: Any, layers: int = 4, width: int = 96, batch: int = 12, length: int = 64, heads: int = 4,
        vocabulary: int = 100) -> Step:
    """Return a training step of a GPT with AdamW."""
    nn = torch.nn
    fn = nn.functional

    class Block(transformer_layers(nn, width)):      # type: ignore[misc]
        def forward(self, x):
            q, k, v = (a.view(*x.shape[:2], heads, -1).transpose(1, 2) for a in self.qkv(self.norm1(x)).split(width, 2))
            mixed = fn.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(mixed.transpose(1, 2).reshape(x.shape))
            return x + self.mlp(self.norm2(x))
    torch.manual_seed(0)
    embedding, position = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
    body = nn.Sequential(*[Block() for _ in range(layers)], nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False))
    model = nn.ModuleList([embedding, position, body])
    tokens, following = (torch.tensor(_labels(batch * length, vocabulary).reshape(batch, length)) for _ in range(2))

    def loss_of():
        logits = body(embedding(tokens) + position(torch.arange(length, device=tokens.device)))
        return fn.cross_entropy(logits.reshape(-1, vocabulary), following.reshape(-1))
    return training(torch.optim.AdamW(model.parameters(), lr=1e-3), loss_of)


def _indexed(torch: Any) -> Step:
    """Return a step that writes a hundred elements, one by one."""
    e, w = torch.zeros(100), torch.tensor(_numbers(100))

    def step():
        e.zero_()
        for i in range(100):
            e[i] += w[i]
        return e.sum().item()
    return step


def _many_parameters(torch: Any) -> Step:
    params = [torch.tensor(a, requires_grad=True) for a in np.split(_numbers(1000, 64), 1000)]
    for p in params:
        p.grad = torch.ones_like(p.detach())
    optimizer = torch.optim.Adam(params, lr=1e-3)

    def step():
        optimizer.step()
        return params[0].detach().flatten()[0].item()
    return step


LARGER = (
    *[Workload(f"{CONVOLUTIONS}{kind.name}: forward{'' if wanted == 'nothing' else f' and gradient of the {wanted}'}",
               _convolution(kind, wanted), None, 10, (2.5, None))
      for kind in KINDS for wanted in ("nothing", "input", "filters")],
    Workload("GPT of 4 layers, 12x64 tokens, AdamW", gpt, None, 5),
    Workload("a hundred e[i] += w[i]", _indexed, None, 5),
    Workload("step of an optimizer of 1,000 parameters", _many_parameters, None, 20),
)
