"""einops: rearranging as functions, as layers, and with packing."""

import torch
from einops import einsum, pack, rearrange, reduce, repeat, unpack
from einops.layers.torch import EinMix, Rearrange, Reduce


def functions():
    x = torch.randn(2, 3, 8, 8, requires_grad=True)
    patches = rearrange(x, "b c (h p) (w q) -> b (h w) (p q c)", p=4, q=4)
    pooled = reduce(x, "b c (h 2) (w 2) -> b c h w", "max")
    again = repeat(pooled, "b c h w -> b c (h r) w", r=3)
    product = einsum(patches, patches, "b i d, b j d -> b i j")
    (product.sum() + again.mean()).backward()
    return patches, pooled, again, product, x.grad


def layers():
    model = torch.nn.Sequential(
        torch.nn.Conv2d(1, 4, 3, padding=1),
        Reduce("b c (h 2) (w 2) -> b c h w", "mean"),
        torch.nn.ReLU(),
        Rearrange("b c h w -> b (c h w)"),
        EinMix("b i -> b o", weight_shape="i o", bias_shape="o", i=64, o=5),
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    for _ in range(3):
        loss = torch.nn.functional.cross_entropy(model(torch.randn(6, 1, 8, 8)), torch.arange(6) % 5)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, model.state_dict()


def packing():
    images, text = torch.randn(2, 4, 5, 8), torch.randn(2, 8)
    tokens, shapes = pack([images, text], "b * d")
    return tokens, [list(s) for s in shapes], unpack(tokens * 2, shapes, "b * d")
