"""torch.distributed.algorithms.ddp_comm_hooks: DistributedDataParallel's communication hooks by name."""
from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from functools import partial
from typing import Any

from jtorch.distributed.algorithms.ddp_comm_hooks import debugging_hooks as debugging
from jtorch.distributed.algorithms.ddp_comm_hooks import default_hooks as default
from jtorch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook as powerSGD

__all__ = ["DDPCommHookType", "register_ddp_comm_hook"]


def _register(hook: Callable, model: Any, state: Any) -> None:
    model.register_comm_hook(state, hook)


def _register_power(hook: Callable, rank: int, model: Any, state: Any, start_powerSGD_iter: int = 1_000) -> None:
    """Register a PowerSGD hook; ``state`` is the process group, as for the other hooks."""
    model.register_comm_hook(powerSGD.PowerSGDState(state, rank, start_powerSGD_iter), hook)


def _refuse(name: str, model: Any, state: Any) -> None:
    raise NotImplementedError(f"{name} is not built: FP16_COMPRESS and POWER_SGD send fewer bits, too")


class DDPCommHookType(Enum):
    """The hooks of this package: ``DDPCommHookType.FP16_COMPRESS.value(model=model, state=process_group)`` registers one."""

    # A tuple holds each partial, because some Python versions treat a partial in an Enum as a method.
    ALLREDUCE = (partial(_register, default.allreduce_hook),)
    FP16_COMPRESS = (partial(_register, default.fp16_compress_hook),)
    BF16_COMPRESS = (partial(_register, default.bf16_compress_hook),)
    QUANTIZE_PER_TENSOR = (partial(_refuse, "quantization_pertensor_hook"),)
    QUANTIZE_PER_CHANNEL = (partial(_refuse, "quantization_perchannel_hook"),)
    POWER_SGD = (partial(_register_power, powerSGD.powerSGD_hook, 1),)
    POWER_SGD_RANK2 = (partial(_register_power, powerSGD.powerSGD_hook, 2),)
    BATCHED_POWER_SGD = (partial(_register_power, powerSGD.batched_powerSGD_hook, 1),)
    BATCHED_POWER_SGD_RANK2 = (partial(_register_power, powerSGD.batched_powerSGD_hook, 2),)
    NOOP = (partial(_register, debugging.noop_hook),)

    def __init__(self, register: Callable):
        self._value_ = register     # type: ignore[assignment]


def register_ddp_comm_hook(comm_hook_type: DDPCommHookType, model: Any, state: Any = None) -> None:
    """Register one of this package's communication hooks.

    Args:
        comm_hook_type: the hook.
        model: a DistributedDataParallel.
        state: the process group of the hook; all ranks, if None.

    """
    comm_hook_type.value(model=model, state=state)      # type: ignore[operator]
