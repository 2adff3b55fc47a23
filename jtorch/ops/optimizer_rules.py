"""The update rules of torch.optim. Each is written for one parameter and declared as an op for all parameters of a group.

A rule gets the group's options, the parameter, its gradient, its state, and the scalars that parameters share (the
step count and others) before and after this step, in float64. Rules see a complex parameter as real numbers.
"""
from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from jtorch.ops.optimizer import rule


def _as(scalar, like: jax.Array):
    return jnp.asarray(scalar).astype(like.dtype)


def _lerp(a, b, weight):
    return a + _as(weight, a) * (b - a)


def _mean_square(old, grad, keep):
    """Return ``keep`` * the running mean of squares + (1 - ``keep``) * the square of the gradient."""
    return _as(keep, old) * old + _as(1 - keep, old) * (grad * grad).astype(old.dtype)


def _decayed(o, p, g):
    """Return the parameter and the gradient, with weight decay applied to one of them."""
    if o.weight_decay is None:
        return p, g
    if o.decoupled_weight_decay:
        return p * _as(1 - o.lr * o.weight_decay, p), g
    return p, g + _as(o.weight_decay, p) * p


@rule("_sgd_step")
def sgd(o, p, g, *rest):
    """Compute a step of stochastic gradient descent. The first momentum buffer is the gradient."""
    *buffer, _ = rest
    p, g = _decayed(o, p, g)
    if o.momentum is None:
        return (p - _as(o.lr, p) * g,)
    fresh = g if o.dampening is None or not buffer else _as(1 - o.dampening, p) * g
    b = _as(o.momentum, p) * buffer[0] + fresh if buffer else fresh
    return p - _as(o.lr, p) * (g + _as(o.momentum, p) * b if o.nesterov else b), b


@rule("_adam_step")
def adam(o, p, g, m, v, *rest):
    """Compute a step of Adam: Kingma and Ba (2014). A further column of states holds the largest second moments (amsgrad).

    With decoupled weight decay it is Loshchilov and Hutter's AdamW.
    """
    *largest, s = rest
    p, g = _decayed(o, p, g)
    m, v = _lerp(m, g, 1 - o.beta1), _mean_square(v, g, o.beta2)
    largest = [jnp.maximum(x, v) for x in largest]
    denominator = jnp.sqrt(*(largest or [v])) / _as(jnp.sqrt(1 - o.beta2 ** s.after[0]), v) + _as(o.eps, v)
    return p - _as(o.lr / (1 - o.beta1 ** s.after[0]), p) * (m / denominator.astype(m.dtype)), m, v, *largest


@rule("_adamax_step")
def adamax(o, p, g, m, u, s):
    """Compute a step of Adamax: Kingma and Ba, Adam: A Method for Stochastic Optimization (2014), section 7."""
    p, g = _decayed(o, p, g)
    m = _lerp(m, g, 1 - o.beta1)
    u = jnp.maximum(_as(o.beta2, u) * u, jnp.abs(g) + _as(o.eps, u))
    return p - _as(o.lr / (1 - o.beta1 ** s.after[0]), p) * (m / u), m, u


def _momentum_at(o, step):
    return o.beta1 * (1 - 0.5 * jnp.power(jnp.asarray(0.96, np.float64), step * o.momentum_decay))


@rule("_nadam_step", lambda o, step, product: (step + 1, product * _momentum_at(o, step + 1)))
def nadam(o, p, g, m, v, s):
    """Compute a step of NAdam: Dozat, Incorporating Nesterov Momentum into Adam (2016)."""
    p, g = _decayed(o, p, g)
    t, product = s.after
    product = product.astype(np.float32).astype(np.float64) if o.rounded else product
    mu, following = _momentum_at(o, t), _momentum_at(o, t + 1)
    m, v = _lerp(m, g, 1 - o.beta1), _mean_square(v, g, o.beta2)
    root = jnp.sqrt(v / _as(1 - o.beta2 ** t, v)) + _as(o.eps, v)
    p = p - _as(o.lr * (1 - mu) / (1 - product), p) * (g / root)
    return p - _as(o.lr * following / (1 - product * following), p) * (m / root), m, v


@rule("_radam_step")
def radam(o, p, g, m, v, s):
    """Compute a step of RAdam: Liu et al., On the Variance of the Adaptive Learning Rate and Beyond (2019)."""
    p, g = _decayed(o, p, g)
    t = s.after[0]
    m, v = _lerp(m, g, 1 - o.beta1), _mean_square(v, g, o.beta2)
    correction = 1 - o.beta2 ** t
    longest = 2 / (1 - o.beta2) - 1
    length = longest - 2 * t * o.beta2 ** t / correction
    sure = length > 5
    length = jnp.where(sure, length, 6.0)
    rectified = jnp.sqrt((length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length))
    adapted = _as(jnp.sqrt(correction) * rectified, v) / (jnp.sqrt(v) + _as(o.eps, v))
    return p - _as(o.lr / (1 - o.beta1 ** t), p) * m * jnp.where(sure, adapted, jnp.ones_like(v)), m, v


@rule("_adagrad_step")
def adagrad(o, p, g, total, s):
    """Compute a step of Adagrad: Duchi, Hazan and Singer, Adaptive Subgradient Methods (2011)."""
    p, g = _decayed(o, p, g)
    total = total + g * g
    return p - _as(o.lr / (1 + (s.after[0] - 1) * o.lr_decay), p) * (g / (jnp.sqrt(total) + _as(o.eps, p))), total


