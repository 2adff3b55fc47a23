"""torch.backends.xnnpack: XLA does not use XNNPACK."""
from __future__ import annotations

import types
from typing import NoReturn

from jtorch.backends import _flags


def _refuse(value: object) -> NoReturn:
    raise RuntimeError("Assignment not supported")


class _XNNPACK(types.ModuleType):
    enabled = _flags.Computed(lambda: False, _refuse)


_flags.become(__name__, _XNNPACK)
del _XNNPACK      # PyTorch's module has no such name
