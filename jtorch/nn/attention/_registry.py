"""A registry of FlashAttention implementations from packages. jtorch has none: XLA compiles attention."""
from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from jtorch._base.refused import refused

_log = logging.getLogger(__name__)
_of_pytorch = refused("nn.attention.activate_flash_attention_impl",
                      "XLA compiles attention, and flash_attn's kernels take PyTorch's tensors")
_FLASH_ATTENTION_IMPLS: dict[str, Callable[..., Any]] = {"FA3": _of_pytorch, "FA4": _of_pytorch}
_active: list[tuple[str, Any]] = []


def register_flash_attention_impl(impl: str, *, register_fn: Callable[..., Any]) -> None:
    """Register a function that ``activate_flash_attention_impl`` calls.

    See torch.nn.attention.register_flash_attention_impl.
    """
    _FLASH_ATTENTION_IMPLS[impl] = register_fn


def activate_flash_attention_impl(impl: str) -> None:
    """Call an implementation's function; raise ValueError for an unknown name.

    See torch.nn.attention.activate_flash_attention_impl.
    """
    restore_flash_attention_impl(_raise_warn=False)
    if impl not in _FLASH_ATTENTION_IMPLS:
        raise ValueError(f"Unknown flash attention impl '{impl}'. Available implementations: {list_flash_attention_impls()}")
    handle = _FLASH_ATTENTION_IMPLS[impl]()
    if handle is not None:
        _active.append((impl, handle))


def list_flash_attention_impls() -> list[str]:
    """Return the names of the implementations. See torch.nn.attention.list_flash_attention_impls."""
    return sorted(_FLASH_ATTENTION_IMPLS)


def current_flash_attention_impl() -> str | None:
    """Return the name of the active implementation, if any. See torch.nn.attention.current_flash_attention_impl."""
    return _active[-1][0] if _active else None


def restore_flash_attention_impl(_raise_warn: bool = True) -> None:
    """Remove the active implementation. See torch.nn.attention.restore_flash_attention_impl."""
    if _active:
        _active.pop()[1].remove()
    elif _raise_warn:
        _log.warning("Trying to restore default FA2 impl when no custom impl was activated")
