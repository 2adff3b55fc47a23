"""Generates ``torch.f``, ``Tensor.f``, ``Tensor.f_``, ``out=`` and the operators from the records of the ops.

The import generates each function's source with PyTorch's signature. A call is as fast as a hand-written function, and
wrong argument names raise Python's own error.
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
from jtorch import engine
from jtorch._api.argument_aliases import MADE, first_given, in_old_order, numpy_names
from jtorch._api.argument_errors import (
    GUARD,
    MISSING,
    SECTIONS,
    check_statics,
    invalid_combination,
    needs_a_tensor,
    type_name,
)
from jtorch._api.arguments import (
    dims_of,
    flag_of,
    int_of,
    list_of,
    operand_of,
    sizes_of,
    spelled_out,
    static_of,
    tensor_of,
)
from jtorch._api.conversion import in_format
from jtorch._api.names import ONLY_IN_PLACE, put
from jtorch._api.op_docs import OpDoc
from jtorch._api.op_signatures import OpSignature
from jtorch._api.torch_function import NOT_OVERRIDDEN, overridden
from jtorch._backward.view_history import edge_of, requires_grad, start_history
from jtorch._base import late_bindings
from jtorch._base.code_cache import compiled
from jtorch._base.deterministic import Deterministic, number_for_new_memory
from jtorch._nodes.vjp import backward_name
from jtorch.dispatch import (
    call,
    call_inplace,
    call_out,
    call_preserving_strides,
    call_view,
    call_with_output_strides,
    call_writing,
    cast_value,
    named,
    refuse_unusable,
    write_resized,
)
from jtorch.engine import Call, Value, batched, call_of, out_of_memory
from jtorch.no_grad import mode
from jtorch.ops.registry import NUMBERS, OPS, Op, Param, T, freeze
from jtorch.ops.taxonomy import check_all_read
from jtorch.storage import aval_of, check_writable, lay_out, value_of
from jtorch.tape import UnderivedNode, node_class
from jtorch.tensor import Parameter, Tensor, with_grad, wrap

_PLAIN = {int, str, type(None)}
_FLAG = {*_PLAIN, bool}      # classes of default arguments that a template contains unchanged
_MARKS: dict[type, Any] = {Tensor: T, Parameter: T, **NUMBERS}


# ---------------------------------------------------------------- functions that the generated code calls

def _new_call(calls: dict, op: Op, key: Any):
    template = key if key.__class__ is tuple else (key,)
    if len(calls) > 10_000:
        calls.clear()
    if T not in template and needs_a_tensor(op):
        raise invalid_combination(op, sys._getframe(1))
    check_statics(op, template)
    made = calls[key] = call_of(op, template)
    return made


def _call_creating(op: Op, template: tuple, flat: list, device: Any, requires_grad: bool, out: Any, memory_format: Any = None):
    """Call an op that creates a tensor, on the given device."""
    tensors = [t for t in flat if isinstance(t, Tensor)]
    if device is None:
        place = aval_of(tensors[0]).device if tensors else devices.canonical(devices.default_device())
    else:
        place = devices.canonical(devices.as_device(device))
    c = call_of(op, template, place)
    if not c.kernels:
        check_statics(op, template)
    if out is not None:
        if not tensors:
            c = _in_dtype_of(c, out)
        _check_created(c, out)
        return _filled(op, call_out(c, flat, out))
    made = call(c, flat) if not Deterministic.on else _filled(op, call(c, flat))
    if made.__class__ is list:
        made = named(c, made)
    else:
        in_format(made, memory_format)
    return with_grad(made, requires_grad)


_NEW_MEMORY = {"empty", "empty_like", "empty_permuted", "new_empty"}


def _filled(op: Op, made: Any) -> Any:
    """Return the result of an op such as ``empty``, filled if deterministic mode asks for it."""
    number = number_for_new_memory(made.dtype) if op.name in _NEW_MEMORY and Deterministic.on else None
    return made if number is None else made.fill_(number)


def _in_dtype_of(c: Call, out: Any) -> Call:
    """Return the call with the dtype of ``out``, unless it has a dtype."""
    at = next((i for i, p in enumerate(c.op.params) if p.name == "dtype"), None)
    if at is None or c.template[at] is not None or not isinstance(out, Tensor):
        return c
    return call_of(c.op, (*c.template[:at], out.dtype, *c.template[at + 1:]), c.creates)


def _check_created(c: Call, out: Any) -> None:
    """Raise RuntimeError if ``dtype=`` contradicts ``out=``."""
    wanted = dict(zip([p.name for p in c.op.params], c.template, strict=True)).get("dtype")
    if wanted is not None and isinstance(out, Tensor) and out.dtype is not wanted:
        raise RuntimeError(f"dtype {wanted.scalar_name} does not match dtype of out parameter ({out.dtype.scalar_name})")


def _call_dynamic(op: Op, template: tuple, flat: list):
    """Run an op whose result shape depends on values. It runs at once on the host."""
    if late_bindings.aten is not None:
        seen = late_bindings.aten.dynamic(op, template, flat, lambda: _call_dynamic(op, template, flat))
        if seen is not None:
            return seen if seen.__class__ is not list else named(call_of(op, template), seen)
    static = op.static_form(template) if op.static_form is not None else None
    if static is not None:
        return call(call_of(OPS[static], template), flat)
    _refuse_samples(op, flat)
    arrays = [t if t.__class__ in NUMBERS else t._numpy_copy() for t in flat]
    device = next((aval_of(t).device for t in flat if isinstance(t, Tensor)), engine.CPU)
    if op.not_derived:
        refuse_unusable(call_of(op, template), flat)
    with np.errstate(all="ignore"):
        out = out_of_memory.allocated(op.function_of(template), *arrays)
    if not isinstance(out, (tuple, list)):
        made = _from_host(np.asarray(out), device)
        if op.layout is not None:
            lay_out(made, op.layout.strides(made._storage.aval.shape, ()))
        return made if not op.not_derived else _underived(call_of(op, template), flat, made)
    made = named(call_of(op, template), [_from_host(np.asarray(x), device) for x in out])
    return made if not op.not_derived else _underived(call_of(op, template), flat, made)


def _refuse_samples(op: Op, flat: list) -> None:
    """Raise PyTorch's error under ``vmap``, where the samples' results could differ in shape."""
    for t in flat:
        if t.__class__ not in NUMBERS and aval_of(t).traced:
            from jtorch._api.vmap_errors import OF_DYNAMIC_OPS
            if op.name in OF_DYNAMIC_OPS:
                batched.refuse(value_of(t), OF_DYNAMIC_OPS[op.name])


def _underived(c: engine.Call, flat: list, made: Any) -> Any:
    """Give the first result of a dynamic op without derivative a node whose backward raises."""
    if mode.grad and requires_grad(flat[0]):
        first = made if isinstance(made, Tensor) else made[0]
        start_history(first, node_class(backward_name(c), UnderivedNode)(c.op.underived_name(c.template), (edge_of(flat[0]),)))
    return made


def _dynamic_out(op: Op, made: Any, out: Any):
    """Write the results of a dynamic op into ``out``."""
    outs, results = (list(x) if isinstance(x, (tuple, list)) else [x] for x in (out, made))
    for t, r in zip(outs, results, strict=True):
        if not isinstance(t, Tensor):
            raise TypeError(f"{op.name.split('.')[-1]}(): argument 'out' must be Tensor, not {type_name(t)}")
        if op.out.refuses is not None and r.dtype is not t.dtype:
            op.out.refuses(aval_of(r).sds, aval_of(t).sds, (), aval_of(r).sds)
        check_writable(t)
        write_resized(t, cast_value(value_of(r), aval_of(t)))
    return out


def _from_host(array: np.ndarray, device) -> Tensor:
    return wrap(Value(engine.aval_of(array.shape, array.dtype, device), array))


def _with_dtype(t: Tensor, dtype):
    return t if dtype is None else t.to(dtype)      # type: ignore[attr-defined]


# ---------------------------------------------------------------- generating the source

class _Writer:
    """A writer of the source of one op's functions."""

    def __init__(self, op: Op, index: int):
        self.op, self.prefix, self.other_names = op, f"_{index}", numpy_names(op.params)
        self.scope: dict[str, Any] = {f"OP{self.prefix}": op, f"CALLS{self.prefix}": {}}
        if op.warns is not None:
            self.scope[f"W{self.prefix}"] = op.warns
        for p in op.params:
            if p.default is not p.default.__class__ and not _is_empty(p):
                self.scope[f"D{self.prefix}_{p.name}"] = p.default

    def signature(self, extra: tuple[str, ...] = (), positional: str = "") -> str:
        """Return PyTorch's signature, with keyword-only parameters after a guard parameter, and NumPy's names."""
        params = self.op.params
        extra = tuple(e for e in extra if e.partition("=")[0] not in {p.name for p in params})
        if any(p.varargs for p in params):
            return self._spelled_signature(extra)
        spelled = [self._with_default(p) for p in params if not p.keyword_only] + [positional] * bool(positional)
        named = [self._with_default(p) for p in params if p.keyword_only]
        others = [f"{a}=MISSING" for names in self.other_names.values() for a in names]
        behind = [*named, *extra, *others]
        return ", ".join([*spelled, *[f"{GUARD}=MISSING"] * bool(behind), *behind])

    def _spelled_signature(self, extra: tuple[str, ...]) -> str:
        """Return the signature of a function that takes ints or tensors one by one."""
        parts, starred = [], False
        for p in self.op.params:
            if p.varargs:
                parts += [f"*{p.name}_", f"{p.name}=None"]
                starred = True
                continue
            if p.keyword_only and not starred:
                parts.append("*")
                starred = True
            parts.append(p.name if _is_empty(p) else self._with_default(p))
        return ", ".join([*parts, *["*"] * bool(extra and not starred), *extra])

    def _with_default(self, p: Param) -> str:
        return f"{p.name}=MISSING" if _is_empty(p) else f"{p.name}=D{self.prefix}_{p.name}"

    def names(self) -> list[str]:
        """Return the lines that read static arguments from other names. ``_others`` does that for tensors."""
        if any(p.varargs for p in self.op.params):
            return []
        of_statics = [(p.name, a) for p in self.op.params if not p.kind.startswith("tensor")
                      or p.kind == "tensor_or_static" for a in self.other_names.get(p.name, ())]
        return [f"if {a} is not MISSING: {n} = {a}" for n, a in of_statics]

    def _others(self, p: Param) -> str:
        if any(q.varargs for q in self.op.params):
            return ""
        return "".join([f", {a}" for a in self.other_names.get(p.name, ())])

    def body(self) -> tuple[list[str], str, str]:
        """Return (lines that process the arguments, expression of the template, expression of the flat arguments)."""
        lines: list[str] = self.names()
        template: list[str] = []
        literal: list[str] = []
        growing = False
        first = next((i for i, p in enumerate(self.op.params) if p.kind != "tensor"), -1) if self.op.warns is not None else -1
        for i, p in enumerate(self.op.params):
            here, mark, flat = getattr(self, f"_{p.kind}")(p, 0 if p.keyword_only else i + 1)
            if i == first:      # the warning sees checked tensors, and the other arguments as given
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
        """Return the line that gives the op's warnings."""
        given = [f"_aval_of({p.name})" if p.kind == "tensor" else p.name for p in self.op.params]
        return f"W{self.prefix}({', '.join(given)})"

    def _tensor(self, p: Param, at: int):
        unless = f"{p.name}.__class__ is not Tensor and {p.name}.__class__ is not Parameter"
        made = f"{p.name} = tensor_of(OP{self.prefix}, {p.name!r}, {at}, {p.name}{self._others(p)})"
        return _foreign(unless, made), "T", p.name

    def _tensor_or_number(self, p: Param, at: int):
        mark = f"m_{p.name}"
        lines = [f"{mark} = _MARKS.get({p.name}.__class__)",
                 *_foreign(f"{mark} is None", f"{p.name}, {mark} = operand_of(OP{self.prefix}, {p.name!r}, {at}, {p.name}"
                           f"{self._others(p)})")]
        if "None" in p.annotation:
            return [*lines, f"if {mark} is not None: flat.append({p.name})"], mark, ""
        return lines, mark, p.name

    def _tensor_or_static(self, p: Param, at: int):
        mark = f"m_{p.name}"
        return [f"if {p.name}.__class__ is Tensor or {p.name}.__class__ is Parameter: flat.append({p.name}); {mark} = T",
                f"elif {p.name}.__class__ in _PLAIN: {mark} = {p.name}",
                *_foreign(None, f"if isinstance({p.name}, Tensor): flat.append({p.name}); {mark} = T",
                          f"else: {mark} = static_of({self._checked(p)})")], mark, ""

    def _tensors(self, p: Param, at: int):
        lines = [f"{p.name} = spelled_out({p.name}_, {p.name})"] if p.varargs else []
        made = f"m_{p.name} = list_of(OP{self.prefix}, {p.name!r}, {at}, {p.name}, flat)"
        if "None" in p.annotation.replace("[Tensor | None]", "") and not _is_empty(p):
            made = f"m_{p.name} = None if {p.name} is None else list_of(OP{self.prefix}, {p.name!r}, {at}, {p.name}, flat)"
        again = made[:-1] + ", True)"
        return [*lines, made, *_foreign(f"m_{p.name} is NOT_OVERRIDDEN", again)], f"m_{p.name}", ""

    def _number(self, p: Param, at: int):
        mark = f"m_{p.name}"
        given = f"{p.name}.item() if isinstance({p.name}, Tensor) else {p.name}"
        made = f"{p.name}, {mark} = operand_of(OP{self.prefix}, {p.name!r}, {at}, {given})"
        if _is_empty(p):
            return [made], mark, p.name
        d = f"D{self.prefix}_{p.name}"
        default = f"if {p.name} is {d}" + (f" or {p.name} is None" if "None" in p.annotation else "")
        return [f"{default}: {mark} = {self._frozen_default(p)}",
                f"else: {made}; flat.append({p.name})"], mark, ""

    def _frozen_default(self, p: Param) -> str:
        name = f"FD{self.prefix}_{p.name}"
        self.scope[name] = freeze(p.default)
        return name

    def _size(self, p: Param, at: int):
        required = f", OP{self.prefix}, {p.name!r}" if _is_empty(p) else ""
        lines = [f"{p.name} = spelled_out({p.name}_, {p.name}{required})"] if p.varargs else []
        given = p.name if p.varargs or "None" not in p.annotation else f"None if {p.name} is None else "
        spelled = f", {p.name}_" if p.varargs else ""
        ints = f"sizes_of(OP{self.prefix}, {p.name!r}, {at}, {p.name}{spelled})"
        return [*lines, f"{p.name} = {ints if given == p.name else given + ints}"], p.name, ""

    def _static(self, p: Param, at: int):
        if p.annotation in ("int", "int | None"):
            unless = "" if p.annotation == "int" else f" and {p.name} is not None"
            checked = f"int_of(OP{self.prefix}, {p.name!r}, {at}, {p.name})"
            return [f"if {p.name}.__class__ is not int{unless}: {p.name} = {checked}"], p.name, ""
        if p.annotation in ("bool", "bool | None"):
            unless = "" if p.annotation == "bool" else f" and {p.name} is not None"
            checked = f"flag_of(OP{self.prefix}, {p.name!r}, {at}, {p.name})"
            return [f"if {p.name}.__class__ is not bool{unless}: {p.name} = {checked}"], p.name, ""
        is_list = p.is_dims and p.name != SECTIONS
        made = f"dims_of(OP{self.prefix}, {p.name!r}, {at}, {p.name})" if is_list else f"static_of({self._checked(p)})"
        return [f"if {p.name}.__class__ not in _PLAIN: {p.name} = {made}"], p.name, ""

    def _checked(self, p: Param) -> str:
        return f"first_given(OP{self.prefix}, {p.name!r}, {p.name})" if _is_empty(p) else p.name

    def call(self, flat: str, key: str) -> list[str]:
        """Return the lines from the processed arguments to the result."""
        op, at = self.op, self.prefix
        if op.dynamic:
            return [f"return _call_dynamic(OP{at}, {key if key != 'T' else '(T,)'}, {flat})"]
        lines = self.lookup(key)
        if op.view is not None:
            return [*lines, f"r = call_view(c, {flat})", "return tuple(r) if r.__class__ is list else r"]
        if op.writes:
            targets = " + ".join(f"_targets({w})" for w in op.writes)
            return [*lines, f"return call_writing(c, {flat}, {targets})"]
        called = _called(op)
        return [*lines, f"r = {called}(c, {flat})", "return named(c, r) if r.__class__ is list else r"]

    def lookup(self, key: str) -> list[str]:
        """Return the lines that find the call of a template."""
        at = self.prefix
        return [f"k = {key}", f"c = CALLS{at}.get(k)", f"if c is None: c = _new_call(CALLS{at}, OP{at}, k)"]

    def function(self) -> str:
        """Return the source of ``torch.f``, with ``out=``, and with ``device=`` and similar parameters if it creates tensors."""
        op = self.op
        lines, key, flat = self.body()
        if op.creates:
            extra = ("device=None", "requires_grad=False", "layout=None", "pin_memory=False", "memory_format=None", "out=None")
            call_it = [f"return _call_creating(OP{self.prefix}, {key if key != 'T' else '(T,)'}, {flat}, device, "
                       "requires_grad, out, memory_format)"]
            return self._def(op.name, self.signature(extra), [*lines, *call_it])
        if op.out.form and not op.dynamic and not op.writes:
            given = [*self.lookup(key), f"if out is not None: return call_out(c, {flat}, out)"]
            return self._def(op.name, self.signature(("out=None",)), [*lines, *given, *self.call(flat, key)[3:]])
        if op.out.form and op.dynamic:
            made = self.call(flat, key)[0].replace("return", "r =", 1)
            call_it = [made, f"return r if out is None else _dynamic_out(OP{self.prefix}, r, out)"]
            return self._def(op.name, self.signature(("out=None",)), [*lines, *call_it])
        return self._def(op.name, self.signature(), [*lines, *self.call(flat, key)])

    def inplace(self) -> str:
        """Return the source of ``f_``."""
        lines, key, flat = self.body()
        lines += [*self.lookup(key), f"return call_inplace(c, {flat})"]
        return self._def(f"{self.op.name}_", self.signature(), lines)

    def functional(self) -> str:
        """Return the source of ``torch.nn.functional.f`` with ``inplace=`` as the last positional parameter."""
        lines, key, flat = self.body()
        lines += [*self.lookup(key), f"if inplace: return call_inplace(c, {flat})", *self.call(flat, key)[3:]]
        return self._def(f"{self.op.name}", self.signature(positional="inplace=False"), lines)

    def _def(self, name: str, signature: str, lines: list[str]) -> str:
        plain = name.split(".")[-1]
        plain = plain if plain.isidentifier() else "f"
        if f"{GUARD}=" in signature:
            lines = [f"if {GUARD} is not MISSING: return in_old_order(SELF, OP{self.prefix}, locals())", *lines]
        return f"def {plain}({signature}):\n    " + "\n    ".join(lines) + "\n"


