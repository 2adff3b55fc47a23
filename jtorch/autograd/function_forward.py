"""Custom functions in forward mode: the user's ``jvp`` gives the outputs' tangents."""
from __future__ import annotations

from typing import Any

from jtorch._nodes import tangents
from jtorch.autograd._calls import zeros_like
from jtorch.autograd.forward_ad import _set_fwd_grad_enabled, check_size
from jtorch.storage import aval_of
from jtorch.tensor import Tensor


class Below:
    """One application of a custom function at the highest level at which an input is dual.

    It passes the inputs' tangents to ``jvp`` and gives the outputs the tangents that ``jvp`` returns.
    """

    def __init__(self, args: tuple, level: int):
        self.args, self.level = args, level
        self.given = [tangents.of(a, level) if isinstance(a, Tensor) else None for a in args]

    def outputs(self, ctx: Any, returned: Any) -> Any:
        """Give the outputs of ``forward`` their tangents."""
        outs = returned if isinstance(returned, tuple) else (returned,)
        found = self._changes(ctx)
        if len(found) != len(outs):
            raise RuntimeError(f"Function's jvp returned an invalid number of forward gradients (expected {len(outs)} but got "
                               f"{len(found)})")
        for i, (t, change) in enumerate(zip(outs, found, strict=True)):
            if change is not None and not isinstance(change, Tensor):
                raise RuntimeError(f"expected Variable or None (got {type(change).__name__}) for grad output {i}.")
            if change is not None and (not isinstance(t, Tensor) or not aval_of(t).is_inexact or ctx.marked[i]):
                raise RuntimeError(f"Function's jvp returned a gradient at position {i}, but  the corresponding forward "
                                   "output is not "
                                   "a differentiable Tensor.You should return None at that position instead.")
            if change is not None:
                self._hold(t, change)
        return returned

    def _changes(self, ctx: Any) -> tuple:
        given = self.given
        if ctx.materialize_grads:
            given = [zeros_like(a) if g is None and isinstance(a, Tensor) and aval_of(a).is_inexact else g
                     for a, g in zip(self.args, given, strict=True)]
        ctx.in_jvp = True
        try:
            found = ctx._forward_cls.jvp(ctx, *given)
        finally:
            ctx.in_jvp = False
        return found if isinstance(found, tuple) else (found,)

    def _hold(self, t: Tensor, change: Tensor) -> None:
        at = next((i for i, a in enumerate(self.args) if a is t), None)
        if at is not None:
            if change is not self.given[at]:
                raise RuntimeError("An inplace custom Function is not modifying the forward mode gradients inplace. If "
                                   "the forward "
                                   "is modifying an input inplace, then the jvp function must modify the corresponding gradient "
                                   "inplace.")
            return
        self._check_view(t, change)
        check_size(t, change)
        tangents.hold(t, self.level, change)


    def _check_view(self, t: Tensor, change: Tensor) -> None:
        """Raise RuntimeError if an output is a view of a dual input but its tangent is no view of the input's
        tangent.
        """
        at = [g for a, g in zip(self.args, self.given, strict=True) if g is not None and a._storage is t._storage]
        if t._base is None or not at:
            return
        if change._base is None:
            raise RuntimeError("A custom Function's forward is returning a view (or an input as-is) but the jvp is not "
                               "returning a "
                               "view.")
        given = at[0]
        if given._base is not None and change._base is not given._base:
            raise RuntimeError("A custom Function is returning a view but the jvp is not returning a view of the same "
                               "base as the "
                               "given grad input.")
        if given._base is None and change._base is not given:
            raise RuntimeError("A custom Function is returning a view but the jvp is not returning a view of the given "
                               "grad input.")


def apply_dual(function: Any, args: tuple, inputs: list, level: int) -> Any:
    """Apply a custom function that has an input which is dual at ``level``."""
    made = Below(args, level)
    with tangents.only_below(level):
        ctx, returned = function._applied(args, inputs)
        return made.outputs(ctx, returned)


def without_tangents() -> Any:
    """Return the mode in which ``forward`` runs: forward gradients are off."""
    return _set_fwd_grad_enabled(False)
