"""Modules of settings that programs read, assign and patch, such as ``torch._dynamo.config``."""
from __future__ import annotations

import contextlib
import copy
import functools
from collections.abc import Callable
from types import ModuleType
from typing import Any


class SettingsModule(ModuleType):
    """A module whose public names are settings. Only existing names can be assigned; ``patch`` assigns them temporarily."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not name.startswith("__") and name not in vars(self):
            raise AttributeError(f"{self.__name__.replace('jtorch.', 'torch.')}.{name} does not exist")
        super().__setattr__(name, value)

    def patch(self, arg1: str | dict[str, Any] | None = None, arg2: Any = None, **kwargs: Any) -> _Patch:
        """Return a context manager or decorator that changes settings.

        Call it as ``patch(name=value)``, ``patch("name", value)`` or ``patch({"name": value})``.
        """
        if arg1 is None:
            return _Patch(self, kwargs)
        return _Patch(self, dict(arg1) if isinstance(arg1, dict) else {arg1: arg2})

    def to_dict(self) -> dict[str, Any]:
        """Return all settings as a dict."""
        return {name: value for name, value in vars(self).items() if not name.startswith("_") and _is_setting(value)}

    def get_config_copy(self) -> dict[str, Any]:
        """Return a deep copy of all settings."""
        return copy.deepcopy(self.to_dict())

    shallow_copy_dict = to_dict

    def load_config(self, given: dict[str, Any]) -> None:
        """Assign the given settings."""
        for name, value in given.items():
            setattr(self, name, value)


def _is_setting(value: Any) -> bool:
    return value is None or isinstance(value, (bool, int, float, str, list, dict, tuple, set))


class _Patch(contextlib.ContextDecorator):
    def __init__(self, module: SettingsModule, changes: dict[str, Any]):
        self.module, self.changes, self.before = module, changes, []        # type: ignore[var-annotated]

    def __enter__(self):
        self.before.append({name: getattr(self.module, name) for name in self.changes})
        self.module.load_config(self.changes)

    def __exit__(self, *exc_info):
        self.module.load_config(self.before.pop())

    def __call__(self, function: Callable) -> Any:
        @functools.wraps(function)
        def patched(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)
        return patched
