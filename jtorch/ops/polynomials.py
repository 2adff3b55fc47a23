"""Orthogonal polynomials of torch.special, by their recurrences. PyTorch gives them no gradient."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from jtorch.ops.elementwise import broadcast, only_double
from jtorch.ops.registry import Number, Tensor, op

_FACTS: dict[str, Any] = {"promote": "int_to_float", "inplace": False, "differentiable": False, "loops": True}


def _recur(first, n, step: Callable):
    """Return polynomial ``n`` of the sequence 1, ``first``, … ``step(k, p, q)`` returns polynomial k from the last two."""
    def cond(state):
        k, _, q, _ = state
        return jnp.any((k <= n) & ~jnp.isnan(q))

    def body(state):
        k, p, q, found = state
        new = jnp.where(k <= n, step(k, p, q), q)
        return k + 1, q, new, jnp.where(k <= n, new, found)

    one = jnp.ones_like(first)
    start = (jnp.asarray(2, first.dtype), one, first, jnp.where(n < 1, one, first))
    return jnp.where(n < 0, 0, lax.while_loop(cond, body, start)[3]).astype(first.dtype)


def _ready(name: str, x, n, *, shifted: bool = False) -> tuple[jax.Array, jax.Array]:
    only_double(f"{name}_cpu", x)
    x, n = broadcast(x, jnp.trunc(n))
    return (2 * x - 1 if shifted else x), n


def _chebyshev(x, n, kind: str, direct_above: int):
    """Return a Chebyshev polynomial of kind t, u, v or w: known values at ±1, trigonometric functions inside, else recurrence."""
    first = {"t": x, "u": 2 * x, "v": 2 * x - 1, "w": 2 * x + 1}[kind]
    angle = jnp.arccos(jnp.clip(x, -1, 1))
    inside = {"t": lambda: jnp.cos(n * angle), "u": lambda: jnp.sin((n + 1) * angle) / jnp.sin(angle),
              "v": lambda: jnp.cos((n + 0.5) * angle) / jnp.cos(angle / 2),
              "w": lambda: jnp.sin((n + 0.5) * angle) / jnp.sin(angle / 2)}[kind]()
    one, alternating = jnp.ones_like(n), jnp.where(n % 2 == 0, 1, -1).astype(n.dtype)
    right = {"t": one, "u": n + 1, "v": one, "w": 2 * n + 1}[kind]
    left = alternating * {"t": one, "u": n + 1, "v": 2 * n + 1, "w": one}[kind]
    direct = (n > direct_above) & (jnp.abs(x) < 1)
    known = direct | (jnp.abs(x) == 1)
    value = jnp.where(direct, inside, jnp.where(x == 1, right, left))
    return jnp.where(known & (n >= 0), value, _recur(first, jnp.where(known, -1, n), lambda k, p, q: 2 * x * q - p))


@op(name="special.chebyshev_polynomial_t", **_FACTS)
def chebyshev_polynomial_t(input: Tensor | Number, n: Tensor | Number):
    """Return the Chebyshev polynomial of the first kind. See torch.special.chebyshev_polynomial_t."""
    return _chebyshev(*_ready("chebyshev_polynomial_t", input, n), "t", 6)


@op(name="special.chebyshev_polynomial_u", **_FACTS)
def chebyshev_polynomial_u(input: Tensor | Number, n: Tensor | Number):
    """Return the Chebyshev polynomial of the second kind. See torch.special.chebyshev_polynomial_u."""
    return _chebyshev(*_ready("chebyshev_polynomial_u", input, n), "u", 8)


@op(name="special.chebyshev_polynomial_v", **_FACTS)
def chebyshev_polynomial_v(input: Tensor | Number, n: Tensor | Number):
    """Return the Chebyshev polynomial of the third kind. See torch.special.chebyshev_polynomial_v."""
    return _chebyshev(*_ready("chebyshev_polynomial_v", input, n), "v", 8)


@op(name="special.chebyshev_polynomial_w", **_FACTS)
def chebyshev_polynomial_w(input: Tensor | Number, n: Tensor | Number):
    """Return the Chebyshev polynomial of the fourth kind. See torch.special.chebyshev_polynomial_w."""
    return _chebyshev(*_ready("chebyshev_polynomial_w", input, n), "w", 8)


@op(name="special.shifted_chebyshev_polynomial_t", **_FACTS)
def shifted_chebyshev_polynomial_t(input: Tensor | Number, n: Tensor | Number):
    """Return the shifted Chebyshev polynomial of the first kind. See torch.special.shifted_chebyshev_polynomial_t."""
    return _chebyshev(*_ready("shifted_chebyshev_polynomial_t", input, n, shifted=True), "t", 6)


@op(name="special.shifted_chebyshev_polynomial_u", **_FACTS)
def shifted_chebyshev_polynomial_u(input: Tensor | Number, n: Tensor | Number):
    """Return the shifted Chebyshev polynomial of the second kind. See torch.special.shifted_chebyshev_polynomial_u."""
    return _chebyshev(*_ready("shifted_chebyshev_polynomial_u", input, n, shifted=True), "u", 6)


@op(name="special.shifted_chebyshev_polynomial_v", **_FACTS)
def shifted_chebyshev_polynomial_v(input: Tensor | Number, n: Tensor | Number):
    """Return the shifted Chebyshev polynomial of the third kind. See torch.special.shifted_chebyshev_polynomial_v."""
    return _chebyshev(*_ready("shifted_chebyshev_polynomial_v", input, n, shifted=True), "v", 6)


@op(name="special.shifted_chebyshev_polynomial_w", **_FACTS)
def shifted_chebyshev_polynomial_w(input: Tensor | Number, n: Tensor | Number):
    """Return the shifted Chebyshev polynomial of the fourth kind. See torch.special.shifted_chebyshev_polynomial_w."""
    return _chebyshev(*_ready("shifted_chebyshev_polynomial_w", input, n, shifted=True), "w", 4)


def _limit(x) -> int:
    """Return the degree from which PyTorch's Hermite polynomials are NaN."""
    return 128 if x.dtype == jnp.float32 else 512


