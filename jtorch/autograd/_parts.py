"""Tensors of which a process has a part: backward begins at the part, and gradients are shown as the whole's."""
from __future__ import annotations

from typing import Any


def rooted(outputs: tuple, gradients: tuple) -> tuple[tuple, tuple]:
    """Where backward begins, and with which gradients."""
    if all(getattr(t, "_backward_from", None) is None for t in outputs):
        return outputs, gradients
    pairs = [(t, g) if getattr(t, "_backward_from", None) is None else t._backward_from(g)
             for t, g in zip(outputs, gradients, strict=True)]
    return tuple([t for t, _ in pairs]), tuple([g for _, g in pairs])


def shown(gradient: Any, differentiated: Any, given: Any) -> Any:
    """A gradient as the caller sees it, of what was differentiated by for the tensor that was given."""
    if gradient is None:
        return None
    if differentiated is not given:     # the values of a sparse tensor
        return given.rebuilt(gradient)
    show = getattr(given, "_show_gradient", None)
    return gradient if show is None else show(gradient)
