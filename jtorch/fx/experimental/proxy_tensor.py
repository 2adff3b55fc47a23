"""torch.fx.experimental.proxy_tensor: tracing by tensors that note calls, which is not built and never on."""
from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn


def get_proxy_mode() -> None:
    """The tracing that is on: none."""


def get_innermost_proxy_mode() -> None:
    """The innermost tracing that is on: none."""


def is_sym_node(node: Any) -> bool:
    """Return whether a node stands for a size that is not known yet: none does."""
    return False


@contextmanager
def disable_proxy_modes_tracing() -> Iterator[None]:
    """No tracing in the block, as there is none outside of it."""
    yield


def make_fx(f: Any, *args: Any, **kwargs: Any) -> NoReturn:
    """Not built: torch.fx.symbolic_trace makes a graph of modules, ``jax.make_jaxpr`` one of operations."""
    raise NotImplementedError("torch.fx.experimental.proxy_tensor.make_fx is not built; torch.fx.symbolic_trace gives a graph of "
                              "a module, torch.export.export a program of a model.")
