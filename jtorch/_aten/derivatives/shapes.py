"""The derivatives of views, copies, joining, splitting and indexing."""
from __future__ import annotations

from typing import Any

from jtorch._api import functions as torch
from jtorch._aten.context import Context
from jtorch._aten.derivatives.reductions import dims_of
from jtorch._aten.derivatives.rules import F, Grads, rule, unary
from jtorch._aten.fitting import LISTS
from jtorch._aten.operators import options
from jtorch._library.namespaces import ops

aten = ops.aten


@unary("alias")
def _alias(c: Context, g: Any) -> Any:
    return g


@unary("clone")
def _clone(c: Context, g: Any) -> Any:
    return g


@unary("view", "reshape", "view_as", "reshape_as", "flatten", "unflatten", "ravel")
def _view(c: Context, g: Any) -> Any:
    return torch.reshape(g, tuple(next(iter(c.args.values())).shape))


@unary("t")
def _t(c: Context, g: Any) -> Any:
    return g.t()


@unary("transpose", "swapdims", "swapaxes")
def _transpose(c: Context, g: Any) -> Any:
    return g.transpose(*list(c.args.values())[1:])


@unary("mT")
def _mT(c: Context, g: Any) -> Any:
    return g.transpose(-2, -1)


@unary("permute")
def _permute(c: Context, g: Any) -> Any:
    ndim = g.dim()
    order = [d % ndim for d in c.dims]
    return g.permute([order.index(d) for d in range(ndim)])


@unary("unsqueeze")
def _unsqueeze(c: Context, g: Any) -> Any:
    return g.squeeze(c.dim)


@unary("squeeze")
def _squeeze(c: Context, g: Any) -> Any:
    x, dim = c.args["input"], c.args.get("dim")
    for d in sorted(dims_of(dim, x.dim())):
        if x.shape[d] == 1:
            g = g.unsqueeze(d)
    return g


@unary("expand", "expand_as", "broadcast_to")
def _expand(c: Context, g: Any) -> Any:
    return g        # ``backwards._fitted`` sums gradients of broadcast arguments


@unary("unfold")
def _unfold(c: Context, g: Any) -> Any:
    return c.operator("unfold_backward", {"grad_in": g, "input_sizes": list(c.args["input"].shape), "dim": c.dimension,
                                          "size": c.size, "step": c.step}, {"input": None})["input"]


@unary("select")
def _select(c: Context, g: Any) -> Any:
    return c.operator("select_backward", {"grad_output": g, "input_sizes": list(c.args["input"].shape), "dim": c.dim,
                                          "index": c.index}, {"input": None})["input"]


@unary("slice")
def _slice(c: Context, g: Any) -> Any:
    names = [p.name for p in c.node.call.op.params]
    x, dim, start, end, step = (c.args[n] for n in names)
    return c.operator("slice_backward", {"grad_output": g, "input_sizes": list(x.shape), "dim": dim, "start": start, "end": end,
                                         "step": step}, {names[0]: None})[names[0]]


@unary("diagonal")
def _diagonal(c: Context, g: Any) -> Any:
    x = c.args["input"]
    return c.operator("diagonal_backward", {"grad_output": g, "input_sizes": list(x.shape), "offset": c.offset, "dim1": c.dim1,
                                            "dim2": c.dim2}, {"input": None})["input"]


@unary("repeat")
def _repeat(c: Context, g: Any) -> Any:
    x, counts = c.args["input"], list(c.args.values())[1]
    extra = len(counts) - x.dim()
    shape: list[int] = []
    gone: list[int] = list(range(extra))
    shape += counts[:extra]
    for n, size in zip(counts[extra:], x.shape, strict=True):
        if n != 1:
            gone.append(len(shape))
            shape.append(n)
        shape.append(size)
    return g.reshape(shape).sum(gone) if gone else g


@unary("flip")
def _flip(c: Context, g: Any) -> Any:
    return g.flip(c.dims)


