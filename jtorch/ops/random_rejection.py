"""Rejection sampling with the same numbers as PyTorch's CPU kernels: poisson, binomial, gamma, dirichlet.

The number of uniforms for a sample depends on their values, so these functions loop over the elements in Python.
"""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from jtorch.ops import check
from jtorch.ops.random import DIGITS, F32, F64, supported

if TYPE_CHECKING:
    from jtorch._base.mt19937 import Stream

Draw = Callable[[], float]


def _log(x: float) -> float:
    return math.log(x) if x > 0 else -math.inf


# ---- poisson -------------------------------------------------------------------------------------------------------

def poisson(stream: Stream, input: np.ndarray) -> np.ndarray:
    """Return Poisson-distributed numbers with a rate per element. See torch.poisson."""
    supported(input.dtype, DIGITS, "poisson_cpu")
    rates = input.astype(np.float64).ravel().tolist()
    with stream.one_by_one(4 * len(rates)) as draw:
        return np.array([_poisson(rate, draw) for rate in rates], np.float64).astype(input.dtype).reshape(input.shape)


def _poisson(rate: float, draw: Draw) -> int:
    check.require(rate >= 0, "invalid Poisson rate, expected rate to be non-negative")
    if rate >= 10:
        return _poisson_by_rejection(rate, draw)
    if rate == 0:
        return 0
    limit, product, count = math.exp(-rate), draw(), 0
    while product > limit:
        product *= draw()
        count += 1
    return count


def _poisson_by_rejection(rate: float, draw: Draw) -> int:
    """Draw by Hörmann's transformed rejection (1993)."""
    b = 0.931 + 2.53 * math.sqrt(rate)
    a, log_rate = -0.059 + 0.02483 * b, math.log(rate)
    inverse_alpha, v_r = 1.1239 + 1.1328 / (b - 3.4), 0.9277 - 3.6224 / (b - 2)
    while True:
        u, v = draw() - 0.5, draw()
        us = 0.5 - abs(u)
        k = math.floor((2 * a / us + b) * u + rate + 0.43) if us else -1
        if us >= 0.07 and v <= v_r:
            return k
        if k < 0 or (us < 0.013 and v > us):
            continue
        if _log(v) + math.log(inverse_alpha) - math.log(a / (us * us) + b) <= \
                -rate + k * log_rate - math.lgamma(k + 1.0):
            return k


# ---- binomial ------------------------------------------------------------------------------------------------------

def binomial(stream: Stream, count: np.ndarray, prob: np.ndarray) -> np.ndarray:
    """Return binomially distributed numbers with a count and a probability per element. See torch.binomial."""
    check.require(count.dtype.kind not in "iub",
                  f"binomial only supports floating-point dtypes for count, got: {check.scalar_name(count.dtype)}",
                  ValueError)
    check.require(count.dtype == prob.dtype, f"Found dtype {check.scalar_name(prob.dtype)} but expected "
                  f"{check.scalar_name(count.dtype)}")
    supported(count.dtype, (F32, F64), "binomial_cpu")
    size = check.broadcast_shapes(count.shape, prob.shape)
    counts, probs = (np.broadcast_to(x, size).ravel() for x in (count, prob))
    with stream.one_by_one(8 * counts.size) as draw, np.errstate(all="ignore"):
        return np.array([_binomial(n, p, draw) for n, p in zip(counts, probs, strict=True)], count.dtype).reshape(size)


def _binomial(n: np.floating, p: np.floating, draw: Draw) -> float:
    """Draw one number. ``n`` and ``p`` are NumPy scalars, whose precision PyTorch uses in some steps."""
    one = p.dtype.type(1)
    if n <= 0 or p <= 0:
        return 0.0
    if p >= 1:
        return float(n)
    if p <= 0.5:
        return _fewer(n, p, draw)
    return float(n) - _fewer(n, one - p, draw) if p > 0.5 else math.nan


def _fewer(n: np.floating, p: np.floating, draw: Draw) -> float:
    if n * p >= 10:
        return _binomial_by_rejection(n, p, draw)
    log_miss, total, hits = float(np.log1p(-p)), 0.0, 0
    while True:
        total += math.ceil(_log(u) / log_miss) if (u := draw()) else math.inf
        if total > n:
            return float(hits)
        hits += 1


