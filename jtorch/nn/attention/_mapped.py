"""A function of scores at all positions, with its derivative."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jtorch.autograd.function import Function
from jtorch.tensor import Tensor


class Mapped(Function):
    """``score_mod`` at all positions; its derivative by the score is taken position by position too."""

    @staticmethod
    def forward(ctx, over_all, scores, score_mod, *positions):
        """Return the scores that ``score_mod`` makes of ``scores``."""
        ctx.save_for_backward(scores, *positions)
        ctx.over_all, ctx.score_mod = over_all, score_mod
        return over_all(score_mod, prefix=(0,))(scores, *positions)

    @staticmethod
    def backward(ctx, grad):        # type: ignore[override]
        """Return the gradient of the scores."""
        from jtorch.func import grad as derivative
        mod = ctx.score_mod
        slopes = ctx.over_all(derivative(lambda *args: mod(*args).to(args[0].dtype)), prefix=(0,))(*ctx.saved_tensors)
        return None, grad * slopes, None, None, None, None, None


def apply(over_all: Callable, scores: Tensor, score_mod: Callable, positions: list[Tensor]) -> Any:
    """Return the scores that ``score_mod``, which ``over_all`` maps, makes of ``scores``."""
    return Mapped.apply(over_all, scores, score_mod, *positions)
