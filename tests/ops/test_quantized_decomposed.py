"""Quantization in integer tensors: torch.ops.quantized_decomposed, int8 products, and learnable fake quantization."""
from __future__ import annotations

import importlib

import pytest
from bodies import bodies

INT8 = (-128, 127)


def _value(xp, program):
    if xp.__name__ == "torch":
        importlib.import_module("torch.ao.quantization.fx._decomposed")
    x = xp.arange(-12.0, 12.0).reshape(4, 6) / 3
    return program(xp, xp.ops.quantized_decomposed, x)


def channels(xp):
    return xp.tensor([0.1, 0.2, 0.3, 0.4]), xp.tensor([0, 1, 2, 3])


VALUES = [
    lambda xp, qd, x: qd.quantize_per_tensor(x, 0.1, 3, *INT8, xp.int8),
    lambda xp, qd, x: qd.quantize_per_tensor.default(x.bfloat16(), 0.1, 3, 0, 255, xp.uint8),
    lambda xp, qd, x: qd.quantize_per_tensor.tensor(x, xp.tensor(0.1), xp.tensor(3), *INT8, xp.int8),
    lambda xp, qd, x: qd.quantize_per_tensor.tensor2(x, xp.tensor(0.1), xp.tensor(3), xp.tensor(-8), xp.tensor(7), xp.int8),
    lambda xp, qd, x: qd.dequantize_per_tensor(x.to(xp.int8), 0.1, 3, *INT8, xp.int8),
    lambda xp, qd, x: qd.dequantize_per_tensor(x.to(xp.int8), 0.1, 3, *INT8, xp.int8, out_dtype=xp.bfloat16),
    lambda xp, qd, x: qd.dequantize_per_tensor.tensor(x.to(xp.int8), xp.tensor(0.1), xp.tensor(3), *INT8, xp.int8),
    lambda xp, qd, x: (qd.choose_qparams.tensor(x, *INT8, 1e-5, xp.int8), qd.choose_qparams.tensor(x + 9, *INT8, 1e-5, xp.int8)),
    lambda xp, qd, x: qd.choose_qparams.tensor(x.abs() * 3e38, *INT8, 1e-5, xp.int8),
    lambda xp, qd, x: [qd.choose_qparams_symmetric.tensor(x, low, high, 1e-5, d)
                       for low, high, d in ((*INT8, xp.int8), (0, 255, xp.uint8))],
    lambda xp, qd, x: (qd.choose_qparams_per_token(x, xp.int8), qd.choose_qparams_per_token_asymmetric(x, xp.int8)),
    lambda xp, qd, x: qd.quantize_per_channel(x, *channels(xp), 0, *INT8, xp.int8),
    lambda xp, qd, x: qd.quantize_per_channel(x.t().contiguous(), *channels(xp), 1, *INT8, xp.int8),
    lambda xp, qd, x: qd.dequantize_per_channel(x.to(xp.int8), *channels(xp), 0, *INT8, xp.int8),
    lambda xp, qd, x: qd.dequantize_per_channel(x.to(xp.int8), channels(xp)[0], None, 0, *INT8, xp.int8, out_dtype=xp.float16),
    lambda xp, qd, x: qd.quantize_per_token(x, *qd.choose_qparams_per_token_asymmetric(x, xp.int8), *INT8, xp.int8),
    lambda xp, qd, x: qd.dequantize_per_token(x.to(xp.int8), *qd.choose_qparams_per_token(x, xp.int8), *INT8, xp.int8, xp.float32),
    lambda xp, qd, x: qd.quantize_per_channel_group(x, xp.full((4, 2), 0.1), xp.zeros(4, 2, dtype=xp.int32), -8, 7, xp.int8, 3),
    lambda xp, qd, x: qd.dequantize_per_channel_group(x.to(xp.int8), xp.full((4, 2), 0.1), None, -8, 7, xp.int8, 3, xp.float32),
    lambda xp, qd, x: (qd.convert_element_type.no_fuse(x, xp.int32), str(qd.quantize_per_token.default._schema)),
]
ERRORS = [
    lambda xp, qd, x: qd.quantize_per_tensor(x.double(), 0.1, 3, *INT8, xp.int8),
    lambda xp, qd, x: qd.quantize_per_tensor(x, 0.1, 3, -129, 127, xp.int8),
    lambda xp, qd, x: qd.quantize_per_tensor(x, 0.1, 3, -128, 128, xp.int8),
    lambda xp, qd, x: qd.quantize_per_tensor(x, 0.1, 3, *INT8, xp.int64),
    lambda xp, qd, x: qd.quantize_per_tensor.tensor(x, xp.tensor([0.1, 0.2]), xp.tensor(3), *INT8, xp.int8),
    lambda xp, qd, x: qd.dequantize_per_tensor(x.to(xp.int8), 0.1, 3, *INT8, xp.uint8),
    lambda xp, qd, x: qd.choose_qparams.tensor(x, 3, 127, 1e-5, xp.int8),
    lambda xp, qd, x: qd.choose_qparams_per_token(x, xp.uint8),
    lambda xp, qd, x: qd.quantize_per_channel(x, *channels(xp), 2, *INT8, xp.int8),
    lambda xp, qd, x: qd.quantize_per_token(x, xp.ones(3), xp.ones(4), *INT8, xp.int8),
    lambda xp, qd, x: qd.quantize_per_channel_group(x, xp.ones(4, 2), xp.zeros(4, 2), -8, 7, xp.int8, 4),
    lambda xp, qd, x: qd.quantize_per_channel_group(x * float("nan"), xp.ones(4, 2), xp.zeros(4, 2), -8, 7, xp.int8, 3),
]