@rule("_adadelta_step")
def adadelta(o, p, g, v, deltas, s):
    """Compute a step of Adadelta: Zeiler, ADADELTA: An Adaptive Learning Rate Method (2012)."""
    p, g = _decayed(o, p, g)
    v = _mean_square(v, g, o.rho)
    delta = jnp.sqrt(deltas + _as(o.eps, p)) / jnp.sqrt(v + _as(o.eps, p)) * g
    return p - _as(o.lr, p) * delta, v, _mean_square(deltas, delta, o.rho)


@rule("_rmsprop_step")
def rmsprop(o, p, g, v, *rest):
    """Compute a step of RMSprop: Hinton, lecture 6e.

    Centered RMSprop follows Graves, Generating Sequences with Recurrent Neural Networks (2013).
    """
    state = list(rest[:-1])
    p, g = _decayed(o, p, g)
    v = spread = _mean_square(v, g, o.alpha)
    if o.centered:
        state[-1] = _lerp(state[-1], g, 1 - o.alpha)
        spread = v - state[-1] * state[-1]
    step = g / (jnp.sqrt(spread) + _as(o.eps, p))
    if o.has_momentum:
        step = state[0] = _as(o.momentum, p) * state[0] + step
    return p - _as(o.lr, p) * step, v, *state


@rule("_rprop_step")
def rprop(o, p, g, previous, size, s):
    """Compute a step of Rprop: Riedmiller and Braun, A direct adaptive method for faster backpropagation learning (1993)."""
    agree = g * previous
    one = jnp.ones_like(p)
    factor = jnp.where(agree > 0, _as(o.eta2, p) * one, jnp.where(agree < 0, _as(o.eta1, p) * one, one))
    size = jnp.clip(size * factor, _as(o.smallest, p), _as(o.largest, p))
    g = jnp.where(agree < 0, jnp.zeros_like(g), g)
    return p - jnp.sign(g) * size, g, size


def _asgd_shared(o, step, eta, mu):
    step = step + 1
    return step, o.lr / (1 + o.lambd * o.lr * step) ** o.alpha, 1 / jnp.maximum(1.0, step - o.t0)


@rule("_asgd_step", _asgd_shared)
def asgd(o, p, g, mean, s):
    """Compute a step of averaged SGD: Polyak and Juditsky, Acceleration of stochastic approximation by averaging (1992)."""
    p, g = _decayed(o, p, g)
    _, eta, mu = s.before
    p = p * _as(1 - o.lambd * eta, p) - _as(eta, p) * g
    return p, jnp.where(mu == 1, p, _lerp(mean, p, mu))


def _rms(x):
    return jnp.sqrt(jnp.sum(x * x)) / np.asarray(np.sqrt(x.size), x.dtype)


@rule("_adafactor_step", real=False)
def adafactor(o, p, g, *rest):
    """Compute a step of Adafactor: Shazeer and Stern, Adaptive Learning Rates with Sublinear Memory Cost (2018)."""
    *state, s = rest
    t = s.after[0]
    fresh = t ** o.beta2_decay
    eps = _as(jnp.finfo(p.dtype).eps if o.eps1 is None else o.eps1, p)
    rate = jnp.maximum(o.eps2, _rms(p).astype(np.float64)) * jnp.minimum(o.lr, 1 / jnp.sqrt(t))
    p = p if o.weight_decay is None else p * _as(1 - o.lr * o.weight_decay, p)
    if len(state) == 2:
        row = _lerp(state[0], jnp.mean(g * g, -1, keepdims=True), fresh)
        col = _lerp(state[1], jnp.mean(g * g, -2, keepdims=True), fresh)
        state, v = [row, col], row @ col / jnp.maximum(jnp.mean(row, -2, keepdims=True), eps)
    else:
        state = [_lerp(state[0], g * g, fresh)]
        v = state[0]
    update = g * jax.lax.rsqrt(jnp.maximum(v, eps * eps))
    clipped = jnp.maximum(1.0, _rms(update).astype(np.float64) / o.d)
    return p - _as(rate / clipped, p) * update, *state


def _orthogonal(g, o):
    """Return an orthogonal matrix near ``g``, up to scale, by a quintic Newton-Schulz iteration in bfloat16."""
    a, b, c = (jnp.asarray(x).astype(jnp.bfloat16) for x in (o.a, o.b, o.c))
    x = g.astype(jnp.bfloat16)
    x = x.T if g.shape[0] > g.shape[1] else x
    wide = x.astype(np.float32)
    x = x / jnp.maximum(jnp.sqrt(jnp.sum(wide * wide)).astype(x.dtype), _as(o.eps, x))
    for _ in range(o.ns_steps):
        gram = x @ x.T
        x = a * x + (b * gram + c * (gram @ gram)) @ x
    return x.T if g.shape[0] > g.shape[1] else x


@rule("_muon_step", real=False)
def muon(o, p, g, buffer, s):
    """Compute a step of Muon: Jordan et al., Muon: An optimizer for hidden layers in neural networks (2024)."""
    buffer = _lerp(buffer, g, 1 - o.momentum)
    update = _orthogonal(_lerp(g, buffer, o.momentum) if o.nesterov else buffer, o)
    rows, cols = p.shape
    scale = 0.2 * max(rows, cols) ** 0.5 if o.adjust == "match_rms_adamw" else max(1, rows / cols) ** 0.5
    return p * _as(1 - o.lr * o.weight_decay, p) - _as(o.lr * scale, p) * update.astype(p.dtype), buffer
