"""Base classes of several families of distributions, which PyTorch does not have."""
from __future__ import annotations

from typing import Any

from jtorch.distributions.distribution import Distribution, Number, broadcast_all


class AtLoc:
    """The mean and the mode of a distribution that is symmetric about ``loc``."""

    loc: Any

    @property
    def mean(self) -> Any:
        """Return ``loc``."""
        return self.loc

    @property
    def mode(self) -> Any:
        """Return ``loc``."""
        return self.loc


class Parametrized(Distribution):
    """A distribution whose parameters, the names in ``arg_constraints``, are tensors of its batch shape."""

    def _set(self, validate_args: bool | None, **given: Any) -> None:
        values = broadcast_all(*given.values())
        vars(self).update(zip(given, values, strict=True))
        numbers = all([isinstance(v, Number) for v in given.values()])
        Distribution.__init__(self, () if numbers else values[0].size(), validate_args=validate_args)
