"""Reductions of masked tensors: the functions of torch.masked. A result is valid if it reduces a valid element."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from jtorch._api import functions as torch
from jtorch._api.creation import tensor
from jtorch._base import warned
from jtorch.dtype import named
from jtorch.masked._ops import function
from jtorch.masked.maskedtensor import layouts
from jtorch.masked.maskedtensor.core import MaskedTensor, is_masked_tensor, without_rule
from jtorch.tensor import Tensor

REDUCE_NAMES = "sum mean amin amax argmin argmax prod all norm var std".split()


def _all(data: Tensor, dim: Any = None, keepdim: bool = False, mask: Any = None, dtype: Any = None) -> Tensor:
    filled = data.masked_fill(~mask, True)
    return filled.all() if dim is None else torch.all(filled, dim=dim, keepdim=keepdim)


def _any(mask: Tensor, dim: Any, keepdim: bool) -> Tensor:
    for d in sorted([dim] if isinstance(dim, int) else dim, reverse=True):
        mask = torch.any(mask, dim=d, keepdim=keepdim)
    return mask


def _whole(name: str, input: MaskedTensor) -> MaskedTensor:
    """Return the reduction of all elements."""
    data, mask = input.get_data(), input.get_mask()
    reduce = _all if name == "all" else function(name)
    if not input.is_sparse:
        return layouts.Constructor.apply(reduce(data, mask=mask), torch.any(mask))
    values, mask = data.values(), mask.values()
    made = reduce(values, mask=mask)
    if name in ("argmin", "argmax") and input.is_sparse_coo():
        made = _place(data, int(made))
    return layouts.Constructor.apply(made, torch.any(mask))


def _place(data: Tensor, number: int) -> Tensor:
    """Return the index of a stored COO value in the flattened dense tensor, as float32 like PyTorch."""
    size = tuple(data.size())
    strides = [math.prod(size) / math.prod(size[:i + 1]) for i in range(len(size))]
    index = data.indices()[:, number].tolist()
    return tensor(float(sum([i * s for i, s in zip(index, strides, strict=True)])), dtype=named("float32"))


def _along(name: str, input: MaskedTensor, dim: Any, keepdim: bool = False, dtype: Any = None) -> Any:
    """Return the reduction of some dims."""
    if input.is_sparse:
        warned.warn(without_rule(f"The sparse version of {name} is not implemented in reductions."))
        return NotImplemented
    if not is_masked_tensor(input):
        raise TypeError("Input to reduce_dim must be a MaskedTensor")
    mask = input.get_mask()
    reduce: Callable = _all if name == "all" else function(name)
    made = reduce(input.get_data(), dim=dim, keepdim=keepdim, dtype=dtype, mask=mask)
    return layouts.Constructor.apply(made, _any(mask, dim, keepdim))


def reduction(name: str) -> Callable:
    """Return the rule of a reduction."""
    def run(*args: Any, **kwargs: Any) -> Any:
        return _whole(name, args[0]) if len(args) == 1 and not kwargs else _along(name, *args, **kwargs)
    return run
