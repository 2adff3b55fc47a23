"""Loops over rows, samples, positions and cells, for ``stalls``."""
from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from benchmarks.models import _labels, _numbers
from benchmarks.programs import _fit


def rows_of_a_table(torch: Any, count: int = 170, rows: int = 64, atoms: int = 51) -> Iterator[float]:
    """Project distributions of returns onto a support, row by row, as in C51 and Rainbow."""
    values = torch.tensor(_numbers(count, rows, 1)) * 0.1 + torch.linspace(-10, 10, atoms)
    given = torch.softmax(torch.tensor(_numbers(rows, atoms)), 1)
    for turn in range(count):
        b = (values[turn].clamp(-10, 10) + 10) / (20 / (atoms - 1))
        lower, upper = b.floor().long(), b.ceil().long()
        projected = torch.zeros(rows, atoms)
        for i in range(rows):
            projected[i].index_add_(0, lower[i], given[i] * (upper[i] - b[i]))
            projected[i].index_add_(0, upper[i], given[i] * (b[i] - lower[i]))
        yield projected.sum().item()


def recurrence(torch: Any, count: int = 20, samples: int = 1500) -> Iterator[float]:
    """Smooth a signal sample by sample."""
    x = torch.tensor(_numbers(samples))
    for turn in range(count):
        y = torch.zeros(samples)
        decay = 0.9 + 0.001 * turn
        y[0] = x[0]
        for t in range(1, samples):
            y[t] = decay * y[t - 1] + (1 - decay) * x[t]
        yield y.sum().item()


def audio_filter(torch: Any, count: int = 10, samples: int = 600) -> Iterator[float]:
    """Filter a batch of sounds by biquads, with gradients of the coefficients."""
    x, target = torch.tensor(_numbers(4, samples)), torch.tensor(_numbers(4, samples))
    b = torch.tensor([0.2, 0.4, 0.2], requires_grad=True)
    a = torch.tensor([-0.5, 0.1], requires_grad=True)
    optimizer = torch.optim.Adam([a, b], lr=1e-3)

    def loss_of():
        zero = torch.zeros(4)
        x1, x2, y1, y2, out = zero, zero, zero, zero, []
        for t in range(samples):
            now = x[:, t]
            y = b[0] * now + b[1] * x1 + b[2] * x2 - a[0] * y1 - a[1] * y2
            x1, x2, y1, y2 = now, x1, y, y1
            out.append(y)
        return ((torch.stack(out, 1) - target) ** 2).mean()
    yield from _fit(optimizer, loss_of, count)


def forward_algorithm(torch: Any, count: int = 40, length: int = 30, tags: int = 9) -> Iterator[float]:
    """Train a conditional random field: its forward algorithm, and scores of a given path."""
    torch.manual_seed(0)
    nn = torch.nn
    emit, change = nn.Linear(16, tags), nn.Parameter(0.1 * torch.randn(tags, tags))
    x, y = torch.tensor(_numbers(8, length, 16)), torch.tensor(_labels(8 * length, tags).reshape(8, length))

    def loss_of():
        scores = emit(x)
        alpha = scores[:, 0]
        path = scores[:, 0].gather(1, y[:, :1]).squeeze(1)
        for t in range(1, length):
            alpha = torch.logsumexp(alpha.unsqueeze(2) + change, 1) + scores[:, t]
            path = path + change[y[:, t - 1], y[:, t]] + scores[:, t].gather(1, y[:, t:t + 1]).squeeze(1)
        return (torch.logsumexp(alpha, 1) - path).mean()
    yield from _fit(torch.optim.Adam([*emit.parameters(), change], lr=1e-2), loss_of, count)


