"""A score function mapped over all positions, with its derivative."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jtorch.autograd.function import Function
from jtorch.tensor import Tensor


class Mapped(Function):
    """Maps ``score_mod`` over all positions; its derivative by the score is mapped too."""

    @staticmethod
    def forward(ctx, over_all, scores, score_mod, *positions):
        """Return the modified scores."""
        ctx.save_for_backward(scores, *positions)
        ctx.over_all, ctx.score_mod = over_all, score_mod
        return over_all(score_mod, prefix=(0,))(scores, *positions)

    @staticmethod
    def backward(ctx, grad):        # type: ignore[override]
        """Return the gradient with respect to the scores."""
        from jtorch.func import grad as derivative
        mod = ctx.score_mod
        slopes = ctx.over_all(derivative(lambda *args: mod(*args).to(args[0].dtype)), prefix=(0,))(*ctx.saved_tensors)
        return None, grad * slopes, None, None, None, None, None


def apply(over_all: Callable, scores: Tensor, score_mod: Callable, positions: list[Tensor]) -> Any:
    """Return the scores modified by ``score_mod``, which ``over_all`` maps over all positions."""
    return Mapped.apply(over_all, scores, score_mod, *positions)
