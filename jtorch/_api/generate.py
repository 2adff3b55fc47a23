"""Makes ``torch.f``, ``Tensor.f``, ``Tensor.f_``, ``out=`` and the operators from the records of the ops.

The source of every function is generated once, at import, with PyTorch's signature, so that a call costs no more than a
function written by hand and wrong argument names raise Python's own error.
"""
from __future__ import annotations

import importlib
import pkgutil
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np

import jtorch.device as devices
import jtorch.ops
from jtorch import engine, tape
from jtorch._api.argument_errors import has_overloads, invalid_combination, needs_a_tensor
from jtorch._api.conversion import in_format
from jtorch._api.names import put
from jtorch._backward.view_history import edge_of, requires_grad, start_history
from jtorch._nodes.vjp import backward_name
from jtorch.dispatch import (
    call,
    call_inplace,
    call_kept,
    call_out,
    call_restrided,
    call_view,
    call_writing,
    cast_value,
    named,
    refuse_unusable,
    write_resized,
)
from jtorch.engine import Call, Value, call_of
from jtorch.no_grad import mode
from jtorch.ops.layout import ALWAYS, KEPT
from jtorch.ops.registry import NUMBERS, OPS, Op, Param, T, freeze
from jtorch.storage import aval_of, check_writable, lay_out, value_of
from jtorch.tape import UnderivedNode, node_class
from jtorch.tensor import Parameter, Tensor, with_grad, wrap

_PLAIN = {int, str, type(None)}
_FLAG = {*_PLAIN, bool}      # for parameters that are only ever bools, where 1 and True mean the same
_MARKS: dict[type, Any] = {Tensor: T, Parameter: T, **NUMBERS}


# ---------------------------------------------------------------- what the generated code calls

def _bad_tensor(op: Op, name: str, position: int, given: Any):
    """The argument as a tensor if it is one of a subclass; PyTorch's TypeError otherwise."""
    if isinstance(given, Tensor):
        return given
    if has_overloads(op):
        raise invalid_combination(op, sys._getframe(1))
    where = f"argument '{name}' (position {position})"
    raise TypeError(f"{op.name.split('.')[-1]}(): {where} must be Tensor, not {_type_name(given)}")


def _type_name(given: Any) -> str:
    return type(given).__name__


def _operand(op: Op, name: str, position: int, given: Any):
    """(argument, marker) for what is neither a plain tensor nor a plain number."""
    if isinstance(given, Tensor):
        return given, T
    if isinstance(given, np.ndarray):
        from jtorch._api.creation import as_tensor
        return as_tensor(given), T
    if isinstance(given, np.generic):
        given = given.item()
    for kind in (bool, int, float, complex):
        if isinstance(given, kind):
            return kind(given), NUMBERS[kind]       # type: ignore[arg-type]
    if given is None and any(p.name == name and "None" in p.annotation for p in op.params):
        return None, None
    where = f"argument '{name}' (position {position})"
    wanted = "Number" if any(p.name == name and p.kind == "number" for p in op.params) else "Tensor"
    raise TypeError(f"{op.name.split('.')[-1]}(): {where} must be {wanted}, not {_type_name(given)}")


def _static(given: Any):
    """A static argument in hashable form; tensors of one element become numbers."""
    if isinstance(given, Tensor):
        return freeze(given.tolist())
    if isinstance(given, (list, tuple)):
        return tuple([x if x.__class__ is int else _static(x) for x in given])
    if isinstance(given, np.ndarray):
        return freeze(given.tolist())
    return freeze(given)


