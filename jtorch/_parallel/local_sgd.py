"""An optimizer that averages parameters over processes every few steps."""
from __future__ import annotations

from typing import Any

from jtorch._base import warned
from jtorch._optimizers.optimizer import Optimizer
from jtorch.distributed.algorithms.model_averaging.averagers import ModelAverager


class PostLocalSGDOptimizer(Optimizer):
    """An optimizer that runs an averager after each step of another one. See torch.distributed.optim.PostLocalSGDOptimizer.

    Args:
        optim: the optimizer of each process.
        averager: the averager of the parameters.

    """

    def __init__(self, optim: Optimizer, averager: ModelAverager):
        self.optim, self.averager, self.param_groups = optim, averager, optim.param_groups

    @property
    def state(self) -> Any:     # type: ignore[override]
        """The wrapped optimizer's state."""
        return self.optim.state

    def __repr__(self) -> str:
        return repr(self.optim)

    def state_dict(self) -> dict:
        """Return the wrapped optimizer's state dict with the averager's step count."""
        return {**self.optim.state_dict(), "step": self.averager.step}

    def load_state_dict(self, state_dict: dict) -> None:
        """Load what ``state_dict`` returned."""
        self.optim.load_state_dict({k: v for k, v in state_dict.items() if k != "step"})
        self.param_groups = self.optim.param_groups
        if "step" not in state_dict:
            warned.warn("Loaded state dict does not contain a step counter for an averager. Setting step counter to 0.")
        self.averager.step = state_dict.get("step", 0)

    def step(self) -> None:     # type: ignore[override]
        """Step the wrapped optimizer, then the averager."""
        self.optim.step()
        self.averager.average_parameters(self.param_groups)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Reset the gradients."""
        self.optim.zero_grad(set_to_none=set_to_none)

    def add_param_group(self, param_group: dict) -> None:
        """Add a parameter group to the wrapped optimizer."""
        self.optim.add_param_group(param_group)
