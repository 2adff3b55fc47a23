"""torchao: quantized weights, quantization by parts, optimizers with states of 8 bits, and quantization while training."""

import torch
from torchao.optim import AdamW4bit, AdamW8bit, AdamWFp8, CPUOffloadOptimizer  # noqa: F401
from torchao.quantization import (
    Int8DynamicActivationInt8WeightConfig,
    Int8WeightOnlyConfig,
    choose_qparams_affine,
    dequantize_affine,
    quantize_,
    quantize_affine,
)
from torchao.quantization.quant_primitives import MappingType


def _model():
    return torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 32)).eval()


def weight_only():
    model, x = _model(), torch.randn(4, 64)
    before = model(x)
    quantize_(model, Int8WeightOnlyConfig())
    return before, model(x), type(model[0].weight).__name__, model[0].weight.dequantize()


def dynamic():
    model, x = _model(), torch.randn(4, 64)
    quantize_(model, Int8DynamicActivationInt8WeightConfig())
    return model(x)


def affine():
    x = torch.randn(16, 32)
    found = []
    for mapping in (MappingType.SYMMETRIC, MappingType.ASYMMETRIC):
        block, kind = (1, 8), torch.int8
        scale, zero = choose_qparams_affine(x, mapping, block, kind, eps=1e-6)
        codes = quantize_affine(x, block, scale, zero, kind)
        found.append((scale, zero, codes, dequantize_affine(codes, block, scale, zero, kind)))
    return found


def _trained(make):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 64))
    optimizer = make(model.parameters(), lr=1e-2)
    losses = []
    for _ in range(6):
        x = torch.randn(16, 64)
        loss = (model(x) - x.sin()).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    return losses, model[2].bias


def adamw_8bit():
    return _trained(AdamW8bit)


def adamw_4bit():
    return _trained(AdamW4bit)


def saved():
    model, x = _model(), torch.randn(4, 64)
    quantize_(model, Int8WeightOnlyConfig())
    torch.save(model.state_dict(), "quantized.pt")
    other = _model()
    other.load_state_dict(torch.load("quantized.pt", weights_only=False), assign=True)
    return other(x)


def while_training():
    from torchao.quantization import IntxWeightOnlyConfig, PerGroup
    from torchao.quantization.qat import QATConfig

    model = _model().train()
    quantize_(model, QATConfig(IntxWeightOnlyConfig(torch.int4, PerGroup(32)), step="prepare"))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    for _ in range(3):
        x = torch.randn(8, 64)
        loss = model(x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def float8():
    from torchao.float8.float8_utils import amax_to_scale, tensor_to_scale  # noqa: F401

    x = torch.randn(16, 16)
    return amax_to_scale(x.abs().max(), torch.float8_e4m3fn), x.to(torch.float8_e4m3fn).float()
