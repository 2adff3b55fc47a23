"""Distributions over vectors: the multivariate normal, and batch dims taken as event dims."""
from __future__ import annotations

import math
from typing import Any

from jtorch._api import functions
from jtorch._base.size import NO_DIMS, Size
from jtorch.distributions import constraints
from jtorch.distributions._families import AtLoc
from jtorch.distributions.distribution import Distribution, checked, lazy_property, standard_normal, sum_last
from jtorch.distributions.multivariate_normal import _precision_to_scale_tril


class OfCovariance(Distribution):
    """A distribution with a positive definite matrix, given directly, inverted, or as its Cholesky factor."""

    def _take(self, batch: Any, name: str, matrix: Any) -> None:
        vars(self)[name] = matrix.expand((*batch, -1, -1))

    @lazy_property
    def scale_tril(self) -> Any:
        """Return the lower Cholesky factor of the covariance."""
        return self._of_batch(self._unbroadcasted_scale_tril)

    def _of_batch(self, matrix: Any) -> Any:
        return matrix.expand((*self._batch_shape, *matrix.shape[-2:]))

    @lazy_property
    def _unbroadcasted_scale_tril(self) -> Any:
        if "scale_tril" in vars(self):
            return self.scale_tril
        if "covariance_matrix" in vars(self):
            return functions.linalg.cholesky(self.covariance_matrix)
        if "precision_matrix" not in vars(self):        # a subclass with another ``__init__`` must define this property
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '_unbroadcasted_scale_tril'")
        return _precision_to_scale_tril(self.precision_matrix)

    @lazy_property
    def covariance_matrix(self) -> Any:
        """Return the covariance."""
        return self._of_batch(self._unbroadcasted_scale_tril @ self._unbroadcasted_scale_tril.mT)

    @lazy_property
    def precision_matrix(self) -> Any:
        """Return the inverse of the covariance."""
        return self._of_batch(functions.cholesky_inverse(self._unbroadcasted_scale_tril))

    def _half_log_det(self) -> Any:
        return self._unbroadcasted_scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)


class Gaussian(AtLoc, Distribution):
    """The density of a multivariate normal distribution, given the covariance's determinant and inverse."""

    support = constraints.real_vector
    has_rsample = True
    loc: Any

    def _half_log_det(self) -> Any:
        """Return half the logarithm of the covariance's determinant."""
        raise NotImplementedError

    def _squares(self, columns: Any) -> Any:
        """Return the trace of columns^T @ inverse covariance @ columns."""
        raise NotImplementedError

    def _factors(self) -> list:
        """Return matrices A whose products A @ A^T sum to the covariance."""
        raise NotImplementedError

    @checked
    def log_prob(self, value: Any) -> Any:
        """See Distribution.log_prob."""
        squares = self._squares((value - self.loc).unsqueeze(-1))
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + squares) - self._half_log_det()

    def entropy(self) -> Any:
        """See Distribution.entropy."""
        return 0.5 * self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + self._half_log_det()


class MultivariateNormal(OfCovariance, Gaussian):
    """The multivariate normal distribution. See torch.distributions.MultivariateNormal.

    Exactly one of the three matrices is given. The batch shapes of ``loc`` and the matrix broadcast.

    Args:
        loc (Tensor): the mean, (*batch, n), floating dtype.
        covariance_matrix (Tensor or None): positive definite, (*batch, n, n).
        precision_matrix (Tensor or None): the inverse of the covariance, (*batch, n, n).
        scale_tril (Tensor or None): the lower Cholesky factor of the covariance, (*batch, n, n).
        validate_args (bool or None): whether to check parameters and values; None takes the default.

    Raises:
        ValueError: unless exactly one matrix is given, or for a parameter outside its constraint or with too few
            dims.

    Example::

        >>> torch.distributions.MultivariateNormal(torch.zeros(2), torch.eye(2)).log_prob(torch.zeros(2))
        tensor(-1.8379)

    """

    arg_constraints = {"loc": constraints.real_vector, "covariance_matrix": constraints.positive_definite,
                       "precision_matrix": constraints.positive_definite, "scale_tril": constraints.lower_cholesky}

    def __init__(self, loc: Any, covariance_matrix: Any = None, precision_matrix: Any = None, scale_tril: Any = None,
                 validate_args: bool | None = None):
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        given = {"covariance_matrix": covariance_matrix, "precision_matrix": precision_matrix, "scale_tril": scale_tril}
        names = [n for n, m in given.items() if m is not None]
        if len(names) != 1:
            raise ValueError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        name, matrix = names[0], given[names[0]]
        if matrix.dim() < 2:
            raise ValueError(f"{name} must be at least two-dimensional, with optional leading batch dimensions")
        batch = functions.broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        self.loc = loc.expand((*batch, -1))
        self._take(batch, name, matrix)
        super().__init__(batch, self.loc.shape[-1:], validate_args)

    @property
    def variance(self) -> Any:
        """Return the variance of each element."""
        return self._unbroadcasted_scale_tril.pow(2).sum(-1).expand(self.loc.shape)

    def rsample(self, sample_shape: Any = NO_DIMS) -> Any:
        """See Distribution.rsample."""
        eps = standard_normal(self.loc, self._extended_shape(sample_shape))
        return self.loc + (self._unbroadcasted_scale_tril @ eps.unsqueeze(-1)).squeeze(-1)

    def _squares(self, columns: Any) -> Any:
        return functions.linalg.solve_triangular(self._unbroadcasted_scale_tril, columns, upper=False).pow(2).sum((-2, -1))

    def _factors(self) -> list:
        return [self._unbroadcasted_scale_tril]


