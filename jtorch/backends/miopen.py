"""torch.backends.miopen: a setting without effect."""
from __future__ import annotations

import types

from jtorch.backends import _flags
from jtorch.backends._flags import Flag


class _Miopen(types.ModuleType):
    immediate = Flag(False, "set_immediate_miopen")


_flags.become(__name__, _Miopen)
_module = _Miopen("")


def set_flags(_immediate=None):
    """Set ``immediate`` if it is given, and return the previous value. See torch.backends.miopen."""
    return _flags.set_all(_module, immediate=_immediate)


def flags(immediate=False):
    """Return a context that applies ``set_flags``. See torch.backends.miopen."""
    return _flags.inside(set_flags, immediate)

del Flag, _Miopen      # PyTorch's module does not have these names
