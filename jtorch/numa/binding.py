"""torch.numa.binding: options for binding processes to CPUs near a GPU. Binding is not built; use ``numactl``."""
from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

__all__ = ["AffinityMode", "NumaOptions"]
_INSTEAD = "is not built; `numactl --cpunodebind=N python script.py` binds a process"


class AffinityMode(str, Enum):      # noqa: UP042  (PyTorch has these bases, on which the text of members depends)
    """The CPUs that a process may use. See torch.numa.binding.AffinityMode."""

    NODE = "node"
    SOCKET = "socket"
    EXCLUSIVE = "exclusive"
    CORE_COMPLEX = "core-complex"


@dataclass(frozen=True)
class NumaOptions:
    """The binding of processes to CPUs. See torch.numa.binding.NumaOptions."""

    affinity_mode: AffinityMode
    should_fall_back_if_binding_fails: bool = False


def _maybe_wrap_command_args_with_numa_binding(command_args: tuple[str, ...], *, gpu_index: int,
                                               numa_options: NumaOptions | None) -> tuple[str, ...]:
    """Return a command's arguments; NotImplementedError if there are options."""
    if numa_options is not None:
        raise NotImplementedError(f"torch.numa.binding of a command {_INSTEAD}")
    return command_args


def _maybe_apply_numa_binding_to_current_process(*, gpu_index: int, numa_options: NumaOptions) -> None:
    """Raise NotImplementedError: processes are not bound."""
    raise NotImplementedError(f"torch.numa.binding of this process {_INSTEAD}")


def _maybe_wrap_with_numa_binding(func: Any, *, gpu_index: int, numa_options: NumaOptions | None) -> Any:
    """Return a function unchanged; NotImplementedError if there are options."""
    if numa_options is not None:
        raise NotImplementedError(f"torch.numa.binding of a function {_INSTEAD}")
    return func
