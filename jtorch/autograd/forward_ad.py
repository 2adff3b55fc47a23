"""torch.autograd.forward_ad: forward-mode differentiation, which is not built. ``torch.autograd.functional.jvp`` is."""
from __future__ import annotations

from typing import Any

_TEXT = "forward-mode automatic differentiation is not built in jtorch; use torch.autograd.functional.jvp or jax.jvp"


def _not_built(*args: Any, **kwargs: Any) -> Any:
    """Not built."""
    raise NotImplementedError(_TEXT)


enter_dual_level = exit_dual_level = make_dual = unpack_dual = _not_built


class UnpackedDualTensor:
    """Not built."""

    __init__ = _not_built


class dual_level:
    """Not built."""

    __init__ = _not_built


__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]
