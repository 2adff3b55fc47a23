"""Gradients of gamma and Dirichlet samples by the distribution's parameters.

For a distribution function F, a sample x has dx/da = -(dF/da) / (dF/dx) by the parameter a: Figurnov and others, Implicit
Reparameterization Gradients (2018). For the gamma distribution JAX computes it to full precision (PyTorch's errors reach
0.001 of the value). For the beta distribution this file has PyTorch's expansions, after Jankowiak and Obermeyer, Pathwise
Derivatives Beyond the Reparameterization Trick (2018).
"""
from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.scipy.special import digamma

from jtorch.ops import check
from jtorch.ops.elementwise import broadcast, derivative
from jtorch.ops.random import F32, F64, supported
from jtorch.ops.registry import Tensor, op


def _one_dtype(kernel: str, first, *others) -> None:
    supported(np.dtype(first.dtype), (F32, F64), kernel)
    for x in others:
        check.require(x.dtype == first.dtype, f"Found dtype {check.scalar_name(x.dtype)} but expected "
                      f"{check.scalar_name(first.dtype)}")


def _in_double(*arrays) -> list:
    return [x.astype(jnp.float64) for x in broadcast(*arrays)]


# ---- gamma ---------------------------------------------------------------------------------------------------------

def _no_second(*_):
    raise NotImplementedError("the derivative for '_standard_gamma_grad' is not implemented.")


@derivative(_no_second, _no_second)
def _gamma_slope(alpha, sample):
    return lax.random_gamma_grad(*_in_double(alpha, sample)).astype(alpha.dtype)


@op(name="_standard_gamma_grad", method=False, out=False, tested=False, loops=True)
def standard_gamma_grad(input: Tensor, output: Tensor):
    """Return the derivative of a standard gamma sample ``output`` by its concentration ``input``. See torch._standard_gamma."""
    _one_dtype("_standard_gamma_grad_cpu", input, output)
    return _gamma_slope(input, output)


@derivative(lambda t, r, alpha, sample: t * _gamma_slope(alpha, sample), lambda t, r, alpha, sample: t)
def _gamma_sample(alpha, sample):
    return sample


@op(name="_gamma_drawn", function=False, method=False, out=False, tested=False, saves="both",
    backward_name="StandardGammaBackward0", loops=True)
def gamma_drawn(alpha: Tensor, sample: Tensor):
    """Return the gamma samples, as a differentiable function of their concentrations."""
    return _gamma_sample(alpha, sample)


# ---- beta and dirichlet --------------------------------------------------------------------------------------------

@op(name="_dirichlet_grad", method=False, out=False, tested=False, differentiable=False, not_derived=True)
def dirichlet_grad(x: Tensor, alpha: Tensor, total: Tensor):
    """Return the derivative of a beta sample ``x`` by ``alpha``, divided by 1 - x. The other concentration is total - alpha.

    See torch.distributions.Dirichlet.
    """
    _one_dtype("_dirichlet_grad_cpu", x, alpha, total)
    return _beta_slope(x, alpha, total)


def _beta_slope(x, alpha, total):
    dtype = x.dtype
    x, a, total = _in_double(x, alpha, total)
    b, spread = total - a, total * x * (1 - x)
    choices = [((x <= 0.5) & (spread < 2.5), _near_zero(x, a, b)), ((x >= 0.5) & (spread < 0.75), -_near_one(1 - x, b, a)),
               ((a > 6) & (b > 6), _both_large(x, a, b))]
    return jnp.select(*zip(*choices, strict=True), _between(x, a, b)).astype(dtype)


@derivative(lambda t, r, alpha, sample: _along_simplex(t * _beta_slope(sample, alpha, alpha.sum(-1, keepdims=True)), sample),
            lambda t, r, alpha, sample: t)
def _dirichlet_sample(alpha, sample):
    return sample


def _along_simplex(moved, sample):
    """Project a tangent so that the elements' sum stays 1."""
    return moved - sample * moved.sum(-1, keepdims=True)


@op(name="_dirichlet_drawn", function=False, method=False, out=False, tested=False, saves="both",
    backward_name="_DirichletBackward")
def dirichlet_drawn(alpha: Tensor, sample: Tensor):
    """Return the Dirichlet samples, as a differentiable function of their concentrations."""
    return _dirichlet_sample(alpha, sample)


def _number(x):
    return jnp.where(jnp.isnan(x), 0, x)


def _near_zero(x, a, b):
    """Return the derivative by ``a`` for x near 0: the differentiated power series of the distribution function."""
    away = digamma(a) - digamma(a + b) - jnp.log(x)
    factor, total = 1.0, 0.0
    for i in range(11):
        factor = factor * (i - b) * x / i if i else factor
        total = total + factor / (a + i) * (away + 1 / (a + i))
    return _number(x * (1 - x) ** -b * total)


