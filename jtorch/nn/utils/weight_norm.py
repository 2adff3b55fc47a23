"""PyTorch's older weight norm: a hook computes the weight before each forward."""
from __future__ import annotations

from typing import Any

from jtorch._api import functions
from jtorch._base import warned
from jtorch.nn.parameter import UninitializedParameter
from jtorch.tensor import Parameter, Tensor


def take_hook(hooks: dict, kind: type, name: str) -> Any:
    """Remove a parameter's hook of a class and return it, or None."""
    found = next((k for k, h in hooks.items() if isinstance(h, kind) and getattr(h, "name", None) == name), None)
    return None if found is None else hooks.pop(found)


def has_hook(module: Any, kind: type, name: str) -> bool:
    """Return whether a parameter has a forward pre-hook of a class."""
    return any([isinstance(h, kind) and getattr(h, "name", None) == name for h in module._forward_pre_hooks.values()])


class WeightNorm:
    """The hook: ``weight_g`` and ``weight_v`` are parameters, ``weight`` is computed.

    See torch.nn.utils.weight_norm.
    """

    def __init__(self, name: str, dim: int | None):
        self.name, self.dim = name, -1 if dim is None else dim

    def compute_weight(self, module: Any) -> Tensor:
        """Return the weight with length g and direction v."""
        return functions._weight_norm(getattr(module, f"{self.name}_v"), getattr(module, f"{self.name}_g"), self.dim)

    @staticmethod
    def apply(module: Any, name: str, dim: int | None) -> WeightNorm:
        """Register the hook on a module."""
        warned.warn("`torch.nn.utils.weight_norm` is deprecated in favor of `torch.nn.utils.parametrizations.weight_norm`.",
                    FutureWarning)
        if has_hook(module, WeightNorm, name):
            raise RuntimeError(f"Cannot register two weight_norm hooks on the same parameter {name}")
        fn, weight = WeightNorm(name, dim), getattr(module, name)
        if isinstance(weight, UninitializedParameter):
            raise ValueError("The module passed to `WeightNorm` can't have uninitialized parameters. Make sure to run the "
                             "dummy forward before applying weight normalization")
        del module._parameters[name]
        module.register_parameter(f"{name}_g", Parameter(functions.norm_except_dim(weight, 2, fn.dim).data))
        module.register_parameter(f"{name}_v", Parameter(weight.data))
        setattr(module, name, fn.compute_weight(module))
        module.register_forward_pre_hook(fn)
        return fn

    def remove(self, module: Any) -> None:
        """Make the weight a parameter again."""
        weight = self.compute_weight(module)
        delattr(module, self.name)
        del module._parameters[f"{self.name}_g"], module._parameters[f"{self.name}_v"]
        setattr(module, self.name, Parameter(weight.data))

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module))


def weight_norm(module: Any, name: str = "weight", dim: int = 0) -> Any:
    """Split a weight into length and direction, by PyTorch's older hook. See torch.nn.utils.weight_norm."""
    WeightNorm.apply(module, name, dim)
    return module


def remove_weight_norm(module: Any, name: str = "weight") -> Any:
    """Make the weight a parameter again. See torch.nn.utils.remove_weight_norm."""
    hook = take_hook(module._forward_pre_hooks, WeightNorm, name)
    if hook is None:
        raise ValueError(f"weight_norm of '{name}' not found in {module}")
    hook.remove(module)
    return module


__all__ = ["WeightNorm", "remove_weight_norm", "weight_norm"]
