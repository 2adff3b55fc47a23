"""Docstrings of functions made from op records: the op's own docstring, and sections derived from the record.

The text is made when ``help(torch.add)`` or ``print(torch.add.__doc__)`` shows it, not at import.
"""
from __future__ import annotations

import functools
import inspect
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from jtorch._api.names import IN_PLACE
from jtorch._api.op_signatures import of_record
from jtorch.ops.registry import Op, Param


class OpDoc(str):
    """The op's own docstring, which is completed when it is shown."""

    __slots__ = ("op",)
    op: Op

    @classmethod
    def of(cls, op: Op) -> OpDoc:
        """Return the docstring of an op's functions."""
        made = cls(op.doc)
        made.op = op
        return made

    def __str__(self) -> str:
        return text_of(self.op)

    def expandtabs(self, tabsize: Any = 8) -> str:
        """Return the completed text. ``inspect.getdoc`` and ``help`` call this first."""
        return str(self).expandtabs(tabsize)

    def splitlines(self, keepends: bool = False) -> list[str]:
        """Return the lines of the completed text."""
        return str(self).splitlines(keepends)

    def __format__(self, spec: str) -> str:
        return format(str(self), spec)

    def __contains__(self, part: str) -> bool:      # type: ignore[override]
        return part in str(self)

    def __reduce__(self) -> tuple:
        return str, (str(self),)


@functools.cache
def text_of(op: Op) -> str:
    """Return the whole docstring of an op."""
    sections = {"Args": list(_arguments(op)), "Shape": [_shape(op)], "Dtype": [_dtype(op)], "Returns": [_returned(op)],
                "Raises": list(_errors(op)), "Gradient": [_gradient(op)], "Forms": [_forms(op)]}
    parts = [f"{op.name}{inspect.Signature(list(of_record(op)))}", op.doc]
    for title, entries in sections.items():
        more = "        " if title in ("Args", "Raises") else "    "
        lines = [textwrap.fill(e, 100, initial_indent="    ", subsequent_indent=more) for e in entries if e]
        if lines:
            parts.append("\n".join([f"{title}:", *lines]))
    if op.name in examples():
        parts.append("Example:\n" + textwrap.indent(examples()[op.name], "    "))
    return "\n\n".join(parts) + "\n"


@functools.cache
def examples() -> dict[str, str]:
    """Return the examples of ops by name, as doctests. ``op_examples.txt`` has them."""
    text = Path(__file__).with_name("op_examples.txt").read_text(encoding="utf-8")
    parts = [part.partition("]\n") for part in text.split("\n[")[1:]]
    return {name: program.strip() for name, _, program in parts}


def _is_required(p: Param) -> bool:
    return p.default is inspect.Parameter.empty


# ---------------------------------------------------------------- arguments

_KINDS = {"tensor": "Tensor", "tensor_or_number": "Tensor or number", "tensors": "sequence of Tensors", "number": "number",
          "size": "ints"}
_MEANINGS = {
    "tensor_or_number": "a number is an operand of its kind, which does not raise the dtype within the kind.",
    "number": "a new value compiles nothing anew.",
    "size": "one sequence, or spelled out.",
    "tensors": "one sequence.",
}
_NAMES = {
    "dim": "negative ones count from the last.",
    "keepdim": "keep the reduced dims, with size 1.",
    "dtype": "the dtype to compute in and return; None takes that of the rule below.",
    "generator": "where random numbers come from; None is the device's default one.",
    "alpha": "a factor of ``other``.",
    "rounding_mode": 'None, "trunc" or "floor".',
    "equal_nan": "whether NaN equals NaN.",
    "descending": "from large to small.",
    "reduction": '"none", "mean" or "sum".',
}


def _arguments(op: Op) -> Iterator[str]:
    for p in op.params:
        kind = _KINDS.get(p.kind) or p.annotation.replace("|", "or")
        if p.kind == "tensor_or_static":
            kind = p.annotation.replace("|", "or")
        optional = "" if _is_required(p) else ", optional"
        if p.name == "dim" and "None" in p.annotation:
            yield f"dim ({kind}{optional}): negative ones count from the last; None means all."
            continue
        meaning = _NAMES.get(p.name) or (_MEANINGS.get(p.kind, "") if not (p.kind == "tensors" and p.varargs)
                                         else "one sequence, or spelled out.")
        yield f"{p.name} ({kind}{optional}): {meaning}".rstrip().removesuffix(":")


