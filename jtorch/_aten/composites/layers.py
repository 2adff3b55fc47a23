"""Composite rules of convolutions, pooling, normalization, ``cosine_similarity`` and ``prelu``."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jtorch._api import functions as torch
from jtorch._api import nn_functions as F
from jtorch._aten.composites.rules import composite
from jtorch._aten.fitting import LISTS
from jtorch._aten.history import operated
from jtorch._aten.operators import sizes
from jtorch.engine import call_of
from jtorch.ops.registry import OPS, T


def _adaptive_to_one(n: int) -> Callable:
    def rule(input: Any, output_size: Any) -> Any:
        wanted = output_size if output_size.__class__ in LISTS else [output_size] * n
        return input.mean(list(range(-n, 0))[::-1], keepdim=True) if all([w == 1 for w in wanted]) else NotImplemented
    return rule


for _n in (2, 3):
    composite(f"nn.functional.adaptive_avg_pool{_n}d")(_adaptive_to_one(_n))


def _unbatched_convolution(n: int, name: str) -> Callable:
    """Make a rule for convolutions of one sample and those with asymmetric padding. The rule changes the input first."""
    def rule(input: Any, **rest: Any) -> Any:
        if rest.get("padding") == "same" and input.dim() == n + 2:
            return _padded(input, n, getattr(F, name), **rest)
        if input.dim() != n + 1:
            return NotImplemented
        return getattr(F, name)(input.unsqueeze(0), **rest).squeeze(0)
    return rule


def _padded(x: Any, n: int, convolve: Callable, weight: Any, dilation: Any, **rest: Any) -> Any:
    totals = [d * (k - 1) for d, k in zip(sizes(dilation, n), weight.shape[2:], strict=True)]
    if not any([total % 2 for total in totals]):
        return NotImplemented
    x = F.pad(x, [p for total in totals[::-1] for p in (0, total % 2)])
    return convolve(x, weight, dilation=dilation, **{**rest, "padding": tuple([total // 2 for total in totals])})


for _n in (1, 2, 3):
    for _kind in ("", "_transpose"):
        composite(f"nn.functional.conv{_kind}{_n}d")(_unbatched_convolution(_n, f"conv{_kind}{_n}d"))


@composite("nn.functional.max_pool1d")
def _max_pool1d(input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False,
                return_indices: bool = False) -> Any:
    def wide(value: Any, first: int) -> Any:
        return None if value is None else (first, value[0] if value.__class__ in LISTS else value)
    made = [t.squeeze(-2) for t in F.max_pool2d(input.unsqueeze(-2), wide(kernel_size, 1), wide(stride, 1),
                                                    wide(padding, 0), wide(dilation, 1), ceil_mode, True)]
    return made if return_indices else made[0]


@composite("nn.functional.avg_pool1d")
def _avg_pool1d(input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
                count_include_pad: bool = True) -> Any:
    def wide(value: Any, first: int) -> Any:
        return None if value is None else (first, value[0] if value.__class__ in LISTS else value)
    return F.avg_pool2d(input.unsqueeze(-2), wide(kernel_size, 1), wide(stride, 1), wide(padding, 0), ceil_mode,
                            count_include_pad).squeeze(-2)


@composite("nn.functional.rms_norm")
def _rms_norm(input: Any, normalized_shape: Any, weight: Any = None, eps: Any = None) -> Any:
    from jtorch._base.dtype_info import finfo
    dims = [-(i + 1) for i in range(len(normalized_shape))][::-1]
    scale = (input.pow(2).mean(dims, keepdim=True) + (finfo(input.dtype).eps if eps is None else eps)).rsqrt()
    made = input * scale
    return made if weight is None else made * weight


@composite("nn.functional.instance_norm")
def _instance_norm(input: Any, running_mean: Any = None, running_var: Any = None, weight: Any = None, bias: Any = None,
                   use_input_stats: bool = True, momentum: float = 0.1, eps: float = 1e-5) -> Any:
    if running_mean is not None or running_var is not None or not use_input_stats:
        return NotImplemented
    n, channels, *size = input.shape
    w, b = (None if x is None else x.repeat(n) for x in (weight, bias))
    return F.batch_norm(input.reshape(1, n * channels, *size), None, None, w, b, True, momentum, eps).view(tuple(input.shape))


@composite("nn.functional.cosine_similarity")
def _cosine_similarity(x1: Any, x2: Any, dim: int = 1, eps: float = 1e-8) -> Any:
    a, b = torch.broadcast_tensors(x1, x2) if x1.shape != x2.shape else (x1, x2)
    lengths = [torch.linalg.vector_norm(x, 2, dim, keepdim=True).clamp_min(eps) for x in (a, b)]
    return ((a / lengths[0]) * (b / lengths[1])).sum(dim)



@composite("prelu")
def _prelu(input: Any, weight: Any) -> Any:
    if input.dim() < 2:
        return NotImplemented
    viewed = weight.view([weight.numel() if d == 1 else 1 for d in range(input.dim())])
    return operated("_prelu_kernel", {"self": input, "weight": viewed}, call_of(OPS["prelu"], (T, T)), (input, weight))
