"""Gradients of the same functions by ``backward()`` and by ``jax.grad``, side by side.

    python examples/compare_with_jax_grad.py

Each function is written once, with jtorch. ``backward()`` replays the tape that the call left behind; ``jax.grad`` runs
the function on JAX's tracers and knows nothing of the tape. Views, in-place writes and Python's control flow are fine in
both.
"""
from __future__ import annotations

import sys

import jax

import jtorch as torch
import jtorch.nn.functional as F

TOLERANCE = 1e-5        # float32 has about 7 digits


def network(x, w1, b1, w2, b2):
    """The loss of a classifier with one hidden layer."""
    scores = F.linear(F.relu(F.linear(x, w1, b1)), w2, b2)
    return F.cross_entropy(scores, torch.arange(len(x)) % scores.shape[1])


def attention(q, k, v):
    """Softmax attention, and how large its result is."""
    weights = torch.softmax(q @ k.mT / q.shape[-1] ** 0.5, dim=-1)
    return (weights @ v).square().mean()


def in_place(x):
    """Writes through views of a copy: each column gets a part of its left neighbour."""
    y = x.clone()
    for j in range(1, y.shape[1]):
        y[:, j] += 0.5 * y[:, j - 1]
    y[0].mul_(2)
    return y.sin().sum()


def newton(x):
    """Square roots by Newton's method, until they are good enough."""
    root = torch.ones_like(x)
    while (root * root - x).abs().max() > 1e-4:
        root = (root + x / root) / 2
    return root.sum()


def order(x):
    """Of sorted values: the gap between neighbours, and the middle."""
    ranked = x.flatten().sort().values
    return ranked.diff().pow(2).sum() + x.median() + torch.logsumexp(x, dim=0).max()


def examples():
    """Functions with arguments for them."""
    r = torch.randn
    return [(network, [r(6, 5), r(8, 5), r(8), r(3, 8), r(3)]),
            (attention, [r(4, 7, 6), r(4, 7, 6), r(4, 7, 6)]),
            (in_place, [r(3, 4)]),
            (newton, [torch.rand(4) + 0.5]),
            (order, [r(4, 4)])]


def by_backward(function, args):
    """The gradients with PyTorch's API."""
    leaves = [a.clone().requires_grad_() for a in args]
    function(*leaves).backward()
    return [leaf.grad for leaf in leaves]


def by_jax_grad(function, args):
    """The gradients with JAX's. Tensors go in and come out; ``jax.grad`` wants the result as JAX's own array."""
    return jax.grad(lambda *a: function(*a).jax(), argnums=tuple(range(len(args))))(*args)


def compare(function, args):
    """Prints both gradients of each argument. Returns the largest difference."""
    largest = 0.0
    print(f"{function.__name__}: {function.__doc__}")
    for i, (ours, jaxs) in enumerate(zip(by_backward(function, args), by_jax_grad(function, args), strict=True)):
        difference = (ours - jaxs).abs().max().item()
        largest = max(largest, difference if difference == difference else float("inf"))
        print(f"  argument {i} {list(args[i].shape)!s:10}  {row(ours)}   {row(jaxs)}   {difference:.1e}")
    return largest


def row(gradient):
    """The first elements of a gradient, on one line."""
    shown = gradient.flatten()[:3].tolist()
    return " ".join(f"{x:9.5f}" for x in shown) + (" …" if gradient.numel() > 3 else "  ")


def main():
    """Compares all functions; the exit status is 1 if any gradients differ."""
    torch.manual_seed(0)
    print(f"{'':26}{'backward()':31}   {'jax.grad':31}   difference")
    largest = max([compare(function, args) for function, args in examples()])
    print(f"largest difference {largest:.1e}")
    if not largest < TOLERANCE:
        sys.exit(f"The gradients differ by more than {TOLERANCE}.")


if __name__ == "__main__":
    main()
