"""Functions by the names of PyTorch's kernels, which are made of the public ones: ``torch.native_layer_norm`` and the like.

They also return what those kernels keep for their backwards (means, reciprocal deviations, masks), which has no gradient.
"""
from __future__ import annotations

from typing import Any

from jtorch.no_grad import no_grad
from jtorch.tensor import Tensor

F: dict[str, Any] = {}          # the package's functions and those of nn.functional, filled when they are bound
_MODES, _PADDINGS = ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection")


def _statistics(input: Any, dims: tuple[int, ...], eps: float) -> tuple[Tensor, Tensor]:
    """The mean and the reciprocal standard deviation over ``dims``, which stay as dims of size 1."""
    with no_grad():
        x = input.float() if input.dtype.itemsize < 4 else input
        var, mean = F["var_mean"](x, dims, correction=0, keepdim=True)
        return mean.to(input.dtype), (var + eps).rsqrt().to(input.dtype)


def native_layer_norm(input: Tensor, normalized_shape: Any, weight: Tensor | None, bias: Tensor | None, eps: float):
    """layer_norm with the mean and reciprocal deviation of each row. See torch.nn.functional.layer_norm."""
    shape = tuple(normalized_shape)
    made = F["layer_norm"](input, shape, weight, bias, eps)
    return made, *_statistics(input, tuple(range(-len(shape), 0)), eps)


def native_group_norm(input: Tensor, weight: Tensor | None, bias: Tensor | None, N: int, C: int, HxW: int, group: int,
                      eps: float):
    """group_norm with the mean and reciprocal deviation of each group. See torch.nn.functional.group_norm."""
    made = F["group_norm"](input, group, weight, bias, eps)
    mean, rstd = _statistics(input.reshape(N, group, C // group * HxW), (2,), eps)        # type: ignore[attr-defined]
    return made, mean.reshape(N, group), rstd.reshape(N, group)     # type: ignore[attr-defined]


def native_batch_norm(input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None,
                      running_var: Tensor | None, training: bool, momentum: float, eps: float):
    """batch_norm with the mean and reciprocal deviation of each channel in training. See torch.nn.functional.batch_norm."""
    made = F["functional.batch_norm"](input, running_mean, running_var, weight, bias, training, momentum, eps)
    d = next((t.dtype for t in (running_mean, weight) if t is not None), input.dtype)
    if not training:
        return made, *(input.new_empty((0,), dtype=d) for _ in range(2))        # type: ignore[attr-defined]
    mean, invstd = _statistics(input, (0, *range(2, input.dim())), eps)
    return made, mean.reshape(-1).to(d), invstd.reshape(-1).to(d)       # type: ignore[attr-defined]


def native_dropout(input: Tensor, p: float, train: bool | None):
    """Dropout with the mask of what was kept. See torch.nn.functional.dropout."""
    if train is False:
        return input.clone(), F["ones_like"](input, dtype=F["bool"])        # type: ignore[attr-defined]
    scale = 1.0 / (1.0 - p) if p != 1 else 0.0
    kept = F["empty_like"](input, dtype=F["bool"]).bernoulli_(1 - p)
    return input * kept * scale, kept     # type: ignore[operator]


def native_channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """The channels of ``groups`` groups, dealt out in turn. See torch.nn.functional.channel_shuffle."""
    return F["channel_shuffle"](input, groups)


def grid_sampler(input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool) -> Tensor:
    """grid_sample whose modes are numbers. See torch.nn.functional.grid_sample."""
    return F["grid_sample"](input, grid, _MODES[interpolation_mode], _PADDINGS[padding_mode], align_corners)


def constant_pad_nd(input: Tensor, pad: Any, value: float = 0) -> Tensor:
    """``input`` with a constant around it; negative numbers cut off. See torch.nn.functional.pad."""
    return F["pad"](input, pad, value=value)


NAMES = ("native_layer_norm", "native_group_norm", "native_batch_norm", "native_dropout", "native_channel_shuffle",
         "grid_sampler", "constant_pad_nd")


def bind(torch: dict[str, Any], functional: dict[str, Any]) -> None:
    """Puts the functions of this file into the package."""
    F.update(torch)
    F.update({n: functional[n] for n in ("layer_norm", "group_norm", "grid_sample", "pad", "channel_shuffle")})
    F["functional.batch_norm"] = functional["batch_norm"]
    torch.update({n: globals()[n] for n in NAMES}, grid_sampler_2d=grid_sampler, grid_sampler_3d=grid_sampler)
    functional["native_channel_shuffle"] = native_channel_shuffle
