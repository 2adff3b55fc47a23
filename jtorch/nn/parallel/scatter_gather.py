"""torch.nn.parallel.scatter_gather: split batches among devices, and join the results."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jtorch._api import functions
from jtorch.device import device as _device
from jtorch.tensor import Tensor

__all__ = ["gather", "scatter", "scatter_kwargs"]


def _place(given: Any) -> _device:
    return _device("cuda", given) if isinstance(given, int) else _device(given)


def _is_namedtuple(obj: Any) -> bool:
    return isinstance(obj, tuple) and hasattr(obj, "_asdict") and hasattr(obj, "_fields")


def scatter(inputs: Any, target_gpus: Sequence[int | _device], dim: int = 0) -> Any:
    """Split tensors into chunks, one per device; other objects are repeated for each device.

    See torch.nn.parallel.scatter_gather.scatter.
    """
    if isinstance(inputs, Tensor):
        chunks = inputs.chunk(len(target_gpus), dim)
        return tuple([chunk.to(_place(at)) for chunk, at in zip(chunks, target_gpus, strict=False)])
    if not isinstance(inputs, (tuple, list, dict)) or not inputs:
        return [inputs for _ in target_gpus]
    kind = type(inputs)
    columns = zip(*[scatter(x, target_gpus, dim) for x in (inputs.items() if isinstance(inputs, dict) else inputs)], strict=False)
    if _is_namedtuple(inputs):
        return [kind(*column) for column in columns]
    return [column if isinstance(inputs, tuple) else kind(column) for column in columns]


def scatter_kwargs(inputs: tuple, kwargs: dict[str, Any] | None, target_gpus: Sequence[int | _device], dim: int = 0) -> tuple:
    """Scatter positional and keyword arguments to lists of equal length.

    See torch.nn.parallel.scatter_gather.scatter_kwargs.
    """
    scattered = list(scatter(inputs, target_gpus, dim)) if inputs else []
    named = list(scatter(kwargs, target_gpus, dim)) if kwargs else []
    scattered += [()] * (len(named) - len(scattered))
    named += [{}] * (len(scattered) - len(named))       # type: ignore[list-item]
    return tuple(scattered), tuple(named)


def gather(outputs: Any, target_device: Any, dim: int = 0) -> Any:
    """Join the results of several devices on ``target_device``.

    See torch.nn.parallel.scatter_gather.gather.
    """
    first = outputs[0]
    if isinstance(first, Tensor):
        parts = [t.reshape(1) if t.dim() == 0 else t for t in outputs]
        return functions.cat([t.to(_place(target_device)) for t in parts], dim=dim)
    if first is None:
        return None
    if isinstance(first, dict):
        if not all([len(first) == len(d) for d in outputs]):
            raise ValueError("All dicts must have the same number of keys")
        return type(first)((key, gather([d[key] for d in outputs], target_device, dim)) for key in first)
    columns = [gather(list(column), target_device, dim) for column in zip(*outputs, strict=True)]
    return type(first)._make(columns) if _is_namedtuple(first) else type(first)(columns)