def _hermite(x, n, first, step: Callable):
    value = _recur(first, jnp.where(n > _limit(x), -1, n), step)
    return jnp.where(n > _limit(x), jnp.nan, value).astype(x.dtype)


@op(name="special.hermite_polynomial_h", **_FACTS)
def hermite_polynomial_h(input: Tensor | Number, n: Tensor | Number):
    """Return the physicists' Hermite polynomial. See torch.special.hermite_polynomial_h."""
    x, n = _ready("hermite_polynomial_h", input, n)
    return _hermite(x, n, 2 * x, lambda k, p, q: 2 * x * q - 2 * (k - 1) * p)


@op(name="special.hermite_polynomial_he", **_FACTS)
def hermite_polynomial_he(input: Tensor | Number, n: Tensor | Number):
    """Return the probabilists' Hermite polynomial. See torch.special.hermite_polynomial_he."""
    x, n = _ready("hermite_polynomial_he", input, n)
    return _hermite(x, n, x, lambda k, p, q: x * q - (k - 1) * p)


@op(name="special.laguerre_polynomial_l", **_FACTS)
def laguerre_polynomial_l(input: Tensor | Number, n: Tensor | Number):
    """Return the Laguerre polynomial. See torch.special.laguerre_polynomial_l."""
    x, n = _ready("laguerre_polynomial_l", input, n)
    return _recur(1 - x, n, lambda k, p, q: ((2 * k - 1 - x) * q - (k - 1) * p) / k)


@op(name="special.legendre_polynomial_p", **_FACTS)
def legendre_polynomial_p(input: Tensor | Number, n: Tensor | Number):
    """Return the Legendre polynomial. See torch.special.legendre_polynomial_p."""
    x, n = _ready("legendre_polynomial_p", input, n)
    return _recur(x, n, lambda k, p, q: ((2 * k - 1) * x * q - (k - 1) * p) / k)
