"""LBFGS: a quasi-Newton method that calls its closure several times a step."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jtorch import engine
from jtorch._optimizers.multi_tensor import check_lr
from jtorch._optimizers.optimizer import Optimizer
from jtorch.dispatch import call, call_view
from jtorch.engine import call_of
from jtorch.no_grad import enable_grad, no_grad
from jtorch.ops.registry import OPS, T
from jtorch.tensor import Tensor

Numbers = tuple[float, float, float]        # (position on the line, loss, slope)
_MEMORY = ("d", "t", "old_dirs", "old_stps", "ro", "H_diag", "prev_flat_grad", "prev_loss")


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
        run = _Run(group, state, enable_grad()(closure))
        first = run.evaluate()
        if not run.flat():
            run.iterate()
            state.update(run.memory)
        engine.end()
        return first


def _real(t: Tensor) -> Any:
    """Return the real view of a complex tensor; return a real tensor unchanged."""
    return call_view(call_of(OPS["view_as_real"], (T,)), (t,)) if t.dtype.is_complex else t


class _Run:
    """The iterations of one step, and the memory that the next step needs."""

    def __init__(self, group: dict[str, Any], state: dict[str, Any], closure: Callable):
        self.group, self.state, self.closure, self.params = group, state, closure, group["params"]
        self.memory: dict[str, Any] = {k: state.get(k) for k in _MEMORY}
        self.evaluations, self.loss, self.grad = 0, 0.0, None

    def evaluate(self):
        """Call the closure, and store the loss and the gradient."""
        loss = self.closure()
        self.loss, self.grad = float(loss.detach() if isinstance(loss, Tensor) else loss), self._flat_grad()
        self.evaluations += 1
        self.state["func_evals"] += 1
        return loss

    def flat(self) -> bool:
        """Return whether the gradient is within the tolerance of zero."""
        return float(self.grad.abs().max()) <= self.group["tolerance_grad"]     # type: ignore[attr-defined]

    def _flat_grad(self) -> Any:
        grads = [_real(p.grad if p.grad is not None else p.detach().mul(0)).reshape(-1) for p in self.params]
        return call(call_of(OPS["cat"], ((T,) * len(grads), 0)), grads)

    def move(self, t: Any, d: Any) -> None:
        """Move the parameters along ``d``."""
        at = 0
        for p in self.params:
            real = _real(p)
            real.add_(d[at:at + real.numel()].view_as(real), alpha=t)
            at += real.numel()

    # ------------------------------------------------------------ iterating

    def iterate(self) -> None:
        """Iterate until convergence, or until ``max_iter`` or ``max_eval`` is reached."""
        g, m = self.group, self.memory
        lr = float(g["lr"])
        for n in range(1, g["max_iter"] + 1):
            self.state["n_iter"] += 1
            fresh = self.state["n_iter"] == 1
            self._start() if fresh else self._remember()
            d = m["d"] = self.grad.neg() if fresh else self._direction()        # type: ignore[attr-defined]
            m["prev_flat_grad"], m["prev_loss"] = self.grad.clone(), self.loss  # type: ignore[attr-defined]
            total = float(self.grad.abs().sum()) if fresh else 0.0      # type: ignore[attr-defined]
            m["t"] = float(lr * min(1.0, 1.0 / _scalar_of(self.grad)(total))) if total else lr
            slope = float(self.grad.dot(d))                                     # type: ignore[attr-defined]
            if slope > -g["tolerance_change"]:
                return
            self._advance(d, slope, last=n == g["max_iter"])
            if n == g["max_iter"] or self.evaluations >= g["max_eval"] or self.flat() or self._stuck(d):
                return

    def _start(self) -> None:
        self.memory.update(old_dirs=[], old_stps=[], ro=[], H_diag=1)

    def _remember(self) -> None:
        """Add the last change of the gradient and of the parameters to the history, if the curvature is positive."""
        m = self.memory
        y, s = self.grad.sub(m["prev_flat_grad"]), m["d"].mul(m["t"])           # type: ignore[attr-defined]
        ys = y.dot(s)
        if not float(ys) > 1e-10:
            return
        for column, new in (("old_dirs", y), ("old_stps", s), ("ro", 1.0 / ys)):
            if len(m[column]) == self.group["history_size"]:
                m[column].pop(0)
            m[column].append(new)
        m["H_diag"] = ys / y.dot(y)

    def _direction(self) -> Any:
        """Return the negative gradient times the inverse Hessian that the history approximates."""
        m, al = self.memory, self.state.setdefault("al", [None] * self.group["history_size"])
        history = list(zip(m["old_dirs"], m["old_stps"], m["ro"], strict=True))
        q = self.grad.neg()                                                     # type: ignore[attr-defined]
        for i in reversed(range(len(history))):
            y, s, ro = history[i]
            al[i] = s.dot(q) * ro
            q = q - y * al[i]
        q = q * m["H_diag"]
        for i, (y, s, ro) in enumerate(history):
            q = q + s * (al[i] - y.dot(q) * ro)
        return q

    def _advance(self, d: Any, slope: float, *, last: bool) -> None:
        g = self.group
        if g["line_search_fn"] is None:
            self.move(self.memory["t"], d)
            if not last:
                self.evaluate()
            return
        if g["line_search_fn"] != "strong_wolfe":
            raise RuntimeError("only 'strong_wolfe' is supported")
        start = [p.clone() for p in self.params]
        search = _StrongWolfe(lambda t: self._tried(start, t, d), d, self.loss, self.grad, slope,
                              budget=g["max_eval"] - self.evaluations)
        self.memory["t"], self.loss, self.grad = search.find(self.memory["t"])
        self.move(self.memory["t"], d)

    def _tried(self, start: list[Tensor], t: float, d: Any) -> tuple[float, Any]:
        """Return the loss and the gradient at ``t`` along ``d``, and restore the parameters."""
        self.move(t, d)
        self.evaluate()
        for p, x in zip(self.params, start, strict=True):
            p.copy_(x)
        return self.loss, self.grad

    def _stuck(self, d: Any) -> bool:
        """Return whether the last iteration changed the loss, or all parameters, by no more than the tolerance."""
        least = self.group["tolerance_change"]
        return float(d.mul(self.memory["t"]).abs().max()) <= least or abs(self.loss - self.memory["prev_loss"]) < least


class _StrongWolfe:
    """A line search for a point of sufficient decrease and small slope: Nocedal and Wright, algorithms 3.5 and 3.6.

    Slopes and step lengths are NumPy scalars of the parameters' dtype. PyTorch uses tensors of that dtype, so the
    rounding is the same.
    """

    def __init__(self, evaluate: Callable[[float], tuple[float, Any]], d: Any, loss: float, grad: Any, slope: float, budget: int,
                 decrease: float = 1e-4, flatness: float = 0.9, tolerance: float = 1e-9):
        self.evaluate, self.d, self.budget, self.evaluations = evaluate, d, budget, 0
        self.decrease, self.flatness = decrease, flatness
        self.tolerance = tolerance      # The search ends where a bracket is so narrow that no parameter changes by this much.
        self.scalar = _scalar_of(grad)
        self.loss, self.slope = loss, self.scalar(slope)
        self.grads = {0.0: grad}

    def at(self, t: float) -> Numbers:
        """Return the numbers at ``t`` along the line."""
        loss, self.grads[t] = self.evaluate(float(t))
        self.evaluations += 1
        return t, loss, self.scalar(float(self.grads[t].dot(self.d)))

    def find(self, t: float) -> tuple[float, float, Any]:
        """Return the step length, and the loss and gradient at that point."""
        with np.errstate(all="ignore"):     # As in PyTorch, comparing NaN or infinity gives no warning.
            low, high = self._bracket(t)
            if low is not high:
                low = self._zoom(low, high)
        return float(low[0]), low[1], self.grads[low[0]]

    def _too_high(self, point: Numbers) -> bool:
        return point[1] > self.loss + self.decrease * point[0] * self.slope

    def _flat_enough(self, point: Numbers) -> bool:
        return abs(point[2]) <= -self.flatness * self.slope

    def _bracket(self, t: float) -> tuple[Numbers, Numbers]:
        """Return two points that bracket an acceptable one, the lower loss first; an acceptable point is returned
        twice.
        """
        before, here, self.tries = (0.0, self.loss, self.slope), self.at(t), 0
        while self.tries < self.budget:
            if self._too_high(here) or (self.tries > 1 and here[1] >= before[1]):
                return _lower_first(before, here)
            if self._flat_enough(here):
                return here, here
            if here[2] >= 0:
                return _lower_first(before, here)
            t = _cubic_minimum(before, here, (here[0] + 0.01 * (here[0] - before[0]), here[0] * 10))
            before, here = here, self.at(t)
            self.tries += 1
        return _lower_first((0.0, self.loss, self.slope), here)

    def _zoom(self, low: Numbers, high: Numbers) -> Numbers:
        widest, careful = self.scalar(float(self.d.abs().max())), False
        while self.tries < self.budget and abs(high[0] - low[0]) * widest >= self.tolerance:
            t, careful = _between(low, high, careful)
            here = self.at(t)
            self.tries += 1
            if self._too_high(here) or here[1] >= low[1]:
                low, high = _lower_first(low, here)
                continue
            if self._flat_enough(here):
                return here
            high = low if here[2] * (high[0] - low[0]) >= 0 else high
            low = here
        return low


def _strong_wolfe(obj_func: Callable, x: Any, t: float, d: Any, f: float, g: Any, gtd: Any, c1: float = 1e-4, c2: float = 0.9,
                  tolerance_change: float = 1e-9, max_ls: int = 25) -> tuple[float, Any, float, int]:
    """Return (loss, gradient, step length, number of evaluations) at a point along ``d`` from ``x``. Packages call this.

    ``obj_func(x, t, d)`` returns loss and gradient at ``t``. At 0 these are ``f`` and ``g``, with the slope ``gtd``.
    """
    search = _StrongWolfe(lambda t: obj_func(x, t, d), d, f, g, float(gtd), max_ls, c1, c2, tolerance_change)
    found, loss, grad = search.find(t)
    return loss, grad, found, search.evaluations


def _cubic_interpolate(x1: float, f1: float, g1: Any, x2: float, f2: float, g2: Any,
                       bounds: tuple[float, float] | None = None) -> float:
    """Return the minimum of a cubic given by positions, values and slopes at two points. Packages call this."""
    slopes = [_scalar_of(g)(float(g)) if isinstance(g, Tensor) else np.float64(g) for g in (g1, g2)]
    return float(_cubic_minimum((float(x1), f1, slopes[0]), (float(x2), f2, slopes[1]), bounds))


def _scalar_of(t: Any) -> type:
    """Return NumPy's scalar type with the precision of 0-dim tensors like ``t``."""
    return np.float64 if t.dtype.itemsize == 8 else np.float32


