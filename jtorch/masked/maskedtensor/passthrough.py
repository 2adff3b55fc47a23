"""Operators that are applied to the data and to the mask alike, such as views."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jtorch._library.namespaces import ops
from jtorch.masked.maskedtensor.core import data_of, mapped, mask_of, wrapped

_NAMES = """
    select transpose split t slice slice_backward select_backward index expand view _unsafe_view _reshape_alias cat unsqueeze
    unfold unfold_backward im2col col2im stack
""".split()


def _both(func: Any) -> Callable:
    def run(*args: Any, **kwargs: Any) -> Any:
        parts = [func(*mapped(part, args), **{k: mapped(part, v) for k, v in kwargs.items()}) for part in (data_of, mask_of)]
        return wrapped(*parts)
    return run


PASSTHROUGH = {getattr(ops.aten, name): _both(getattr(ops.aten, name)) for name in _NAMES}
PASSTHROUGH_FNS = list(PASSTHROUGH)
# autograd/function.py calls alias if a Function returns one of its inputs. PyTorch's list PASSTHROUGH_FNS lacks alias.
PASSTHROUGH[ops.aten.alias] = _both(ops.aten.alias)