def _list(op: Op, name: str, position: int, given: Any, flat: list):
    """The template of a sequence of tensors, which are added to ``flat``."""
    if isinstance(given, Tensor) or not isinstance(given, (list, tuple)):
        if isinstance(given, Tensor) or not hasattr(given, "__iter__"):
            raise TypeError(f"{op.name.split('.')[-1]}(): argument '{name}' (position {position}) must be tuple of Tensors, not "
                            f"{_type_name(given)}")
        given = list(given)
    marks: list = []
    for k, t in enumerate(given):
        if isinstance(t, Tensor):
            flat.append(t)
            marks.append(T)
        elif t is None and "None" in next(p.annotation for p in op.params if p.name == name):
            marks.append(None)
        elif t.__class__ in NUMBERS:
            flat.append(t)
            marks.append(NUMBERS[t.__class__])
        elif isinstance(t, (list, tuple)):
            marks.append(_list(op, name, position, t, flat))
        else:
            raise TypeError(f"expected Tensor as element {k} in argument {position - 1}, but got {_type_name(t)}")
    return tuple(marks)


def _varargs(spelled: tuple, keyword: Any):
    """Ints (or tensors) given one by one or as one sequence."""
    if keyword is not None:
        return tuple(keyword) if isinstance(keyword, (list, tuple)) else (keyword,)
    if len(spelled) == 1 and isinstance(spelled[0], (list, tuple)):
        return tuple(spelled[0])
    return spelled


def _ints(op: Op, name: str, position: int, given: Any) -> tuple:
    """The ints of a size; tensors of one element become numbers."""
    if not isinstance(given, (list, tuple)):
        raise TypeError(f"{op.name.split('.')[-1]}(): argument '{name}' (position {position}) must be tuple of ints, not "
                        f"{_type_name(given)}")
    made = []
    for k, n in enumerate(given):
        if n.__class__ is not int:
            if not hasattr(n, "__index__"):
                raise TypeError(_not_an_int(op.name.split(".")[-1], name, position, k, n))
            n = n.__index__()
        made.append(n)
    return tuple(made)


def _int(op: Op, name: str, position: int, given: Any) -> int:
    """An int argument that is not given as a plain int; TypeError unless it is one of NumPy or a 0-dim tensor."""
    if isinstance(given, Tensor):
        if not given.dim() and given.dtype.np.kind in "iu":
            return given.item()
    elif hasattr(given, "__index__") and not isinstance(given, (bool, np.bool_)):
        return given.__index__()
    if has_overloads(op):
        raise invalid_combination(op, sys._getframe(1))
    raise TypeError(f"{op.name.split('.')[-1]}(): argument '{name}' (position {position}) must be int, not {_type_name(given)}")


def _not_an_int(function: str, name: str, position: int, k: int, n: Any) -> str:
    if k == 0:
        return f"{function}(): argument '{name}' (position {position}) must be tuple of ints, not {_type_name(n)}"
    return (f"{function}(): argument '{name}' failed to unpack the object at pos {k + 1} with error "
            f'"type must be tuple of ints,but got {_type_name(n)}"')


def _new_call(calls: dict, op: Op, key: Any):
    template = key if key.__class__ is tuple else (key,)
    if len(calls) > 10_000:
        calls.clear()
    if T not in template and needs_a_tensor(op):
        raise invalid_combination(op, sys._getframe(1))
    made = calls[key] = call_of(op, template)
    return made


def _call_creating(op: Op, template: tuple, flat: list, device: Any, requires_grad: bool, out: Any, memory_format: Any = None):
    """Calls an op that makes a tensor on a device of the caller's choice."""
    tensors = [t for t in flat if isinstance(t, Tensor)]
    if device is None:
        place = tensors[0].device if tensors else devices.canonical(devices.default_device())
    else:
        place = devices.canonical(devices.as_device(device))
    c = call_of(op, template, place)
    if out is not None:
        _check_created(c, out)
        return call_out(c, flat, out)
    made = call(c, flat)
    if made.__class__ is list:
        made = named(c, made)
    else:
        in_format(made, memory_format)
    return with_grad(made, requires_grad)


