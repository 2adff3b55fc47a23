"""Functions that become one node although they are not PyTorch's. See torch.fx.wrap."""
from __future__ import annotations

import builtins
import functools
import inspect
from collections.abc import Callable
from typing import Any

from jtorch.fx._patched import Patcher
from jtorch.fx.node import map_aggregate

_wrapped_fns_to_patch: dict[tuple[int, str], dict[str, Any]] = {}
_wrapped_methods_to_patch: list[tuple[type, str]] = []


def wrap(fn_or_name: Any) -> Any:
    """Register a function of the calling module, or a builtin, that becomes one node. See torch.fx.wrap.

    Args:
        fn_or_name: the function, or its name.

    Returns:
        The argument.

    Raises:
        NotImplementedError: the call is not at the top level of a module.

    >>> torch.fx.wrap("len")
    'len'
    >>> m = torch.fx.symbolic_trace(lambda x: len(x))
    >>> [node.op for node in m.graph.nodes]
    ['placeholder', 'call_function', 'output']

    """
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError("Unsupported type for global function! Must be either a callable or string name")
    frame: Any = inspect.currentframe().f_back      # type: ignore[union-attr]
    if frame.f_code.co_name != "<module>":
        raise NotImplementedError("wrap must be called at the top level of a module")
    name = fn_or_name.__name__ if callable(fn_or_name) else fn_or_name
    _wrapped_fns_to_patch[id(frame.f_globals), name] = frame.f_globals
    return fn_or_name


def _find_proxy(*where: Any) -> Any:
    from jtorch.fx.proxy import Proxy
    found: list[Any] = []
    map_aggregate(where, lambda a: found.append(a) if isinstance(a, Proxy) else None)
    return found[-1] if found else None


def _recording(fn: Callable) -> Callable:
    """Return a function that becomes a node if it is given a proxy."""
    @functools.wraps(fn)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        proxy = _find_proxy(args, kwargs)
        if proxy is None:
            return fn(*args, **kwargs)
        made = proxy.tracer.create_proxy("call_function", fn, args, kwargs)
        made.node.meta["is_wrapped"] = True
        return made
    return wrapped


def _recording_method(cls: type, name: str) -> Callable:
    own = getattr(cls, name)

    @functools.wraps(own)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        proxy = _find_proxy(args, kwargs)
        return own(*args, **kwargs) if proxy is None else proxy.tracer.create_proxy("call_method", name, args, kwargs)
    return wrapped


def patch_wrapped_functions(patcher: Patcher) -> None:
    """Patch all wrapped functions, so that they become nodes."""
    for (_, name), space in list(_wrapped_fns_to_patch.items()):
        own = space[name] if name in space else getattr(builtins, name)
        patcher.patch(space, name, _recording(own))
    for cls, name in _wrapped_methods_to_patch:
        patcher.patch_method(cls, name, _recording_method(cls, name))


def autowrap_check(patcher: Patcher, space: dict[str, Any], function_ids: set[int]) -> None:
    """Patch the functions of a namespace that are to be wrapped."""
    if patcher.visit_once(space):
        for name, value in list(space.items()):
            if not name.startswith("_") and callable(value) and id(value) in function_ids:
                patcher.patch(space, name, _recording(value))
