"""Composite rules of products, by products of matrices."""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from jtorch._api import functions as torch
from jtorch._aten.composites.rules import composite
from jtorch._aten.composites.shapes import unsafe_view
from jtorch._aten.fitting import LISTS
from jtorch.ops.check import broadcast_shapes


def _is_folded(a: Any, b: Any) -> bool:
    """Return whether PyTorch folds the larger tensor to a matrix. See should_fold in its LinearAlgebra.cpp."""
    larger, smaller = (a, b) if a.dim() >= b.dim() else (b, a)
    if larger.dim() < 3 or smaller.dim() > 2:
        return False
    if smaller.requires_grad:
        return True
    if a.dim() == 2:
        return False
    if not larger.numel():
        return True
    size, stride = _as_pair(larger) if larger is a else _swapped(larger)
    return all([stride[i] == stride[i + 1] * size[i + 1] for i in range(larger.dim() - 2)])


def _swapped(x: Any) -> tuple[list, list]:
    size, stride = list(x.shape), list(x.stride())
    return [*size[:-2], size[-1], size[-2]], [*stride[:-2], stride[-1], stride[-2]]


def _as_pair(x: Any) -> tuple[list, list]:
    return list(x.shape), list(x.stride())


def _folded(a: Any, b: Any) -> Any:
    larger_first = a.dim() >= b.dim()
    x = a if larger_first else b.transpose(-2, -1)
    y = b if larger_first else (a.t() if a.dim() == 2 else a)
    shape = list(x.shape[:-1])
    rows = x.reshape(math.prod(shape), x.shape[-1])
    if y.dim() == 1:
        return unsafe_view(torch.mv(rows, y), shape)
    made = unsafe_view(torch.mm(rows, y), [*shape, y.shape[-1]])
    return made if larger_first else made.transpose(-2, -1)


def _batched(a: Any, b: Any) -> Any:
    n, m = (a.shape[-2] if a.dim() > 1 else 1), a.shape[-1]
    k, p = (b.shape[-2] if b.dim() > 1 else b.shape[0]), (b.shape[-1] if b.dim() > 1 else 1)
    batch = list(broadcast_shapes(tuple(a.shape[:-2]), tuple(b.shape[:-2])))
    count = math.prod(batch)
    x = a.expand((*batch, n, m)).reshape(count, n, m)
    y = (b.unsqueeze(1) if b.dim() == 1 else b).expand((*batch, k, p)).reshape(count, k, p)
    made = torch.bmm(x, y)
    shape = [*batch, *[n] * (a.dim() > 1), *[p] * (b.dim() > 1)]
    return unsafe_view(made.squeeze(-1) if b.dim() == 1 else made, shape)


@composite("matmul")
def matmul(input: Any, other: Any) -> Any:
    """Return a product by the operator that PyTorch's matmul chooses."""
    a, b = input, other
    dims = a.dim(), b.dim()
    if not all(dims):
        return NotImplemented
    if dims == (1, 1):
        return torch.dot(a, b)
    if dims == (2, 1):
        return torch.mv(a, b)
    if dims == (1, 2):
        return torch.mm(a.unsqueeze(0), b).squeeze(0)
    if dims == (2, 2):
        return torch.mm(a, b)
    if _is_folded(a, b):
        return _folded(a, b)
    if dims == (3, 3) and a.shape[0] != b.shape[0]:
        if a.shape[0] == 1 and a.requires_grad:
            return matmul(a.squeeze(0), b)
        if b.shape[0] == 1 and b.requires_grad:
            return matmul(a, b.squeeze(0))
    return _batched(a, b)


@composite("nn.functional.linear")
def linear(input: Any, weight: Any, bias: Any = None) -> Any:
    """Return a linear layer: ``addmm`` with a bias, else a product."""
    if bias is not None and input.dim() == 2:
        return torch.addmm(bias, input, weight.t())
    if bias is not None and input.is_contiguous() and input.dim():
        shape = tuple(input.shape)
        rows = input.view(math.prod(shape[:-1]), shape[-1])
        return torch.addmm(bias, rows, weight.t()).view((*shape[:-1], weight.shape[0]))
    made = torch.matmul(input, weight.t())
    return made if bias is None else made + bias


@composite("outer")
def _outer(input: Any, vec2: Any) -> Any:
    return input.reshape(input.shape[0], 1) * vec2


@composite("linalg.multi_dot", "chain_matmul")
def _multi_dot(**given: Any) -> Any:
    tensors = next(iter(given.values()))
    if len(tensors) == 1:
        return tensors[0]
    if len(tensors) == 2:
        return torch.mm(*tensors) if all([t.dim() == 2 for t in tensors]) else NotImplemented
    return NotImplemented if any([t.dim() != 2 for t in tensors]) else _chain(tensors)


