"""Custom functions under JAX's transformations: ``jax.grad`` calls the user's backward."""
from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from jtorch import engine
from jtorch.engine import Value, batched
from jtorch.no_grad import no_grad
from jtorch.storage import value_of
from jtorch.tensor import Tensor, wrap


class _Kept:
    """A saved tensor under a transformation."""

    def __init__(self, array):
        self.array = array

    def unpack(self, node) -> Tensor:
        """Return the tensor."""
        return _wrapped(self.array)


def _wrapped(array) -> Tensor:
    return wrap(Value(engine.traced_aval(array), array))


def _array(t: Tensor):
    value = value_of(t)
    engine.read(value)
    return batched.traced(value) if value.aval.traced else engine.device_array(value)


def apply_traced(cls: Any, args: tuple) -> Any:
    """Call a custom function as a ``jax.custom_vjp`` on tensors that hold JAX tracers."""
    places = [i for i, a in enumerate(args) if isinstance(a, Tensor)]
    call = _Traced(cls, args, places)
    function = jax.custom_vjp(lambda *arrays: call.forward(arrays)[0])
    function.defvjp(lambda *arrays: call.forward(arrays), call.backward)
    made = iter(function(*[_array(args[i]) for i in places]))
    outs = tuple([_wrapped(next(made)) if isinstance(o, Tensor) else o for o in call.outs])
    return outs if call.is_tuple else outs[0]


def with_history(recorded: Any, traced: Any) -> Any:
    """Give the outputs of ``apply_traced`` the nodes of the recorded call.

    With the history, both JAX and the tape can differentiate them.
    """
    if not isinstance(recorded, tuple):
        return _joined(recorded, traced)
    return tuple([_joined(r, t) for r, t in zip(recorded, traced, strict=True)])


def _joined(recorded: Any, traced: Any) -> Any:
    if not isinstance(recorded, Tensor) or recorded._node is None or recorded._base is not None:
        return recorded
    return wrap(value_of(traced), (recorded._node, recorded._output_nr))


class _Traced:
    """One application: its arguments, and the context that its forward leaves for its backward."""

    def __init__(self, cls: Any, args: tuple, places: list[int]):
        self.cls, self.args, self.places = cls, args, places

    def forward(self, arrays: tuple) -> tuple:
        """Return the arrays of the outputs and of the saved tensors."""
        from jtorch.autograd.function import run_forward
        given = list(self.args)
        for i, array in zip(self.places, arrays, strict=True):
            given[i] = _wrapped(array)
        ctx = self.ctx = self.cls._backward_cls()
        ctx.needs_input_grad = tuple([isinstance(a, Tensor) and bool(value_of(a).aval.is_inexact) for a in given])
        returned = run_forward(self.cls, ctx, tuple(given))
        self.is_tuple = isinstance(returned, tuple)
        self.outs = returned if self.is_tuple else (returned,)
        outs = [_array(o) for o in self.outs if isinstance(o, Tensor)]
        return outs, [None if t is None else _array(t) for t in ctx.to_save or ()]

    def backward(self, saved: list, cts: list) -> tuple:
        """Return the gradients of the inputs, computed by the user's backward.

        JAX's cotangents are the conjugates of PyTorch's gradients.
        """
        self.ctx._saved = [None if a is None else _Kept(a) for a in saved]
        rest = iter(cts)
        given = [_cotangent(next(rest)) if isinstance(o, Tensor) else None for o in self.outs]
        with no_grad():
            out = self.ctx.apply(*given)
        found = out if isinstance(out, tuple) else (out,)
        return tuple([None if found[i] is None else jnp.conj(_array(found[i])) for i in self.places])


def _cotangent(ct) -> Tensor | None:
    return None if ct.dtype == jax.dtypes.float0 else _wrapped(jnp.conj(ct))
