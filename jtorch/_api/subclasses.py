"""``Tensor._make_subclass`` and ``Tensor._make_wrapper_subclass``, which make tensors of packages' own classes."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jtorch._api.names import put
from jtorch._api.torch_function import as_subclass
from jtorch.tensor import Tensor


def _make_subclass(cls: type, data: Tensor, require_grad: bool = False, **kwargs: Any) -> Any:
    """Return an alias of a tensor, without history, as an instance of ``cls``. See torch.Tensor._make_subclass."""
    return as_subclass(data.detach(), cls).requires_grad_(require_grad)


def _make_wrapper_subclass(cls: type, size: Sequence[int], **kwargs: Any) -> Any:
    """Return a tensor without memory of a class with ``__torch_dispatch__``. See torch.Tensor._make_wrapper_subclass.

    It has the given size, dtype and device. All operations on it go to ``__torch_dispatch__``.
    """
    from jtorch._aten.wrappers import make
    return make(cls, size, **kwargs)


def bind() -> None:
    """Add the functions to Tensor."""
    put(Tensor, {"_make_subclass": staticmethod(_make_subclass), "_make_wrapper_subclass": staticmethod(_make_wrapper_subclass)})
