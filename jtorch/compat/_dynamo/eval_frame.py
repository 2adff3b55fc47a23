"""torch._dynamo.eval_frame: the class of modules that torch.compile wraps; it has no instances in jtorch."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jtorch._dynamo import external_utils
from jtorch.compiler import allow_in_graph, compile, disable
from jtorch.nn.modules.module import Module

innermost_fn = external_utils.wrap_inline
run, skip_frame = allow_in_graph, disable


class OptimizedModule(Module):
    """PyTorch's class of compiled modules. jtorch's ``torch.compile`` returns the module itself: ``isinstance`` is False."""

    def __init__(self, mod: Any, dynamo_ctx: Any = None):
        raise NotImplementedError("torch._dynamo.OptimizedModule is not built; torch.compile(module) gives the module itself.")


def is_dynamo_supported() -> bool:
    """Return True: ``torch.compile`` can be called."""
    return True


is_inductor_supported = is_dynamo_supported


def check_if_dynamo_supported() -> None:
    """Do nothing: ``torch.compile`` can be called."""


check_if_inductor_supported = check_if_dynamo_supported


def optimize(backend: Any = "inductor", **kwargs: Any) -> Callable:
    """Return a decorator that does what ``torch.compile`` does. See torch._dynamo.optimize."""
    return compile


optimize_assert = optimize