def _foreign(condition: str | None, *otherwise: str) -> list[str]:
    """Return lines for an argument that is no plain tensor: ask its class to take over the call, else do ``otherwise``."""
    lines = ["    if (o := _overridden(SELF, locals())) is not NOT_OVERRIDDEN: return o", *[f"    {line}" for line in otherwise]]
    return [f"if {condition}:" if condition else "else:", *lines]


def _is_empty(p: Param) -> bool:
    import inspect
    return p.default is inspect.Parameter.empty


def _called(op: Op) -> str:
    """Return the name of the ``dispatch`` function that calls the op, for ops that are no views and write nothing."""
    if op.layout is None or not (op.layout.kept or op.layout.always):
        return "call"
    return "call_preserving_strides" if op.layout.kept else "call_with_output_strides"


def _targets(given) -> list:
    return list(given) if isinstance(given, (list, tuple)) else [given]


_SCOPE = {"Tensor": Tensor, "Parameter": Parameter, "T": T, "_PLAIN": _PLAIN, "_MARKS": _MARKS, "call": call,
          "call_preserving_strides": call_preserving_strides, "call_with_output_strides": call_with_output_strides,
          "call_view": call_view, "call_out": call_out,
          "call_inplace": call_inplace,
          "call_writing": call_writing,
          "named": named, "tensor_of": tensor_of, "operand_of": operand_of, "static_of": static_of, "list_of": list_of,
          "spelled_out": spelled_out, "int_of": int_of, "dims_of": dims_of, "flag_of": flag_of, "sizes_of": sizes_of,
          "_new_call": _new_call, "_call_creating": _call_creating,
          "MISSING": MISSING, "first_given": first_given, "in_old_order": in_old_order,
          "_call_dynamic": _call_dynamic, "_dynamic_out": _dynamic_out, "_overridden": overridden,
          "NOT_OVERRIDDEN": NOT_OVERRIDDEN, "_targets": _targets, "_aval_of": aval_of}