def _check_created(c: Call, out: Any) -> None:
    """RuntimeError where ``dtype=`` and ``out=`` say two things."""
    wanted = dict(zip([p.name for p in c.op.params], c.template, strict=True)).get("dtype")
    if wanted is not None and isinstance(out, Tensor) and out.dtype is not wanted:
        raise RuntimeError(f"dtype {wanted.scalar_name} does not match dtype of out parameter ({out.dtype.scalar_name})")


def _call_dynamic(op: Op, template: tuple, flat: list):
    """Runs an op whose result's shape depends on values: at once, on the host."""
    arrays = [t if t.__class__ in NUMBERS else t._numpy_copy() for t in flat]
    device = next((t.device for t in flat if isinstance(t, Tensor)), engine.CPU)
    if op.not_derived:
        refuse_unusable(call_of(op, template), flat)
    with np.errstate(all="ignore"):
        out = op.function_of(template)(*arrays)
    if not isinstance(out, (tuple, list)):
        made = _from_host(np.asarray(out), device)
        if op.layout is not None:
            lay_out(made, op.layout(made._storage.aval.shape, ()))
        return made if not op.not_derived else _underived(call_of(op, template), flat, made)
    made = named(call_of(op, template), [_from_host(np.asarray(x), device) for x in out])
    return made if not op.not_derived else _underived(call_of(op, template), flat, made)


def _underived(c: engine.Call, flat: list, made: Any) -> Any:
    """Gives the first result of an op whose shape depends on values the node that says that it has no derivative."""
    if mode.grad and requires_grad(flat[0]):
        first = made if isinstance(made, Tensor) else made[0]
        name = backward_name(c)
        words = {"Unique2Backward0": "_unique2", "UniqueDimBackward0": "unique_dim"}
        start_history(first, node_class(name, UnderivedNode)(words.get(name, c.op.name), (edge_of(flat[0]),)))
    return made


def _dynamic_out(op: Op, made: Any, out: Any):
    """Writes the results of an op whose result's shape depends on values into ``out``."""
    outs, results = (list(x) if isinstance(x, (tuple, list)) else [x] for x in (out, made))
    for t, r in zip(outs, results, strict=True):
        if not isinstance(t, Tensor):
            raise TypeError(f"{op.name.split('.')[-1]}(): argument 'out' must be Tensor, not {_type_name(t)}")
        if op.refuses_out is not None and r.dtype is not t.dtype:
            op.refuses_out(aval_of(r).sds, aval_of(t).sds, (), aval_of(r).sds)
        check_writable(t)
        write_resized(t, cast_value(value_of(r), aval_of(t)))
    return out


def _from_host(array: np.ndarray, device) -> Tensor:
    return wrap(Value(engine.aval_of(array.shape, array.dtype, device), array))


def _with_dtype(t: Tensor, dtype):
    return t if dtype is None else t.to(dtype)      # type: ignore[attr-defined]


# ---------------------------------------------------------------- generating the source

