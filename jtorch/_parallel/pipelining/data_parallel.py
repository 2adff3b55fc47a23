"""Stages with data parallelism: gradients accumulate over microbatches and are reduced over ranks after the last one."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jtorch._parallel.fsdp.fully_shard import FSDPModule
from jtorch.nn.parallel.distributed import DistributedDataParallel


def run_forward(module: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
    """Run a stage's forward without preparing a reduction of gradients."""
    if isinstance(module, DistributedDataParallel):
        with module.no_sync():
            return module(*args, **kwargs)
    return module(*args, **kwargs)


def run_backward(module: Any, do: Callable[[], Any], last: bool) -> Any:
    """Run a stage's backward. DDP averages gradients in the last one, ``fully_shard`` in ``reduce_gradients``."""
    if isinstance(module, DistributedDataParallel):
        if last:
            module._expect_gradients()
            return do()
        with module.no_sync():
            return do()
    if isinstance(module, FSDPModule):
        module.set_requires_gradient_sync(False)
    return do()


def reduce_gradients(module: Any) -> None:
    """Reduce the gradients that modules sharded by ``fully_shard`` have kept."""
    if isinstance(module, FSDPModule):
        module.set_requires_gradient_sync(True)
        for state in module._states(recurse=True):
            state.group.reduce_kept()
