"""Checks of attention: its kernels equal the formula, and take no memory for weights."""
from __future__ import annotations

from typing import Any

from tools.gpu.checks import Check
from tools.gpu.expect import equal, true

SIZE = (2, 4, 256, 64)          # This shape fits the blocks of the kernels.
LONG = (1, 8, 8192, 64)         # The attention weights would take 2 GiB of float32.


def _all_of(torch: Any, inputs: list, is_causal: bool) -> list:
    """Return the result and the gradients of query, key and value."""
    out = torch.nn.functional.scaled_dot_product_attention(*inputs, is_causal=is_causal)
    weight = torch.linspace(-1, 1, out.numel(), device=out.device).reshape(out.shape).to(out.dtype)
    return [x.detach().double() for x in (out, *torch.autograd.grad(out, inputs, weight))]


def _inputs(torch: Any, size: tuple, dtype: Any) -> list:
    torch.manual_seed(0)
    return [torch.randn(size, device="cuda").to(dtype).requires_grad_() for _ in range(3)]


def _exact(torch: Any, name: str, bound: float, is_causal: bool) -> None:
    inputs = _inputs(torch, SIZE, getattr(torch, name))
    exact = _all_of(torch, [x.detach().double().requires_grad_() for x in inputs], is_causal)
    for found, expected in zip(_all_of(torch, inputs, is_causal), exact, strict=True):
        error = ((found - expected).norm() / expected.norm()).item()
        true(error < bound, f"{name}: {error} of the norm")


def _like_float64(torch: Any) -> None:
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high")
    try:
        for is_causal in (False, True):
            for name, bound in (("float32", 2e-3), ("float16", 3e-3), ("bfloat16", 2e-2)):
                _exact(torch, name, bound, is_causal)
    finally:
        torch.set_float32_matmul_precision(before)


def _without_weights(torch: Any) -> None:
    inputs = _inputs(torch, LONG, torch.bfloat16)
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    out = torch.nn.functional.scaled_dot_product_attention(*inputs, is_causal=True)
    gradients = torch.autograd.grad(out.float().sum(), inputs)
    true(all(g.isfinite().all().item() for g in gradients), "finite gradients")
    taken = torch.cuda.max_memory_allocated() - before
    true(taken < 1 << 29, f"{taken >> 20} MiB taken")
    equal(out.shape, LONG)


CHECKS = [Check("attention is as exact as its dtype", _like_float64),
          Check("attention takes no memory for weights", _without_weights, needs_gpu=True)]