class _Writer:
    """Writes the functions of one op."""

    def __init__(self, op: Op, index: int):
        self.op, self.prefix = op, f"_{index}"
        self.scope: dict[str, Any] = {f"OP{self.prefix}": op, f"CALLS{self.prefix}": {}}
        if op.warns is not None:
            self.scope[f"W{self.prefix}"] = op.warns
        for p in op.params:
            if p.default is not p.default.__class__ and not _is_empty(p):
                self.scope[f"D{self.prefix}_{p.name}"] = p.default

    def signature(self, extra: tuple[str, ...] = ()) -> str:
        """PyTorch's signature, with the extra keyword-only parameters."""
        parts, starred = [], False
        for p in self.op.params:
            if p.varargs:
                parts += [f"*{p.name}_", f"{p.name}=None"]
                starred = True
                continue
            if p.keyword_only and not starred:
                parts.append("*")
                starred = True
            parts.append(p.name if _is_empty(p) else f"{p.name}=D{self.prefix}_{p.name}")
        extra = tuple(e for e in extra if e.partition("=")[0] not in {p.name for p in self.op.params})
        if extra and not starred:
            parts.append("*")
        return ", ".join([*parts, *extra])

    def body(self) -> tuple[list[str], str, str]:
        """The lines that sort the arguments, and the expressions of the template and of the flat arguments."""
        lines: list[str] = []
        template: list[str] = []
        literal: list[str] = []
        growing = False
        first = next((i for i, p in enumerate(self.op.params) if p.kind != "tensor"), -1) if self.op.warns is not None else -1
        for i, p in enumerate(self.op.params):
            here, mark, flat = getattr(self, f"_{p.kind}")(p, i + 1)
            if i == first:      # tensors have been checked, other arguments are still as the caller gave them
                lines.append(self.warning())
            template.append(mark)
            if not growing and "flat" in "".join(here):
                lines.append(f"flat = [{', '.join(literal)}]")
                growing = True
            lines += here
            if flat and growing:
                lines.append(f"flat.append({flat})")
            elif flat:
                literal.append(flat)
        if len(template) == 1 and template[0] == "T":
            key = "T"
        else:
            key = f"({', '.join(template)},)"
        comma = "," if literal else ""
        return lines, key, "flat" if growing else f"({', '.join(literal)}{comma})"

    def warning(self) -> str:
        """The line that gives the op's warnings."""
        given = [f"_aval_of({p.name})" if p.kind == "tensor" else p.name for p in self.op.params]
        return f"W{self.prefix}({', '.join(given)})"

    def _tensor(self, p: Param, at: int):
        check = (f"if {p.name}.__class__ is not Tensor and {p.name}.__class__ is not Parameter: "
                 f"{p.name} = _bad_tensor(OP{self.prefix}, {p.name!r}, {at}, {p.name})")
        return [check], "T", p.name

    def _tensor_or_number(self, p: Param, at: int):
        mark = f"m_{p.name}"
        lines = [f"{mark} = _MARKS.get({p.name}.__class__)",
                 f"if {mark} is None: {p.name}, {mark} = _operand(OP{self.prefix}, {p.name!r}, {at}, {p.name})"]
        if "None" in p.annotation:
            return [*lines, f"if {mark} is not None: flat.append({p.name})"], mark, ""
        return lines, mark, p.name

    def _tensor_or_static(self, p: Param, at: int):
        mark = f"m_{p.name}"
        return [f"if {p.name}.__class__ is Tensor or isinstance({p.name}, Tensor): flat.append({p.name}); {mark} = T",
                f"else: {mark} = {p.name} if {p.name}.__class__ in _PLAIN else _static({p.name})"], mark, ""

    def _tensors(self, p: Param, at: int):
        lines = [f"{p.name} = _varargs({p.name}_, {p.name})"] if p.varargs else []
        made = f"m_{p.name} = _list(OP{self.prefix}, {p.name!r}, {at}, {p.name}, flat)"
        if "None" in p.annotation.replace("[Tensor | None]", "") and not _is_empty(p):
            made = f"m_{p.name} = None if {p.name} is None else _list(OP{self.prefix}, {p.name!r}, {at}, {p.name}, flat)"
        return [*lines, made], f"m_{p.name}", ""

    def _number(self, p: Param, at: int):
        mark = f"m_{p.name}"
        given = f"{p.name}.item() if isinstance({p.name}, Tensor) else {p.name}"
        made = f"{p.name}, {mark} = _operand(OP{self.prefix}, {p.name!r}, {at}, {given})"
        if _is_empty(p):
            return [made], mark, p.name
        d = f"D{self.prefix}_{p.name}"
        return [f"if {p.name} is {d} or {p.name} is None: {mark} = {self._frozen_default(p)}",
                f"else: {made}; flat.append({p.name})"], mark, ""

    def _frozen_default(self, p: Param) -> str:
        name = f"FD{self.prefix}_{p.name}"
        self.scope[name] = freeze(p.default)
        return name

    def _size(self, p: Param, at: int):
        lines = [f"{p.name} = _varargs({p.name}_, {p.name})"] if p.varargs else []
        given = p.name if p.varargs or "None" not in p.annotation else f"None if {p.name} is None else "
        ints = f"_ints(OP{self.prefix}, {p.name!r}, {at}, {p.name})"
        return [*lines, f"{p.name} = {ints if given == p.name else given + ints}"], p.name, ""

    def _static(self, p: Param, at: int):
        if p.annotation in ("int", "int | None"):
            unless = "" if p.annotation == "int" else f" and {p.name} is not None"
            checked = f"_int(OP{self.prefix}, {p.name!r}, {at}, {p.name})"
            return [f"if {p.name}.__class__ is not int{unless}: {p.name} = {checked}"], p.name, ""
        plain = "_FLAG" if p.annotation == "bool" else "_PLAIN"
        return [f"if {p.name}.__class__ not in {plain}: {p.name} = _static({p.name})"], p.name, ""

    def call(self, flat: str, key: str) -> list[str]:
        """The lines from the sorted arguments to the result."""
        op, at = self.op, self.prefix
        if op.dynamic:
            return [f"return _call_dynamic(OP{at}, {key if key != 'T' else '(T,)'}, {flat})"]
        lines = self.lookup(key)
        if op.view is not None:
            return [*lines, f"r = call_view(c, {flat})", "return tuple(r) if r.__class__ is list else r"]
        if op.writes:
            targets = " + ".join(f"_targets({w})" for w in op.writes)
            return [*lines, f"return call_writing(c, {flat}, {targets})"]
        called = "call_kept" if op.layout is KEPT else "call_restrided" if op.layout in ALWAYS else "call"
        return [*lines, f"r = {called}(c, {flat})", "return named(c, r) if r.__class__ is list else r"]

    def lookup(self, key: str) -> list[str]:
        """The lines that find the call of a template."""
        at = self.prefix
        return [f"k = {key}", f"c = CALLS{at}.get(k)", f"if c is None: c = _new_call(CALLS{at}, OP{at}, k)"]

    def function(self) -> str:
        """``torch.f``: with ``out=``, and ``device=`` and its kin for an op that makes tensors."""
        op = self.op
        lines, key, flat = self.body()
        if op.creates:
            extra = ("device=None", "requires_grad=False", "layout=None", "pin_memory=False", "memory_format=None", "out=None")
            call_it = [f"return _call_creating(OP{self.prefix}, {key if key != 'T' else '(T,)'}, {flat}, device, "
                       "requires_grad, out, memory_format)"]
            return self._def(op.name, self.signature(extra), [*lines, *call_it])
        if op.out and not op.dynamic and not op.writes:
            given = [*self.lookup(key), f"if out is not None: return call_out(c, {flat}, out)"]
            return self._def(op.name, self.signature(("out=None",)), [*lines, *given, *self.call(flat, key)[3:]])
        if op.out and op.dynamic:
            made = self.call(flat, key)[0].replace("return", "r =", 1)
            call_it = [made, f"return r if out is None else _dynamic_out(OP{self.prefix}, r, out)"]
            return self._def(op.name, self.signature(("out=None",)), [*lines, *call_it])
        return self._def(op.name, self.signature(), [*lines, *self.call(flat, key)])

    def inplace(self) -> str:
        """``f_``."""
        lines, key, flat = self.body()
        lines += [*self.lookup(key), f"return call_inplace(c, {flat})"]
        return self._def(f"{self.op.name}_", self.signature(), lines)

    def functional(self) -> str:
        """``torch.nn.functional.f`` with its ``inplace=`` argument."""
        lines, key, flat = self.body()
        lines += [*self.lookup(key), f"if inplace: return call_inplace(c, {flat})", *self.call(flat, key)[3:]]
        return self._def(f"{self.op.name}", self.positional_inplace(), lines)

    def positional_inplace(self) -> str:
        """The signature with ``inplace=False`` as the last positional parameter."""
        text = self.signature()
        return text.replace(", *,", ", inplace=False, *,", 1) if ", *," in text else f"{text}, inplace=False"

    def _def(self, name: str, signature: str, lines: list[str]) -> str:
        plain = name.split(".")[-1]
        plain = plain if plain.isidentifier() else "f"
        return f"def {plain}({signature}):\n    " + "\n    ".join(lines) + "\n"