def load_ops() -> None:
    """Import every file under ``jtorch/ops``, so that all ops are declared."""
    for info in pkgutil.walk_packages(jtorch.ops.__path__, "jtorch.ops."):
        importlib.import_module(info.name)
    check_all_read()


def make_functions() -> dict[str, dict[str, types.FunctionType]]:
    """Return each op's generated functions by form: ``function``, ``inplace``, ``functional``."""
    scope: dict[str, Any] = dict(_SCOPE)
    jobs: list[tuple[Op, str, str]] = []
    sources: list[str] = []
    for index, op in enumerate(OPS.values()):
        writer = _Writer(op, index)
        for form in _forms(op):
            source = getattr(writer, form)().replace("def ", f"def F{len(jobs)}_", 1)
            jobs.append((op, form, source[4:source.index("(")]))
            sources.append(source.replace("(SELF,", f"({jobs[-1][2]},"))
        scope.update(writer.scope)
    exec(compiled("\n".join(sources), MADE, __file__), scope)
    made: dict[str, dict] = {}
    docs = {op.name: OpDoc.of(op) for op in OPS.values()}
    for op, form, key in jobs:
        fn = scope[key]
        fn.__name__ = fn.__qualname__ = op.name.split(".")[-1] + ("_" if form == "inplace" else "")
        fn.__doc__, fn.__module__ = docs[op.name], _home_of(op, form)
        fn.__signature__ = OpSignature.of(op, form)     # type: ignore[attr-defined]
        made.setdefault(op.name, {})[form] = fn
    return made


