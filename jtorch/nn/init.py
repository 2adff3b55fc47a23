"""torch.nn.init: functions that fill new parameters, with PyTorch's random numbers."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from jtorch._api import functions
from jtorch._base import warned
from jtorch.no_grad import no_grad
from jtorch.tensor import Tensor

_GAINS = {"tanh": 5.0 / 3, "relu": math.sqrt(2.0), "selu": 3.0 / 4}


def calculate_gain(nonlinearity: str, param: Any = None) -> float:
    """Return the factor that scales weights for a nonlinearity. See torch.nn.init.calculate_gain."""
    if nonlinearity in ("sigmoid", "linear", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d",
                        "conv_transpose3d"):
        return 1
    if nonlinearity in _GAINS:
        return _GAINS[nonlinearity]
    if nonlinearity != "leaky_relu":
        raise ValueError(f"Unsupported nonlinearity {nonlinearity}")
    if param is not None and (isinstance(param, bool) or not isinstance(param, (int, float))):
        raise ValueError(f"negative_slope {param} not a valid number")
    return math.sqrt(2.0 / (1 + (0.01 if param is None else param) ** 2))


@no_grad()
def uniform_(tensor: Any, a: float = 0.0, b: float = 1.0, generator: Any = None) -> Tensor:
    """Fill with uniform numbers between a and b. See torch.nn.init.uniform_."""
    return tensor.uniform_(a, b, generator=generator)


@no_grad()
def normal_(tensor: Any, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> Tensor:
    """Fill with normal numbers. See torch.nn.init.normal_."""
    return tensor.normal_(mean, std, generator=generator)


def _no_grad_fill_(tensor: Any, val: float) -> Tensor:
    with no_grad():
        return tensor.fill_(val)


def _no_grad_zero_(tensor: Any) -> Tensor:
    return _no_grad_fill_(tensor, 0)


def _cdf(x: float) -> float:
    return (1.0 + math.erf(x / math.sqrt(2.0))) / 2.0


@no_grad()
def trunc_normal_(tensor: Any, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0,
                  generator: Any = None) -> Tensor:
    """Fill with normal numbers between a and b; numbers outside are redrawn.

    If the interval holds less than 0.3 of the distribution, rejection sampling draws uniform numbers and accepts them
    by the density.
    """
    if mean < a - 2 * std or mean > b + 2 * std:
        warned.warn("mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of values may be "
                    "incorrect.")
    if tensor.is_meta:
        return tensor
    if _cdf((b - mean) / std) - _cdf((a - mean) / std) > 0.3:
        tensor.normal_(mean, std, generator=generator)
        low, high = tensor.new_tensor(a).item(), tensor.new_tensor(b).item()
        return _drawn_again(tensor, lambda x: (x < low) | (x > high), lambda x: x.normal_(mean, std, generator=generator))
    highest = -0.5 * ((max(a, min(mean, b)) - mean) / std) ** 2

    def is_refused(x: Tensor) -> Tensor:
        log_density = x.sub(mean).div_(std).pow_(2).mul_(-0.5).sub_(highest)
        return functions.empty_like(x).uniform_(generator=generator).log_().gt(log_density)
    return _drawn_again(tensor.uniform_(a, b, generator=generator), is_refused, lambda x: x.uniform_(a, b, generator=generator))


def _drawn_again(tensor: Any, is_refused: Callable[[Tensor], Tensor], draw: Callable[[Tensor], Tensor]) -> Tensor:
    """Redraw the refused numbers until none is refused. Each round draws for all elements, as PyTorch does."""
    refused = is_refused(tensor)
    while refused.any():
        again = draw(functions.empty_like(tensor))
        tensor.copy_(functions.where(refused, again, tensor))
        refused = refused & is_refused(again)
    return tensor


_no_grad_uniform_, _no_grad_normal_, _no_grad_trunc_normal_ = uniform_, normal_, trunc_normal_


@no_grad()
def constant_(tensor: Any, val: float) -> Tensor:
    """Fill with one number. See torch.nn.init.constant_."""
    return tensor.fill_(val)


def ones_(tensor: Any) -> Tensor:
    """Fill with ones. See torch.nn.init.ones_."""
    return constant_(tensor, 1.0)


@no_grad()
def zeros_(tensor: Any) -> Tensor:
    """Fill with zeros. See torch.nn.init.zeros_."""
    return tensor.zero_()


@no_grad()
def eye_(tensor: Any) -> Tensor:
    """Fill a matrix with the identity. See torch.nn.init.eye_."""
    if tensor.ndimension() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    return tensor.copy_(functions.eye(*tensor.shape, dtype=tensor.dtype, device=tensor.device))


@no_grad()
def dirac_(tensor: Any, groups: int = 1) -> Tensor:
    """Fill a convolution's weight so that it returns its input. See torch.nn.init.dirac_."""
    if tensor.ndimension() not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    sizes = tuple(tensor.size())
    if sizes[0] % groups:
        raise ValueError("dim 0 must be divisible by groups")
    per_group, middle = sizes[0] // groups, tuple(n // 2 for n in sizes[2:])
    tensor.zero_()
    for g in range(groups):
        for d in range(min(per_group, sizes[1])):
            tensor[(g * per_group + d, d, *middle)] = 1
    return tensor


