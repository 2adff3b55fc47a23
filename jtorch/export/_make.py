"""Exporting a model: capture it, make sizes dynamic, and write the program. See torch.export.export."""
from __future__ import annotations

import inspect
from typing import Any

import jax

from jtorch._base.pytree import flatten, unflatten
from jtorch.engine import stablehlo
from jtorch.export._capture import Captured
from jtorch.export._dims import OpenSizes
from jtorch.export._open_sizes import NotOpenError
from jtorch.export._program_module import Description
from jtorch.export._user_error import UserError
from jtorch.export.dynamic_shapes import Dim, ShapesCollection
from jtorch.export.exported_program import ExportedProgram
from jtorch.nn.modules.module import Module
from jtorch.tensor import Tensor

_CONSTANTS = (int, float, str, bool, complex, type(None))


def program_of(model: Any, args: tuple, kwargs: dict[str, Any], dynamic_shapes: Any = None) -> ExportedProgram:
    """Return the program of a module or function for inputs like these."""
    opened = OpenSizes(model, args, kwargs, dynamic_shapes)
    captured = Captured(model, args, kwargs)
    with jax.enable_x64(True):
        symbols = dict(zip(opened.known, stablehlo.symbols(list(opened.known), opened.constraints()), strict=True))
        try:
            function = captured.function(opened.sizes, symbols, opened.examples)
            program = stablehlo.exported(function, *captured.specs(opened.sizes, symbols))
        except NotOpenError as error:
            raise UserError(f"Constraints violated ({', '.join(symbols)})! {error}") from error
    state = {n: t.detach() for n, t in captured.state.items()}
    return ExportedProgram(program, state, description(captured, opened), (args, kwargs))


def with_open_batch(model: Any, args: tuple, kwargs: dict[str, Any]) -> ExportedProgram:
    """Return the program with a dynamic batch size, if the inputs have one common first dim.

    If the model depends on that size, return the program for the inputs' sizes.
    """
    leaves = [t for t in flatten((args, kwargs))[0] if isinstance(t, Tensor)]
    if leaves and all([t.dim() and t.shape[0] == leaves[0].shape[0] for t in leaves]):
        shapes = ShapesCollection()
        for t in leaves:
            shapes[t] = {0: Dim("batch", min=1)}
        try:
            return program_of(model, args, kwargs, shapes)
        except UserError:
            pass
    return program_of(model, args, kwargs)


def description(captured: Captured, opened: OpenSizes) -> Description:
    """Return the facts about a program that its StableHLO does not contain."""
    constants = [[i, leaf] for i, leaf in enumerate(captured.leaves) if i not in captured.inputs]
    results = captured.out_leaves
    for value in [*[c for _, c in constants], *[r[0] for r in results if r is not None]]:
        if not isinstance(value, _CONSTANTS):
            raise UserError(f"a {type(value).__name__} is neither a tensor nor a number, string or None, nor a tuple, list or "
                            "dict of these: a program can't take or give it")
    sizes = [[n if n is not None else int(s) for n, s in zip(named, captured.leaves[i].shape, strict=True)]
             for i, named in zip(captured.inputs, opened.sizes, strict=True)]
    transient = _transient(captured.model) if isinstance(captured.model, Module) else []
    return Description(list(captured.parameters), list(captured.buffers), transient, captured.written, _input_names(captured),
                       captured.form, captured.out_form, constants, list(results), sizes,
                       {n: [d.min, d.max] for n, d in opened.known.items()}, getattr(captured.model, "training", False))


def _transient(model: Module) -> list[str]:
    return [f"{prefix}.{n}" if prefix else n for prefix, m in model.named_modules() for n in m._non_persistent_buffers_set]


def _input_names(captured: Captured) -> list[str]:
    """Return a name for each leaf of the inputs: the parameter's name, with a number if it has several leaves."""
    args, kwargs = unflatten(captured.leaves, captured.form)
    called = captured.model.forward if isinstance(captured.model, Module) else captured.model
    bound = inspect.signature(called).bind(*args, **kwargs)
    names: list[str] = []
    for name, value in bound.arguments.items():
        kind = bound.signature.parameters[name].kind
        entries = value.items() if kind is inspect.Parameter.VAR_KEYWORD else [(name, value)]
        for n, v in entries:
            count = len(flatten(v)[0])
            names += [n] if count == 1 else [f"{n}_{i}" for i in range(count)]
    return names
