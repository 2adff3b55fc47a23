"""Fractional max pooling of torch.nn.functional, and names of pooling functions that return indices."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jtorch._api import functions, nn_functions
from jtorch._api.names import put
from jtorch.dispatch import call
from jtorch.engine import call_of
from jtorch.ops.registry import OPS, T, freeze
from jtorch.tensor import Tensor

_RATIO = "requires output_ratio to either be a single Int or tuple of Ints."


def _output_size(n: int, input: Tensor, ratio: Any) -> tuple[int, ...]:
    name = f"fractional_max_pool{n}d"
    if ratio is None:
        raise ValueError(f"{name} requires specifying either an output_size or an output_ratio")
    ratios = tuple(ratio) if isinstance(ratio, (tuple, list)) else (ratio,) * n
    if len(ratios) != n:
        raise ValueError(f"{name} {_RATIO}")
    return tuple(int(input.size(i - n) * r) for i, r in enumerate(ratios))


def _pooled(n: int, input: Tensor, kernel: Any, size: Any, ratio: Any, samples: Tensor | None) -> Any:
    if size is None:
        size = _output_size(n, input, ratio)
    if samples is None:
        batch = 1 if input.dim() == n + 1 else input.size(0)
        samples = functions.rand(batch, input.size(-n - 1), n, dtype=input.dtype, device=input.device)
    statics = [freeze(tuple(v) if isinstance(v, (tuple, list)) else v) for v in (kernel, size)]
    return tuple(call(call_of(OPS[f"_fractional_max_pool{n}d"], (T, T, *statics)), [input, samples]))


def _fractional(n: int) -> tuple[Callable, Callable]:
    """Return ``fractional_max_pool{n}d`` and its variant that always returns indices."""
    def with_indices(input: Tensor, kernel_size: Any, output_size: Any = None, output_ratio: Any = None,
                     return_indices: bool = False, _random_samples: Tensor | None = None) -> Any:
        return _pooled(n, input, kernel_size, output_size, output_ratio, _random_samples)

    def pool(input: Tensor, kernel_size: Any, output_size: Any = None, output_ratio: Any = None,
             return_indices: bool = False, _random_samples: Tensor | None = None) -> Any:
        made = _pooled(n, input, kernel_size, output_size, output_ratio, _random_samples)
        return made if return_indices else made[0]

    _name(pool, f"fractional_max_pool{n}d", "Maxima of windows at random places.")
    _name(with_indices, f"fractional_max_pool{n}d_with_indices", "Maxima of windows at random places, and where they are.")
    return pool, with_indices


def _name(f: Callable, name: str, text: str) -> None:
    f.__name__ = f.__qualname__ = name
    f.__doc__ = f"{text} See torch.nn.functional.{name.removesuffix('_with_indices')}."


def _max_with_indices(n: int, pool: Callable) -> Callable:
    def with_indices(input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
                     ceil_mode: bool = False, return_indices: bool = False) -> Any:
        return pool(input, kernel_size, stride, padding, dilation, ceil_mode, True)
    _name(with_indices, f"max_pool{n}d_with_indices", "The maximum of each window, and where it is.")
    return with_indices


def _adaptive_with_indices(n: int, pool: Callable) -> Callable:
    def with_indices(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
        return pool(input, output_size, True)
    _name(with_indices, f"adaptive_max_pool{n}d_with_indices", "The maximum of each part, and where it is.")
    return with_indices


def bind() -> None:
    """Bind the functions of this file to PyTorch's names."""
    made = [f for n in (2, 3) for f in _fractional(n)]
    for n in (1, 2, 3):
        made += [_max_with_indices(n, getattr(nn_functions, f"max_pool{n}d")),
                 _adaptive_with_indices(n, getattr(nn_functions, f"adaptive_max_pool{n}d"))]
    put(nn_functions, {f.__name__: f for f in made})
    put(functions, {"max_pool1d_with_indices": nn_functions.max_pool1d_with_indices})