def _binomial_by_rejection(n: np.floating, p: np.floating, draw: Draw) -> float:
    """Draw by Hörmann's transformed rejection BTRS (1993)."""
    one = p.dtype.type(1)
    deviation, ratio, m = float(np.sqrt(n * p * (one - p))), float(p / (one - p)), float(np.floor((n + one) * p))
    b = 1.15 + 2.53 * deviation
    a, c, v_r = -0.0873 + 0.0248 * b + 0.01 * float(p), float(n * p) + 0.5, 0.92 - 4.2 / b
    alpha, most = (2.83 + 5.1 / b) * deviation, float(n)
    while True:
        u, v = draw() - 0.5, draw()
        us = 0.5 - abs(u)
        k = math.floor((2 * a / us + b) * u + c) if us else -1
        if not 0 <= k <= most:
            continue
        if (us >= 0.07 and v <= v_r) or _log(v * alpha / (a / (us * us) + b)) <= _log_ratio(most, ratio, m, k):
            return float(k)


def _log_ratio(n: float, r: float, m: float, k: int) -> float:
    return ((m + 0.5) * math.log((m + 1) / (r * (n - m + 1))) + (n + 1) * math.log((n - m + 1) / (n - k + 1))
            + (k + 0.5) * math.log(r * (n - k + 1) / (k + 1))
            + _stirling_tail(m) + _stirling_tail(n - m) - _stirling_tail(k) - _stirling_tail(n - k))


_TAILS = (0.0810614667953272, 0.0413406959554092, 0.0276779256849983, 0.02079067210376509, 0.0166446911898211,
          0.0138761288230707, 0.0118967099458917, 0.0104112652619720, 0.00925546218271273, 0.00833056343336287)


def _stirling_tail(k: float) -> float:
    if k < len(_TAILS):
        return _TAILS[int(k)]
    square = (k + 1) * (k + 1)
    return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1)


# ---- gamma and dirichlet -------------------------------------------------------------------------------------------

def standard_gamma(stream: Stream, alpha: np.ndarray) -> np.ndarray:
    """Return gamma-distributed numbers of scale 1 with a concentration per element. See torch.distributions.Gamma."""
    supported(alpha.dtype, (F32, F64), "gamma_cpu")
    out = np.array(_gammas(stream, alpha.ravel()), np.float64).astype(alpha.dtype)
    return np.fmax(out, np.finfo(alpha.dtype).tiny).reshape(alpha.shape)


def dirichlet(stream: Stream, alpha: np.ndarray) -> np.ndarray:
    """Return Dirichlet samples with the concentrations in the last dimension. See torch.distributions.Dirichlet."""
    supported(alpha.dtype, (F32, F64), "dirichlet")
    gammas = standard_gamma(stream, alpha.astype(np.float64))
    parts = (gammas / gammas.sum(axis=-1, keepdims=alpha.ndim > 0)).astype(alpha.dtype)
    one = alpha.dtype.type(1)
    return np.clip(parts, np.finfo(alpha.dtype).tiny, np.nextafter(one, one - one))


def _gammas(stream: Stream, alphas: np.ndarray) -> list[float]:
    with stream.one_by_one(4 * alphas.size) as draw:
        def normal() -> float:
            kept, stream.next_normal = stream.next_normal, None
            if kept is not None:
                return kept
            u1, u2 = draw(), draw()
            r, theta = math.sqrt(-2.0 * math.log1p(-u2)), 2.0 * math.pi * u1
            stream.next_normal = r * math.sin(theta)
            return r * math.cos(theta)

        return [_gamma(alpha, draw, normal) for alpha in alphas]


_THIRD, _SQUEEZE = np.float32(1) / np.float32(3), float(np.float32(0.0331))


def _gamma(alpha: np.floating, draw: Draw, normal: Draw) -> float:
    """Draw by Marsaglia and Tsang's rejection (2000)."""
    one, scale = alpha.dtype.type(1), 1.0
    if alpha < 1:
        if alpha == 0:
            return 0.0
        scale = (1 - draw()) ** float(one / alpha)
        alpha = alpha + one
    d = float(alpha - alpha.dtype.type(_THIRD))
    c = 1.0 / math.sqrt(9.0 * d) if d > 0 else math.nan
    while True:
        while (y := 1.0 + c * (x := normal())) <= 0:
            pass
        v, u, xx = y * y * y, 1 - draw(), x * x
        if u < 1.0 - _SQUEEZE * xx * xx or _log(u) < 0.5 * xx + d * (1.0 - v + _log(v)):
            return scale * d * v
