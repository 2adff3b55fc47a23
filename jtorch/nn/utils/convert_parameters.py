"""Parameters as one vector, and back."""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from jtorch._api import functions
from jtorch._api.settings import typename
from jtorch.tensor import Tensor


def _on_one_device(parameters: Iterable[Any]) -> list[Any]:
    given = list(parameters)
    if len({p.get_device() for p in given}) > 1:
        raise TypeError("Found two parameters on different devices, this is currently not supported.")
    return given


def parameters_to_vector(parameters: Iterable[Any]) -> Tensor:
    """Return all parameters as one vector, with history. See torch.nn.utils.parameters_to_vector."""
    return functions.cat([p.view(-1) for p in _on_one_device(parameters)])


def vector_to_parameters(vec: Any, parameters: Iterable[Any]) -> None:
    """Make the parameters views of parts of a vector. See torch.nn.utils.vector_to_parameters."""
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {typename(vec)}")
    whole: Any = vec
    at = 0
    for p in _on_one_device(parameters):
        p.data = whole[at:at + p.numel()].view_as(p).data
        at += p.numel()
