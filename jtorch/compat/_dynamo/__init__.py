"""torch._dynamo: marks and queries for PyTorch's compiler, which is absent; jtorch compiles what repeats by itself."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jtorch._base.not_built import placeholder
from jtorch._dynamo import config as config
from jtorch._dynamo import eval_frame as eval_frame
from jtorch._dynamo import exc as exc
from jtorch._dynamo import external_utils as external_utils
from jtorch._dynamo import utils as utils
from jtorch._dynamo.eval_frame import OptimizedModule as OptimizedModule
from jtorch._dynamo.eval_frame import is_dynamo_supported as is_dynamo_supported
from jtorch._dynamo.eval_frame import is_inductor_supported as is_inductor_supported
from jtorch._dynamo.eval_frame import optimize as optimize
from jtorch._dynamo.eval_frame import optimize_assert as optimize_assert
from jtorch._dynamo.external_utils import is_compiling as is_compiling
from jtorch.compiler import allow_in_graph as allow_in_graph
from jtorch.compiler import assume_constant_result as assume_constant_result
from jtorch.compiler import disable as disable
from jtorch.compiler import list_backends as list_backends
from jtorch.compiler import reset as reset
from jtorch.compiler import set_stance as set_stance

run = disallow_in_graph = forbid_in_graph = nonstrict_trace = allow_in_graph
reset_code_caches = reset


def _mark(t: Any, index: Any = None, **kwargs: Any) -> None:
    """Do nothing: changing sizes are detected when they occur."""


mark_dynamic = maybe_mark_dynamic = mark_unbacked = mark_static = _mark


def mark_static_address(t: Any, guard: bool = False) -> None:
    """Do nothing: XLA manages memory. See torch._dynamo.mark_static_address."""


def graph_break(msg: str = "") -> None:
    """Do nothing: there is no graph to break. See torch._dynamo.graph_break."""


def substitute_in_graph(original_fn: Callable, **kwargs: Any) -> Callable:
    """Return a decorator that returns the function unchanged. See torch._dynamo.substitute_in_graph."""
    return lambda fn: fn


def patch_dynamo_config(arg1: Any = None, arg2: Any = None, **kwargs: Any) -> Any:
    """Return the context manager ``config.patch``. See torch._dynamo.patch_dynamo_config."""
    return config.patch(arg1, arg2, **kwargs)       # type: ignore[attr-defined]


explain, export, register_backend, lookup_backend = (
    placeholder("_dynamo", name) for name in ("explain", "export", "register_backend", "lookup_backend"))