def _home_of(op: Op, form: str) -> str:
    """Return the module in which pickles look up a function."""
    prefix = op.name.rpartition(".")[0]
    return "jtorch.nn.functional" if form == "functional" else f"jtorch.{prefix}" if prefix in _SPACES else "jtorch"


_SPACES = {"linalg", "fft", "special", "nn.functional"}


def _forms(op: Op) -> list[str]:
    forms = ["function"]
    if op.inplace.form:
        forms.append("inplace")
        if any(n.startswith("nn.functional.") for n in (op.name, *op.aliases)):
            forms.append("functional")
    return forms


def bind(spaces: dict[str, types.ModuleType]) -> None:
    """Add the functions of all ops to their namespaces in ``spaces`` (by dotted prefix) and to ``Tensor``."""
    for name, forms in make_functions().items():
        op = OPS[name]
        for full in (op.name, *op.aliases):
            _bind_name(op, full, forms, spaces)
        for operator in op.operators:
            made = _known_first(op, operator, _operator(operator, forms))
            made.__name__, made.__module__ = operator, "jtorch"
            put(Tensor, {operator: made})
    Tensor.__hash__ = object.__hash__      # type: ignore[method-assign,assignment]     # comparison operators must not unset it


def _bind_name(op: Op, full: str, forms: dict, spaces: dict[str, types.ModuleType]) -> None:
    prefix, _, short = full.rpartition(".")
    functional = prefix == "nn.functional"
    inplace = {f"{short}_": forms["inplace"]} if "inplace" in forms else {}
    if op.function and prefix in spaces:
        chosen = forms["functional"] if functional and inplace else forms["function"]
        put(spaces[prefix], {short: chosen, **(inplace if functional or not prefix else {})})
    if op.method and not prefix:
        methods = inplace if short in ONLY_IN_PLACE else {short: forms["function"], **inplace}
        put(Tensor, {n: _as_method(op, f) for n, f in methods.items()})


