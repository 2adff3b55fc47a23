"""How packages make tensors of their own classes: ``Tensor._make_subclass`` and ``Tensor._make_wrapper_subclass``."""
from __future__ import annotations

from typing import Any, NoReturn

from jtorch._api.names import put
from jtorch._api.torch_function import as_subclass
from jtorch.tensor import Tensor


def _make_subclass(cls: type, data: Tensor, require_grad: bool = False, **kwargs: Any) -> Any:
    """A tensor of a class that shows what another shows, without its history. See torch.Tensor._make_subclass."""
    return as_subclass(data.detach(), cls).requires_grad_(require_grad)


def _make_wrapper_subclass(cls: type, *args: Any, **kwargs: Any) -> NoReturn:
    """Not built: a tensor without memory of its own, whose calls go to ``__torch_dispatch__``."""
    raise NotImplementedError(f"{cls.__name__}: torch.Tensor._make_wrapper_subclass is not built, as beneath autograd a call "
                              "goes to JAX; a subclass with __torch_function__, made by torch.Tensor.as_subclass, takes over "
                              "functions.")


def bind() -> None:
    """Puts the names into Tensor."""
    put(Tensor, {"_make_subclass": staticmethod(_make_subclass), "_make_wrapper_subclass": staticmethod(_make_wrapper_subclass)})
