"""Backward of distributed tensors, which starts at this process's part, and gradients in the form that callers expect."""
from __future__ import annotations

from typing import Any


def rooted(outputs: tuple, gradients: tuple) -> tuple[tuple, tuple]:
    """Replace each distributed output and its gradient by the local part from which backward starts."""
    if all(getattr(t, "_backward_from", None) is None for t in outputs):
        return outputs, gradients
    pairs = [(t, g) if getattr(t, "_backward_from", None) is None else t._backward_from(g)
             for t, g in zip(outputs, gradients, strict=True)]
    return tuple([t for t, _ in pairs]), tuple([g for _, g in pairs])


def shown(gradient: Any, differentiated: Any, given: Any) -> Any:
    """Return a gradient in the form that the caller expects.

    Args:
        gradient: the gradient of ``differentiated``, or None.
        differentiated: the tensor in the graph; for a sparse tensor these are its values.
        given: the tensor that the caller named.

    """
    if gradient is None:
        return None
    if differentiated is not given:     # Wrap the gradient of a sparse tensor's values as a sparse tensor.
        return given.rebuilt(gradient)
    show = getattr(given, "_show_gradient", None)
    return gradient if show is None else show(gradient)
