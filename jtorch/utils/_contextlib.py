"""torch.utils._contextlib: context managers that also decorate functions and generators."""
from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Generator
from typing import Any, Self

from jtorch._base import warned

FuncType = Callable[..., Any]


def _wrap_generator(ctx_factory: Callable, func: Callable) -> Callable:
    """Return a generator function that enters the context while the generator runs, and leaves it while the caller does."""
    @functools.wraps(func)
    def generator_context(*args: Any, **kwargs: Any) -> Generator:
        gen = func(*args, **kwargs)
        try:
            with ctx_factory():
                response = gen.send(None)
            while True:
                try:
                    request = yield response
                except GeneratorExit:
                    with ctx_factory():
                        gen.close()
                    raise
                except BaseException:  # noqa: BLE001 (the generator decides what becomes of it)
                    with ctx_factory():
                        response = gen.throw(sys.exc_info()[1])
                else:
                    with ctx_factory():
                        response = gen.send(request)
        except StopIteration as end:
            return end.value
    return generator_context


def context_decorator(ctx: Any, func: Callable) -> Callable:
    """Return ``func`` wrapped in a context, or in a new context that ``ctx()`` makes for each call."""
    if callable(ctx) and hasattr(ctx, "__enter__"):
        raise AssertionError(f"Passed in {ctx} is both callable and also a valid context manager (has __enter__), making it "
                             "ambiguous which interface to use.  If you intended to pass a context manager factory, rewrite your "
                             "call as context_decorator(lambda: ctx()); if you intended to pass a context manager directly, "
                             "rewrite your call as context_decorator(lambda: ctx)")
    if inspect.isclass(func):
        raise RuntimeError("Cannot decorate classes; it is ambiguous whether or not only the constructor or all methods should "
                           "have the context manager applied; additionally, decorating a class at definition-site will prevent "
                           "use of the identifier as a conventional type.  To specify which methods to decorate, decorate each "
                           "of them individually.")
    factory = ctx if callable(ctx) else lambda: ctx
    if inspect.isgeneratorfunction(func):
        return _wrap_generator(factory, func)

    @functools.wraps(func)
    def decorate_context(*args: Any, **kwargs: Any) -> Any:
        with factory():
            return func(*args, **kwargs)
    return decorate_context


class _DecoratorContextManager:
    """A context manager that can decorate a function; each call enters a new context from ``clone``."""

    def __call__(self, orig_func: Callable) -> Callable:
        func = orig_func
        if inspect.isclass(orig_func):
            warned.warn("Decorating classes is deprecated and will be disabled in future versions. You should only decorate "
                        "functions or methods. To preserve the current behavior of class decoration, you can directly decorate "
                        "the `__init__` method and nothing else.", FutureWarning)

            def func(*args: Any, **kwargs: Any) -> Any:
                return orig_func(*args, **kwargs)
        return context_decorator(self.clone, func)

    def __enter__(self) -> Any:
        raise NotImplementedError

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> Any:
        raise NotImplementedError

    def clone(self) -> Any:
        """Return a new context of the same kind; subclasses whose ``__init__`` has arguments override it."""
        return self.__class__()


class _NoParamDecoratorContextManager(_DecoratorContextManager):
    """A context manager without arguments, which also decorates without parentheses."""

    def __new__(cls, orig_func: Callable | None = None) -> Self | Callable:  # type: ignore[misc]
        return super().__new__(cls) if orig_func is None else cls()(orig_func)     # type: ignore[operator]
