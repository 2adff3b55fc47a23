"""torch.distributed.fsdp.wrap: policies that select the modules to shard separately."""
from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

__all__ = ["CustomPolicy", "ModuleWrapPolicy", "always_wrap_policy", "enable_wrap", "lambda_auto_wrap_policy",
           "size_based_auto_wrap_policy", "transformer_auto_wrap_policy", "wrap"]


class ModuleWrapPolicy:
    """A policy that selects modules of some classes. See torch.distributed.fsdp.wrap.ModuleWrapPolicy.

    Args:
        module_classes: the classes.

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
    """A policy that selects the modules for which a function returns True. See torch.distributed.fsdp.wrap.CustomPolicy.

    Args:
        lambda_fn: the function of a module.

    Raises:
        NotImplementedError: the function returns a dict of options.
        ValueError: the function returns something else than a bool.

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
    """Set the wrapper class that ``wrap`` applies in this block. See torch.distributed.fsdp.wrap.enable_wrap."""
    if _wrapping:
        raise NotImplementedError("You are already within an autowrap context and we currently do not supported nested autowrap.")
    _wrapping.append({"wrapper_cls": wrapper_cls, **wrapper_kwargs})
    try:
        yield
    finally:
        _wrapping.pop()


def wrap(module: Any, **wrap_overrides: Any) -> Any:
    """Wrap a module as ``enable_wrap`` says; outside of its block return the module. See torch.distributed.fsdp.wrap.wrap."""
    if not _wrapping:
        return module
    options = {**_wrapping[-1], **wrap_overrides, **getattr(module, "_wrap_overrides", {})}
    return options.pop("wrapper_cls")(module, **options)


def always_wrap_policy(*args: Any, **kwargs: Any) -> bool:
    """Select every module."""
    return True


def lambda_auto_wrap_policy(module: Any, recurse: bool, nonwrapped_numel: int, lambda_fn: Callable) -> bool:
    """Select the modules for which ``lambda_fn`` returns True; with ``recurse``, descend into all modules."""
    return recurse or bool(lambda_fn(module))


def _or_policy(module: Any, recurse: bool, nonwrapped_numel: int, policies: Iterable[Callable]) -> bool:
    """Select the modules that any of ``policies`` selects."""
    return any(policy(module=module, recurse=recurse, nonwrapped_numel=nonwrapped_numel) for policy in policies)


def transformer_auto_wrap_policy(module: Any, recurse: bool, nonwrapped_numel: int,
                                 transformer_layer_cls: Iterable[type]) -> bool:
    """Select the modules of some classes; with ``recurse``, descend into all modules."""
    return recurse or isinstance(module, tuple(transformer_layer_cls))


def size_based_auto_wrap_policy(module: Any, recurse: bool, nonwrapped_numel: int, min_num_params: int = int(1e8),
                                force_leaf_modules: Any = None, exclude_wrap_modules: Any = None) -> bool:
    """Select the modules with at least ``min_num_params`` parameters that are not wrapped yet."""
    return nonwrapped_numel >= min_num_params
