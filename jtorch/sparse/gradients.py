"""Sparse gradients: the gradient of an embedding's table, and optimizer steps with it."""
from __future__ import annotations

import math
from typing import Any

from jtorch._api import nn_functions
from jtorch.autograd.function import Function
from jtorch.sparse import places
from jtorch.sparse.convert import coalesce
from jtorch.sparse.elementwise import at_places
from jtorch.sparse.tensor import coo
from jtorch.tensor import Tensor


class Embedding(Function):
    """Looks up rows of a table; the gradient is sparse and has the rows that were looked up."""

    @staticmethod
    def forward(ctx: Any, weight: Tensor, input: Tensor, padding_idx: int | None) -> Tensor:
        """Return the rows."""
        ctx.input, ctx.padding_idx, ctx.size = input, padding_idx, tuple(weight.shape)
        return nn_functions.embedding(input, weight, padding_idx)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple:
        """Return a COO tensor of the rows' gradients."""
        rows, values = ctx.input.reshape(-1), grad.reshape((-1, ctx.size[1]))       # type: ignore[attr-defined]
        if ctx.padding_idx is not None:
            kept = rows != ctx.padding_idx % ctx.size[0]
            rows, values = rows[kept], values[kept]
        indices = rows.reshape((1, -1)).long()
        return coo(indices, values, ctx.size), None, None


Embedding._backward_cls.__name__ = "EmbeddingBackward0"        # type: ignore[attr-defined]


def embedding(input: Tensor, weight: Tensor, padding_idx: int | None, max_norm: float | None, norm_type: float,
              scale_grad_by_freq: bool) -> Tensor:
    """Look up an embedding whose gradient is sparse."""
    if scale_grad_by_freq and weight.requires_grad:
        raise RuntimeError("embedding_backward: scale_grad_by_freq not supported with sparse gradients")
    if max_norm is not None:
        # This call scales rows of the table in place, if their norms exceed ``max_norm``.
        nn_functions.embedding(input, weight.detach(), padding_idx, max_norm, norm_type)
    return Embedding.apply(weight, input, padding_idx)


# ---------------------------------------------------------------- steps

def add_rows(param: Tensor, update: Any, alpha: Any = 1) -> None:
    """Add a COO tensor to a dense tensor in place, by rows."""
    if update.sparse_dim() == 1:
        param.index_add_(0, update.stored_indices[0][0], update.stored_values, alpha=alpha)      # type: ignore[attr-defined]
    else:
        param.add_(update, alpha=alpha)     # type: ignore[attr-defined]


def sgd(group: dict, p: Tensor, state: dict) -> None:
    """Run a step of SGD with a sparse gradient."""
    grad: Any = -p.grad if group["maximize"] else p.grad     # type: ignore[operator]
    if group["weight_decay"]:
        raise RuntimeError("add(sparse, dense) is not supported. Use add(dense, sparse) instead.")
    if group["momentum"]:
        buffer = state.get("momentum_buffer")
        buffer = grad.detach().clone() if buffer is None else \
            buffer * group["momentum"] + grad * (1 - group["dampening"])
        state["momentum_buffer"] = buffer = coalesce(buffer)
        grad = grad + buffer * group["momentum"] if group["nesterov"] else buffer
    add_rows(p, grad, -_number(group["lr"]))


def _number(x: Any) -> Any:
    return x.item() if isinstance(x, Tensor) else x


def sparse_adam(group: dict, p: Tensor, state: dict) -> None:
    """Run a step of SparseAdam, which changes the moments only where the gradient has values."""
    grad: Any = coalesce(-p.grad if group["maximize"] else p.grad)      # type: ignore[operator,arg-type]
    if not state:
        state.update(step=0, exp_avg=p.detach().new_zeros(p.shape), exp_avg_sq=p.detach().new_zeros(p.shape))      # type: ignore[attr-defined]
    state["step"] += 1
    if not grad._nnz():
        return
    (beta1, beta2), eps, step = group["betas"], group["eps"], state["step"]
    moments = []
    for name, value, beta in (("exp_avg", grad.stored_values, beta1), ("exp_avg_sq", grad.stored_values ** 2, beta2)):
        before = at_places(state[name], grad)
        change = (value - before) * (1 - beta)
        add_rows(state[name], grad.rebuilt(change))
        moments.append(change + before)
    size = _number(group["lr"]) * math.sqrt(1 - beta2 ** step) / (1 - beta1 ** step)
    add_rows(p, grad.rebuilt(-size * (moments[0] / (moments[1].sqrt() + eps))))


def adagrad(group: dict, p: Tensor, state: dict) -> None:
    """Run a step of Adagrad with a sparse gradient."""
    if group["weight_decay"]:
        raise RuntimeError("weight_decay option is not compatible with sparse gradients")
    grad: Any = coalesce(-p.grad if group["maximize"] else p.grad)      # type: ignore[operator,arg-type]
    state["step"] += 1
    lr = _number(group["lr"]) / (1 + (state["step"].item() - 1) * group["lr_decay"])
    add_rows(state["sum"], grad.rebuilt(grad.stored_values ** 2))
    scale = at_places(state["sum"], grad).sqrt() + group["eps"]
    add_rows(p, grad.rebuilt(grad.stored_values / scale), -lr)


__all__ = ["adagrad", "add_rows", "embedding", "places", "sgd", "sparse_adam"]
