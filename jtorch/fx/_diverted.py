"""Make the graph node for a call of a PyTorch function that has a proxy as an argument.

The node's arguments are in the form in which PyTorch passes them.

During tracing every public function dispatches on its arguments first, as it does under a mode (``_api/torch_function.py``).
"""
from __future__ import annotations

import inspect
import weakref
from collections.abc import Callable
from typing import Any

from jtorch._api.argument_errors import GUARD, MISSING, OTHER_NAMES_OF_STATICS
from jtorch._api.torch_function import as_written, interception
from jtorch.fx._paths import is_python, path_of

# These functions take no tensors, so PyTorch does not dispatch on their arguments and rejects a proxy.
_REFUSING = frozenset((
    "arange as_tensor asarray bartlett_window blackman_window empty empty_permuted empty_strided eye from_numpy frombuffer full "
    "hamming_window hann_window kaiser_window linspace logspace ones rand randint randn randperm range scalar_tensor tensor "
    "tril_indices triu_indices zeros").split())
# In PyTorch these functions call the method of the same name, so the node is a call of the method.
_CALL_METHODS = ("torch.nn.functional.sigmoid", "torch.nn.functional.tanh")
_OPERATORS = {f"__{r}{n}__": n for n in ("add", "sub", "mul", "matmul", "pow") for r in ("", "r", "i")}


def diverted_while(owner: Any) -> None:
    """Let functions dispatch as long as ``owner`` lives: a tracer whose proxies were created by hand."""
    asking = interception()
    asking.__enter__()
    weakref.finalize(owner, asking.__exit__, None, None, None).atexit = False


def node_of(f: Callable, args: tuple, kwargs: dict[str, Any]) -> tuple[str, Any, tuple, dict[str, Any]]:
    """Return the (opcode, target, args, kwargs) of a call of a function or method."""
    path = path_of(f)
    if path is None:
        if not _is_method(f):
            return "call_function", f, args, kwargs
        return "call_method", _OPERATORS.get(f.__name__, f.__name__), args, kwargs
    short = path.rpartition(".")[2]
    if path == f"torch.{short}" and short in _REFUSING:
        raise TypeError(f"{short}(): argument of type Proxy is not supported: it takes no tensors")
    if path in _CALL_METHODS:
        return "call_method", short, args, kwargs
    return ("call_function", *_normalized_call(f, short, args, kwargs))


def _is_method(f: Callable) -> bool:
    from jtorch.tensor import Tensor
    return getattr(Tensor, f.__name__, None) is f


def _normalized_call(f: Any, short: str, args: tuple, kwargs: dict[str, Any]) -> tuple[Callable, tuple, dict[str, Any]]:
    """Return the call that PyTorch's Python function passes on: arguments without a default by position, the others by name."""
    if not is_python(f):
        return f, args, kwargs
    signature = inspect.signature(as_written(f))
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    positional: list[Any] = []
    named: dict[str, Any] = {}
    for p in signature.parameters.values():
        value = bound.arguments[p.name]
        # PyTorch's functions do not have these parameters.
        if value is MISSING or p.name == GUARD or p.name in OTHER_NAMES_OF_STATICS:
            continue
        if p.kind is p.VAR_POSITIONAL:
            positional += value
        elif p.kind is p.VAR_KEYWORD:
            named.update(value)
        elif p.default is p.empty or p.default is MISSING:
            positional.append(value)
        # Omit ``out=None``, and parameters such as ``tensors=None`` that are only another name for ``*tensors_``.
        elif not (value is None and (p.name == "out" or f"{p.name}_" in signature.parameters)):
            named[p.name] = value
    return _with_indices(f, short, named), tuple(positional), named


def _with_indices(f: Callable, short: str, named: dict[str, Any]) -> Callable:
    """Return the function that pools and returns indices, if ``return_indices`` is set."""
    if not named.get("return_indices"):     # Reading the truth of a proxy raises TraceError.
        return f
    from jtorch.nn import functional
    return getattr(functional, f"{short}_with_indices", f)
