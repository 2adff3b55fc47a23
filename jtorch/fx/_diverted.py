"""What a call of one of PyTorch's functions with a proxy becomes: which node, with arguments as PyTorch hands them on.

While something is traced, every public function asks its arguments first, as it does while a mode is on
(``_api/torch_function.py``).
"""
from __future__ import annotations

import inspect
import weakref
from collections.abc import Callable
from typing import Any

from jtorch._api.argument_errors import GUARD, MISSING, OTHER_NAMES_OF_STATICS
from jtorch._api.torch_function import as_written, interception
from jtorch.fx._paths import is_python, path_of

# Functions that take no tensors: PyTorch does not ask their arguments, and refuses them.
_REFUSING = frozenset((
    "arange as_tensor asarray bartlett_window blackman_window empty empty_permuted empty_strided eye from_numpy frombuffer full "
    "hamming_window hann_window kaiser_window linspace logspace ones rand randint randn randperm range scalar_tensor tensor "
    "tril_indices triu_indices zeros").split())
_CALL_METHODS = ("torch.nn.functional.sigmoid", "torch.nn.functional.tanh")     # functions that call the method of this name
_OPERATORS = {f"__{r}{n}__": n for n in ("add", "sub", "mul", "matmul", "pow") for r in ("", "r", "i")}


def diverted_while(owner: Any) -> None:
    """Functions ask as long as ``owner`` lives: a tracer of proxies that somebody has made by hand."""
    asking = interception()
    asking.__enter__()
    weakref.finalize(owner, asking.__exit__, None, None, None).atexit = False


def node_of(f: Callable, args: tuple, kwargs: dict[str, Any]) -> tuple[str, Any, tuple, dict[str, Any]]:
    """(opcode, target, args, kwargs) of a call of a function or method."""
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
    return ("call_function", *_spelled_out(f, short, args, kwargs))


def _is_method(f: Callable) -> bool:
    from jtorch.tensor import Tensor
    return getattr(Tensor, f.__name__, None) is f


def _spelled_out(f: Any, short: str, args: tuple, kwargs: dict[str, Any]) -> tuple[Callable, tuple, dict[str, Any]]:
    """Return a function that PyTorch writes in Python hands on what has no default by position and all else by name."""
    if not is_python(f):
        return f, args, kwargs
    signature = inspect.signature(as_written(f))
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    positional: list[Any] = []
    named: dict[str, Any] = {}
    for p in signature.parameters.values():
        value = bound.arguments[p.name]
        if value is MISSING or p.name == GUARD or p.name in OTHER_NAMES_OF_STATICS:     # not PyTorch's parameters
            continue
        if p.kind is p.VAR_POSITIONAL:
            positional += value
        elif p.kind is p.VAR_KEYWORD:
            named.update(value)
        elif p.default is p.empty or p.default is MISSING:
            positional.append(value)
        elif not (value is None and (p.name == "out" or f"{p.name}_" in signature.parameters)):    # *tensors_, tensors=None
            named[p.name] = value
    return _with_indices(f, short, named), tuple(positional), named


def _with_indices(f: Callable, short: str, named: dict[str, Any]) -> Callable:
    """Pooling that gives indices too is a function of its own."""
    if not named.get("return_indices"):     # a proxy refuses to say
        return f
    from jtorch.nn import functional
    return getattr(functional, f"{short}_with_indices", f)
