"""tensorly-torch: layers with factorized weights."""

import os

os.environ["TENSORLY_BACKEND"] = "pytorch"
import tltorch
import torch


def tensors():
    found = []
    for kind, rank in (("cp", 3), ("tucker", (2, 2, 2)), ("tt", (1, 2, 2, 1))):
        made = tltorch.FactorizedTensor.new((3, 4, 2), rank=rank, factorization=kind)
        made.normal_(0, 0.1)
        found.append((made.to_tensor(), made.shape, made.rank))
    return found


def linear():
    layer = tltorch.FactorizedLinear(in_tensorized_features=(2, 3), out_tensorized_features=(2, 2), rank=0.5,
                                     factorization="blocktt")
    layer.weight.normal_(0, 0.3)
    x = torch.randn(5, 6, requires_grad=True)
    out = layer(x)
    out.pow(2).sum().backward()
    return out, x.grad


def convolution():
    layer = tltorch.FactorizedConv.from_conv(torch.nn.Conv2d(4, 6, 3), rank=0.5, factorization="cp", decompose_weights=False)
    for p in layer.parameters():
        torch.nn.init.normal_(p, 0, 0.2)
    return layer(torch.randn(2, 4, 8, 8))
