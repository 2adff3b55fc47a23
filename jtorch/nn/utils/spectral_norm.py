"""PyTorch's older spectral norm: a hook computes the weight before each forward."""
from __future__ import annotations

from typing import Any

from jtorch._api import functions
from jtorch.nn import functional as F
from jtorch.nn.parameter import UninitializedParameter
from jtorch.nn.utils.parametrizations import output_dim
from jtorch.nn.utils.weight_norm import has_hook, take_hook
from jtorch.no_grad import no_grad
from jtorch.tensor import Parameter, Tensor


class SpectralNorm:
    """The hook: ``weight_orig`` is the parameter, ``weight_u`` and ``weight_v`` are buffers.

    See torch.nn.utils.spectral_norm.
    """

    _version = 1

    def __init__(self, name: str = "weight", n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12):
        if n_power_iterations <= 0:
            raise ValueError(f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}")
        self.name, self.dim, self.n_power_iterations, self.eps = name, dim, n_power_iterations, eps

    def reshape_weight_to_matrix(self, weight: Any) -> Any:
        """Return the weight as a matrix: the output dim first, the other dims flattened."""
        weight = weight.movedim(self.dim, 0)
        return weight.reshape(weight.size(0), -1)

    def compute_weight(self, module: Any, do_power_iteration: bool) -> Tensor:
        """Return the weight divided by its largest singular value."""
        weight, u, v = (getattr(module, self.name + end) for end in ("_orig", "_u", "_v"))
        matrix = self.reshape_weight_to_matrix(weight)
        if do_power_iteration:
            with no_grad():
                for _ in range(self.n_power_iterations):
                    v.copy_(F.normalize(matrix.t().mv(u), dim=0, eps=self.eps))
                    u.copy_(F.normalize(matrix.mv(v), dim=0, eps=self.eps))
                # The next iteration writes to u and v, but this iteration's backward needs their values.
                u, v = u.clone(), v.clone()
        return weight / u.dot(matrix.mv(v))

    @staticmethod
    def apply(module: Any, name: str, n_power_iterations: int, dim: int, eps: float) -> SpectralNorm:
        """Register the hook on a module."""
        if has_hook(module, SpectralNorm, name):
            raise RuntimeError(f"Cannot register two spectral_norm hooks on the same parameter {name}")
        fn, weight = SpectralNorm(name, n_power_iterations, dim, eps), module._parameters[name]
        if weight is None:
            raise ValueError(f"`SpectralNorm` cannot be applied as parameter `{name}` is None")
        if isinstance(weight, UninitializedParameter):
            raise ValueError("The module passed to `SpectralNorm` can't have uninitialized parameters. Make sure to run the "
                             "dummy forward before applying spectral normalization")
        with no_grad():
            u, v = (F.normalize(weight.new_empty(n).normal_(0, 1), dim=0, eps=eps)
                    for n in fn.reshape_weight_to_matrix(weight).shape)
        delattr(module, name)
        module.register_parameter(f"{name}_orig", weight)
        setattr(module, name, weight.data)      # A plain attribute, so that the name exists before the first forward.
        module.register_buffer(f"{name}_u", u)
        module.register_buffer(f"{name}_v", v)
        module.register_forward_pre_hook(fn)
        module._register_state_dict_hook(SpectralNormStateDictHook(fn))
        module.register_load_state_dict_pre_hook(SpectralNormLoadStateDictPreHook(fn))
        return fn

    def remove(self, module: Any) -> None:
        """Make the weight a parameter again."""
        with no_grad():
            weight = self.compute_weight(module, do_power_iteration=False)
        for end in ("", "_u", "_v", "_orig"):
            delattr(module, self.name + end)
        module.register_parameter(self.name, Parameter(weight.detach()))

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module, do_power_iteration=module.training))


class SpectralNormStateDictHook:
    """A hook that stores the version in a state dict's metadata."""

    def __init__(self, fn: SpectralNorm):
        self.fn, self.name = fn, fn.name

    def __call__(self, module: Any, state_dict: dict, prefix: str, local_metadata: dict) -> None:
        versions = local_metadata.setdefault("spectral_norm", {})
        key = f"{self.name}.version"
        if key in versions:
            raise RuntimeError(f"Unexpected key in metadata['spectral_norm']: {key}")
        versions[key] = self.fn._version


class SpectralNormLoadStateDictPreHook:
    """A hook that loads state dicts without ``weight_v``: it solves for this vector."""

    def __init__(self, fn: SpectralNorm):
        self.fn, self.name = fn, fn.name

    def __call__(self, module: Any, state_dict: dict, prefix: str, local_metadata: dict, strict: bool, missing_keys: list,
                 *_: Any) -> None:
        if local_metadata.get("spectral_norm", {}).get(f"{self.name}.version") is not None:
            return
        key = prefix + self.name
        if key not in state_dict and all([key + end in state_dict for end in ("_orig", "_u", "_v")]):
            return
        missing = [key + end for end in ("_orig", "", "_u") if key + end not in state_dict]
        if missing:
            missing_keys.extend(missing if strict else ())
            return
        with no_grad():
            weight, original, u = state_dict.pop(key), state_dict[f"{key}_orig"], state_dict[f"{key}_u"]
            state_dict[f"{key}_v"] = _solved(self.fn.reshape_weight_to_matrix(original), u, (original / weight).mean())


def _solved(matrix: Any, u: Any, sigma: Any) -> Any:
    """Return the least-squares v for which ``u @ matrix @ v`` is ``sigma``."""
    v = functions.linalg.multi_dot([matrix.t().mm(matrix).pinverse(), matrix.t(), u.unsqueeze(1)]).squeeze(1)
    return v.mul_(sigma / u.dot(matrix.mv(v)))


def spectral_norm(module: Any, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12,
                  dim: int | None = None) -> Any:
    """Divide a weight by its largest singular value, by PyTorch's older hook.

    See torch.nn.utils.spectral_norm.
    """
    SpectralNorm.apply(module, name, n_power_iterations, output_dim(module) if dim is None else dim, eps)
    return module


def remove_spectral_norm(module: Any, name: str = "weight") -> Any:
    """Make the weight a parameter again. See torch.nn.utils.remove_spectral_norm."""
    hook = take_hook(module._forward_pre_hooks, SpectralNorm, name)
    if hook is None:
        raise ValueError(f"spectral_norm of '{name}' not found in {module}")
    hook.remove(module)
    take_hook(module._state_dict_hooks, SpectralNormStateDictHook, name)
    loads = module._load_state_dict_pre_hooks
    for key in [k for k, h in loads.items() if isinstance(h.hook, SpectralNormLoadStateDictPreHook) and h.hook.name == name]:
        del loads[key]
    return module


__all__ = ["SpectralNorm", "SpectralNormLoadStateDictPreHook", "SpectralNormStateDictHook", "remove_spectral_norm",
           "spectral_norm"]
