"""torch.distributed.fsdp.wrap: which modules are cut by themselves."""
from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

__all__ = ["always_wrap_policy", "lambda_auto_wrap_policy", "size_based_auto_wrap_policy", "transformer_auto_wrap_policy"]


def always_wrap_policy(*args: Any, **kwargs: Any) -> bool:
    """Each module."""
    return True


def lambda_auto_wrap_policy(module: Any, recurse: bool, nonwrapped_numel: int, lambda_fn: Callable) -> bool:
    """Modules for which a function says so."""
    return recurse or bool(lambda_fn(module))


def transformer_auto_wrap_policy(module: Any, recurse: bool, nonwrapped_numel: int,
                                 transformer_layer_cls: Iterable[type]) -> bool:
    """Modules of these classes."""
    return recurse or isinstance(module, tuple(transformer_layer_cls))


def size_based_auto_wrap_policy(module: Any, recurse: bool, nonwrapped_numel: int, min_num_params: int = int(1e8),
                                force_leaf_modules: Any = None, exclude_wrap_modules: Any = None) -> bool:
    """Modules with at least so many parameters."""
    return nonwrapped_numel >= min_num_params