def _near_one(x, a, b):
    """Return the derivative by ``b`` for x near 0, like ``_near_zero`` for ``a``."""
    away = digamma(a + b) - digamma(b)
    power, rising, slope, total = 1.0, 1.0, 0.0, 0.0
    for i in range(9):
        if i:
            power, slope, rising = -power * x / i, slope * (b - i) + rising, rising * (b - i)
        total = total + power / (a + i) * (slope + away * rising)
    return _number(-(1 - x) ** (1 - b) * total)


def _both_large(x, a, b):
    """Return Rice's saddle point expansion, or its limit near the mean, where it is 0/0."""
    total = a + b
    mean, std = a / total, jnp.sqrt(a * b / (total + 1)) / total
    return jnp.where(jnp.abs(x - mean) <= 0.1 * std, _at_mean(x, a, b, total), _off_mean(x, a, b, total))


def _off_mean(x, a, b, total):
    gap = a * (x - 1) + b * x
    entropy = b * jnp.log(b / (total * (1 - x))) + a * jnp.log(a / (total * x))
    first = (2 * a ** 2 * (x - 1) + a * b * (x - 1) - x * b ** 2) / (jnp.sqrt(2 * a / b) * total ** 1.5 * gap ** 2)
    second = jnp.sqrt(8 * a * b / total) / gap - jnp.sign(gap) * entropy ** -1.5
    stirling = _stirling(a) * _stirling(b) / _stirling(total)
    return stirling * -x / jnp.sqrt(2 * a * b / total) * (first + 0.5 * jnp.log(a / (total * x)) * second)


def _stirling(x):
    return 1 + 1 / (12 * x) + 1 / (288 * x ** 2)


def _at_mean(x, a, b, total):
    by_power_of_a = (47 * x * b ** 4, (43 + 20 * (16 + 27 * b) * x) * b ** 3, 3 * (59 + 180 * b - 90 * x) * b ** 2,
                     (453 + 1620 * b * (1 - x) - 455 * x) * b, 8 * (1 - x) * (135 * b - 11))
    value = sum([term * a ** i for i, term in enumerate(by_power_of_a)])
    return (1 + 12 * a) * (1 + 12 * b) / total ** 2 / (1 - x) * value / (12960 * a ** 3 * b ** 2 * (1 + 12 * total))


# Coefficients of numerator and denominator, by the powers of log x, log(alpha / x) and log total - log(alpha / x).
_FIT = np.array([
    [[[1.003668233, -0.01061107488, -0.0657888334, 0.01201642863],
      [0.6336835991, -0.3557432599, 0.05486251648, -0.001465281033],
      [-0.03276231906, 0.004474107445, 0.002429354597, -0.0001557569013]],
     [[0.221950385, -0.3187676331, 0.01799915743, 0.01074823814],
      [-0.2951249643, 0.06219954479, 0.01535556598, 0.001550077057],
      [0.02155310298, 0.004170831599, 0.001292462449, 6.976601077e-05]],
     [[-0.05980841433, 0.008441916499, 0.01085618172, 0.002319392565],
      [0.02911413504, 0.01400243777, -0.002721828457, 0.000751041181],
      [0.005900514878, -0.001936558688, -9.495446725e-06, 5.385558597e-05]]],
    [[[1, -0.02924021934, -0.04438342661, 0.007285809825],
      [0.6357567472, -0.3473456711, 0.05454656494, -0.002407477521],
      [-0.03301322327, 0.004845219414, 0.00231480583, -0.0002307248149]],
     [[0.5925320577, -0.1757678135, 0.01505928619, 0.000564515273],
      [0.1014815858, -0.06589186703, 0.01272886114, -0.0007316646956],
      [-0.007258481865, 0.001096195486, 0.0003934994223, -4.12701925e-05]],
     [[0.06469649321, -0.0236701437, 0.002902096474, -5.896963079e-05],
      [0.001925008108, -0.002869809258, 0.0008000589141, -6.063713228e-05],
      [-0.0003477407336, 6.959756487e-05, 1.097287507e-05, -1.650964693e-06]]],
])


def _between(x, a, b):
    """Return an analytic approximation times a fitted ratio of two polynomials."""
    u = jnp.log(x)
    v = jnp.log(a) - u
    w = jnp.log(a + b) - v
    rows = [_polynomial(u, [_polynomial(v, [_polynomial(w, c) for c in cs]) for cs in table]) for table in _FIT]
    return rows[0] / rows[1] * x * (digamma(a + b) - digamma(a)) / b


def _polynomial(x, coefficients):
    value = coefficients[-1]
    for c in coefficients[-2::-1]:
        value = c + x * value
    return value