def _is_empty(p: Param) -> bool:
    import inspect
    return p.default is inspect.Parameter.empty


def _targets(given) -> list:
    return list(given) if isinstance(given, (list, tuple)) else [given]


_SCOPE = {"Tensor": Tensor, "Parameter": Parameter, "T": T, "_PLAIN": _PLAIN, "_FLAG": _FLAG, "_MARKS": _MARKS, "call": call,
          "call_kept": call_kept, "call_restrided": call_restrided, "call_view": call_view, "call_out": call_out,
          "call_inplace": call_inplace,
          "call_writing": call_writing,
          "named": named, "_bad_tensor": _bad_tensor, "_operand": _operand, "_static": _static, "_list": _list,
          "_varargs": _varargs, "_int": _int, "_ints": _ints, "_new_call": _new_call, "_call_creating": _call_creating,
          "_call_dynamic": _call_dynamic, "_dynamic_out": _dynamic_out, "_targets": _targets, "_aval_of": aval_of}


def load_ops() -> None:
    """Imports every file under ``jtorch/ops``, so that all ops are declared."""
    for info in pkgutil.walk_packages(jtorch.ops.__path__, "jtorch.ops."):
        importlib.import_module(info.name)
    tape.ADD = call_of(OPS["add"], (T, T, 1))


