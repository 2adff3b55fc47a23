"""LBFGS: a quasi-Newton method that calls its closure several times a step."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jtorch import engine
from jtorch._optimizers import line_search, quasi_newton
from jtorch._optimizers.multi_tensor import check_lr
from jtorch._optimizers.optimizer import Optimizer
from jtorch.no_grad import enable_grad, no_grad
from jtorch.tensor import Tensor


class LBFGS(Optimizer):
    """Limited-memory BFGS, with an optional line search for the strong Wolfe conditions.

    LBFGS takes only one group of parameters. ``step`` needs a closure that clears the gradients, computes the loss,
    calls ``backward`` and returns the loss. Source: Nocedal and Wright, Numerical Optimization (2006), algorithms 7.4,
    7.5 and 3.5.

    Args:
        params: the parameters, all on one device.
        lr: the step length (the first one to try, with a line search).
        max_iter: the number of iterations per step.
        max_eval: the number of closure evaluations per step; None means 1.25 times ``max_iter``.
        tolerance_grad: a step ends if no element of the gradient is larger.
        tolerance_change: a step ends if the loss changes by less, or if no parameter changes by more.
        history_size: the number of past gradients and steps that approximate the curvature.
        line_search_fn: ``"strong_wolfe"`` or None.

    Raises:
        ValueError: several groups of parameters.
        RuntimeError: in ``step``, another line search.

    Example::

        >>> import jtorch as torch
        >>> x = torch.tensor([3.0, -2.0], requires_grad=True)
        >>> optimizer = torch.optim.LBFGS([x], line_search_fn="strong_wolfe")
        >>> def closure():
        ...     optimizer.zero_grad()
        ...     loss = ((x - 1) ** 2).sum()
        ...     loss.backward()
        ...     return loss
        >>> optimizer.step(closure).item()
        13.0
        >>> torch.allclose(x, torch.ones(2))
        True

    """

    def __init__(self, params, lr=1, max_iter: int = 20, max_eval: int | None = None, tolerance_grad: float = 1e-7,
                 tolerance_change: float = 1e-9, history_size: int = 100, line_search_fn: str | None = None):
        check_lr(lr)
        max_eval = max_iter * 5 // 4 if max_eval is None else max_eval
        super().__init__(params, dict(lr=lr, max_iter=max_iter, max_eval=max_eval, tolerance_grad=tolerance_grad,
                                      tolerance_change=tolerance_change, history_size=history_size,
                                      line_search_fn=line_search_fn))
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")
        self._params = self.param_groups[0]["params"]

    @no_grad()
    def step(self, closure):
        """Do one step of up to ``max_iter`` iterations, and return the loss before them."""
        group = self.param_groups[0]
        state = self.state[group["params"][0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        run = quasi_newton.Run(group, state, enable_grad()(closure))
        first = run.evaluate()
        if not run.flat():
            run.iterate()
            state.update(run.memory)
        engine.end()
        return first


def _strong_wolfe(obj_func: Callable, x: Any, t: float, d: Any, f: float, g: Any, gtd: Any, c1: float = 1e-4, c2: float = 0.9,
                  tolerance_change: float = 1e-9, max_ls: int = 25) -> tuple[float, Any, float, int]:
    """Return (loss, gradient, step length, number of evaluations) at a point along ``d`` from ``x``. Packages call this.

    ``obj_func(x, t, d)`` returns loss and gradient at ``t``. At 0 these are ``f`` and ``g``, with the slope ``gtd``.
    """
    search = line_search.StrongWolfe(lambda t: obj_func(x, t, d), d, f, g, float(gtd), max_ls, c1, c2, tolerance_change)
    found, loss, grad = search.find(t)
    return loss, grad, found, search.evaluations


def _cubic_interpolate(x1: float, f1: float, g1: Any, x2: float, f2: float, g2: Any,
                       bounds: tuple[float, float] | None = None) -> float:
    """Return the minimum of a cubic given by positions, values and slopes at two points. Packages call this."""
    slopes = [line_search.scalar_of(g)(float(g)) if isinstance(g, Tensor) else np.float64(g) for g in (g1, g2)]
    return float(line_search.cubic_minimum((float(x1), f1, slopes[0]), (float(x2), f2, slopes[1]), bounds))