class LowRankMultivariateNormal(Gaussian):
    """The multivariate normal distribution with covariance cov_factor @ cov_factor.T + diag(cov_diag).

    Woodbury's identity and the matrix determinant lemma limit decompositions to matrices of the factor's rank. See
    torch.distributions.LowRankMultivariateNormal.

    Args:
        loc (Tensor): the mean, (*batch, n), floating dtype.
        cov_factor (Tensor): (*batch, n, rank).
        cov_diag (Tensor): (*batch, n), positive.
        validate_args (bool or None): whether to check parameters and values; None takes the default.

    Raises:
        ValueError: for shapes that do not fit together, or a parameter outside its constraint.

    Example::

        >>> d = torch.distributions.LowRankMultivariateNormal(torch.zeros(2), torch.ones(2, 1), torch.ones(2))
        >>> d.covariance_matrix
        tensor([[2., 1.],
                [1., 2.]])

    """

    arg_constraints = {"loc": constraints.real_vector, "cov_factor": constraints.independent(constraints.real, 2),
                       "cov_diag": constraints.independent(constraints.positive, 1)}

    def __init__(self, loc: Any, cov_factor: Any, cov_diag: Any, validate_args: bool | None = None):
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        event = loc.shape[-1:]
        if cov_factor.dim() < 2:
            raise ValueError("cov_factor must be at least two-dimensional, with optional leading batch dimensions")
        if cov_factor.shape[-2:-1] != event:
            raise ValueError(f"cov_factor must be a batch of matrices with shape {event[0]} x m")
        if cov_diag.shape[-1:] != event:
            raise ValueError(f"cov_diag must be a batch of vectors with shape {event}")
        try:
            batch = functions.broadcast_shapes(loc.shape[:-1], cov_factor.shape[:-2], cov_diag.shape[:-1])
        except RuntimeError as error:
            raise ValueError(f"Incompatible batch shapes: loc {loc.shape}, cov_factor {cov_factor.shape}, "
                             f"cov_diag {cov_diag.shape}") from error
        self.loc, self.cov_diag = loc.expand((*batch, -1)), cov_diag.expand((*batch, -1))
        self.cov_factor = cov_factor.expand((*batch, -1, -1))
        super().__init__(batch, event, validate_args)

    def _weighed(self) -> Any:
        """Return cov_factor^T divided by the diagonal."""
        return self.cov_factor.mT / self.cov_diag.unsqueeze(-2)

    @lazy_property
    def _capacitance_tril(self) -> Any:
        inner = self._weighed() @ self.cov_factor
        return functions.linalg.cholesky(inner + functions.eye(inner.size(-1), dtype=inner.dtype, device=inner.device))

    @property
    def variance(self) -> Any:
        """Return the variance of each element."""
        return self.cov_factor.pow(2).sum(-1) + self.cov_diag

    @lazy_property
    def covariance_matrix(self) -> Any:
        """Return the covariance."""
        return self.cov_factor @ self.cov_factor.mT + self.cov_diag.diag_embed()

    @lazy_property
    def scale_tril(self) -> Any:
        """Return the lower Cholesky factor of the covariance."""
        return functions.linalg.cholesky(self.covariance_matrix)

    @lazy_property
    def precision_matrix(self) -> Any:
        """Return the inverse of the covariance."""
        inner = functions.linalg.solve_triangular(self._capacitance_tril, self._weighed(), upper=False)
        return self.cov_diag.reciprocal().diag_embed() - inner.mT @ inner

    def rsample(self, sample_shape: Any = NO_DIMS) -> Any:
        """See Distribution.rsample."""
        shape = self._extended_shape(sample_shape)
        shared = standard_normal(self.loc, shape[:-1] + self.cov_factor.shape[-1:])
        own = standard_normal(self.loc, shape)
        return self.loc + (self.cov_factor @ shared.unsqueeze(-1)).squeeze(-1) + self.cov_diag.sqrt() * own

    def _half_log_det(self) -> Any:
        return self._capacitance_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1) + 0.5 * self.cov_diag.log().sum(-1)

    def _squares(self, columns: Any) -> Any:
        inner = functions.linalg.solve_triangular(self._capacitance_tril, self._weighed() @ columns, upper=False)
        return (columns.pow(2) / self.cov_diag.unsqueeze(-1)).sum((-2, -1)) - inner.pow(2).sum((-2, -1))

    def _factors(self) -> list:
        return [self.cov_factor, self.cov_diag.sqrt().diag_embed()]