@unary("tril")
def _tril(c: Context, g: Any) -> Any:
    return g.tril(c.diagonal)


@unary("triu")
def _triu(c: Context, g: Any) -> Any:
    return g.triu(c.diagonal)


@unary("_to_dtype")
def _to_dtype(c: Context, g: Any) -> Any:
    return aten._to_copy.default(g, **options(c.args["input"]))


@rule("cat")
def _cat(c: Context) -> Grads:
    g, dim, at = c.grad(), c.dim, 0
    made: list[Any] = []
    for t, needed in zip(c.tensors, c.wanted["tensors"], strict=True):
        if t.dim() == 1 and not t.shape[0] and g.dim() != 1:
            made.append(torch.zeros_like(t))
            continue
        made.append(g.narrow(dim, at, t.shape[dim]) if needed else None)
        at += t.shape[dim]
    return {"tensors": made}


@rule("stack")
def _stack(c: Context) -> Grads:
    g = c.grad()
    return {"tensors": [g.select(c.dim, i) if needed else None for i, needed in enumerate(c.wanted["tensors"])]}


def _zeros(like: Any, shape: Any) -> Any:
    return aten.zeros.default(list(shape), **options(like))


@rule("split", "chunk")
def _split(c: Context) -> Grads:
    x, dim = next(iter(c.args.values())), c.args.get("dim", 0)
    parts = list(c.args.values())[1]
    n = x.shape[dim]
    if c.node.call.op.name == "chunk":
        parts = max(-(-n // parts), 1)
    lengths = parts if parts.__class__ in LISTS else [min(parts, n - at) for at in range(0, n, parts)] if parts else [0]
    some = c.grad(next(iter(c.grads)))
    made = [c.grad(i) if i in c.grads else _zeros(some, [k if d == dim % x.dim() else s for d, s in enumerate(x.shape)])
            for i, k in enumerate(lengths)]
    return {c.node.call.op.params[0].name: torch.cat(made, dim)}


@rule("unbind")
def _unbind(c: Context) -> Grads:
    x, dim = c.args["input"], c.args.get("dim", 0)
    some = c.grad(next(iter(c.grads)))
    shape = [s for d, s in enumerate(x.shape) if d != dim % x.dim()]
    made = [c.grad(i) if i in c.grads else _zeros(some, []).expand(tuple(shape)) for i in range(x.shape[dim])]
    return {"input": torch.stack(made, dim)}


# ---------------------------------------------------------------- indexing

@rule("index")
def _index(c: Context) -> Any:
    x, indices = c.args["input"], c.args["indices"]
    zeros = aten.new_zeros.default(c.grad(), list(x.shape), **options(x))
    return {"input": aten.index_put.default(zeros, list(indices), c.grad(), True)}


@unary("gather")
def _gather(c: Context, g: Any) -> Any:
    return aten.new_zeros.default(g, list(c.args["input"].shape)).scatter_add(c.dim, c.index, g)


@unary("index_select")
def _index_select(c: Context, g: Any) -> Any:
    return aten.new_zeros.default(g, list(c.args["input"].shape), **options(g)).index_add(c.dim, c.index, g)


@rule("scatter_add")
def _scatter_add(c: Context) -> Grads:
    g = c.grad()
    return {"input": g if c.needs_of("input") else None, "src": g.gather(c.dim, c.index) if c.needs_of("src") else None}


@rule(f"{F}embedding")
def _embedding(c: Context) -> Any:
    if c.args.get("sparse") or c.args.get("max_norm") is not None:
        return NotImplemented
    padding = c.args.get("padding_idx")
    return c.operator("embedding_dense_backward", {
        "grad_output": c.grad(), "indices": c.args["input"], "num_weights": c.weight.shape[0],
        "padding_idx": -1 if padding is None else padding, "scale_grad_by_freq": c.scale_grad_by_freq}, {"weight": None})