@pytest.mark.parametrize("body", bodies(_value, VALUES + ERRORS), ids=lambda b: b.label)
def test_operators(same, body):
    same(body, rtol=1e-6)


def test_fake_quantization_per_channel(same):
    def body(xp):
        if xp.__name__ == "torch":
            importlib.import_module("torch.ao.quantization.fx._decomposed")
        x = (xp.arange(-12.0, 12.0).reshape(4, 6) / 3).requires_grad_()
        made = xp.ops.quantized_decomposed.fake_quant_per_channel(x, *channels(xp), 0, -8, 7)
        made.sum().backward()
        return made.detach(), x.grad
    same(body)


def _int8_product(xp, program):
    x, w = (xp.arange(4 * 64) % 31 - 15.0).reshape(4, 64) / 8, (xp.arange(16 * 64) % 251 - 120).to(xp.int8).reshape(16, 64)
    return program(xp, x, w, xp.arange(1, 17) / 16)


PRODUCTS = [
    lambda xp, x, w, s: xp._weight_int8pack_mm(x, w, s),
    lambda xp, x, w, s: xp.ops.aten._weight_int8pack_mm(x.bfloat16(), w, s.bfloat16()),
    lambda xp, x, w, s: xp._weight_int8pack_mm(x.half(), w, s.half()),
    lambda xp, x, w, s: xp._weight_int8pack_mm(x.double(), w, s),
    lambda xp, x, w, s: xp._weight_int8pack_mm(x, w.int(), s),
    lambda xp, x, w, s: xp._weight_int8pack_mm(x, w[:, ::2].contiguous(), s),
    lambda xp, x, w, s: xp._weight_int8pack_mm(x, w.t(), s),
    lambda xp, x, w, s: xp._weight_int8pack_mm(x, w, s[1:]),
    lambda xp, x, w, s: xp._weight_int8pack_mm(x[None], w, s),
    lambda xp, x, w, s: xp._weight_int8pack_mm(x.t().contiguous().t(), w, s),
    lambda xp, x, w, s: xp.ops.aten.fake_quantize_per_tensor_affine_cachemask(x, 0.1, 3, -8, 7),
    lambda xp, x, w, s: xp.ops.aten.fake_quantize_per_channel_affine_cachemask(x, xp.ones(4), xp.zeros(4).int(), 0, -1, 1),
]


@pytest.mark.parametrize("body", bodies(_int8_product, PRODUCTS), ids=lambda b: b.label)
def test_products_and_masks(same, body):
    same(body, rtol=2e-2)


def _learned(xp, zero):
    x = xp.arange(-11.5, 12.0).reshape(4, 6) / 3
    outs = []
    for scale, zeros, function, axis in ((xp.tensor([0.125]), xp.tensor([zero]), xp._fake_quantize_learnable_per_tensor_affine, ()),
                                         (channels(xp)[0], xp.full((4,), zero), xp._fake_quantize_learnable_per_channel_affine, (0,))):
        leaves = [t.clone().requires_grad_() for t in (x, scale, zeros)]
        made = function(*leaves, *axis, -8, 7, 0.5)
        (made * x).sum().backward()
        outs += [made.detach(), leaves[0].grad + 0.0, leaves[1].grad, leaves[2].grad, type(made.grad_fn).__name__]
    return outs


@pytest.mark.parametrize("body", bodies(_learned, [1.0, 2.5, -3.6, 100.0]), ids=lambda b: b.label)
def test_learnable_fake_quantization(same, body):
    same(body, rtol=1e-5)


def test_tensors_of_quantized_dtypes_are_refused():
    from libraries import library
    xp = library("jtorch")
    for make in (lambda: xp.zeros(2, dtype=xp.qint8), lambda: xp.ones(2).to(xp.quint8)):
        with pytest.raises(NotImplementedError, match="only quantized tensors have such elements, see torch.quantize_per_tensor"):
            make()
