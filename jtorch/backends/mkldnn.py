"""torch.backends.mkldnn: the availability of oneDNN, and settings without effect."""
from __future__ import annotations

import types

from jtorch.backends import _flags, precision
from jtorch.backends._flags import Computed, Flag
from jtorch.ops import _onednn

VERBOSE_OFF, VERBOSE_ON, VERBOSE_ON_CREATION = 0, 1, 2


def is_available() -> bool:
    """Return whether oneDNN is installed for convolutions (the extra ``onednn``).

    See torch.backends.mkldnn.is_available.
    """
    return _onednn.version() is not None


class verbose:  # noqa: N801
    """A context for oneDNN's log, without effect."""

    def __init__(self, level):
        self.level = level

    def __enter__(self):
        return self

    def __exit__(self, *exc_info):
        return False


class _Mkldnn(types.ModuleType):
    enabled = Flag(True, "set_enabled_mkldnn")
    deterministic = Flag(False, "set_deterministic_mkldnn")
    allow_tf32 = None
    fp32_precision = Computed(lambda: precision.get("mkldnn"), lambda value: precision.choose("mkldnn", value))


_flags.become(__name__, _Mkldnn)
_module = _Mkldnn("")


def set_flags(_enabled=None, _deterministic=None, _allow_tf32=None, _fp32_precision="none"):
    """Set the given settings, and return the previous values. See torch.backends.mkldnn."""
    enabled, deterministic, chosen = _flags.set_all(
        _module, enabled=_enabled, deterministic=_deterministic, fp32_precision=_fp32_precision)
    return enabled, deterministic, None, chosen


def flags(enabled=False, deterministic=False, allow_tf32=True, fp32_precision="none"):
    """Return a context that applies ``set_flags``. See torch.backends.mkldnn."""
    return _flags.inside(set_flags, enabled, deterministic, allow_tf32, fp32_precision)

del Computed, Flag, _Mkldnn      # PyTorch's module does not have these names
