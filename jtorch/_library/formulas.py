"""The backward of registered operators, by their registered formulas."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from jtorch._library.operators import Operator
from jtorch.autograd import Function
from jtorch.tensor import Tensor


class Formula:
    """A backward and the function that saves values for it. Both may be replaced later."""

    def __init__(self, backward: Callable | None = None, setup_context: Callable | None = None):
        self.backward, self.setup_context = backward, setup_context


class _Layout:
    """The mapping between nested arguments, which may be lists of tensors, and a flat sequence."""

    def __init__(self, values: Any):
        self.lengths = [len(v) if _is_tensors(v) else None for v in values]

    def flat(self, values: Any) -> Iterator[Any]:
        """Yield the flat sequence. None for a list becomes None for each of its tensors."""
        for v, n in zip(values, self.lengths, strict=False):
            if n is None:
                yield v
            else:
                yield from ([None] * n if v is None else v)

    def nested(self, row: Any) -> list:
        """Return the nested arguments of a flat sequence."""
        left = iter(row)
        return [next(left) if n is None else [next(left) for _ in range(n)] for n in self.lengths]


def _is_tensors(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(v, Tensor) for v in value)


class _Call:
    """The state of one call, passed through ``Function.apply`` as the last argument."""

    def __init__(self, args: tuple, kwargs: dict):
        self.kwargs, self.given = kwargs, _Layout(args)
        self.made: _Layout | None = None
        self.form: type | None = None

    def taken_apart(self, result: Any) -> Any:
        """Flatten a result to the tuple that a Function returns."""
        self.form = type(result) if isinstance(result, (tuple, list)) else None
        if self.form is None:
            return result
        self.made = _Layout(result)
        return tuple(self.made.flat(result))

    def put_together(self, result: Any) -> Any:
        """Rebuild the result that ``taken_apart`` flattened."""
        if self.form is None:
            return result
        assert self.made is not None
        return self.form(self.made.nested(result))


def _needs(op: Operator, call: _Call, flags: tuple) -> tuple:
    """Return which arguments need gradients, including omitted arguments."""
    needs = call.given.nested(flags[:-1])
    return (*needs, *[False] * (sum(not a.kwarg_only for a in op.binder.arguments) - len(needs)))


def make_formula(op: Operator, overload: Any, formula: Formula) -> Callable:
    """Return a function of (args, kwargs, is a gradient needed) that runs ``op`` below autograd, recorded if one is needed."""
    keyword_only = any(a.kwarg_only for a in op.binder.arguments)

    def forward(ctx: Any, *row: Any) -> Any:
        call = row[-1]
        args = tuple(call.given.nested(row[:-1]))
        result = op.redispatch(args, call.kwargs)
        ctx._call, flags = call, ctx.needs_input_grad
        if formula.setup_context is not None:
            inputs, named = op.binder.filled(args, call.kwargs)
            ctx.needs_input_grad = _needs(op, call, flags)
            more = {"keyword_only_inputs": named} if keyword_only else {}
            formula.setup_context(ctx=ctx, inputs=inputs, output=result, **more)
            ctx.needs_input_grad = flags
        return call.taken_apart(result)

    def backward(ctx: Any, *grads: Any) -> tuple:
        if formula.backward is None:
            raise RuntimeError(f"Trying to backward through {overload} but no autograd formula was registered. Please use "
                               "register_autograd to add one.")
        call, flags = ctx._call, ctx.needs_input_grad
        given = grads if call.made is None else call.made.nested(grads)
        if call.form is list:
            given = [given]
        try:
            ctx.needs_input_grad = _needs(op, call, flags)
            made = formula.backward(ctx, *given)
        finally:
            ctx.needs_input_grad = flags
        made = made if isinstance(made, tuple) else (made,)
        n = len(call.given.lengths)
        return (*call.given.flat(made[:n]), *[None] * (len(made) >= n), *made[n:])

    assert op.schema is not None
    space, name = op.schema.name.split("::")
    overload_name = op.schema.overload_name or "default"
    generated = type(f"GeneratedBackwardFor_{space}_{name}_{overload_name}", (Function,),
                     {"forward": staticmethod(forward), "backward": staticmethod(backward)})

    def record(args: tuple, kwargs: dict, wanted: bool) -> Any:
        if not wanted:
            return op.redispatch(args, kwargs)
        call = _Call(args, kwargs)
        return call.put_together(generated.apply(*call.given.flat(args), call))      # type: ignore[attr-defined]

    return record
