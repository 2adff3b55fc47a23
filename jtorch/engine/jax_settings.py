"""What JAX keeps of a thread: its settings, and whether it is tracing.

JAX sets them for a block, and an interrupt between a block and its beginning leaves them set: for each hundredth interrupt that
comes while JAX traces, its random numbers were made in another way from then on, or its arrays lay on a mesh of none.
"""
from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import jax

from jtorch._base import float32_products
from jtorch._base.accelerated import is_accelerated


def _all() -> tuple:
    """JAX has no public list of them; where they are not as expected there are none."""
    try:
        from jax._src import config, core, mesh
        kind = config.config_ext.Config
        found = [*config.config_states.values(), *[x for module in (config, core, mesh) for x in vars(module).values()]]
    except (ImportError, AttributeError):
        return ()
    decide_nothing = "_update_thread_local_hook"       # guards against transfers: what has a hook is not set by JAX itself
    return tuple({id(x): x for x in found if isinstance(x, kind) and getattr(x, decide_nothing, None) is None}.values())


_SETTINGS = _all()


def found() -> list[Any]:
    """The values of this thread."""
    return [setting.get_local() for setting in _SETTINGS]


def put_back(values: list[Any]) -> None:
    """Sets what was found, where it is another."""
    for setting, value in zip(_SETTINGS, values, strict=True):
        if setting.get_local() is not value:
            setting.set_local(value)


@contextlib.contextmanager
def left_as_found() -> Iterator[None]:
    """An exception from the block leaves what JAX keeps of this thread as it was; takes 8 µs."""
    before = found()
    try:
        yield
    except BaseException:
        put_back(before)
        raise


def products_as_chosen() -> contextlib.AbstractContextManager:
    """What products of float32 are traced with for an accelerator, which takes TF32 for them unless told otherwise.

    A setting of JAX's own that a user has made stays.
    """
    if not is_accelerated() or jax.config.jax_default_matmul_precision is not None:  # type: ignore[attr-defined]
        return contextlib.nullcontext()
    return jax.default_matmul_precision("default" if float32_products.are_quick("matmul") else "highest")
