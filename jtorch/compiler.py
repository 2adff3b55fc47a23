"""torch.compile and torch.compiler: accepted, with nothing to do. What repeats is compiled anyway, without being asked."""
from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

__all__ = ["allow_in_graph", "assume_constant_result", "compile", "cudagraph_mark_step_begin", "disable",
           "get_default_backend", "is_compiling", "is_dynamo_compiling", "is_exporting", "list_backends",
           "nested_compile_region", "reset", "set_default_backend", "set_stance"]

_STANCES = ("default", "eager_on_recompile", "eager_then_compile", "fail_on_recompile", "aot_eager_then_compile",
            "force_eager")
_MODES = ("default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs", "lite")
_backend = "inductor"


def compile(model: Callable | None = None, *, fullgraph: bool = False, dynamic: bool | None = None,
            backend: str | Callable | None = None, mode: str | None = None, options: dict | None = None,
            name: str | None = None, disable: bool = False, recompile_limit: int | None = None,
            isolate_recompiles: bool = False, shapes_spec: Any = None) -> Any:
    """Return back the module or function: jtorch compiles what repeats by itself. Also a decorator, with arguments or without.

    All arguments are accepted and none changes anything; ``jtorch.engine.report()`` says what has been compiled. A module
    stays what it is: no ``_orig_mod.`` in front of the names in its ``state_dict``. RuntimeError where both ``mode`` and
    ``options`` are given or ``mode`` is not known.

        >>> @torch.compile(fullgraph=True)
        ... def double(x):
        ...     return 2 * x
        >>> double(torch.ones(2))
        tensor([2., 2.])
    """
    if mode is not None and options is not None:
        raise RuntimeError("Either mode or options can be specified, but both can't be specified at the same time.")
    if mode is not None and mode not in _MODES and backend in (None, "inductor"):
        raise RuntimeError(f"Unrecognized mode={mode}, should be one of: {', '.join(_MODES)}")
    if model is None:
        return _given
    return _given(model)


def _given(model: Any) -> Any:
    if not callable(model):
        raise RuntimeError(f"torch.compile expects a callable, got {type(model).__name__}")
    return model


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """Return the function itself, or a decorator that gives it. See torch.compiler.disable."""
    return (lambda f: f) if fn is None else fn


_disable_dynamo = disable


def allow_in_graph(fn: Any) -> Any:
    """Return the function itself. See torch.compiler.allow_in_graph."""
    return fn


assume_constant_result = nested_compile_region = allow_in_graph


def is_compiling() -> bool:
    """False: what runs is the program itself. See torch.compiler.is_compiling."""
    return False


is_dynamo_compiling = is_exporting = is_compiling


def reset() -> None:
    """Nothing. See torch.compiler.reset."""


def cudagraph_mark_step_begin() -> None:
    """Nothing. See torch.compiler.cudagraph_mark_step_begin."""


def list_backends(exclude_tags: Any = ("debug", "experimental")) -> list[str]:
    """Return the only one there is. See torch.compiler.list_backends."""
    return ["xla"]


def set_default_backend(backend: Any) -> None:
    """Keep the name; it changes nothing. See torch.compiler.set_default_backend."""
    global _backend
    _backend = backend


def get_default_backend() -> Any:
    """What was set last. See torch.compiler.get_default_backend."""
    return _backend


@contextlib.contextmanager
def set_stance(stance: str = "default", *, skip_guard_eval_unsafe: bool = False, force_backend: Any = None) -> Iterator[None]:
    """Nothing, for a ``with`` block or as a decorator. See torch.compiler.set_stance."""
    if stance not in _STANCES:
        raise RuntimeError(f"invalid torch.compile stance '{stance}'")
    yield


def load_compiled_function(*args: Any, **kwargs: Any) -> Any:
    """Not built. See torch.compiler.load_compiled_function."""
    raise NotImplementedError("torch.compiler.load_compiled_function is not built: programs are compiled when they are run, and "
                              "jtorch keeps them on disk by itself.")