class Independent(Distribution):
    """A distribution whose last batch dims count as dims of one event. See torch.distributions.Independent.

    ``log_prob`` and ``entropy`` sum over these dims.

    Args:
        base_distribution (Distribution): the distribution of the elements.
        reinterpreted_batch_ndims (int): the number of batch dims to move into the event.
        validate_args (bool or None): whether to check parameters and values; None takes the default.

    Raises:
        ValueError: if the base has fewer batch dims.

    Example::

        >>> D = torch.distributions
        >>> D.Independent(D.Normal(torch.zeros(3), 1.0), 1).log_prob(torch.zeros(3))
        tensor(-2.7568)

    """

    arg_constraints = {}
    _not_of_batch = ("base_dist",)

    def __init__(self, base_distribution: Any, reinterpreted_batch_ndims: int, validate_args: bool | None = None):
        n, batch = reinterpreted_batch_ndims, base_distribution.batch_shape
        if n > len(batch):
            raise ValueError("Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), actual "
                             f"{n} vs {len(batch)}")
        self.base_dist, self.reinterpreted_batch_ndims = base_distribution, n
        split = len(batch) - n
        super().__init__(batch[:split], batch[split:] + base_distribution.event_shape, validate_args)

    @property
    def has_rsample(self) -> bool:      # type: ignore[override]
        """Return whether the base distribution has ``rsample``."""
        return self.base_dist.has_rsample

    @property
    def has_enumerate_support(self) -> bool:        # type: ignore[override]
        """Return the base's value if no batch dims are reinterpreted, else False."""
        return not self.reinterpreted_batch_ndims and self.base_dist.has_enumerate_support

    @constraints.dependent_property
    def support(self) -> Any:       # type: ignore[override]
        """Return the base's support, required of all elements of an event."""
        base, n = self.base_dist.support, self.reinterpreted_batch_ndims
        return constraints.independent(base, n) if n else base

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """See Distribution.expand."""
        new = super().expand(batch_shape, _instance)
        new.base_dist = self.base_dist.expand(Size((*batch_shape, *self.event_shape[:self.reinterpreted_batch_ndims])))
        return new

    @property
    def mean(self) -> Any:
        """Return the base distribution's mean."""
        return self.base_dist.mean

    @property
    def mode(self) -> Any:
        """Return the base distribution's mode."""
        return self.base_dist.mode

    @property
    def variance(self) -> Any:
        """Return the base distribution's variance."""
        return self.base_dist.variance

    def sample(self, sample_shape: Any = NO_DIMS) -> Any:
        """See Distribution.sample."""
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape: Any = NO_DIMS) -> Any:
        """See Distribution.rsample."""
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value: Any) -> Any:
        """See Distribution.log_prob."""
        return sum_last(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self) -> Any:
        """See Distribution.entropy."""
        return sum_last(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def enumerate_support(self, expand: bool = True) -> Any:
        """See Distribution.enumerate_support."""
        if self.reinterpreted_batch_ndims:
            raise NotImplementedError("Enumeration over cartesian product is not implemented")
        return self.base_dist.enumerate_support(expand)

    def __repr__(self) -> str:
        return f"Independent({self.base_dist}, {self.reinterpreted_batch_ndims})"
