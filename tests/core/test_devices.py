"""Several devices, as 8 virtual CPUs in a process of their own."""
from __future__ import annotations

import pytest
from process_programs import virtual_devices

pytestmark = pytest.mark.core

PROGRAM = """
import jtorch as torch

x = torch.ones(3, device="cpu:1")
assert str(x.device) == "cpu:1", x.device
assert next(iter(x.jax().devices())).id == 1
y = x * 2 + 1
assert str(y.device) == "cpu:1" and y.tolist() == [3, 3, 3]
assert str(torch.zeros_like(x).device) == str(x.new_ones(2).device) == str(x[0].device) == "cpu:1"
assert str(torch.tensor([1.0], device="cpu:3").device) == "cpu:3"

z = x.to("cpu:2")
assert str(z.device) == "cpu:2" and z.tolist() == [1, 1, 1] and x.to("cpu:1") is x
assert str(z.cpu().device) == "cpu" and str(torch.arange(3).to(z).device) == "cpu:2"
x.add_(1)
assert z.tolist() == [1, 1, 1] and x.tolist() == [2, 2, 2]

for a, b in ((x, z), (x, torch.ones(3)), (torch.ones(3), x)):
    try:
        a + b
        raise SystemExit("mixed devices went through")
    except RuntimeError as e:
        assert str(e).startswith("Expected all tensors to be on the same device"), e
assert (x + torch.tensor(1.0)).tolist() == [3, 3, 3]      # 0-dim tensors of the CPU go along

x.copy_(torch.arange(3.0))
assert x.tolist() == [0, 1, 2] and str(x.device) == "cpu:1"
x[1] = torch.tensor(9.0)
x[x > 8] = 5
assert x.tolist() == [0, 5, 2]

w = torch.arange(3.0).requires_grad_()
loss = ((w.to("cpu:1") * x).to("cpu:4") ** 2).sum()
assert str(loss.device) == "cpu:4"
loss.backward()
assert str(w.grad.device) == "cpu" and w.grad.tolist() == [0, 50, 16]

p = torch.zeros(3, device="cpu:1", requires_grad=True)
for _ in range(30):
    p.grad = None
    ((p - x) ** 2).sum().backward()
    assert str(p.grad.device) == "cpu:1"
    with torch.no_grad():
        p -= 0.3 * p.grad
assert (p - x).abs().max().item() < 1e-4

torch.set_default_device("cpu:5")
for made in (torch.ones(2), torch.tensor(1), torch.arange(2), torch.rand(2)):
    assert str(made.device) == "cpu:5"
torch.set_default_device(None)
with torch.device("cpu:6"):
    assert str(torch.zeros(2).device) == "cpu:6"
try:
    torch.ones(2, device="cpu:9")
    raise SystemExit("a device that does not exist")
except RuntimeError:
    pass
import pickle, copy
assert str(pickle.loads(pickle.dumps(z)).device) == str(copy.deepcopy(z).device) == "cpu:2"
print("done")
"""


def test_eight_devices(run_forked):
    assert run_forked(PROGRAM, virtual_devices(8)).strip() == "done"
