"""The errors of functions that ``torch.vmap`` does not batch, since their results depend on values, or that it checks itself."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from jtorch._api import functions
from jtorch._api.names import put
from jtorch.engine import batched
from jtorch.tensor import Tensor

_REPORT = "Please file an issue at https://github.com/pytorch/pytorch/issues if you need this feature."
_MASK = ("vmap: Attempted to vmap over `mask` in torch.masked_select(self, mask) We cannot support this because for each batch "
         "this would return a differently shaped Tensor. " + _REPORT)


def _dynamic(name: str) -> str:
    return ("vmap: We do not support batching operators that can output dynamic shape. Attempted to vmap over "
            f"aten::{name}. {_REPORT}")


# Maps some dynamic ops to their errors under vmap. generate.py raises them before the op reads values.
OF_DYNAMIC_OPS = {
    "nonzero": _dynamic("nonzero"), "argwhere": _dynamic("nonzero"), "unique": _dynamic("_unique2"),
    "unique_consecutive": _dynamic("unique_consecutive"),
    "nn.functional.one_hot": "When vmap-ing torch.nn.functional.one_hot, please provide an explicit positive num_classes "
                             "argument.",
}
# Maps functions that do not call such an op to their errors under vmap. Each replaces any error in _ANY that the function raises.
_DEPENDS = {
    "where": _dynamic("where"), "masked_select": _MASK,
    "equal": "Batching rule not implemented for aten::equal. We could not generate a fallback.",
    "allclose": f"vmap over torch.allclose isn't supported yet. {_REPORT}",
}
# The errors of calls that need a sample's values.
_ANY = {batched.DEPENDS_ON_DATA, batched.ITEM, batched.MASKED, *_DEPENDS.values(), *OF_DYNAMIC_OPS.values()}


def _refusing(function: Callable, message: str) -> Callable:
    """Return the function with another error for a result that depends on a sample's values."""
    @functools.wraps(function)
    def checked(*args: Any, **kw: Any) -> Any:
        try:
            return function(*args, **kw)
        except RuntimeError as error:
            if batched.is_running() and str(error) in _ANY:
                raise RuntimeError(message) from None
            raise
    return checked


def bind() -> None:
    """Replace the functions and methods by those with PyTorch's errors."""
    spaces: tuple[Any, ...] = functions, Tensor
    for space in spaces:
        put(space, {name: _refusing(vars(space)[name], message) for name, message in _DEPENDS.items() if name in vars(space)},
            replaces=True)