def make_functions() -> dict[str, dict[str, types.FunctionType]]:
    """For each op, its generated functions by form: ``function``, ``inplace``, ``functional``."""
    scope: dict[str, Any] = dict(_SCOPE)
    jobs: list[tuple[Op, str, str]] = []
    sources: list[str] = []
    for index, op in enumerate(OPS.values()):
        writer = _Writer(op, index)
        for form in _forms(op):
            sources.append(getattr(writer, form)().replace("def ", f"def F{len(jobs)}_", 1))
            jobs.append((op, form, sources[-1][4:sources[-1].index("(")]))
        scope.update(writer.scope)
    exec(compile("\n".join(sources), "<jtorch functions made from op records>", "exec"), scope)
    made: dict[str, dict] = {}
    for op, form, key in jobs:
        fn = scope[key]
        fn.__name__ = fn.__qualname__ = op.name.split(".")[-1] + ("_" if form == "inplace" else "")
        fn.__doc__, fn.__module__ = op.doc, "jtorch"
        made.setdefault(op.name, {})[form] = fn
    return made


def _forms(op: Op) -> list[str]:
    forms = ["function"]
    if op.inplace:
        forms.append("inplace")
        if any(n.startswith("nn.functional.") for n in (op.name, *op.aliases)):
            forms.append("functional")
    return forms


def bind(spaces: dict[str, types.ModuleType]) -> None:
    """Puts the functions of all ops where PyTorch has them: into ``spaces`` (by dotted prefix) and on ``Tensor``."""
    for name, forms in make_functions().items():
        op = OPS[name]
        for full in (op.name, *op.aliases):
            _bind_name(op, full, forms, spaces)
        put(Tensor, {operator: _known_first(op, operator, _operator(operator, forms)) for operator in op.operators})
    Tensor.__hash__ = object.__hash__      # type: ignore[method-assign,assignment]     # comparison operators must not unset it


