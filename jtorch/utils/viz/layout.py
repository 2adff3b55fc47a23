"""A layered layout of a directed graph: the places of boxes, and the points of the edges between them.

Source: Sugiyama, Tagawa and Toda, 1981. A box lies one layer below its lowest predecessor. An edge across several layers gets
a point in each. The order within a layer is improved by moving each box to the mean position of its neighbours.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

GAP, HEIGHT, LAYER = 24.0, 36.0, 78.0
ROUNDS = 6


@dataclass
class Layout:
    """The centres of boxes, the points of each edge, and the size of the layout."""

    boxes: list[tuple[float, float]]
    lines: list[list[tuple[float, float]]]
    width: float
    height: float


def layered(widths: Sequence[float], edges: Sequence[tuple[int, int]]) -> Layout:
    """Return the layout of boxes of these widths with edges (from, to), which must be acyclic."""
    depth = _depths(len(widths), edges)
    sizes = list(widths)
    chains = [_chain(a, b, depth, sizes) for a, b in edges]
    layers = _ordered(depth, chains)
    x = _places(layers, sizes, chains)
    right = max((x[i] + sizes[i] / 2 for i in range(len(sizes))), default=0)
    at = [(x[i], depth[i] * LAYER + HEIGHT / 2) for i in range(len(sizes))]
    return Layout(at[:len(widths)], [[at[i] for i in chain] for chain in chains], right, (len(layers) - 1) * LAYER + HEIGHT)


def _depths(n: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    """Return the layer of each box: the length of the longest path to it; sources lie directly above their first successor."""
    after: list[list[int]] = [[] for _ in range(n)]
    missing = [0] * n
    for a, b in edges:
        after[a].append(b)
        missing[b] += 1
    depth = [0] * n
    order = [i for i in range(n) if not missing[i]]
    sources = list(order)
    for i in order:
        for j in after[i]:
            depth[j] = max(depth[j], depth[i] + 1)
            missing[j] -= 1
            if not missing[j]:
                order.append(j)
    for i in sources:
        depth[i] = min((depth[j] for j in after[i]), default=1) - 1
    return depth


def _chain(a: int, b: int, depth: list[int], sizes: list[float]) -> list[int]:
    """Return the edge from ``a`` to ``b`` with a new point, of no width, in each layer between."""
    points = list(range(len(sizes), len(sizes) + max(0, depth[b] - depth[a] - 1)))
    sizes += [0.0] * len(points)
    depth += range(depth[a] + 1, depth[a] + 1 + len(points))
    return [a, *points, b]


def _neighbours(n: int, chains: Sequence[Sequence[int]]) -> tuple[list[list[int]], list[list[int]]]:
    above: list[list[int]] = [[] for _ in range(n)]
    below: list[list[int]] = [[] for _ in range(n)]
    for chain in chains:
        for a, b in zip(chain, chain[1:], strict=False):
            below[a].append(b)
            above[b].append(a)
    return above, below


def _ordered(depth: Sequence[int], chains: Sequence[Sequence[int]]) -> list[list[int]]:
    """Return the layers, each in an order with few crossings."""
    layers: list[list[int]] = [[] for _ in range(max(depth, default=-1) + 1)]
    for i, d in enumerate(depth):
        layers[d].append(i)
    above, below = _neighbours(len(depth), chains)
    rank = {i: float(k) for layer in layers for k, i in enumerate(layer)}
    for k in range(ROUNDS):
        for layer in (layers if k % 2 == 0 else layers[::-1]):
            near = above if k % 2 == 0 else below
            layer.sort(key=lambda i, near=near: _mean([rank[j] for j in near[i]], rank[i]))     # type: ignore[misc]
            rank.update((i, float(place)) for place, i in enumerate(layer))
    return layers


def _mean(values: Sequence[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise


def _places(layers: list[list[int]], sizes: Sequence[float], chains: Sequence[Sequence[int]]) -> list[float]:
    """Return x of all points: the mean of the neighbours, as far as adjacent boxes allow."""
    above, below = _neighbours(len(sizes), chains)
    x = [0.0] * len(sizes)
    for layer in layers:
        _spread(layer, sizes, x, [0.0] * len(layer))
    for k in range(2 * ROUNDS):
        near = below if k % 2 else above
        for layer in (layers[::-1] if k % 2 else layers):
            _spread(layer, sizes, x, [_mean([x[j] for j in near[i]], x[i]) for i in layer])
    left = min((x[i] - sizes[i] / 2 for i in range(len(sizes))), default=0)
    return [v - left for v in x]


def _spread(layer: Sequence[int], sizes: Sequence[float], x: list[float], wanted: Sequence[float]) -> None:
    """Place a layer's boxes at the wanted positions, moved apart as far as necessary, by isotonic regression."""
    offsets, end = [], 0.0
    for i in layer:
        offsets.append(end + sizes[i] / 2)
        end += sizes[i] + GAP
    blocks: list[list[float]] = []      # Each block is the sum and the count of neighbours that touch.
    for want, offset in zip(wanted, offsets, strict=True):
        blocks.append([want - offset, 1])
        while len(blocks) > 1 and blocks[-2][0] / blocks[-2][1] >= blocks[-1][0] / blocks[-1][1]:
            total, count = blocks.pop()
            blocks[-1][0] += total
            blocks[-1][1] += count
    starts = [total / count for total, count in blocks for _ in range(int(count))]
    for i, start, offset in zip(layer, starts, offsets, strict=True):
        x[i] = start + offset
