"""brevitas: quantization-aware training."""

import brevitas.nn as qnn
import torch
from brevitas.quant import Int8ActPerTensorFloat, Int8WeightPerTensorFloat, Uint8ActPerTensorFloat
from torch import nn


def _net():
    return nn.Sequential(qnn.QuantConv2d(1, 4, 3, weight_bit_width=4, bias=True),
                         qnn.QuantReLU(bit_width=4, return_quant_tensor=False), nn.Flatten(),
                         qnn.QuantLinear(4 * 6 * 6, 5, bias=True, weight_bit_width=4))


def train():
    net, x, y = _net(), torch.randn(8, 1, 8, 8), torch.randint(0, 5, (8,))
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
    losses = []
    for _ in range(6):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    net.eval()
    return losses, net(x)


def tensors():
    layer = qnn.QuantLinear(6, 3, bias=False, input_quant=Int8ActPerTensorFloat, weight_quant=Int8WeightPerTensorFloat,
                            output_quant=Int8ActPerTensorFloat, return_quant_tensor=True)
    layer.train()
    for _ in range(3):
        out = layer(torch.randn(4, 6))
    layer.eval()
    weight = layer.quant_weight()
    out = layer(torch.randn(4, 6))
    return out.value, out.scale, out.bit_width, weight.int(), weight.scale


def activations():
    relu = qnn.QuantReLU(act_quant=Uint8ActPerTensorFloat, return_quant_tensor=True)
    relu.train()
    x = torch.randn(3, 7, requires_grad=True)
    out = relu(x)
    out.value.pow(2).sum().backward()
    return out.value, out.scale, x.grad


def recurrent():
    cell = qnn.QuantLSTM(4, 3)
    out, (h, c) = cell(torch.randn(5, 2, 4))
    return out, h, c


def attention():
    layer = qnn.QuantMultiheadAttention(8, 2)
    x = torch.randn(3, 2, 8)
    out, weights = layer(x, x, x)
    return out, weights
