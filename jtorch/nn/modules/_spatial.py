"""Modules for one, two and three spatial dims: one class body per family, and one docstring for all three."""
from __future__ import annotations

import inspect
from typing import Any

from jtorch.nn.modules.module import Module

_WORDS = {1: "one dimension", 2: "two dimensions", 3: "three dimensions"}


class Spatial(Module):
    """A module with ``_spatial`` spatial dims: ``class Pool2d(_PoolNd, spatial=2)``.

    The docstring of such a class is its own text followed by its base class's docstring. Names in braces are replaced:
    ``name`` (of the class), ``n``, ``over`` ("two dimensions"), ``size`` ("H, W") and ``x8`` ("8, 8", for examples).
    """

    _spatial = 0

    def __init_subclass__(cls, spatial: int = 0, **kwargs: Any):
        super().__init_subclass__(**kwargs)
        if spatial:
            cls._spatial = spatial
            template = inspect.cleandoc(cls.__mro__[1].__doc__ or "")
            cls.__doc__ = f"{cls.__doc__}\n\n{template.format_map(_Words(cls.__name__, spatial))}"


class _Words(dict):
    def __init__(self, name: str, n: int):
        super().__init__(name=name, n=n, over=_WORDS[n], size=", ".join("DHW"[3 - n:]) if n > 1 else "L")
        self.n = n

    def __missing__(self, key: str) -> str:
        return ", ".join([key.removeprefix("x")] * self.n)
