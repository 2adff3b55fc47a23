"""JAX's settings of a thread, including whether the thread is tracing.

JAX sets them for a ``with`` block. An interrupt between the setting and the block leaves them set. JAX would then, for example,
make its random numbers in another way, or place arrays on an empty mesh.
"""
from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import jax

from jtorch._base import float32_products, jax_private
from jtorch._base.accelerated import is_accelerated

_SETTINGS = jax_private.thread_settings()


def found() -> list[Any]:
    """Return the values of the settings in this thread."""
    return [setting.get_local() for setting in _SETTINGS]


def put_back(values: list[Any]) -> None:
    """Restore the values of ``found`` if they have changed."""
    for setting, value in zip(_SETTINGS, values, strict=True):
        if setting.get_local() is not value:
            setting.set_local(value)


@contextlib.contextmanager
def left_as_found() -> Iterator[None]:
    """Restore JAX's settings of this thread if the block raises."""
    before = found()
    try:
        yield
    except BaseException:
        put_back(before)
        raise


def products_as_chosen() -> contextlib.AbstractContextManager:
    """Return a context with the chosen precision of float32 products on an accelerator, where JAX's default is TF32.

    If the user has set JAX's own precision, that stays.
    """
    if not is_accelerated() or jax.config.jax_default_matmul_precision is not None:  # type: ignore[attr-defined]
        return contextlib.nullcontext()
    return jax.default_matmul_precision("default" if float32_products.are_quick("matmul") else "highest")
