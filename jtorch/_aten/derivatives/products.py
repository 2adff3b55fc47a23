"""The derivatives of products of matrices, ``inv``, ``solve`` and ``cdist``."""
from __future__ import annotations

from typing import Any

from jtorch._api import functions as torch
from jtorch._aten.context import Context
from jtorch._aten.derivatives.rules import Grads, rule, times


def _lies_in_columns(x: Any) -> bool:
    """Return whether a matrix is stored in column-major order."""
    stride = x.stride()
    return stride[0] == 1 and stride[1] == x.shape[0]


def _of_first(g: Any, a: Any, b: Any) -> Any:
    """Return the gradient of a product's first matrix, in the matrix's memory order."""
    return torch.mm(b, g.t()).t() if _lies_in_columns(a) else torch.mm(g, b.t())


def _of_second(g: Any, a: Any, b: Any) -> Any:
    return torch.mm(g.t(), a).t() if _lies_in_columns(b) else torch.mm(a.t(), g)


@rule("mm")
def _mm(c: Context) -> Any:
    first, second = (p.name for p in c.node.call.op.params[:2])
    g, a, b, made = c.grad(), c.args[first], c.args[second], {}
    if a.is_complex() or b.is_complex():
        return NotImplemented
    if c.needs_of(second):
        made[second] = _of_second(g, a, b)
    if c.needs_of(first):
        made[first] = _of_first(g, a, b)
    return made


@rule("addmm")
def _addmm(c: Context) -> Any:
    self, first, second = (p.name for p in c.node.call.op.params[:3])
    g, a, b, made = c.grad(), c.args[first], c.args[second], {}
    if a.is_complex() or b.is_complex():
        return NotImplemented
    if c.needs_of(first):
        made[first] = times(_of_first(g, a, b), c.alpha)
    if c.needs_of(second):
        made[second] = times(_of_second(g, a, b), c.alpha)
    if c.needs_of(self):
        made[self] = times(g, c.beta)
    return made


@rule("bmm")
def _bmm(c: Context) -> Any:
    first, second = (p.name for p in c.node.call.op.params[:2])
    g, a, b, made = c.grad(), c.args[first], c.args[second], {}
    if a.is_complex():
        return NotImplemented
    if c.needs_of(second):
        made[second] = torch.bmm(a.transpose(1, 2), g)
    if c.needs_of(first):
        made[first] = torch.bmm(g, b.transpose(1, 2))
    return made


@rule("baddbmm", "addbmm")
def _baddbmm(c: Context) -> Any:
    self, first, second = (p.name for p in c.node.call.op.params[:3])
    whole, a, b, made = c.grad(), c.args[first], c.args[second], {}
    if a.is_complex():
        return NotImplemented
    sums = c.node.call.op.name == "addbmm"

    def each() -> Any:
        return whole.unsqueeze(0).expand((a.shape[0], a.shape[1], b.shape[2])) if sums else whole
    if c.needs_of(first):
        made[first] = times(torch.bmm(each(), b.transpose(1, 2)), c.alpha)
    if c.needs_of(second):
        made[second] = times(torch.bmm(a.transpose(1, 2), each()), c.alpha)
    if c.needs_of(self):
        made[self] = times(whole, c.beta)
    return made


@rule("mv")
def _mv(c: Context) -> Grads:
    first, second = (p.name for p in c.node.call.op.params[:2])
    g, a, b, made = c.grad(), c.args[first], c.args[second], {}
    if c.needs_of(first):
        made[first] = g.view(g.shape[0], 1) * b
    if c.needs_of(second):
        made[second] = torch.mv(a.t(), g)
    return made


@rule("dot")
def _dot(c: Context) -> Any:
    first, second = (p.name for p in c.node.call.op.params[:2])
    g, a, b, made = c.grad(), c.args[first], c.args[second], {}
    if a.is_complex():
        return NotImplemented
    if c.needs_of(first):
        made[first] = b * g
    if c.needs_of(second):
        made[second] = a * g
    return made


@rule("linalg.inv", "inverse")
def _inv(c: Context) -> Any:
    name = c.node.call.op.params[0].name
    if c.args[name].is_complex():
        return NotImplemented
    turned = c.result().transpose(-2, -1)
    return {name: -torch.matmul(turned, torch.matmul(c.grad(), turned))}


@rule("linalg.solve")
def _solve(c: Context) -> Any:
    first, second = (p.name for p in c.node.call.op.params[:2])
    a, b = c.args[first], c.args[second]
    if a.is_complex() or b.dim() != a.dim() or not c.args.get("left", True):
        return NotImplemented
    x = c.result()
    g = torch.linalg.solve(a.transpose(-2, -1), c.grad())
    return {first: -torch.matmul(g, x.transpose(-2, -1)) if c.needs_of(first) else None, second: g}


def _is_by_product(c: Context) -> bool:
    """Return whether cdist computes Euclidean distances by a product of matrices, as PyTorch's ``_euclidean_dist`` does."""
    x, y, mode = c.args["x1"], c.args["x2"], c.args.get("compute_mode") or ""
    many = mode.endswith("_if_necessary") or not mode
    return c.args.get("p", 2) == 2 and (mode == "use_mm_for_euclid_dist" or (many and max(x.shape[-2], y.shape[-2]) > 25))


@rule("cdist")
def _cdist(c: Context) -> Any:
    if not _is_by_product(c):
        return NotImplemented
    x, y, distances = c.args["x1"], c.args["x2"], c.result()
    ratio = c.grad() / distances
    ratio = ratio.masked_fill(distances == 0, 0)
    made = {}
    if c.needs_of("x1"):
        made["x1"] = _of_rows(x, y, ratio)
    if c.needs_of("x2"):
        made["x2"] = _of_rows(y, x, ratio.transpose(-2, -1))
    return made


def _of_rows(x: Any, y: Any, ratio: Any) -> Any:
    """Return the gradient of the rows of ``x``. ``ratio`` has the factors of the differences x[i] - y[j]."""
    whole = (*ratio.shape[:-1], x.shape[-1])
    other = y.expand((*ratio.shape[:-2], *y.shape[-2:]))
    g = x.expand(whole) * ratio.sum([-1], keepdim=True) - torch.matmul(ratio, other)
    return g.sum_to_size(tuple(x.shape)) if whole != tuple(x.shape) else g
