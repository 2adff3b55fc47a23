"""Calls with sizes that vary from turn to turn give PyTorch's results, whatever sizes came before."""
from __future__ import annotations

import warnings

import numpy as np
import pytest

BODIES = {
    "text": lambda torch, x: torch.softmax(x @ x.mT / 2, -1).tril() @ x,
    "mean": lambda torch, x: (x.mean(1), x.std(1), x.sum(), x[:, -1], x.argmax(1)),
    "views": lambda torch, x: (x.reshape(-1, 4).t(), x.view(2, -1), x.transpose(1, 2).contiguous(), x.unfold(1, 1, 1)),
    "cat": lambda torch, x: torch.cat([x, x[:, :1]], 1).cumsum(1),
    "norm": lambda torch, x: torch.nn.functional.layer_norm(x, (4,)) + torch.nn.functional.gelu(x),
    "conv": lambda torch, x: torch.nn.functional.conv1d(x.mT, torch.ones(3, 4, 1)),
    "pool": lambda torch, x: torch.nn.functional.max_pool1d(x.mT, 2),
    "made": lambda torch, x: (torch.arange(x.shape[1]) * 2 + torch.ones(x.shape[1])
                               - torch.linspace(0, 1, x.shape[1]) + torch.eye(x.shape[1]).sum(0)),
    "sorted": lambda torch, x: (x.sort(1)[0], x.topk(min(2, x.shape[1]), 1)[0], x.flip(1), x.roll(1, 1),
                                 x.chunk(2, 1)[0]),
    "masks": lambda torch, x: (x[x > 0], x.masked_fill(x > 0, 1.), torch.where(x > 0, x, -x), x.nonzero()),
    "loss": lambda torch, x: torch.nn.functional.cross_entropy(
        x.flatten(0, 1), torch.zeros(2 * x.shape[1], dtype=torch.long), reduction="sum"),
    "einsum": lambda torch, x: (torch.einsum("bic,bjc->bij", x, x), torch.linalg.multi_dot([x[0], x[0].T, x[1]])),
    "only six": lambda torch, x: x[:, :6].reshape(2, 6, 4),
    "repeat": lambda torch, x: (x.repeat(1, 2, 1), x.expand(3, *x.shape), x.repeat_interleave(2, 1),
                                 torch.nn.functional.pad(x, (0, 0, 1, 2))),
}
LENGTHS = (3, 4, 5, 6, 9, 17, 2, 1, 33, 0, 64, 5)


def outcome(xp, body, n: int):
    x = (xp.arange(8.0 * n).reshape(2, n, 4) * 1.7).sin().requires_grad_()
    try:
        made = body(xp, x)
        made = made if isinstance(made, tuple) else (made,)
        smooth = [m.sum() for m in made if m.requires_grad]
        grad = xp.autograd.grad(sum(smooth), x, allow_unused=True)[0] if smooth else None
        return [None if m is None else m.detach().numpy() for m in (*made, grad)]
    except (RuntimeError, IndexError, ValueError) as e:
        return type(e), str(e).split("\n")[0]


@pytest.mark.one_mode
@pytest.mark.conformance
@pytest.mark.parametrize("name", BODIES)
def test_lengths_that_vary(name, torch):
    """Forward, backward and the errors of some lengths are PyTorch's, whatever lengths came before."""
    import jtorch
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for n in LENGTHS:
            got, want = outcome(jtorch, BODIES[name], n), outcome(torch, BODIES[name], n)
            assert type(got) is type(want), (n, got, want)
            if isinstance(want, tuple):
                assert got == want, n
                continue
            for a, b in zip(got, want, strict=True):
                assert (a is None) == (b is None) and (a is None or (a.shape == b.shape and a.dtype == b.dtype)), (n, a, b)
                if a is not None:
                    np.testing.assert_allclose(a, b, 1e-4, 1e-4, err_msg=f"length {n}")


def test_warnings_of_each_size(same):
    same(
        lambda xp: [xp.ones(2, n).cov().shape for n in (3, 2, 1, 5, 1, 1)],
        lambda xp: [xp.ones(n, dtype=xp.complex64).sum(dtype=xp.float32) for n in (3, 4, 5, 6)],
    )
