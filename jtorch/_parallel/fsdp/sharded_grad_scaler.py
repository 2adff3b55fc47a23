"""ShardedGradScaler: loss scaling for gradients that are sharded over ranks."""
from __future__ import annotations

from collections import defaultdict
from typing import Any

from jtorch.amp.grad_scaler import GradScaler, _refresh_per_optimizer_state
from jtorch.distributed.collectives import all_reduce
from jtorch.optim import Optimizer
from jtorch.tensor import Tensor

__all__ = ["ShardedGradScaler"]


class ShardedGradScaler(GradScaler):
    """Scale losses, and skip a step on all ranks if a gradient of one rank is infinite or nan.

    See torch.distributed.fsdp.sharded_grad_scaler.ShardedGradScaler. Unlike ``GradScaler`` it keeps the dtype of a scaled loss,
    and unscales float16 gradients.

    Args:
        device: the device type used for training.
        init_scale: the first scale.
        backoff_factor: the factor of the scale after an overflow.
        growth_factor: the factor of the scale after ``growth_interval`` steps without overflow.
        growth_interval: the number of steps without overflow before the scale grows.
        enabled: False makes ``step`` call the optimizer's step and the other methods do nothing.
        process_group: the ranks that share the gradients; all, if None.

    Raises:
        AssertionError: factors that do not grow and shrink.

    Example::

        >>> from jtorch.distributed.fsdp.sharded_grad_scaler import ShardedGradScaler
        >>> dist = torch.distributed
        >>> dist.init_process_group(store=dist.HashStore(), rank=0, world_size=1)     # a job of one process
        >>> x = torch.ones(2, requires_grad=True)
        >>> optimizer = torch.optim.SGD([x], lr=0.5)
        >>> scaler = ShardedGradScaler("cpu")
        >>> scaler.scale(x.sum()).backward()
        >>> scaler.step(optimizer)
        >>> scaler.update()
        >>> x
        tensor([0.5000, 0.5000], requires_grad=True)
        >>> dist.destroy_process_group()

    """

    def __init__(self, device: str = "cuda", init_scale: float = 2.0**16, backoff_factor: float = 0.5, growth_factor: float = 2.0,
                 growth_interval: int = 2000, enabled: bool = True, process_group: Any = None):
        super().__init__(device, init_scale, growth_factor, backoff_factor, growth_interval, enabled)
        if self._enabled:
            self.process_group = process_group
            self._per_optimizer_states = defaultdict(_refresh_per_optimizer_state)

    def scale(self, outputs: Any) -> Any:
        """Multiply a tensor, or the tensors in containers, by the scale. Results keep the dtypes of the outputs."""
        made = super().scale(outputs)
        return made.type(outputs.dtype) if self._enabled and isinstance(outputs, Tensor) else made

    def _unscale_grads_(self, optimizer: Optimizer, inv_scale: Tensor, found_inf: Tensor,
                        allow_fp16: bool = True) -> dict[Any, Tensor]:
        """Unscale gradients of any dtype. Return a flag even without gradients: ``unscale_`` reduces the flags of all ranks."""
        return super()._unscale_grads_(optimizer, inv_scale, found_inf, True) or {found_inf.device: found_inf}

    def unscale_(self, optimizer: Optimizer) -> None:
        """Divide the gradients by the scale, and share over ranks whether a gradient is not finite."""
        if not self._enabled:
            return
        super().unscale_(optimizer)
        found = self._per_optimizer_states[id(optimizer)]["found_inf_per_device"]
        for one in found.values():
            all_reduce(one, group=self.process_group)
