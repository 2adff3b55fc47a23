"""torch.distributed.fsdp.wrap: which modules are cut by themselves."""
from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

__all__ = ["CustomPolicy", "ModuleWrapPolicy", "always_wrap_policy", "enable_wrap", "lambda_auto_wrap_policy",
           "size_based_auto_wrap_policy", "transformer_auto_wrap_policy", "wrap"]


class ModuleWrapPolicy:
    """Modules of these classes. See torch.distributed.fsdp.wrap.ModuleWrapPolicy.

    >>> ModuleWrapPolicy({torch.nn.Linear})(torch.nn.ReLU(), recurse=False)
    False

    """

    def __init__(self, module_classes: Iterable[type]):
        self._module_classes = set(module_classes)

    def __call__(self, module: Any, recurse: bool, *args: Any, **kwargs: Any) -> bool:
        return transformer_auto_wrap_policy(module, recurse, -1, self._module_classes)

    def __repr__(self) -> str:
        return f"{object.__repr__(self)}({self._module_classes})"


class CustomPolicy:
    """Modules for which a function says True. See torch.distributed.fsdp.wrap.CustomPolicy.

    Raises:
        NotImplementedError: the function returns options of a module.
        ValueError: it returns something else.

    >>> CustomPolicy(lambda m: isinstance(m, torch.nn.Linear))(torch.nn.ReLU(), recurse=False)
    False

    """

    def __init__(self, lambda_fn: Callable[[Any], bool | dict[str, Any]]):
        self._lambda_fn = lambda_fn

    def __call__(self, module: Any, recurse: bool, *args: Any, **kwargs: Any) -> bool:
        if recurse:
            return True
        found = self._lambda_fn(module)
        if not isinstance(found, (dict, bool)):
            raise ValueError("The lambda_fn passed to CustomPolicy should return False/True or a kwarg dict, but it returned "
                             f"{found}")
        if found and isinstance(found, dict):
            raise NotImplementedError("CustomPolicy: options of a module are not built; call fully_shard on it")
        return bool(found)


_wrapping: list[dict[str, Any]] = []


@contextlib.contextmanager
def enable_wrap(*, wrapper_cls: Any, **wrapper_kwargs: Any) -> Iterator[None]:
    """In the block, ``wrap`` puts modules into this wrapper. See torch.distributed.fsdp.wrap.enable_wrap."""
    if _wrapping:
        raise NotImplementedError("You are already within an autowrap context and we currently do not supported nested autowrap.")
    _wrapping.append({"wrapper_cls": wrapper_cls, **wrapper_kwargs})
    try:
        yield
    finally:
        _wrapping.pop()


def wrap(module: Any, **wrap_overrides: Any) -> Any:
    """Return a module in the wrapper of ``enable_wrap``; outside of it the module. See torch.distributed.fsdp.wrap.wrap."""
    if not _wrapping:
        return module
    options = {**_wrapping[-1], **wrap_overrides, **getattr(module, "_wrap_overrides", {})}
    return options.pop("wrapper_cls")(module, **options)


def always_wrap_policy(*args: Any, **kwargs: Any) -> bool:
    """Each module."""
    return True


def lambda_auto_wrap_policy(module: Any, recurse: bool, nonwrapped_numel: int, lambda_fn: Callable) -> bool:
    """Modules for which a function says so."""
    return recurse or bool(lambda_fn(module))


def _or_policy(module: Any, recurse: bool, nonwrapped_numel: int, policies: Iterable[Callable]) -> bool:
    """Modules for which any of some policies says so."""
    return any(policy(module=module, recurse=recurse, nonwrapped_numel=nonwrapped_numel) for policy in policies)


def transformer_auto_wrap_policy(module: Any, recurse: bool, nonwrapped_numel: int,
                                 transformer_layer_cls: Iterable[type]) -> bool:
    """Modules of these classes."""
    return recurse or isinstance(module, tuple(transformer_layer_cls))


def size_based_auto_wrap_policy(module: Any, recurse: bool, nonwrapped_numel: int, min_num_params: int = int(1e8),
                                force_leaf_modules: Any = None, exclude_wrap_modules: Any = None) -> bool:
    """Modules with at least so many parameters."""
    return nonwrapped_numel >= min_num_params
