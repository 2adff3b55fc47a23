"""The functions of ``late_bindings.aten``: calls, views, writes and backwards for modes and classes with ``__torch_dispatch__``.

``late_bindings.aten`` is this module while such a mode is on or once such a class exists. A function that dispatches a call
returns None if no mode or class takes the call over.
"""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from jtorch import engine, storage
from jtorch._aten import backwards, history, operators
from jtorch._aten.asking import ask, has_taker, takes_over, tensors_in
from jtorch._aten.asking import has_handler as has_handler
from jtorch._aten.composites import COMPOSITES, networks
from jtorch._aten.fitting import Named, arguments, fitting, plain_name
from jtorch._aten.history import given_history, given_history_of_write, operated
from jtorch._aten.own import named_after_op
from jtorch._aten.stack import install, state
from jtorch._library.aten import is_composite
from jtorch._library.namespaces import overload_of
from jtorch.dispatch.views import note_views
from jtorch.engine import Call
from jtorch.no_grad import mode
from jtorch.ops.registry import OPS, T
from jtorch.tensor import Tensor

dropout = networks.dropout
backward, accumulate, ones_like = backwards.backward, backwards.accumulate, backwards.ones_like


def is_on() -> bool:
    """Return whether a mode or a tracer is on in this thread."""
    return (bool(state.modes) and not state.off) or state.tracer is not None


def is_walk_seen() -> bool:
    """Return whether a mode sees a backward's calls, or gradients may be tensors of classes with ``__torch_dispatch__``."""
    return is_on() or history.has_nodes


def _traced(hook: Callable) -> Callable:
    """Let the thread's tracer record a call before it is decomposed."""
    @functools.wraps(hook)
    def recorded(c: Call, flat: Any, *rest: Any) -> Any:
        made = state.tracer.op(hook.__name__, c, flat, rest) if state.tracer is not None else None
        return hook(c, flat, *rest) if made is None else made
    return recorded


def recurrent(mode: str, run: Callable[[], Any], input: Tensor, hx: Any, params: Any, has_biases: bool, num_layers: int,
              dropout: float, train: bool, bidirectional: bool, batch_first: bool) -> Any:
    """Dispatch a recurrent network; ``run`` computes it directly."""
    if state.tracer is not None:
        states = list(hx) if mode == "lstm" else hx[0]
        given = [input, states, list(params), has_biases, num_layers, dropout, train, bidirectional, batch_first]
        made = state.tracer.recurrent(mode, run, given)
        if made is not None:
            return made
    rate = dropout if train else 0.0
    return networks.recurrent(mode, input, hx, params, has_biases, num_layers, rate, bidirectional, batch_first)


def python_function(name: str, args: tuple, apply: Callable[[], Any]) -> Any:
    """Record a ``torch.autograd.Function`` as one node while a tracer is on."""
    return None if state.tracer is None else state.tracer.function(name, args, apply)


def _decomposed(c: Call, flat: Any) -> Any:
    """Return the result of a composite op's rule, or NotImplemented for other ops."""
    rule = COMPOSITES.get(c.op.name)
    return NotImplemented if rule is None else rule(**arguments(c, flat))


def _as_results(made: Any) -> Any:
    return list(made) if isinstance(made, tuple) else made


def _refuse(c: Call, flat: Any) -> None:
    """Raise NotImplementedError if an op without an operator gets a tensor without memory. Modes do not see the op's call."""
    for t in flat:
        if isinstance(t, Tensor) and t._storage.value is None and t._storage.__class__ is not storage.Storage:
            raise NotImplementedError(f"{c.op.name} of {type(t).__name__} is not built: it has no counterpart in torch.ops.aten "
                                      "that __torch_dispatch__ could get")


@_traced
def call(c: Call, flat: Any) -> Any:
    """Dispatch a call of an op, with its history."""
    if not takes_over(flat):
        return None
    made = _decomposed(c, flat)
    if made is not NotImplemented:
        return _as_results(made)
    named = operators.of_call(c, flat) or (None if c.op.dynamic else named_after_op(c, flat))
    if named is None:
        return _refuse(c, flat)
    return given_history(c, flat, _asked(named), named)


def _asked(named: Named) -> Any:
    return ask(named.func, named.args, named.kwargs)


@_traced
def call_writing(c: Call, flat: Any, targets: Any) -> Any:
    """Dispatch a call that also writes into some arguments."""
    if not takes_over(flat):
        return None
    made = _decomposed(c, flat)
    if made is NotImplemented and c.op.name in operators.NAMES:
        made = call(c, flat)
    if made is NotImplemented:      # on None the caller dispatches the call without its writes, and then writes the results
        if has_taker(flat) and any([t is not None for t in targets]):
            raise NotImplementedError(f"{c.op.name} that writes to tensors of classes with __torch_dispatch__ is not built")
        return None
    outs = list(made) if isinstance(made, (list, tuple)) else [made]
    return outs[0] if len(outs) == 1 else tuple(outs)


