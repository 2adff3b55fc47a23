"""torch.compile and torch.compiler: accepted without effect. jtorch compiles what repeats by itself."""
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
    """Return the module or function unchanged, since jtorch compiles what repeats by itself. See torch.compile.

    It is also a decorator, with or without arguments. ``jtorch.engine.report()`` tells what has been compiled. A module stays
    the same object, so names in its ``state_dict`` get no prefix ``_orig_mod.``.

    Args:
        model: a module or function; None for a decorator.
        mode: one of PyTorch's modes, which is checked and has no effect.
        options: accepted and ignored.
        fullgraph: accepted and ignored.
        dynamic: accepted and ignored.
        backend: accepted and ignored.
        name: accepted and ignored.
        disable: accepted and ignored.
        recompile_limit: accepted and ignored.
        isolate_recompiles: accepted and ignored.
        shapes_spec: accepted and ignored.

    Returns:
        The argument, or a decorator.

    Raises:
        RuntimeError: both ``mode`` and ``options``, or an unknown ``mode``.

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
    """Return the function unchanged, or a decorator that does so. See torch.compiler.disable."""
    return (lambda f: f) if fn is None else fn


_disable_dynamo = disable


def allow_in_graph(fn: Any) -> Any:
    """Return the function unchanged. See torch.compiler.allow_in_graph."""
    return fn


assume_constant_result = allow_in_graph


def nested_compile_region(fn: Any = None, *, options: Any = None, max_reuse_entries: int = 8, reuse_hash_fn: Any = None) -> Any:
    """Return the function itself, or a decorator that does so. See torch.compiler.nested_compile_region."""
    return (lambda f: f) if fn is None else fn


def is_compiling() -> bool:
    """Return False: torch.compile does not trace the user's code. See torch.compiler.is_compiling."""
    return False


is_dynamo_compiling = is_exporting = is_compiling


def reset() -> None:
    """Do nothing. See torch.compiler.reset."""


def cudagraph_mark_step_begin() -> None:
    """Do nothing. See torch.compiler.cudagraph_mark_step_begin."""


def list_backends(exclude_tags: Any = ("debug", "experimental")) -> list[str]:
    """Return the only backend, ``xla``. See torch.compiler.list_backends."""
    return ["xla"]


def set_default_backend(backend: Any) -> None:
    """Store the name, which has no effect. See torch.compiler.set_default_backend."""
    global _backend
    _backend = backend


def get_default_backend() -> Any:
    """Return the name that was set last. See torch.compiler.get_default_backend."""
    return _backend


@contextlib.contextmanager
def set_stance(stance: str = "default", *, skip_guard_eval_unsafe: bool = False, force_backend: Any = None) -> Iterator[None]:
    """Accept a stance, as a context manager or decorator without effect. See torch.compiler.set_stance."""
    if stance not in _STANCES:
        raise RuntimeError(f"invalid torch.compile stance '{stance}'")
    yield


def load_compiled_function(*args: Any, **kwargs: Any) -> Any:
    """Raise NotImplementedError: functions are not saved. See torch.compiler.load_compiled_function."""
    raise NotImplementedError("torch.compiler.load_compiled_function is not built: programs are compiled when they are run, and "
                              "jtorch keeps them on disk by itself.")
