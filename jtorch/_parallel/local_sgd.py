"""An optimizer whose parameters become their mean over processes every few steps."""
from __future__ import annotations

from typing import Any

from jtorch._base import warned
from jtorch._optimizers.optimizer import Optimizer
from jtorch.distributed.algorithms.model_averaging.averagers import ModelAverager


class PostLocalSGDOptimizer(Optimizer):
    """Another optimizer, and an averager behind each of its steps. See torch.distributed.optim.PostLocalSGDOptimizer."""

    def __init__(self, optim: Optimizer, averager: ModelAverager):
        self.optim, self.averager, self.param_groups = optim, averager, optim.param_groups

    @property
    def state(self) -> Any:     # type: ignore[override]
        """The other optimizer's."""
        return self.optim.state

    def __repr__(self) -> str:
        return repr(self.optim)

    def state_dict(self) -> dict:
        """The other optimizer's, with the averager's count of steps."""
        return {**self.optim.state_dict(), "step": self.averager.step}

    def load_state_dict(self, state_dict: dict) -> None:
        """Takes over what ``state_dict`` gave."""
        self.optim.load_state_dict({k: v for k, v in state_dict.items() if k != "step"})
        self.param_groups = self.optim.param_groups
        if "step" not in state_dict:
            warned.warn("Loaded state dict does not contain a step counter for an averager. Setting step counter to 0.")
        self.averager.step = state_dict.get("step", 0)

    def step(self) -> None:     # type: ignore[override]
        """The other optimizer's step; then the averager's."""
        self.optim.step()
        self.averager.average_parameters(self.param_groups)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Takes the gradients away."""
        self.optim.zero_grad(set_to_none=set_to_none)

    def add_param_group(self, param_group: dict) -> None:
        """More parameters for the other optimizer."""
        self.optim.add_param_group(param_group)