def _as_method(op: Op, fn):
    """Return the function as a method. ``self`` is its first tensor parameter, as in ``polygamma(n, input)``."""
    if not op.params or op.params[0].kind != "static":
        return fn

    def method(self, first, *args):
        return fn(first, self, *args)
    method.__name__, method.__doc__ = fn.__name__, fn.__doc__
    return method


_OPERANDS = {Tensor, Parameter, int, float, bool, complex}


def _operator(name: str, forms: dict):
    """Return the function of ``__add__``, ``__rsub__`` (arguments swapped) or ``__iadd__`` (in place)."""
    fn = forms["function"]
    if name in _UNARY:
        return lambda self: fn(self)
    if "matmul" in name:
        return _matmul(name, fn)
    if name.startswith("__i") and name != "__invert__" and "inplace" in forms:
        inplace = forms["inplace"]
        return lambda self, other: inplace(self, other) if _is_operand(other) else NotImplemented
    if name in _OWN:
        own = _OWN[name]
        return lambda self, other: own(fn, self, other)
    if name in _REFLECTED:
        return lambda self, other: fn(other, self) if other.__class__ in _OPERANDS or _is_operand(other) else NotImplemented
    return lambda self, other: fn(self, other) if other.__class__ in _OPERANDS or _is_operand(other) else NotImplemented