def _promoting(op: Op) -> list[str]:
    return list(op.promotes) or [p.name for p in op.params if p.kind.startswith("tensor")]


# ---------------------------------------------------------------- sections derived from the record

def _shape(op: Op) -> str:
    if op.view is not None:
        return "The result shows memory of the argument: its shape is computed from size, stride and offset alone."
    if op.dynamic:
        return "The result's shape depends on values, so the call runs at once, on the host."
    if op.promote is not None and op.broadcast and len(_promoting(op)) > 1:
        return f"{_listed(_promoting(op))} are broadcast against each other; elementwise results have that shape."
    if op.elementwise:
        return "Any; the result's is the argument's."
    return ""


def _listed(names: list[str]) -> str:
    return "".join(names) if len(names) < 2 else f"{', '.join(names[:-1])} and {names[-1]}"


def _dtype(op: Op) -> str:
    names = _listed(_promoting(op))
    common = f"the common dtype of {names} (torch.result_type)" if len(_promoting(op)) > 1 else f"the dtype of {names}"
    if op.promote == "bool":
        return f"Compared in {common}; the result is bool."
    if op.promote == "int_to_float":
        return f"Computed in {common}, integers and bools in the default dtype; the result has it."
    if op.promote is not None:
        return f"Computed in {common}, which the result has."
    if op.creates:
        return "``dtype=``, or else the default dtype or that of the argument."
    if op.view is not None and not op.view.remade:
        return "That of the argument."
    return "" if op.result_dtype is None else f"The result is {np.dtype(op.result_dtype).name}."


def _returned(op: Op) -> str:
    if op.returns:
        return f"A named tuple ({', '.join(op.returns)})."
    if op.view is not None:
        form = "" if op.view.copy_name is None else ", or a copy where no strides show it"
        return f"A view, which shares memory with the argument{form}."
    if op.writes:
        return f"A new tensor; {_listed(list(op.writes))} may be written to."
    return "A new tensor." if op.creates else ""


def _errors(op: Op) -> Iterator[str]:
    if op.promote is not None and op.broadcast and len(_promoting(op)) > 1:
        yield "RuntimeError: shapes that do not broadcast."
    if op.value_check is not None:
        yield "Of values that are not allowed: when the result is read, at the latest, since calls may be held back."
    if op.out.form and not op.writes:
        refused = "a dtype that is not the result's" if op.out.refuses is not None else "a dtype that the result is not cast to"
        yield f"RuntimeError: ``out=`` of {refused}, or for arguments that require grad."
    if op.memory.apart:
        yield "RuntimeError: what is written to shares memory with an argument."


def _gradient(op: Op) -> str:
    if op.not_derived:
        return "Its backward raises: PyTorch has no derivative of it."
    if not op.differentiable:
        return "None: the result does not require grad."
    used = {"inputs": "arguments", "all": "its arguments", "result": "its result",
            "both": "its arguments and its result", "none": ""}[op.saves.what]
    kept = f" The backward uses {used}: writing to them before it is an error." if used else " The backward needs no values."
    return f"Differentiable, any number of times.{kept}"


def _forms(op: Op) -> str:
    short = op.name.split(".")[-1]
    forms = [*([f"torch.{op.name}"] if op.function else []), *([f"Tensor.{short}"] if op.method and "." not in op.name else []),
             *_inplace_forms(op, short),
             *[f"torch.{a}" for a in op.aliases], *op.operators]
    return ", ".join(forms) + "." if len(forms) > 1 else ""


def _inplace_forms(op: Op, short: str) -> list[str]:
    if not op.inplace.form:
        return []
    space = f"torch.{op.name}".rpartition(".")[0]
    is_function, is_method = f"{short}_" in IN_PLACE.get(space, ()), op.method and space == "torch"
    return [*([f"{space}.{short}_"] if is_function else []), *([f"Tensor.{short}_"] if is_method else [])]
