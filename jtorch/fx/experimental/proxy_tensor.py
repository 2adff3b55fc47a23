"""torch.fx.experimental.proxy_tensor: tracing with proxy tensors, which is not built."""
from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn


def get_proxy_mode() -> None:
    """Return None: no tracing mode is active."""


def get_innermost_proxy_mode() -> None:
    """Return None: no tracing mode is active."""


def is_sym_node(node: Any) -> bool:
    """Return False: all sizes are known."""
    return False


@contextmanager
def disable_proxy_modes_tracing() -> Iterator[None]:
    """Do nothing: no tracing mode is active."""
    yield


def make_fx(f: Any, *args: Any, **kwargs: Any) -> NoReturn:
    """Raise NotImplementedError; torch.fx.symbolic_trace traces modules, and ``jax.make_jaxpr`` traces operations."""
    raise NotImplementedError("torch.fx.experimental.proxy_tensor.make_fx is not built; torch.fx.symbolic_trace gives a graph of "
                              "a module, torch.export.export a program of a model.")
