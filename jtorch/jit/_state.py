"""torch.jit._state: whether TorchScript compiles. In jtorch it never does, as in PyTorch with ``PYTORCH_JIT=0``."""
from __future__ import annotations

from typing import Any

_script_classes: dict[type, Any] = {}
_name_to_pyclass: dict[str, type] = {}


class EnabledProxy:
    """The answer of whether TorchScript compiles."""

    enabled = False

    def __bool__(self) -> bool:
        return self.enabled


_enabled = EnabledProxy()


def enable() -> None:
    """Do nothing: functions stay as they are."""


def disable() -> None:
    """Do nothing: TorchScript is off."""


def _clear_class_state() -> None:
    _script_classes.clear()
    _name_to_pyclass.clear()
