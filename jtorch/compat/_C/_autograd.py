"""torch._C._autograd: queries about autograd's modes."""
from __future__ import annotations

from jtorch.no_grad import mode


def _saved_tensors_hooks_is_enabled() -> bool:
    return mode.hooks_refused is None


def _saved_tensors_hooks_get_disabled_error_message() -> str | None:
    return mode.hooks_refused