def kalman_filter(torch: Any, count: int = 30, length: int = 100) -> Iterator[float]:
    """Follow a body on a plane by noisy positions."""
    step, seen = torch.eye(4), torch.eye(2, 4)
    step[0, 2] = step[1, 3] = 0.1
    noise, blur = 0.01 * torch.eye(4), 0.1 * torch.eye(2)
    positions = torch.tensor(_numbers(count, length, 2)).cumsum(1)
    for turn in range(count):
        mean, covariance, errors = torch.zeros(4), torch.eye(4), 0.0
        for t in range(length):
            mean, covariance = step @ mean, step @ covariance @ step.T + noise
            gap = positions[turn, t] - seen @ mean
            gain = covariance @ seen.T @ torch.linalg.inv(seen @ covariance @ seen.T + blur)
            mean, covariance = mean + gain @ gap, (torch.eye(4) - gain @ seen) @ covariance
            errors = errors + (gap ** 2).sum()
        yield errors.item()


def cellular_automaton(torch: Any, count: int = 200, size: int = 64) -> Iterator[float]:
    """Play the game of life on a padded board, by slices."""
    board = (torch.tensor(_numbers(size, size)) > 0.5).to(torch.int32)
    for _ in range(count):
        wide = torch.zeros(size + 2, size + 2, dtype=torch.int32)
        wide[1:-1, 1:-1] = board
        near = sum(wide[1 + i:size + 1 + i, 1 + j:size + 1 + j] for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j)
        board = ((near == 3) | ((board == 1) & (near == 2))).to(torch.int32)
        yield board.sum().item()


def soft_warping(torch: Any, count: int = 8, length: int = 24) -> Iterator[float]:
    """Train a series by soft dynamic time warping, cell by cell."""
    x = torch.tensor(_numbers(length, 2), requires_grad=True)
    y = torch.tensor(_numbers(2 * length, 2)[length:])
    optimizer = torch.optim.SGD([x], lr=0.01)

    def loss_of():
        apart = ((x[:, None] - y[None]) ** 2).sum(-1)
        far = torch.tensor(math.inf)
        before = [torch.tensor(0.0)] + [far] * length
        for i in range(length):
            here = [far]
            for j in range(length):
                near = torch.stack([before[j], before[j + 1], here[j]])
                here.append(apart[i, j] - torch.logsumexp(-near, 0))
            before = here
        return before[-1]
    yield from _fit(optimizer, loss_of, count)


def in_place_cache(torch: Any, count: int = 200, width: int = 128, heads: int = 4, layers: int = 2) -> Iterator[float]:
    """Decode with a cache of fixed size. Each token writes one position of the cache."""
    torch.manual_seed(0)
    nn, fn = torch.nn, torch.nn.functional
    qkv = nn.ModuleList([nn.Linear(width, 3 * width) for _ in range(layers)])
    out = nn.ModuleList([nn.Linear(width, width) for _ in range(layers)])
    keys, kept = (torch.zeros(layers, 1, heads, count, width // heads) for _ in range(2))
    x = torch.tensor(_numbers(1, 1, width))
    with torch.no_grad():
        for t in range(count):
            for k in range(layers):
                q, key, value = (a.view(1, heads, -1) for a in qkv[k](x).chunk(3, -1))
                keys[k, :, :, t], kept[k, :, :, t] = key, value
                mixed = fn.scaled_dot_product_attention(q.unsqueeze(2), keys[k, :, :, :t + 1], kept[k, :, :, :t + 1])
                x = x + out[k](mixed.reshape(1, 1, width)).tanh()
            yield x.sum().item()


LOOPS = {
    "rows of a table, 170 turns": rows_of_a_table,
    "recurrence over 1,500 samples, 20 turns": recurrence,
    "biquads over 600 samples, 10 steps": audio_filter,
    "conditional random field, 40 steps": forward_algorithm,
    "Kalman filter, 30 turns": kalman_filter,
    "game of life, 200 turns": cellular_automaton,
    "soft time warping, 8 steps": soft_warping,
    "decoding into a cache in place, 200 tokens": in_place_cache,
}
