"""Compute gradients of the same functions with ``backward()`` and with ``jax.grad``.

    python examples/compare_with_jax_grad.py --out gradients.png

Each function is written once, with jtorch. ``backward()`` walks the tape of the call. ``jax.grad`` runs the function on JAX's
tracers, without the tape. Both handle views, in-place writes and Python's control flow.
"""
from __future__ import annotations

import argparse
import sys

import jax
import pictures

import jtorch as torch
import jtorch.nn.functional as F

TOLERANCE = 1e-5        # float32 has about 7 digits.


def network(x, w1, b1, w2, b2):
    """Return the loss of a classifier with one hidden layer."""
    scores = F.linear(F.relu(F.linear(x, w1, b1)), w2, b2)
    return F.cross_entropy(scores, torch.arange(len(x)) % scores.shape[1])


def attention(q, k, v):
    """Return the size of the result of softmax attention."""
    weights = torch.softmax(q @ k.mT / q.shape[-1] ** 0.5, dim=-1)
    return (weights @ v).square().mean()


def in_place(x):
    """Write through views of a copy: each column gets a part of its left neighbour."""
    y = x.clone()
    for j in range(1, y.shape[1]):
        y[:, j] += 0.5 * y[:, j - 1]
    y[0].mul_(2)
    return y.sin().sum()


def newton(x):
    """Compute square roots by Newton's method, up to a tolerance."""
    root = torch.ones_like(x)
    while (root * root - x).abs().max() > 1e-4:
        root = (root + x / root) / 2
    return root.sum()


def order(x):
    """Return the squared gaps between sorted values, with the median and a smooth maximum."""
    ranked = x.flatten().sort().values
    return ranked.diff().pow(2).sum() + x.median() + torch.logsumexp(x, dim=0).max()


def examples():
    """Return functions with arguments for them."""
    r = torch.randn
    return [(network, [r(6, 5), r(8, 5), r(8), r(3, 8), r(3)]),
            (attention, [r(4, 7, 6), r(4, 7, 6), r(4, 7, 6)]),
            (in_place, [r(3, 4)]),
            (newton, [torch.rand(4) + 0.5]),
            (order, [r(4, 4)])]


def by_backward(function, args):
    """Return the gradients with PyTorch's API."""
    leaves = [a.clone().requires_grad_() for a in args]
    function(*leaves).backward()
    return [leaf.grad for leaf in leaves]


def by_jax_grad(function, args):
    """Return the gradients with JAX's API. Tensors go in and out; ``jax.grad`` needs a JAX array as the result."""
    return jax.grad(lambda *a: function(*a).jax(), argnums=tuple(range(len(args))))(*args)


def compare(function, args):
    """Print both gradients of each argument.

    Return the largest difference, and the elements of ``jax.grad`` and of ``backward()``.
    """
    largest, across, up = 0.0, [], []
    print(f"{function.__name__}: {function.__doc__}")
    for i, (ours, jaxs) in enumerate(zip(by_backward(function, args), by_jax_grad(function, args), strict=True)):
        difference = (ours - jaxs).abs().max().item()
        largest = max(largest, difference if difference == difference else float("inf"))
        across += jaxs.flatten().tolist()
        up += ours.flatten().tolist()
        print(f"  argument {i} {list(args[i].shape)!s:10}  {row(ours)}   {row(jaxs)}   {difference:.1e}")
    return largest, (across, up)


def row(gradient):
    """Return the first elements of a gradient on one line."""
    shown = gradient.flatten()[:3].tolist()
    return " ".join(f"{x:9.5f}" for x in shown) + (" …" if gradient.numel() > 3 else "  ")


def main():
    """Compare all functions. Exit with status 1 if gradients differ."""
    parser = argparse.ArgumentParser(description="Compares gradients of backward() and of jax.grad.")
    parser.add_argument("--out", default="gradients.png", help="the PNG file of the gradients")
    args = parser.parse_args()
    torch.manual_seed(0)
    print(f"{'':26}{'backward()':31}   {'jax.grad':31}   difference")
    bar = pictures.tqdm(examples(), unit="function", leave=False, disable=None)
    found = {function.__name__: compare(function, inputs) for function, inputs in bar}
    largest = max(difference for difference, _ in found.values())
    print(f"largest difference {largest:.1e}")
    pictures.gradients({name: pair for name, (_, pair) in found.items()}, args.out)
    print(f"picture in {args.out}")
    if not largest < TOLERANCE:
        sys.exit(f"The gradients differ by more than {TOLERANCE}.")


if __name__ == "__main__":
    main()
