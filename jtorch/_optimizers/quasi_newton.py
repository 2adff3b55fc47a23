"""The iterations of L-BFGS: directions from past gradients, with or without a line search."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jtorch._optimizers.line_search import StrongWolfe, scalar_of
from jtorch.dispatch import call, call_view
from jtorch.engine import call_of
from jtorch.ops.registry import OPS, T
from jtorch.tensor import Tensor

_MEMORY = ("d", "t", "old_dirs", "old_stps", "ro", "H_diag", "prev_flat_grad", "prev_loss")


def _real(t: Tensor) -> Any:
    """Return the real view of a complex tensor; return a real tensor unchanged."""
    return call_view(call_of(OPS["view_as_real"], (T,)), (t,)) if t.dtype.is_complex else t


class Run:
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
            m["t"] = float(lr * min(1.0, 1.0 / scalar_of(self.grad)(total))) if total else lr
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
        search = StrongWolfe(lambda t: self._tried(start, t, d), d, self.loss, self.grad, slope,
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
