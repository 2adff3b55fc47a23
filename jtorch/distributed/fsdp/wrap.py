"""torch.distributed.fsdp.wrap: which modules are cut by themselves."""
from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

__all__ = ["ModuleWrapPolicy", "always_wrap_policy", "lambda_auto_wrap_policy", "size_based_auto_wrap_policy",
           "transformer_auto_wrap_policy"]


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