def _known_first(op: Op, name: str, slow: Callable) -> Callable:
    """Return an operator that caches the call for each class of the right operand. ``slow`` handles all other cases."""
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
    """Return the template entries of the default arguments after two operands, or None for other kinds of ops."""
    first, rest = op.params[:2], op.params[2:]
    plain = op.view is None and not op.dynamic and not op.writes and op.warns is None and _called(op) == "call"
    if not plain or len(first) < 2 or any([p.kind not in ("tensor", "tensor_or_number") for p in first]) \
            or any([p.kind not in ("number", "static") or _is_empty(p) for p in rest]):
        return None
    return tuple([freeze(p.default) if p.kind == "number" or p.default.__class__ not in _FLAG else p.default for p in rest])


def _matmul(name: str, fn):
    if name == "__rmatmul__":
        return lambda self, other: fn(other, self) if isinstance(other, Tensor) else NotImplemented
    return lambda self, other: fn(self, other) if isinstance(other, Tensor) else NotImplemented


def _subtracted_from(fn: Callable, self: Tensor, other: Any) -> Any:
    if not _is_operand(other):
        return NotImplemented
    if other.__class__ is bool or aval_of(self).dtype.name == "bool":
        raise RuntimeError("Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a "
                           "mask, use the `~` or `logical_not()` operator instead.")
    return fn(other, self)