def _bind_name(op: Op, full: str, forms: dict, spaces: dict[str, types.ModuleType]) -> None:
    prefix, _, short = full.rpartition(".")
    functional = prefix == "nn.functional"
    inplace = {f"{short}_": forms["inplace"]} if "inplace" in forms else {}
    if op.function and prefix in spaces:
        chosen = forms["functional"] if functional and inplace else forms["function"]
        put(spaces[prefix], {short: chosen, **(inplace if functional or not prefix else {})})
    if op.method and not prefix:
        put(Tensor, {n: _as_method(op, f) for n, f in {short: forms["function"], **inplace}.items()})


def _as_method(op: Op, fn):
    """The function as a method: ``self`` is the first parameter, or the first that takes a tensor (``polygamma(n, input)``)."""
    if not op.params or op.params[0].kind != "static":
        return fn
    return lambda self, first, *args: fn(first, self, *args)


_OPERANDS = {Tensor, Parameter, int, float, bool, complex}


def _operator(name: str, forms: dict):
    """The function behind ``__add__``, ``__rsub__`` (arguments swapped) or ``__iadd__`` (in place)."""
    fn = forms["function"]
    if name in _UNARY:
        return lambda self: fn(self)
    if "matmul" in name:
        return _matmul(name, fn)
    if name.startswith("__i") and name != "__invert__" and "inplace" in forms:
        inplace = forms["inplace"]
        return lambda self, other: inplace(self, other) if _is_operand(other) else NotImplemented
    if name == "__rsub__":
        return lambda self, other: _subtracted_from(fn, self, other)
    if name in _REFLECTED:
        return lambda self, other: fn(other, self) if other.__class__ in _OPERANDS or _is_operand(other) else NotImplemented
    return lambda self, other: fn(self, other) if other.__class__ in _OPERANDS or _is_operand(other) else NotImplemented


def _known_first(op: Op, name: str, slow: Callable) -> Callable:
    """An operator that knows the call for each class of its right operand, once it has met one; ``slow`` does all others."""
    rest = _default_marks(op)
    if rest is None or name.startswith("__i") or name == "__rsub__":
        return slow
    calls: dict[type, Call] = {}
    swapped = name in _REFLECTED

    def operator(self: Tensor, other: Any):
        c = calls.get(other.__class__)
        if c is not None:
            return call(c, (other, self) if swapped else (self, other))
        made, mark = slow(self, other), _MARKS.get(other.__class__)
        if mark is not None and made is not NotImplemented:
            calls[other.__class__] = call_of(op, (mark, T, *rest) if swapped else (T, mark, *rest))
        return made
    return operator


def _default_marks(op: Op) -> tuple | None:
    """How what follows two operands stands in a call's template where it is not given; None for other kinds of ops."""
    first, rest = op.params[:2], op.params[2:]
    plain = op.view is None and not op.dynamic and not op.writes and op.warns is None and op.layout is not KEPT \
        and op.layout not in ALWAYS
    if not plain or len(first) < 2 or any([p.kind not in ("tensor", "tensor_or_number") for p in first]) \
            or any([p.kind not in ("number", "static") or _is_empty(p) for p in rest]):
        return None
    return tuple([freeze(p.default) if p.kind == "number" or p.default.__class__ not in _FLAG else p.default for p in rest])


def _matmul(name: str, fn):
    if name == "__rmatmul__":
        return lambda self, other: fn(other, self) if isinstance(other, Tensor) else NotImplemented
    return lambda self, other: fn(self, other) if isinstance(other, Tensor) else NotImplemented


def _subtracted_from(fn, self: Tensor, other: Any):
    if other.__class__ is bool or self.dtype.name == "bool":
        raise RuntimeError("Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a "
                           "mask, use the `~` or `logical_not()` operator instead.")
    return fn(other, self) if _is_operand(other) else NotImplemented


_UNARY = {"__neg__", "__pos__", "__abs__", "__invert__"}
_REFLECTED = {f"__r{n}__" for n in ("sub", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor",
                                    "lshift", "rshift", "div")}


def _is_operand(other: Any) -> bool:
    return isinstance(other, (Tensor, int, float, complex, np.generic, np.ndarray))

