"""The update rules of torch.optim, each for all parameters of a group at once.

Scalars that change (learning rate, step) are computed in float64, as PyTorch computes them in Python, and then cast.
"""
from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from jtorch.ops.registry import Number, Tensor, op


def _as(scalar, like: jax.Array):
    """A scalar in the dtype of a parameter (the real one, for a complex parameter)."""
    return jnp.asarray(scalar).astype(jnp.finfo(like.dtype).dtype)


def _wide(*scalars):
    """The options in float64, tensors among them too."""
    return [x if x is None else jnp.asarray(x).astype(np.float64) for x in scalars]


def _decayed(grad: jax.Array, param: jax.Array, weight_decay, maximize: bool) -> jax.Array:
    grad = -grad if maximize else grad
    return grad if weight_decay is None else grad + _as(weight_decay, param) * param


@op(name="_sgd_step", function=False, method=False, out=False, tested=False)
def sgd(params: list[Tensor], grads: list[Tensor], buffers: list[Tensor], lr: Number, momentum: Number, dampening: Number,
        weight_decay: Number | None = None, nesterov: bool = False, maximize: bool = False, has_momentum: bool = False):
    """The new parameters, and the new momentum buffers if there is momentum (``buffers`` is empty on the first step)."""
    lr, momentum, dampening, weight_decay = _wide(lr, momentum, dampening, weight_decay)
    new_params, new_buffers = [], []
    for i, (p, g) in enumerate(zip(params, grads, strict=True)):
        d = _decayed(g, p, weight_decay, maximize)
        if has_momentum:
            b = _as(momentum, p) * buffers[i] + _as(1 - dampening, p) * d if buffers else d
            new_buffers.append(b)
            d = d + _as(momentum, p) * b if nesterov else b
        new_params.append(p - _as(lr, p) * d)
    return new_params + new_buffers


@op(name="_adam_step", function=False, method=False, out=False, tested=False)
def adam(params: list[Tensor], grads: list[Tensor], exp_avgs: list[Tensor], exp_avg_sqs: list[Tensor],
         max_exp_avg_sqs: list[Tensor], steps: list[Tensor], lr: Number, beta1: Number, beta2: Number, eps: Number,
         weight_decay: Number | None = None, step_of: tuple[int, ...] = (), decoupled: bool = False, maximize: bool = False):
    """New parameters, first and second moments, maxima (amsgrad) and steps. ``step_of``: each parameter's step.

    Loshchilov and Hutter's AdamW where ``decoupled``; Kingma and Ba's Adam otherwise.
    """
    lr, beta1, beta2, eps, weight_decay = _wide(lr, beta1, beta2, eps, weight_decay)
    new_steps = [s + jnp.ones((), s.dtype) for s in steps]
    counts = [s.astype(np.float64) for s in new_steps]
    out: list[list] = [[], [], [], []]
    for i, (p, g, m, v) in enumerate(zip(params, grads, exp_avgs, exp_avg_sqs, strict=True)):
        t = counts[step_of[i]]
        if decoupled and weight_decay is not None:
            p, g = p * _as(1 - lr * weight_decay, p), -g if maximize else g
        else:
            g = _decayed(g, p, weight_decay, maximize)
        m = m + _as(1 - beta1, m) * (g - m)
        v = _as(beta2, v) * v + _as(1 - beta2, v) * (g * jnp.conj(g)).real.astype(v.dtype)
        top = jnp.maximum(max_exp_avg_sqs[i], v) if max_exp_avg_sqs else v
        denominator = jnp.sqrt(top) / _as(jnp.sqrt(1 - beta2 ** t), v) + _as(eps, v)
        p = p - _as(lr / (1 - beta1 ** t), p) * (m / denominator.astype(m.dtype))
        for column, x in zip(out, (p, m, v, top), strict=True):
            column.append(x)
    return [*out[0], *out[1], *out[2], *(out[3] if max_exp_avg_sqs else []), *new_steps]
