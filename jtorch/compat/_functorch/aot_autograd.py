"""torch._functorch.aot_autograd: the calling convention of compiled functions. Its compilers raise NotImplementedError."""
from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from jtorch._base.not_built import placeholders


def make_boxed_func(f: Callable[..., Any]) -> Callable[[Sequence[Any]], Any]:
    """Return a function of one list of arguments that calls ``f`` with them.

    >>> make_boxed_func(max)([1, 3, 2])
    3

    """
    @functools.wraps(f)
    def boxed(args: Sequence[Any]) -> Any:
        return f(*args)
    boxed.__dict__["_boxed_call"] = True
    return boxed


def make_boxed_compiler(compiler: Callable[..., Any]) -> Callable[..., Any]:
    """Return a compiler whose compiled functions take one list of arguments."""
    @functools.wraps(compiler)
    def compile(fx_g: Any, inps: Any) -> Any:
        return make_boxed_func(compiler(fx_g, inps))
    return compile


__getattr__ = placeholders("_functorch.aot_autograd")