def _chain(tensors: Sequence) -> Any:
    """Return the product of matrices in the order that takes the fewest multiplications."""
    size = [*[t.shape[0] for t in tensors], tensors[-1].shape[1]]
    n = len(tensors)
    cost = [[0] * n for _ in range(n)]
    cut = [[0] * n for _ in range(n)]
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            found = [(cost[i][k] + cost[k + 1][j] + size[i] * size[k + 1] * size[j + 1], k) for k in range(i, j)]
            cost[i][j], cut[i][j] = min(found)

    def product(i: int, j: int) -> Any:
        return tensors[i] if i == j else torch.mm(product(i, cut[i][j]), product(cut[i][j] + 1, j))
    return product(0, n - 1)


@composite("linalg.matrix_power")
def _matrix_power(n: int, **given: Any) -> Any:
    input = next(iter(given.values()))
    if n < 1:
        return NotImplemented
    if n <= 3:
        made = input
        for _ in range(n - 1):
            made = torch.matmul(made, input)
        return made
    power, made = input, None
    while n:
        if n % 2:
            made = power if made is None else torch.matmul(made, power)
        n //= 2
        power = torch.matmul(power, power) if n else power
    return made


@composite("tensordot")
def _tensordot(a: Any, b: Any, dims: Any = 2) -> Any:
    if dims.__class__ is int:
        dims = list(range(a.dim() - dims, a.dim())), list(range(dims))
    first, second = ([d % x.dim() for d in (dd if dd.__class__ in LISTS else [dd])] for dd, x in zip(dims, (a, b), strict=True))
    for i, j in zip(first, second, strict=True):        # a dim of size 1 broadcasts, so sum the other operand first
        a, b = (a.sum(i, keepdim=True), b) if b.shape[j] == 1 != a.shape[i] else \
            (a, b.sum(j, keepdim=True)) if a.shape[i] == 1 != b.shape[j] else (a, b)
    size = math.prod([a.shape[d] for d in first])
    rest_a, rest_b = [d for d in range(a.dim()) if d not in first], [d for d in range(b.dim()) if d not in second]
    x = a.permute([*rest_a, *first]).reshape(math.prod([a.shape[d] for d in rest_a]), size)
    y = b.permute([*second, *rest_b]).reshape(size, math.prod([b.shape[d] for d in rest_b]))
    return torch.mm(x, y).reshape([*[a.shape[d] for d in rest_a], *[b.shape[d] for d in rest_b]])


@composite("einsum")
def _einsum(equation: Any, operands: Any) -> Any:
    if not isinstance(equation, str) or "." in equation:
        return NotImplemented
    return contracted(equation.replace(" ", ""), list(operands))


def contracted(equation: str, operands: list) -> Any:
    """Contract the operands of an einsum with ``bmm``, two at a time from the left, as PyTorch does."""
    left, arrow, out = equation.partition("->")
    terms = left.split(",")
    if any([len(set(t)) != len(t) for t in terms]):
        return NotImplemented
    if not arrow:
        out = "".join(sorted([c for c in set(left) - {","} if left.count(c) == 1]))
    x, have = operands[0], terms[0]
    for i, (y, term) in enumerate(zip(operands[1:], terms[1:], strict=True)):
        later = set(out).union(*terms[i + 2:])
        x, have = _pair(x, have, y, term, later)
    gone = [i for i, c in enumerate(have) if c not in out]
    if gone:
        x, have = x.sum(gone), "".join([c for c in have if c in out])
    return x.permute([have.index(c) for c in out]) if have != out else x


def _pair(x: Any, have: str, y: Any, term: str, later: set) -> tuple[Any, str]:
    """Return (the contraction of two operands, the labels of its dims)."""
    x, have = _without(x, have, set(term) | later)
    y, term = _without(y, term, set(have) | later)
    batch = [c for c in have if c in term and c in later]
    summed = [c for c in have if c in term and c not in later]
    only_x, only_y = [c for c in have if c not in term], [c for c in term if c not in have]
    size = {**dict(zip(term, y.shape, strict=True)), **dict(zip(have, x.shape, strict=True))}
    if not summed:
        names = [*batch, *only_x, *only_y]
        return _spread(x, have, names) * _spread(y, term, names), "".join(names)

    def count(labels: list) -> int:
        return math.prod([size[c] for c in labels])
    a = x.permute([have.index(c) for c in (*batch, *only_x, *summed)]).reshape(count(batch), count(only_x), count(summed))
    b = y.permute([term.index(c) for c in (*batch, *summed, *only_y)]).reshape(count(batch), count(summed), count(only_y))
    names = [*batch, *only_x, *only_y]
    return torch.bmm(a, b).view([size[c] for c in names]), "".join(names)


def _without(x: Any, have: str, wanted: set) -> tuple[Any, str]:
    gone = [i for i, c in enumerate(have) if c not in wanted]
    return (x.sum(gone), "".join([c for c in have if c in wanted])) if gone else (x, have)


def _spread(x: Any, have: str, names: list) -> Any:
    x = x.permute([have.index(c) for c in names if c in have])
    for i, c in enumerate(names):
        if c not in have:
            x = x.unsqueeze(i)
    return x
