"""A user's script: it runs (test_stubs.py), and mypy agrees with its types (scripts/check)."""
from __future__ import annotations

from typing import assert_type

import jtorch as torch
from jtorch import Tensor

x = torch.randn(3)
y = (x * 2).sum().item()
assert_type(x, Tensor)
assert_type(x * 2 + 1 - x / 3, Tensor)
assert_type(2 / x @ x, Tensor)
assert_type(x == 2, Tensor)
assert_type(-x[1:] ** 2, Tensor)
assert_type(torch.zeros(2, 3), Tensor)
assert_type(torch.zeros((2, 3), dtype=torch.int64, device="cpu"), Tensor)
assert_type(x.shape, torch.Size)
assert_type(x.dtype, torch.dtype)
assert_type(x.device, torch.device)
assert_type(x.tanh().exp_().float(), Tensor)
assert_type(x.max(), Tensor)
assert_type(x.max(dim=0).indices, Tensor)
assert_type(torch.max(x, dim=0)[0], Tensor)
assert_type(torch.zeros(4, 2).split(2), tuple[Tensor, ...])
assert_type(torch.cat([x, x]).reshape(2, 3).T, Tensor)
assert_type(torch.tensor([1.0, 2.0], requires_grad=True).grad, Tensor | None)
assert_type(torch.is_tensor(x), bool)
assert_type(torch.linalg.inv(torch.eye(2)), Tensor)
assert_type(torch.linalg.qr(torch.eye(2)).Q, Tensor)
assert_type(torch.fft.fft(x).real, Tensor)

w = torch.ones(3, requires_grad=True)
loss: Tensor = ((w - x) ** 2).mean()
loss.backward()
with torch.no_grad():
    assert w.grad is not None
    w -= 0.1 * w.grad
values, indices = torch.sort(x, descending=True)
first: float = values[0].item()
count: int = x.numel()
