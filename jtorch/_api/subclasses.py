"""How packages make tensors of their own classes: ``Tensor._make_subclass`` and ``Tensor._make_wrapper_subclass``."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jtorch._api.names import put
from jtorch._api.torch_function import as_subclass
from jtorch.tensor import Tensor


def _make_subclass(cls: type, data: Tensor, require_grad: bool = False, **kwargs: Any) -> Any:
    """A tensor of a class that shows what another shows, without its history. See torch.Tensor._make_subclass."""
    return as_subclass(data.detach(), cls).requires_grad_(require_grad)


def _make_wrapper_subclass(cls: type, size: Sequence[int], **kwargs: Any) -> Any:
    """A tensor of a class with ``__torch_dispatch__`` that has no memory of its own. See torch.Tensor._make_wrapper_subclass.

    Its size, dtype and device are what it is told; all that is computed with it goes to ``__torch_dispatch__``.
    """
    from jtorch._aten.wrappers import make
    return make(cls, size, **kwargs)


def bind() -> None:
    """Puts the names into Tensor."""
    put(Tensor, {"_make_subclass": staticmethod(_make_subclass), "_make_wrapper_subclass": staticmethod(_make_wrapper_subclass)})
