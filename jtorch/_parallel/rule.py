"""Rules that split an op over ranks, and the choice of placements with the least traffic.

A rule gives each dim of each argument and result a label. A dim whose label is in a result can be split: each rank computes a
shard of the result. A dim whose label is in no result is summed over: each rank computes a term. A dim without a label is not
split. Each mesh dimension is decided independently.
"""
from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any

from jtorch._parallel.dtensor import DTensor
from jtorch._parallel.layout import Placements, is_even
from jtorch._parallel.placements import Partial, Placement, Replicate, Shard, _StridedShard
from jtorch.distributed.device_mesh import DeviceMesh

Labels = tuple[Hashable, ...]


@dataclass
class Rule:
    """The labels of an op's arguments and results, and further facts for splitting it.

    Args:
        ins: the labels of each argument's dims.
        outs: the labels of each result's dims.
        sums: the reduction over labels that are in no result; None, if dims with these labels cannot be split.
        linear: tuples of flags, one for each argument. If the flagged arguments are Partial, the results are Partial.
        even: the labels that are split only into equal parts.
        also: for labels in ``even``, a further size that must be divisible too.
        localize: a function that changes size arguments to those of the shard.
        sizes: the size of each label; ``choose`` adds those of the arguments.

    """

    ins: list[Labels]
    outs: list[Labels]
    sums: str | None = None
    linear: tuple[tuple[bool, ...], ...] = ()
    even: frozenset = frozenset()
    also: dict[Hashable, int] = field(default_factory=dict)
    localize: Callable | None = None
    sizes: dict[Hashable, int] = field(default_factory=dict)


@dataclass
class Chosen:
    """The chosen placements of arguments and results.

    ``entered`` has for each argument the mesh dimensions on which it is replicated although the op is split.
    """

    ins: list[Placements]
    outs: list[Placements]
    entered: list[list[int]]


_Way = tuple[list[Placement], list[Placement]]


def choose(rule: Rule, given: list[DTensor], mesh: DeviceMesh, writes: bool) -> Chosen:
    """Return the placements with the least traffic on each mesh dimension."""
    for t, labels in zip(given, rule.ins, strict=True):
        for n, label in zip(t._spec.shape, labels, strict=True):
            if label is not None:
                rule.sizes.setdefault(label, n)
    same = _same_everywhere(rule, given)
    if same is not None:
        return same
    ways = [_cheapest(rule, given, i, mesh, writes) for i in range(mesh.ndim)]
    ins = [tuple([way[0][k] for way in ways]) for k in range(len(given))]
    outs = [tuple([way[1][k] for way in ways]) for k in range(len(rule.outs))]
    entered = [[i for i, way in enumerate(ways) if isinstance(way[0][k], Replicate) and not _is_whole(way)]
               for k in range(len(given))]
    return Chosen(ins, outs, entered)


def _same_everywhere(rule: Rule, given: list[DTensor]) -> Chosen | None:
    """Return the arguments' placements unchanged, if all are equal and contain a strided shard; None otherwise."""
    first = given[0]._spec.placements
    if any(isinstance(p, _StridedShard) for p in first) and all(t._spec.placements == first for t in given) \
            and all(labels == rule.ins[0] for labels in [*rule.ins, *rule.outs]) and not rule.sums:
        return Chosen([first] * len(given), [first] * len(rule.outs), [[] for _ in given])
    return None


def _is_whole(way: _Way) -> bool:
    return all(isinstance(p, Replicate) for p in [*way[0], *way[1]])


def _cheapest(rule: Rule, given: list[DTensor], i: int, mesh: DeviceMesh, writes: bool) -> _Way:
    ways = list(_ways(rule, given, i, mesh))
    if writes:      # The argument that is written to keeps its placement.
        ways = [w for w in ways if w[0][0] == given[0]._spec.placements[i] and w[1][0] == w[0][0]]
        if not ways:
            raise RuntimeError(f"in-place operations that require placement changes are not supported: the tensor is "
                               f"{given[0]._spec.placements}")
    return min(ways, key=lambda way: sum(_cost(t, i, p, mesh.size(i)) for t, p in zip(given, way[0], strict=True)))


def _ways(rule: Rule, given: list[DTensor], i: int, mesh: DeviceMesh) -> Any:
    yield [Replicate()] * len(given), [Replicate()] * len(rule.outs)
    labels = dict.fromkeys([x for group in [*rule.outs, *rule.ins] for x in group if x is not None])
    for label in labels:
        way = _split(rule, label, mesh.size(i), mesh.size(), _is_split(rule, given, i, label))
        if way is not None:
            yield way
    for kind in {t._spec.placements[i].reduce_op: None for t in given if isinstance(t._spec.placements[i], Partial)}:      # type: ignore[attr-defined]
        if kind in ("sum", "avg"):
            for flags in rule.linear:
                yield [Partial(kind) if f else Replicate() for f in flags], [Partial(kind)] * len(rule.outs)


def _is_split(rule: Rule, given: list[DTensor], i: int, label: Hashable) -> bool:
    return any(_place(label, labels) == t._spec.placements[i] != Replicate() for t, labels in zip(given, rule.ins, strict=True))


def _split(rule: Rule, label: Hashable, n: int, ranks: int, already: bool) -> _Way | None:
    size, summed = rule.sizes.get(label, 0), [label not in out for out in rule.outs]
    uneven = label in rule.even and not (is_even(size, ranks) and is_even(rule.also.get(label, size), ranks))
    no_sum = any(summed) and (rule.sums is None or not all(summed) or (rule.sums == "avg" and not is_even(size, n)))
    if uneven or no_sum or (size < n and not already):
        return None
    return ([_place(label, labels) for labels in rule.ins],
            [Partial(rule.sums) if any(summed) else _place(label, labels) for labels in rule.outs])      # type: ignore[arg-type]


def _place(label: Hashable, labels: Labels) -> Placement:
    return Shard(labels.index(label)) if label in labels else Replicate()


def _cost(t: DTensor, i: int, wanted: Placement, n: int) -> float:
    """Estimate the microseconds of redistributing a tensor to a placement, as PyTorch does."""
    now = t._spec.placements[i]
    if now == wanted or (isinstance(now, Replicate) and not isinstance(wanted, Partial)):
        return 0.0
    if isinstance(wanted, Partial):
        return float("inf")
    whole = 1.0
    for s in t._spec.shape:
        whole *= s
    moved = whole * t.element_size() * (n - 1) / n / 1e4
    if isinstance(wanted, Shard):
        return 6.6 + (moved / n if isinstance(now, Shard) else moved)
    return 6.6 + (2 * moved if isinstance(now, Partial) else moved)