@_traced
def call_view(c: Call, flat: Any) -> Any:
    """Dispatch a view op."""
    if not takes_over(flat):
        return None
    made = _decomposed(c, flat)
    if made is not NotImplemented:
        return _as_results(made)
    named = operators.of_call(c, flat) or named_after_op(c, flat)
    made = _asked(named)
    several = isinstance(made, (list, tuple))
    outs = list(made) if several else [made]
    if any([t._base is None or t._storage is not flat[0]._storage or t._node is not None for t in outs]):
        return outs[0] if c.op.name in ("alias", "detach") and _is_cut_off(outs[0]) else given_history(c, flat, made, named)
    for t in outs:
        t.__dict__.pop("_creation", None)
    return note_views(c, flat, outs, several)


def _is_cut_off(t: Tensor) -> bool:
    return t._node is None and not t._requires_grad


@_traced
def call_inplace(c: Call, flat: Any, name: str | None) -> Any:
    """Dispatch an in-place call."""
    if not takes_over(flat):
        return None
    rule = COMPOSITES.get(f"{c.op.name}_")
    if rule is not None:
        made = rule(**arguments(c, flat))
        if made is not NotImplemented:
            return made
    named = operators.of_call(c, flat, "_")
    if named is None:
        return _refuse(c, flat)
    return given_history_of_write(c, flat, named, name)


def call_out(c: Call, flat: Any, out: Any) -> Any:
    """Dispatch a call with ``out=``."""
    outs = list(out) if isinstance(out, (list, tuple)) else [out]
    if not takes_over([*flat, *outs]):
        return None
    if mode.grad and any([isinstance(t, Tensor) and t.requires_grad for t in [*flat, *outs]]):
        return None         # the call without a mode raises the error for tensors that require grad
    named = operators.of_call(c, flat, out=outs)
    if named is None:
        return None
    _asked(named)
    return out


def function(name: str, given: dict[str, Any]) -> Any:
    """Dispatch a function without an op record to a mode or class with ``__torch_dispatch__``. Return None if there is none.

    The result gets no autograd history. ``given`` has the arguments by name; those left at their defaults may be missing.
    """
    if not takes_over(given.values()):
        return None
    short, _, last = name.partition(".")
    named = fitting(short, given) if not last else operators.exactly(name, given)
    return None if named is None else _asked(named)


def clone(x: Tensor, memory_format: Any) -> Any:
    """Dispatch ``clone`` with a memory format."""
    if not takes_over([x]):
        return None
    return operated("clone", {"self": x, "memory_format": memory_format}, engine.call_of(OPS["clone"], (T,)), (x,))


def created(name: str, given: dict[str, Any]) -> Any:
    """Dispatch a function that makes a tensor without tensor arguments, which only a mode can take over."""
    return function(name, given) if state.modes and not state.off else None


def operator(record: Any, args: tuple, kwargs: dict) -> Any:
    """Dispatch a call of an operator itself. Composite operators and those that need history go through their functions."""
    given = [*args, *kwargs.values()]
    if not takes_over(given) or is_composite(record.name):
        return None
    if mode.grad and not mode.inference and any([t.requires_grad for t in tensors_in(given)]):
        return None
    return ask(overload_of(record.name), args, kwargs)


def below(record: Any, args: tuple, kwargs: dict) -> Any:
    """Dispatch a call of an operator that the user registered, below autograd."""
    given = [*args, *kwargs.values()]
    return ask(overload_of(record.name), args, kwargs) if takes_over(given) else None


def decomposes(name: str) -> bool:
    """Return whether the function of a composite operator of PyTorch dispatches other operators in jtorch too."""
    op = _by_operator().get(name.removeprefix("aten::").partition(".")[0])
    return op is None or op in COMPOSITES or op in operators.NAMES


@functools.cache
def _by_operator() -> dict[str, str]:
    return {plain_name(name): name for name in OPS}


def dynamic(op: Any, template: tuple, flat: Any, run: Callable[[], Any]) -> Any:
    """Dispatch a call whose result shape depends on values; ``run`` computes it directly."""
    c = engine.call_of(op, template)
    if state.tracer is not None:
        made = state.tracer.op("dynamic", c, flat, (run,))
        if made is not None:
            return made
    return call(c, flat)


install(__import__("sys").modules[__name__])
