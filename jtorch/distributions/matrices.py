"""Distributions of positive definite matrices, and of Cholesky factors of correlation matrices."""
from __future__ import annotations

import math
from typing import Any

from jtorch._api import functions
from jtorch._api.creation import tensor
from jtorch._base import warned
from jtorch._base.dtype_info import finfo
from jtorch._base.size import NO_DIMS
from jtorch.distributions import constraints
from jtorch.distributions.distribution import Distribution, ExponentialFamily, Number, broadcast_all, checked
from jtorch.distributions.gamma import Beta, Chi2
from jtorch.distributions.vectors import OfCovariance
from jtorch.no_grad import no_grad

_LOG_2 = math.log(2)


class Wishart(OfCovariance, ExponentialFamily):
    """The Wishart distribution: sums of ``df`` outer products x x^T of normally distributed vectors x.

    Exactly one of the three matrices is given. Samples, (*sample, *batch, n, n), use Bartlett's decomposition. See
    torch.distributions.Wishart.

    Args:
        df (float or Tensor): the degrees of freedom, above n - 1; shape (*batch).
        covariance_matrix (Tensor or None): positive definite, (*batch, n, n).
        precision_matrix (Tensor or None): the inverse of the covariance, (*batch, n, n).
        scale_tril (Tensor or None): the lower Cholesky factor of the covariance, (*batch, n, n).
        validate_args (bool or None): whether to check parameters and values; None takes the default.

    Raises:
        AssertionError: unless exactly one matrix is given.
        ValueError: if ``df`` is too small, or a parameter is outside its constraint.

    Example::

        >>> torch.distributions.Wishart(torch.tensor(3.0), torch.eye(2)).mean
        tensor([[3., 0.],
                [0., 3.]])

    """

    support = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(self, df: Any, covariance_matrix: Any = None, precision_matrix: Any = None, scale_tril: Any = None,
                 validate_args: bool | None = None):
        given = {"covariance_matrix": covariance_matrix, "precision_matrix": precision_matrix, "scale_tril": scale_tril}
        names = [n for n, m in given.items() if m is not None]
        if len(names) != 1:
            raise AssertionError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        matrix = given[names[0]]
        if matrix.dim() < 2:
            raise ValueError("scale_tril must be at least two-dimensional, with optional leading batch dimensions")
        self.df = tensor(df, dtype=matrix.dtype, device=matrix.device) if isinstance(df, Number) else df
        batch = functions.broadcast_shapes(matrix.shape[:-2], self.df.shape)
        self.df = self.df.expand(batch)
        self._check_df(df, matrix.shape[-1])
        self._take(batch, names[0], matrix)
        super().__init__(batch, matrix.shape[-2:], validate_args)

    def _check_df(self, df: Any, n: int) -> None:
        if bool((self.df <= n - 1).any()):
            raise ValueError(f"Value of df={df} expected to be greater than ndim - 1 = {n - 1}.")
        if bool((self.df < n).any()):
            warned.warn("Low df values detected. Singular samples are highly likely to occur for ndim - 1 < df < ndim.")

    @property
    def arg_constraints(self) -> dict:      # type: ignore[override]
        """Return the parameters' constraints, which depend on the matrices' size."""
        return {"covariance_matrix": constraints.positive_definite, "precision_matrix": constraints.positive_definite,
                "scale_tril": constraints.lower_cholesky, "df": constraints.greater_than(self._event_shape[-1] - 1)}

    def _counts(self) -> Any:
        """Return df, df - 1, …, one for each row."""
        tril = self._unbroadcasted_scale_tril
        rows = functions.arange(self._event_shape[-1], dtype=tril.dtype, device=tril.device)
        return self.df.unsqueeze(-1) - rows

    @property
    def mean(self) -> Any:
        """Return df times the covariance."""
        return self.df[..., None, None] * self.covariance_matrix

    @property
    def mode(self) -> Any:
        """Return the matrix of highest density, or nan where df <= n + 1."""
        factor = self.df - self._event_shape[-1] - 1
        return factor.masked_fill(factor <= 0, math.nan)[..., None, None] * self.covariance_matrix

    @property
    def variance(self) -> Any:
        """Return the variance of each element."""
        diagonal = self.covariance_matrix.diagonal(dim1=-2, dim2=-1)
        return self.df[..., None, None] * (self.covariance_matrix.pow(2) + diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2))

    def _bartlett(self, sample_shape: Any) -> Any:
        n = self._event_shape[-1]
        sizes = Chi2(self._counts()).rsample(sample_shape).sqrt()
        noise = sizes.clamp(min=finfo(sizes.dtype).eps).diag_embed()
        rows, columns = functions.tril_indices(n, n, -1)
        noise[..., rows, columns] = functions.randn((*noise.shape[:-2], n * (n - 1) // 2), dtype=noise.dtype, device=noise.device)
        factor = self._unbroadcasted_scale_tril @ noise
        return factor @ factor.mT

    def rsample(self, sample_shape: Any = NO_DIMS, max_try_correction: int | None = None) -> Any:
        with no_grad():
            self._bartlett(sample_shape)
        for _ in range(10 if max_try_correction is None else max_try_correction):
            drawn = self._bartlett(sample_shape)
            if bool(self.support.check(drawn.detach()).all()):
                break
        return drawn

    @checked
    def log_prob(self, value: Any) -> Any:
        df, n = self.df, self._event_shape[-1]
        trace = functions.cholesky_solve(value, self._unbroadcasted_scale_tril).diagonal(dim1=-2, dim2=-1).sum(-1)
        return (-df * (n * _LOG_2 / 2 + self._half_log_det()) - functions.mvlgamma(df / 2, n)
                + (df - n - 1) / 2 * functions.linalg.slogdet(value)[1] - trace / 2)

    def entropy(self) -> Any:
        df, n = self.df, self._event_shape[-1]
        slopes = (self._counts() / 2).digamma().sum(-1)
        return ((n + 1) * (n * _LOG_2 / 2 + self._half_log_det()) + functions.mvlgamma(df / 2, n)
                - (df - n - 1) / 2 * slopes + df * n / 2)

    @property
    def _natural_params(self) -> tuple:         # type: ignore[override]
        return -self.precision_matrix / 2, (self.df - self._event_shape[-1] - 1) / 2

    def _log_normalizer(self, x: Any, y: Any) -> Any:       # type: ignore[override]
        n = self._event_shape[-1]
        y = y + (n + 1) / 2
        return y * (-functions.linalg.slogdet(-2 * x)[1] + _LOG_2 * n) + functions.mvlgamma(y, n)


class LKJCholesky(Distribution):
    """The LKJ distribution over lower Cholesky factors of correlation matrices. See torch.distributions.LKJCholesky.

    Concentration 1 is uniform over correlation matrices; larger ones favor the identity. Samples have the shape
    (*sample, *batch, dim, dim).

    Args:
        dim (int): the number of rows, at least 2.
        concentration (float or Tensor): positive; any shape, floating dtype.
        validate_args (bool or None): whether to check parameters and values; None takes the default.

    Raises:
        ValueError: if ``dim`` is below 2 or ``concentration`` is not positive.

    Source: Lewandowski, Kurowicka and Joe 2009, Generating random correlation matrices, section 3.2 (the onion
    method).

    Example::

        >>> torch.distributions.LKJCholesky(3).log_prob(torch.eye(3))
        tensor(-1.5963)

    """

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky

    def __init__(self, dim: int, concentration: Any = 1.0, validate_args: bool | None = None):
        if dim < 2:
            raise ValueError(f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}.")
        self.dim = dim
        self.concentration, = broadcast_all(concentration)
        super().__init__(self.concentration.size(), (dim, dim), validate_args)

    def _radii(self) -> Any:
        """Return the distribution of each row's squared length without its diagonal element."""
        c = self.concentration
        row = (functions.arange(self.dim, dtype=c.dtype, device=c.device) - 1).clamp(min=0)
        return Beta(row + 0.5, (c + 0.5 * (self.dim - 2)).unsqueeze(-1) - 0.5 * row)

    def sample(self, sample_shape: Any = NO_DIMS) -> Any:
        with no_grad():
            squares = self._radii().sample(sample_shape).unsqueeze(-1)
            shape = self._extended_shape(sample_shape)
            normal = functions.randn(shape, dtype=squares.dtype, device=squares.device).tril(-1)
            direction = normal / normal.norm(dim=-1, keepdim=True)
            direction[..., 0, :] = 0.0
            rows = squares.sqrt() * direction
            last = (1 - (rows ** 2).sum(-1)).clamp(min=finfo(rows.dtype).tiny).sqrt()
            return rows + last.diag_embed()

    @checked
    def log_prob(self, value: Any) -> Any:
        c, n = self.concentration, self.dim - 1
        diagonal = value.diagonal(dim1=-1, dim2=-2)[..., 1:]
        powers = 2 * (c - 1).unsqueeze(-1) + functions.arange(n - 1, -1, -1, dtype=c.dtype, device=c.device)
        top = c + 0.5 * n
        normalizer = 0.5 * n * math.log(math.pi) + functions.mvlgamma(top - 0.5, n) - top.lgamma() * n
        return (powers * diagonal.log()).sum(-1) - normalizer