def _lower_first(a: Numbers, b: Numbers) -> tuple[Numbers, Numbers]:
    return (a, b) if a[1] <= b[1] else (b, a)


def _between(a: Numbers, b: Numbers, careful: bool) -> tuple[float, bool]:
    """Return the next point to try: the cubic's minimum, moved inward if it is close to an end twice in a row."""
    left, right = sorted((a[0], b[0]))
    t, margin = _cubic_minimum(a, b), 0.1 * (right - left)
    if min(right - t, t - left) >= margin:
        return t, False
    if careful or t >= right or t <= left:
        return (right - margin if abs(t - right) < abs(t - left) else left + margin), False
    return t, True


def _cubic_minimum(a: Numbers, b: Numbers, bounds: tuple[float, float] | None = None) -> float:
    """Return the minimum, within bounds, of the cubic through two points with slopes. Nocedal and Wright, (3.59)."""
    (x1, f1, g1), (x2, f2, g2) = sorted((a, b), key=lambda p: p[0])
    low, high = bounds or (x1, x2)
    d1 = g1 + g2 - 3 * (f1 - f2) / (x1 - x2)
    square = d1 * d1 - g1 * g2
    if not square >= 0:
        return (low + high) / 2.0
    d2 = np.sqrt(square)
    return min(max(x2 - (x2 - x1) * ((g2 + d2 - d1) / (g2 - g1 + 2 * d2)), low), high)