def _calculate_fan_in_and_fan_out(tensor: Any) -> tuple[int, int]:
    if tensor.dim() < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    field = math.prod(tensor.shape[2:])
    return tensor.size(1) * field, tensor.size(0) * field


def _calculate_correct_fan(tensor: Any, mode: str) -> int:
    mode = mode.lower()
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    return _calculate_fan_in_and_fan_out(tensor)[mode == "fan_out"]


def xavier_uniform_(tensor: Any, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Fill with uniform numbers scaled by Glorot's rule. See torch.nn.init.xavier_uniform_."""
    bound = math.sqrt(3.0) * gain * math.sqrt(2.0 / float(sum(_calculate_fan_in_and_fan_out(tensor))))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Any, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Fill with normal numbers scaled by Glorot's rule. See torch.nn.init.xavier_normal_."""
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / float(sum(_calculate_fan_in_and_fan_out(tensor)))), generator)


def kaiming_uniform_(tensor: Any, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu",
                     generator: Any = None) -> Tensor:
    """Fill with uniform numbers scaled by He's rule. See torch.nn.init.kaiming_uniform_."""
    if 0 in tensor.shape:
        warned.warn("Initializing zero-element tensors is a no-op")
        return tensor
    bound = math.sqrt(3.0) * (calculate_gain(nonlinearity, a) / math.sqrt(_calculate_correct_fan(tensor, mode)))
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(tensor: Any, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu",
                    generator: Any = None) -> Tensor:
    """Fill with normal numbers scaled by He's rule. See torch.nn.init.kaiming_normal_."""
    if 0 in tensor.shape:
        warned.warn("Initializing zero-element tensors is a no-op")
        return tensor
    return normal_(tensor, 0.0, calculate_gain(nonlinearity, a) / math.sqrt(_calculate_correct_fan(tensor, mode)), generator)


@no_grad()
def orthogonal_(tensor: Any, gain: float = 1, generator: Any = None) -> Tensor:
    """Fill with a (semi-)orthogonal matrix. See torch.nn.init.orthogonal_."""
    if tensor.ndimension() < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if not tensor.numel():
        return tensor
    rows, cols = tensor.size(0), tensor.numel() // tensor.size(0)
    flat = tensor.new_empty((rows, cols)).normal_(0, 1, generator=generator)
    q, r = functions.linalg.qr(flat.t() if rows < cols else flat)
    q = q * functions.diag(r, 0).sign()
    q = q.t() if rows < cols else q
    tensor.view_as(q).copy_(q)
    return tensor.mul_(gain)


@no_grad()
def sparse_(tensor: Any, sparsity: float, std: float = 0.01, generator: Any = None) -> Tensor:
    """Fill with normal numbers and set a fraction of each column to zero. See torch.nn.init.sparse_."""
    if tensor.ndimension() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    rows, cols = tensor.shape
    tensor.normal_(0, std, generator=generator)
    for col in range(cols):
        tensor[functions.randperm(rows)[: math.ceil(sparsity * rows)], col] = 0
    return tensor


def _without_underscore(function: Any) -> Any:
    old, new = function.__name__.removesuffix("_"), function.__name__

    def deprecated(*args: Any, **kwargs: Any) -> Tensor:
        warned.warn(f"`nn.init.{old}` is now deprecated in favor of `nn.init.{new}`.", FutureWarning)
        return function(*args, **kwargs)
    deprecated.__name__ = deprecated.__qualname__ = old
    deprecated.__doc__ = f"The old name of ``{new}``."
    return deprecated


uniform, normal, constant, eye, dirac, xavier_uniform, xavier_normal, kaiming_uniform, kaiming_normal, orthogonal, sparse = [
    _without_underscore(f) for f in (uniform_, normal_, constant_, eye_, dirac_, xavier_uniform_, xavier_normal_,
                                     kaiming_uniform_, kaiming_normal_, orthogonal_, sparse_)]
