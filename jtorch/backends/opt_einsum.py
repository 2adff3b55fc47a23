"""torch.backends.opt_einsum: JAX always has opt_einsum."""
from __future__ import annotations

import types

from jtorch.backends import _flags
from jtorch.backends._flags import Computed

_STRATEGIES = ["auto", "greedy", "optimal"]
_chosen = {"enabled": True, "strategy": "auto"}


def is_available() -> bool:
    """Return True: JAX requires opt_einsum. See torch.backends.opt_einsum.is_available."""
    return True


def get_opt_einsum():
    """Return the package opt_einsum. See torch.backends.opt_einsum."""
    import opt_einsum
    return opt_einsum


def _check_strategy(strategy: str) -> None:
    if not _chosen["enabled"]:
        raise ValueError(
            f"opt_einsum is not enabled, so setting a `strategy` to {strategy} will not be meaningful. "
            "torch.einsum will bypass path calculation and simply contract from left to right. "
            "Please set `enabled` to `True` as well or unset `strategy`.")
    if strategy not in _STRATEGIES:
        raise ValueError(f"`strategy` must be one of the following: [{', '.join(_STRATEGIES)}] but is {strategy}")


class _OptEinsum(types.ModuleType):
    """Accepts any values, as PyTorch's does; only ``set_flags`` and ``flags`` check them."""

    enabled = Computed(lambda: _chosen["enabled"], lambda value: _chosen.update(enabled=value))
    strategy = Computed(lambda: _chosen["strategy"], lambda value: _chosen.update(strategy=value))


_flags.become(__name__, _OptEinsum)


def set_flags(_enabled=None, _strategy=None):
    """Set the given settings, and return the previous values. See torch.backends.opt_einsum.

    Raises:
        ValueError: the strategy is none of auto, greedy and optimal, or contractions are not optimized.

    """
    before = _chosen["enabled"], _chosen["strategy"]
    if _enabled is not None:
        _chosen["enabled"] = _enabled
    if _strategy is not None:
        _check_strategy(_strategy)
        _chosen["strategy"] = _strategy
    return before


def flags(enabled=None, strategy=None):
    """Return a context that applies ``set_flags``. See torch.backends.opt_einsum."""
    return _flags.inside(set_flags, enabled, strategy)

del Computed, _OptEinsum      # PyTorch's module does not have these names