_UNARY = {"__neg__", "__pos__", "__abs__", "__invert__"}
_REFLECTED = {f"__r{n}__" for n in ("sub", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor",
                                    "lshift", "rshift", "div")}


def _is_operand(other: Any) -> bool:
    """Return whether operators accept ``other``. They leave NumPy's arrays to NumPy, as in PyTorch."""
    return isinstance(other, (Tensor, int, float, complex, np.generic))


def _equals(fn: Callable, self: Tensor, other: Any) -> Any:
    """Return ``self == other``. Of the comparisons only this one accepts NumPy's arrays."""
    if isinstance(other, np.ndarray):
        from jtorch._api.creation import as_tensor
        try:
            return fn(self, as_tensor(other))
        except TypeError:       # an array of strings, for example
            return NotImplemented
    return fn(self, other) if _is_operand(other) else NotImplemented


def _divided_by(fn: Callable, self: Tensor, other: Any) -> Any:
    """Return ``other / self``, computed with the reciprocal if ``other`` is an array."""
    if isinstance(other, np.ndarray):
        try:
            return fn(1, self) * other
        except TypeError:
            return NotImplemented
    return fn(other, self) if _is_operand(other) else NotImplemented


_OWN = {"__eq__": _equals, "__rsub__": _subtracted_from, "__rtruediv__": _divided_by, "__rdiv__": _divided_by}
