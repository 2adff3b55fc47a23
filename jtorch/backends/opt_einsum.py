"""torch.backends.opt_einsum: JAX always has opt_einsum."""
from __future__ import annotations

import types

from jtorch.backends import _flags
from jtorch.backends._flags import Computed

_STRATEGIES = ["auto", "greedy", "optimal"]
_chosen = {"enabled": True, "strategy": "auto"}


def is_available() -> bool:
    """Whether opt_einsum is installed: JAX needs it. See torch.backends.opt_einsum.is_available."""
    return True


def get_opt_einsum():
    """The package itself. See torch.backends.opt_einsum."""
    import opt_einsum
    return opt_einsum


def _set_enabled(enabled: bool) -> None:
    _chosen["enabled"] = enabled


def _set_strategy(strategy: str) -> None:
    if not _chosen["enabled"]:
        raise ValueError(
            f"opt_einsum is not enabled, so setting a `strategy` to {strategy} will not be meaningful. "
            "torch.einsum will bypass path calculation and simply contract from left to right. "
            "Please set `enabled` to `True` as well or unset `strategy`.")
    if strategy not in _STRATEGIES:
        raise ValueError(f"`strategy` must be one of the following: [{', '.join(_STRATEGIES)}] but is {strategy}")
    _chosen["strategy"] = strategy


class _OptEinsum(types.ModuleType):
    enabled = Computed(lambda: _chosen["enabled"], _set_enabled)
    strategy = Computed(lambda: _chosen["strategy"], _set_strategy)


_flags.become(__name__, _OptEinsum)
_module = _OptEinsum("")


def set_flags(_enabled=None, _strategy=None):
    """Set those settings that are given; what they were. See torch.backends.opt_einsum."""
    return _flags.set_all(_module, enabled=_enabled, strategy=_strategy)


def flags(enabled=None, strategy=None):
    """``set_flags`` for a ``with`` block. See torch.backends.opt_einsum."""
    return _flags.inside(set_flags, enabled, strategy)
