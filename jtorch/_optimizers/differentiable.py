"""Steps that autograd sees: what ``differentiable=True`` means.

The ops of the other steps, called on tensors instead of values, so that the new parameters and states have a history.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jtorch._backward.view_history import requires_grad
from jtorch.dispatch import NUMBER_TYPES, call, check_inplace, write_with_history
from jtorch.engine import Call, call_of
from jtorch.ops.registry import NUMBERS, OPS, T
from jtorch.storage import value_of, write
from jtorch.tensor import Tensor


def operand(x: Any) -> tuple[Any, Any]:
    """(argument, marker) of an option that is a Python number or a tensor of one element, whose history is kept."""
    if isinstance(x, Tensor):
        return (x.reshape(()) if x.ndim else x), T      # type: ignore[attr-defined]
    return float(x), NUMBERS[float]


def step(c: Call, flat: Sequence[Any], targets: Sequence[Tensor]) -> list[Tensor]:
    """Calls the rule of an optimizer; ``targets`` take its first results with their history. Returns the others.

    RuntimeError where a target is a leaf that requires a gradient, as for any in-place call.
    """
    for t in targets:
        check_inplace(t, requires_grad(t))
    made = call(c, flat)
    if made[0]._node is not None:
        made[0]._node.versions = ()     # what is written over now is kept by the node as it was
    for target, new in zip(targets, made, strict=False):
        write_with_history(target, value_of(new), new._node, new._output_nr)
    return made[len(targets):]


def write_scalars(names: Sequence[str], scalars: Sequence[Tensor], new: Sequence[Tensor], options: Sequence[Any]) -> None:
    """Writes new scalar states. But for steps, which only count, they have a history if what they are made of has one."""
    tracked = any(requires_grad(t) for t in [*scalars, *options] if t.__class__ not in NUMBER_TYPES)
    for name, s, n in zip(names, scalars, new, strict=True):
        if tracked and name != "step":
            write_with_history(s, value_of(n), n._node, n._output_nr)
        else:
            write(s, value_of(n))


def _marks(*lists: Sequence) -> list[tuple]:
    return [(T,) * len(column) for column in lists]


def _options(group: dict[str, Any], names: Sequence[Any]) -> tuple[list, list]:
    """The arguments and the markers of options; without a weight decay there is no argument for it."""
    given = [operand(group[n] if isinstance(n, str) else n) for n in names]
    decay = group["weight_decay"]
    last = operand(decay) if isinstance(decay, Tensor) or decay else (None, None)
    return [a for a, _ in [*given, last] if a is not None], [m for _, m in [*given, last]]


def sgd(optimizer: Any, group: dict[str, Any], params: list[Tensor]) -> None:
    """SGD's step. A first momentum buffer keeps the history of the gradient that it is."""
    state, momentum = optimizer.state, group["momentum"] != 0
    known = [p for p in params if momentum and state[p].get("momentum_buffer") is not None]
    fresh = [p for p in params if not any(p is k for k in known)]
    for some, buffers in ((known, [state[p]["momentum_buffer"] for p in known]), (fresh, [])):
        if not some:
            continue
        options, marks = _options(group, ("lr", "momentum", "dampening"))
        template = (*_marks(some, some, buffers), *marks, bool(group["nesterov"]), bool(group["maximize"]), momentum)
        left = step(call_of(OPS["_sgd_step"], template), [*some, *[p.grad for p in some], *buffers, *options], [*some, *buffers])
        for p, buffer in zip(some, left, strict=False):
            state[p]["momentum_buffer"] = buffer


def adam(optimizer: Any, group: dict[str, Any], params: list[Tensor]) -> None:
    """Adam's step, and AdamW's."""
    amsgrad = group["amsgrad"]
    states = [optimizer.state[p] or optimizer._start(p, amsgrad) for p in params]
    columns = [[s["exp_avg"] for s in states], [s["exp_avg_sq"] for s in states],
               [s["max_exp_avg_sq"] for s in states] if amsgrad else []]
    steps = [s["step"] for s in states]
    options, marks = _options(group, ("lr", *group["betas"], "eps"))
    template = (*_marks(params, params, *columns, steps), *marks, tuple(range(len(steps))),
                bool(group.get("decoupled_weight_decay") or optimizer._decoupled), bool(group["maximize"]))
    targets = [*params, *columns[0], *columns[1], *columns[2]]
    flat = [*params, *[p.grad for p in params], *columns[0], *columns[1], *columns[2], *steps, *options]
    write_scalars(["step"] * len(steps), steps, step(call_of(OPS["_adam_step"], template), flat, targets), options)
