"""JAX's settings of a thread, including whether the thread is tracing.

JAX sets them for a ``with`` block. An interrupt between the setting and the block leaves them set. JAX would then, for example,
make its random numbers in another way, or place arrays on an empty mesh.
"""
from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import jax

from jtorch._base import float32_products
from jtorch._base.accelerated import is_accelerated


def _all() -> tuple:
    """Return JAX's thread-local settings; none if JAX is not as expected, since it has no public list of them."""
    try:
        from jax._src import config, core, mesh
        kind = config.config_ext.Config
        found = [*config.config_states.values(), *[x for module in (config, core, mesh) for x in vars(module).values()]]
    except (ImportError, AttributeError):
        return ()
    # JAX never sets settings that have an ``_update_thread_local_hook`` by itself, so they need no restoring.
    decide_nothing = "_update_thread_local_hook"
    return tuple({id(x): x for x in found if isinstance(x, kind) and getattr(x, decide_nothing, None) is None}.values())


_SETTINGS = _all()


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
