# Written by tools/stubs.py from the op records: change those, then run `python -m tools.stubs`.
# mypy: disable-error-code="override, misc, overload-overlap, overload-cannot-match"
# pyright: reportIncompatibleMethodOverride=false, reportOverlappingOverload=false
import builtins
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias, overload

import numpy as _np

from jtorch.device import device as _device
from jtorch.dtype import dtype as _dtype
from jtorch._base.generator import Generator as _Generator
from jtorch._base.size import Size as _Size
from jtorch.tensor import Tensor

_Number: TypeAlias = builtins.int | builtins.float | builtins.complex
_DeviceLike: TypeAlias = _device | builtins.str | builtins.int

def airy_ai(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the Airy function Ai. See torch.special.airy_ai."""
def bessel_j0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the Bessel function J0. See torch.special.bessel_j0."""
def bessel_j1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the Bessel function J1. See torch.special.bessel_j1."""
def bessel_y0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the Bessel function Y0. See torch.special.bessel_y0."""
def bessel_y1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the Bessel function Y1. See torch.special.bessel_y1."""
def chebyshev_polynomial_t(input: Tensor | _Number, n: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Return the Chebyshev polynomial of the first kind. See torch.special.chebyshev_polynomial_t."""
def chebyshev_polynomial_u(input: Tensor | _Number, n: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Return the Chebyshev polynomial of the second kind. See torch.special.chebyshev_polynomial_u."""
def chebyshev_polynomial_v(input: Tensor | _Number, n: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Return the Chebyshev polynomial of the third kind. See torch.special.chebyshev_polynomial_v."""
def chebyshev_polynomial_w(input: Tensor | _Number, n: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Return the Chebyshev polynomial of the fourth kind. See torch.special.chebyshev_polynomial_w."""
def digamma(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the logarithmic derivative of the gamma function. See torch.digamma."""
def entr(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return -x log(x). See torch.special.entr."""
def erf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the error function. See torch.erf."""
def erfc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return 1 minus the error function. See torch.erfc."""
def erfcx(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return exp(x*x) erfc(x). See torch.special.erfcx."""
def erfinv(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the inverse of the error function. See torch.erfinv."""
def exp2(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return 2 raised to each element. See torch.exp2."""
def expit(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the logistic function 1 / (1 + exp(-x)). See torch.sigmoid."""
def expm1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return e raised to each element, minus 1, exact for small ones. See torch.expm1."""
def gammainc(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the regularized lower incomplete gamma function. See torch.igamma."""
def gammaincc(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the regularized upper incomplete gamma function. See torch.igammac."""
def gammaln(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the logarithm of the gamma function's magnitude. See torch.lgamma."""
def hermite_polynomial_h(input: Tensor | _Number, n: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Return the physicists' Hermite polynomial. See torch.special.hermite_polynomial_h."""
def hermite_polynomial_he(input: Tensor | _Number, n: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Return the probabilists' Hermite polynomial. See torch.special.hermite_polynomial_he."""
def i0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the modified Bessel function I0. See torch.i0."""
def i0e(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return exp(-|x|) I0(x). See torch.special.i0e."""
def i1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the modified Bessel function I1. See torch.special.i1."""
def i1e(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return exp(-|x|) I1(x). See torch.special.i1e."""
def laguerre_polynomial_l(input: Tensor | _Number, n: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Return the Laguerre polynomial. See torch.special.laguerre_polynomial_l."""
def legendre_polynomial_p(input: Tensor | _Number, n: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Return the Legendre polynomial. See torch.special.legendre_polynomial_p."""
def log1p(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the logarithm of 1 plus each element, exact for small ones. See torch.log1p."""
def log_ndtr(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the logarithm of the standard normal distribution function. See torch.special.log_ndtr."""
def log_softmax(input: Tensor, dim: builtins.int, dtype: _dtype | None = None, *, out: Tensor | None = None) -> Tensor:
    """Return the logarithm of softmax, computed as one. See torch.log_softmax."""
def logit(input: Tensor, eps: builtins.float | None = None, *, out: Tensor | None = None) -> Tensor:
    """Return the inverse of sigmoid, of elements first brought to at least ``eps`` from 0 and 1. See torch.logit."""
def logsumexp(input: Tensor, dim: builtins.int | Sequence[builtins.int], keepdim: builtins.bool = False, *, out: Tensor | None = None) -> Tensor:
    """Return the logarithm of the sum of exponentials along ``dim``. See torch.logsumexp."""
def modified_bessel_i0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the modified Bessel function I0. See torch.special.modified_bessel_i0."""
def modified_bessel_i1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the modified Bessel function I1. See torch.special.modified_bessel_i1."""
def modified_bessel_k0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the modified Bessel function K0. See torch.special.modified_bessel_k0."""
def modified_bessel_k1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the modified Bessel function K1. See torch.special.modified_bessel_k1."""
def multigammaln(input: Tensor, p: builtins.int, *, out: Tensor | None = None) -> Tensor:
    """Return the logarithm of the multivariate gamma function. See torch.mvlgamma."""
def ndtr(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the standard normal distribution function. See torch.special.ndtr."""
def ndtri(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the inverse of ndtr. See torch.special.ndtri."""
def polygamma(n: builtins.int, input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the ``n``-th derivative of digamma. See torch.polygamma."""
def psi(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the logarithmic derivative of the gamma function. See torch.digamma."""
def round(input: Tensor, *, decimals: builtins.int = 0, out: Tensor | None = None) -> Tensor:
    """Return the nearest integer, or multiple of a power of ten; halves go to the even one. See torch.round."""
def scaled_modified_bessel_k0(x: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return exp(x) K0(x). See torch.special.scaled_modified_bessel_k0."""
def scaled_modified_bessel_k1(x: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return exp(x) K1(x). See torch.special.scaled_modified_bessel_k1."""
def shifted_chebyshev_polynomial_t(input: Tensor | _Number, n: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Return the shifted Chebyshev polynomial of the first kind. See torch.special.shifted_chebyshev_polynomial_t."""
def shifted_chebyshev_polynomial_u(input: Tensor | _Number, n: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Return the shifted Chebyshev polynomial of the second kind. See torch.special.shifted_chebyshev_polynomial_u."""
def shifted_chebyshev_polynomial_v(input: Tensor | _Number, n: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Return the shifted Chebyshev polynomial of the third kind. See torch.special.shifted_chebyshev_polynomial_v."""
def shifted_chebyshev_polynomial_w(input: Tensor | _Number, n: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Return the shifted Chebyshev polynomial of the fourth kind. See torch.special.shifted_chebyshev_polynomial_w."""
def sinc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return sin(pi x) / (pi x), 1 at 0. See torch.sinc."""
def softmax(input: Tensor, dim: builtins.int, dtype: _dtype | None = None, *, out: Tensor | None = None) -> Tensor:
    """Return exp of the input, scaled to sum 1 along ``dim``. See torch.softmax."""
def spherical_bessel_j0(x: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return sin(x) / x, 1 at 0. See torch.special.spherical_bessel_j0."""
def xlog1py(input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Return x log(1 + y), 0 where x is 0. See torch.special.xlog1py."""
def xlogy(input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Return x log(y), 0 where x is 0. See torch.xlogy."""
def zeta(input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Return the Hurwitz zeta function. See torch.special.zeta."""
