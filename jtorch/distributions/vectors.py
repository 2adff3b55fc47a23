"""Distributions of vectors: the multivariate normal, and batches seen as events."""
from __future__ import annotations

import math
from typing import Any, ClassVar

from jtorch.distributions import constraints
from jtorch.distributions.distribution import AtLoc, Distribution, checked, lazy_property, standard_normal
from jtorch.nn._make import torch


class MultivariateNormal(AtLoc, Distribution):
    """Normally distributed vectors. See torch.distributions.MultivariateNormal.

    Exactly one of ``covariance_matrix``, ``precision_matrix`` and ``scale_tril`` (the lower Cholesky factor of the
    covariance) has to be given, else ValueError.
    """

    arg_constraints = {"loc": constraints.real_vector, "covariance_matrix": constraints.positive_definite,
                       "precision_matrix": constraints.positive_definite, "scale_tril": constraints.lower_cholesky}
    support = constraints.real_vector
    has_rsample = True

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
        batch = torch("broadcast_shapes")(matrix.shape[:-2], loc.shape[:-1])
        self.loc = loc.expand((*batch, -1))
        vars(self)[name] = matrix.expand((*batch, -1, -1))
        super().__init__(batch, self.loc.shape[-1:], validate_args)

    @lazy_property
    def scale_tril(self) -> Any:
        """The lower Cholesky factor of the covariance."""
        return self._tril

    @lazy_property
    def _tril(self) -> Any:
        if "scale_tril" in vars(self):
            return self.scale_tril
        if "covariance_matrix" in vars(self):
            return torch("linalg").cholesky(self.covariance_matrix)
        upper = torch("linalg").cholesky(self.precision_matrix.flip(-2, -1)).flip(-2, -1).mT
        unit = torch("eye")(self.loc.size(-1), dtype=self.loc.dtype, device=self.loc.device)
        return torch("linalg").solve_triangular(upper.mT, unit.expand_as(upper), upper=True).mT.tril()

    @lazy_property
    def covariance_matrix(self) -> Any:
        """The covariance."""
        return self._tril @ self._tril.mT

    @lazy_property
    def precision_matrix(self) -> Any:
        """The inverse of the covariance."""
        return torch("cholesky_inverse")(self._tril)

    @property
    def variance(self) -> Any:
        """The variance of each element."""
        return self._tril.pow(2).sum(-1)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """See Distribution.rsample."""
        eps = standard_normal(self.loc, self._extended_shape(sample_shape))
        return self.loc + (self._tril @ eps.unsqueeze(-1)).squeeze(-1)

    def _half_log_det(self) -> Any:
        return self._tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)

    @checked
    def log_prob(self, value: Any) -> Any:
        """See Distribution.log_prob."""
        away = torch("linalg").solve_triangular(self._tril, (value - self.loc).unsqueeze(-1), upper=False).squeeze(-1)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + away.pow(2).sum(-1)) - self._half_log_det()

    def entropy(self) -> Any:
        """See Distribution.entropy."""
        return 0.5 * self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + self._half_log_det()


class Independent(Distribution):
    """A distribution whose last batch dimensions are taken as one event. See torch.distributions.Independent."""

    arg_constraints: ClassVar[dict] = {}

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
        """As the base."""
        return self.base_dist.has_rsample

    @property
    def support(self) -> Any:       # type: ignore[override]
        """That of the base, of all elements."""
        base, n = self.base_dist.support, self.reinterpreted_batch_ndims
        return base if not n else _All(base, n)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """See Distribution.expand."""
        events = tuple(self.event_shape)[:self.reinterpreted_batch_ndims]
        return Independent(self.base_dist.expand((*batch_shape, *events)), self.reinterpreted_batch_ndims, False)

    @property
    def mean(self) -> Any:
        """That of the base."""
        return self.base_dist.mean

    @property
    def mode(self) -> Any:
        """That of the base."""
        return self.base_dist.mode

    @property
    def variance(self) -> Any:
        """That of the base."""
        return self.base_dist.variance

    def sample(self, sample_shape: Any = ()) -> Any:
        """See Distribution.sample."""
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """See Distribution.rsample."""
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value: Any) -> Any:
        """See Distribution.log_prob."""
        return sum_last(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self) -> Any:
        """See Distribution.entropy."""
        return sum_last(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def __repr__(self) -> str:
        return f"Independent({self.base_dist}, {self.reinterpreted_batch_ndims})"


def sum_last(x: Any, n: int) -> Any:
    """The sum over the last ``n`` dimensions."""
    return x.sum(tuple(range(-n, 0))) if n else x


class _All(constraints.Constraint):
    """A constraint for all elements of the last dimensions."""

    def __init__(self, base: Any, n: int):
        self.base_constraint, self.reinterpreted_batch_ndims = base, n

    def check(self, value: Any) -> Any:
        return self.base_constraint.check(value).flatten(-self.reinterpreted_batch_ndims).all(-1)
