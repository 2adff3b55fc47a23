"""Settings that are attributes of a module and are checked on assignment."""
from __future__ import annotations

import contextlib
import sys
import types
from collections.abc import Callable
from typing import Any


class Flag:
    """A stored bool. ``setter`` is the setting's name in PyTorch's error."""

    def __init__(self, default: bool, setter: str):
        self.value, self.setter = default, setter

    def __get__(self, owner, kind=None):
        return self.value

    def __set__(self, owner, value):
        check_bool(self.setter, value)
        self.value = value


class Computed:
    """A setting that two functions get and set."""

    def __init__(self, get: Callable[[], Any], set: Callable[[Any], None]):
        self.get, self.set = get, set

    def __get__(self, owner, kind=None):
        return self.get()

    def __set__(self, owner, value):
        self.set(value)


def check_bool(setter: str, value) -> None:
    """Raise PyTorch's error if ``value`` is not a bool."""
    if not isinstance(value, bool):
        raise RuntimeError(f"{setter} expects a bool, but got {type(value).__name__}")


class Settings:
    """An object with only the settings its class declares, as ``torch.backends.cuda.matmul`` is."""

    def __getattr__(self, name):
        raise AttributeError("Unknown attribute " + name)

    def __setattr__(self, name, value):
        if not hasattr(type(self), name):
            raise AttributeError("Unknown attribute " + name)
        object.__setattr__(self, name, value)


def become(module: str, kind: type[types.ModuleType]) -> None:
    """Add the settings that ``kind`` declares to the module with this name."""
    sys.modules[module].__class__ = kind


def set_all(owner, **values) -> tuple:
    """Set the settings whose value is not None, and return the previous values of all."""
    before = tuple(getattr(owner, name) for name in values)
    for name, value in values.items():
        if value is not None:
            setattr(owner, name, value)
    return before


@contextlib.contextmanager
def inside(set_flags: Callable[..., tuple], *values):
    """Apply ``set_flags(*values)`` within a block, and restore the previous values."""
    before = set_flags(*values)
    try:
        yield
    finally:
        set_flags(*before)
