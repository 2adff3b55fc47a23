"""The record of an op and the ``@op`` decorator: one declaration from which everything about an op is derived.

An op's body is a pure function of ``jax.Array``s. The annotations of its parameters say what the caller may pass:

=====================  =====================================================================================
``Tensor``             a tensor; the body gets an array
``Tensor | Number``    a tensor or a Python number; the body gets an array (0-dim for a number)
``Tensor | <other>``   a tensor (array) or, if something else is passed, a static value (``Tensor | None``, ``Tensor | int``)
``Tensors``            a sequence of tensors, also accepted spelled out as ``f(a, b, c)``; the body gets a list
``list[Tensor]``       a sequence of tensors; the body gets a list
``Number``             a Python number that is an input of the compiled program, not part of it: a new value compiles
                       nothing. The body gets a 0-dim array, or the default itself where the caller left it out
``Size``               ints, as one sequence or spelled out: ``f(2, 3)``; the body gets a tuple
``dtype | None``       a torch dtype; the body gets the NumPy dtype
anything else          static: a new value is a new kernel
=====================  =====================================================================================
"""
from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import jtorch.dtype as dtypes
from jtorch.ops import check, layout, out_dtypes, promotion

# What the annotations of bodies mean to a type checker; their text is what counts here.
Tensor = jax.Array
Tensors = list[jax.Array]
Number = Any            # a 0-dim array, or the default itself
Size = tuple[int, ...]
dtype = np.dtype


class Marker:
    """Stands for an array in a template: a tensor (``T``) or a Python number of one type."""

    __slots__ = ("name", "number_type")

    def __init__(self, name: str, number_type: Any):
        self.name, self.number_type = name, number_type

    def __repr__(self):
        return self.name


T = Marker("T", None)
NUMBERS = {int: Marker("I", int), float: Marker("F", float), bool: Marker("B", bool), complex: Marker("C", complex)}


class Frozen(tuple):
    """A static number with its type, since ``2 == 2.0 == True`` must be three different statics."""

    __slots__ = ()


def freeze(value):
    """A hashable static that tells 1, 1.0 and True apart; lists and tuples become tuples."""
    if isinstance(value, (list, tuple)):
        return tuple([freeze(v) for v in value])
    if value is True or value is False:
        return Frozen((bool, int(value)))
    if isinstance(value, np.generic):       # np.float64 is a float too
        return freeze(value.item())
    if isinstance(value, (float, complex)):
        return Frozen((type(value), repr(value)))
    if isinstance(value, slice):
        return ("slice", freeze(value.start), freeze(value.stop), freeze(value.step))
    return value


def thaw(value):
    """What the body sees of a static: the number itself, NumPy's dtype for a torch dtype."""
    if value.__class__ is Frozen:
        return value[0](value[1])
    if value.__class__ is tuple:
        return tuple([thaw(v) for v in value])
    return value.np if isinstance(value, dtypes.dtype) else value


@dataclass(frozen=True)
class Param:
    """One parameter of an op: its name, default, how it may be passed and what it may be."""

    name: str
    kind: str               # tensor, tensor_or_number, tensor_or_static, tensors, number, size, static
    default: Any
    keyword_only: bool
    annotation: str
    varargs: bool = False


def _kind(annotation: str) -> tuple[str, bool]:
    parts = {p.strip() for p in annotation.split("|")}
    if "Tensors" in parts or any(p.startswith(("list[Tensor", "Sequence[Tensor")) for p in parts):
        return "tensors", "Tensors" in parts
    if "Tensor" in parts:
        if len(parts) == 1:
            return "tensor", False
        return ("tensor_or_number" if "Number" in parts else "tensor_or_static"), False
    if "Number" in parts:
        return "number", False
    return ("size", True) if "Size" in parts else ("static", False)


def _params(fn: Callable) -> tuple[Param, ...]:
    out = []
    given = list(inspect.signature(fn).parameters.values())
    for i, p in enumerate(given):
        text = p.annotation if isinstance(p.annotation, str) else "Any"
        kind, spelled = _kind("Any" if p.annotation is p.empty else text)
        last = all(q.kind is q.KEYWORD_ONLY for q in given[i + 1:])
        out.append(Param(p.name, kind, p.default, p.kind is p.KEYWORD_ONLY, text, spelled and last))
    return tuple(out)


@dataclass(eq=False)
class Op:
    """Everything known about an op. Made by ``@op``; see its arguments."""

    name: str
    body: Callable
    params: tuple[Param, ...]
    doc: str
    aliases: tuple[str, ...] = ()
    operators: tuple[str, ...] = ()
    method: bool = True
    function: bool = True
    inplace: bool = False
    out: bool = True
    promote: Any = None         # a name in promotion.RULES
    promotes: tuple[str, ...] = ()
    broadcast: bool = True
    view: Callable | None = None
    through_storage: bool = False
    creates: bool = False
    dynamic: bool = False
    saves: str = "inputs"
    idempotent: bool = False
    checks: Callable | None = None
    saves_copies: Callable | None = None
    frees: Callable | None = None
    backward_name: str | Callable | None = None
    backward_name_by_shapes: Callable | None = None
    differentiable: bool = True
    returns: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    value_check: tuple[Callable, Callable] | None = None
    warns: Callable | None = None
    tested: bool = True
    inplace_name: str | Callable | None = None
    not_derived: bool = False
    refuses: Callable | None = None
    refuses_out: Callable | None = None
    refuses_out_first: Callable | None = None
    takes_dtype_of_out: bool = False
    composite: bool = False
    looks_at_history: bool = False
    writes_leaves: bool = False
    fills: bool | Callable = False
    uniform: bool = False
    adds: Callable | None = None
    apart: bool = False
    dtypes_first: bool = False
    checks_first: Callable | None = None
    always: Any = None
    out_not_expanded: bool = False
    numbers_count: bool = True
    alias_name: str | None = None
    copy_name: str | None = None
    replayed: bool = False
    remade: bool = False
    node_each: Callable | None = None
    loops: bool = False
    layout: Any = None          # which strides results have: see layout.py
    _functions: dict = field(default_factory=dict)

    def __post_init__(self):
        self.keeps_result = self.saves in ("result", "both")
        self.asks_history_first = (self.differentiable or self.not_derived or self.looks_at_history) and not self.composite
        self.has_history_in_place = self.differentiable or self.not_derived or self.inplace_name is not None
        self.shapes_first = self.dtypes_first or (self.promote is None and self.layout not in layout.ELEMENTWISE)

    def __repr__(self):
        return f"<op {self.name}>"

    def function_of(self, template: tuple) -> Callable:
        """The pure function of the arrays that ``template`` marks, its other arguments bound and promotion done."""
        found = self._functions.get(template)
        if found is None:
            if len(self._functions) > 1024:
                self._functions.clear()
            found = self._functions[template] = self.bound(template, self.body)
        return found

    def bound(self, template: tuple, body: Callable) -> Callable:
        """Another body of the same parameters as a pure function of the arrays that ``template`` marks."""
        return _bound(self, template, body)

    def geometry(self, template: tuple, key: tuple, avals: Sequence) -> Any:
        """What a view op's rule makes of (size, stride, offset) for tensors of these avals, the first being the base."""
        assert self.view is not None
        left = iter(avals[1:])
        args = [_fill(t, left) for t in template[1:]]
        named = [(p, a) for p, a in zip(self.params[1:], args, strict=True) if p.keyword_only]
        plain = [a for p, a in zip(self.params[1:], args, strict=True) if not p.keyword_only]
        accepts = inspect.signature(self.view).parameters
        keywords = {p.name: a for p, a in named if p.name in accepts}
        if "source" in accepts and accepts["source"].kind is inspect.Parameter.KEYWORD_ONLY:
            keywords["source"] = avals[0].np
        return self.view(*key, *plain, **keywords)

    def uncast(self, template: tuple, avals: Sequence) -> list[bool]:
        """Which of the arrays that ``template`` marks are computed with as they are, and not cast to a common dtype first."""
        if self.promote is None:
            return [True] * len(avals)
        common, taking, given = self._promoted(template, avals)
        return [a.np == common or not any([a is x for x in taking]) for a in given]

    def common_dtype(self, template: tuple, avals: Sequence) -> np.dtype:
        """The dtype that the op computes in, where it promotes its arguments; else the first argument's."""
        return avals[0].np if self.promote is None else self._promoted(template, avals)[0]

    def _promoted(self, template: tuple, avals: Sequence) -> tuple[np.dtype, list, list]:
        """The common dtype, the avals it is that of, and all."""
        left = iter(avals)
        given = [(p, t, next(left)) for p, t in zip(self.params, template, strict=True) if t.__class__ is Marker]
        taking = [(t, a) for p, t, a in given if (p.name in self.promotes if self.promotes else p.kind.startswith("tensor"))]
        common = promotion.RULES[self.promote](promotion.result_type(_operand(t, a.sds) for t, a in taking))    # type: ignore[index]
        return common, [a for _, a in taking], [a for _, _, a in given]

    def fills_expanded(self, template: tuple, size: tuple[int, ...], stride: tuple[int, ...]) -> bool:
        """Whether the in-place form may write to a tensor of this geometry though several elements are one place in memory."""
        return self.fills if self.fills.__class__ is bool else self.fills(template, size, stride)       # type: ignore[operator,return-value]

    @property
    def counts_numbers(self) -> bool:
        """Whether a number among the operands counts as a 0-dim tensor where strides are decided."""
        return self.promote is not None and self.numbers_count

    def has_number(self, template: tuple) -> bool:
        """Whether an operand is a number; ``alpha`` and ``value`` are none."""
        return any([t.number_type is not None for p, t in zip(self.params, template, strict=True)
                    if t.__class__ is Marker and p.name not in ("alpha", "value")])

    def check_of(self, template: tuple) -> Callable:
        """The pure function of the same arrays that says whether their values are wrong: (bool, int64 detail)."""
        assert self.value_check is not None
        return self.bound(template, self.value_check[0])


def _bound(op: Op, template: tuple, body: Callable) -> Callable:
    kw = [p.keyword_only for p in op.params]

    def run(*arrays):
        left = iter(arrays)
        args = [_fill(t, left) for t in template]
        if op.promote is not None:
            _promote(op, template, args)
        positional = [a for a, k in zip(args, kw, strict=True) if not k]
        return body(*positional, **{p.name: a for p, a, k in zip(op.params, args, kw, strict=True) if k})

    run.__name__ = op.name.replace(".", "_")
    return run


def _fill(t, left):
    if t.__class__ is Marker:
        return next(left)
    if t.__class__ is tuple:
        filled = [_fill(x, left) for x in t]
        return filled if _marks(t) else tuple(filled)
    return thaw(t)


def _marks(t: tuple) -> bool:
    return any(x.__class__ is Marker or (x.__class__ is tuple and _marks(x)) for x in t)


def _promote(op: Op, template: tuple, args: list) -> None:
    """Casts the promoted arguments to the dtype the op computes in and gives them one shape, in place."""
    taking = [i for i, p in enumerate(op.params) if template[i].__class__ is Marker
              and (p.name in op.promotes if op.promotes else p.kind.startswith("tensor"))]
    if op.refuses is not None:
        op.refuses([np.dtype(args[i].dtype) for i in taking])
    compute = promotion.RULES[op.promote](promotion.result_type(_operand(template[i], args[i]) for i in taking))
    for i, (p, mark) in enumerate(zip(op.params, template, strict=True)):
        if i in taking or (mark.__class__ is Marker and p.kind == "number"):
            args[i] = _cast(args[i], compute, mark, p.name, in_result=i in taking)
    if op.broadcast and len(taking) > 1:
        shape = check.broadcast_shapes(*[args[i].shape for i in taking])
        for i in taking:
            if args[i].ndim and args[i].shape != shape:
                args[i] = jnp.broadcast_to(args[i], shape)


def _operand(mark: Marker, array) -> tuple[np.dtype, int]:
    if mark is not T:
        return dtypes.default_of_number(mark.number_type), promotion.NUMBER
    return np.dtype(array.dtype), promotion.DIM if array.ndim else promotion.ZERO_DIM


def _cast(array, compute: np.dtype, mark: Marker, name: str, *, in_result: bool):
    refused = (complex,) if name == "value" else (float, complex)       # ``addcmul`` makes it whole
    if mark.number_type in refused and not in_result and not promotion.is_inexact(compute):
        raise RuntimeError(f"For integral input tensors, argument {name} must not be a floating point number.")
    return array if array.dtype == compute else promotion.cast(array, compute)


OPS: dict[str, Op] = {}


def op(fn: Callable | None = None, /, *, name: str | None = None, inplace: bool | None = None, out: bool | None = None,
       method: bool | None = None, promotes: str = "", aliases: Sequence[str] = (), operators: Sequence[str] = (),
       returns: str = "", writes: str = "", **facts) -> Any:
    """Declares an op. All arguments say what is not the default.

    name:       PyTorch's dotted name (``linalg.inv``) where it is not the body's.
    aliases:    further dotted names of the same op; dotless ones are methods too.
    operators:  ``__add__ __radd__ __iadd__`` …
    method, function, inplace, out:  which forms exist. Methods by default for dotless names; in-place by default where
                ``promote`` is set; ``out=`` for all functions that return new tensors.
    promote:    ``numeric`` (compute and return the common dtype), ``int_to_float`` (integers become the default dtype),
                ``bool`` (compute in the common dtype, the body returns bool). The promoted arguments are cast and
                broadcast against each other before the body sees them. ``promotes``: their names, where not all tensors.
    view:       the function from (size, stride, offset, *other arguments) to the same of the result: makes it a view.
    through_storage: the result shows elements of the storage that the argument itself may not show (as_strided).
    creates:    the op makes a tensor from static arguments; it gets ``device=``, ``requires_grad=`` and so on.
    dynamic:    the result's shape depends on values: the body gets and returns NumPy arrays and runs at once.
    saves:      ``inputs`` (the default: those that the vjp uses), ``all`` (where the vjp depends on inputs whose values it
                does not use), ``result``, ``both`` (``all`` and the result) or ``none``: what the version check of the
                backward looks at, as PyTorch saves it.
    idempotent: a second call changes nothing, and its derivative at the result is that at the argument: the node keeps the
                result alone, so that memory which only the argument holds can go.
    checks:     a function of the template and the node's edges (of which it may ask only whether they are None): the positions
                of the arrays (and "result") that the version check looks at, where they are fewer than ``saves`` says (none,
                where PyTorch saves indices), or None.
    saves_copies: a function of the arguments' (size, stride) and of which of them need gradients: which of them PyTorch has
                saved a copy of, so that they may be written to.
    frees:      a function of the template and the node's edges: whether a backward frees something, so that a second one
                is an error; None where ``saves`` says it.
    backward_name:  PyTorch's ``grad_fn`` name where it is not the op's in camel case + ``Backward0``, or a function of
                the template that gives it. ``backward_name_by_shapes``: a function of the arguments' shapes, where those decide.
    differentiable: False where PyTorch gives the result no ``grad_fn``.
    returns:    field names of the named tuple returned (``values indices``).
    writes:     names of arguments that the last outputs are written into (``running_mean running_var``).
    value_check: (flag, error): ``flag(*args) -> (bad, detail)`` of arrays, ``error(detail, *args) -> Exception``.
    warns:      a function of all arguments, in order, that gives PyTorch's warnings at each call (a body is traced once): the
                avals of tensors (which come first), other arguments as they are. The user's line is at stacklevel 3.
    inplace_name: the ``grad_fn`` name of the in-place form where it is another one. An op that is not differentiable, but
                has this, gives a tensor that it is written into a gradient of 0.
    refuses:    a function of the promoted arguments' dtypes, before promotion, that raises where they are not allowed.
    refuses_out: a function of the result, an ``out=`` of another dtype, the template and the first argument that raises where
                PyTorch does not cast; by default that of ``out_dtypes.py``. ``refuses_out_first``: one of the first argument
                and ``out=``, called before all other errors.
    takes_dtype_of_out: it computes in the dtype of what it is to be written to, where ``dtype=`` does not say another.
    not_derived: PyTorch gives the result a ``grad_fn`` whose backward raises.
    composite:  PyTorch makes it of other calls, so that the error of a view that may not be used any more comes after its own.
    looks_at_history: that error is raised though the op is not differentiable.
    writes_leaves: the in-place form of an op that is not differentiable may write to a leaf that requires grad.
    fills:      the in-place form may write to expanded tensors; a function of the template and the tensor's size and stride
                where it depends on these. ``uniform``: all their elements become the same, so nothing of them has to be merged,
                and the number may lie in the memory that is written to. ``adds``: a function of the template: whether what is
                written to one place several times is added up.
    apart:      what is written (in place, or by ``out=``) must not share memory with an argument at all.
    dtypes_first: errors of dtypes come before those of memory that is shared.
    checks_first: a function of the template and the first argument's number of dims, which raises what comes before the errors
                of memory that is shared; by default all errors of dtypes and shapes do.
    always:     the dtype of results whatever the arguments' common dtype is, where no kernel is asked.
    out_not_expanded: an expanded ``out=`` is refused even where it will take another shape.
    numbers_count: False where a number among the operands is no tensor in PyTorch, and counts for no strides.
    alias_name, copy_name:  of views: the node's name where the base is not contiguous, and where only a copy shows the result.
    replayed, remade:  of views: a view of it is taken again of the same tensors once the base was written to; it is made again by
                the same call then.
    node_each:  of views: each result is a slice with a node of its own, and may be written to: a function of the template and the
                base's size that gives the dim and the (start, length) of each.
    layout:     the rule of ``layout.py`` for the strides of results, where its table does not have it.
    loops:      there may be a loop in the body, in JAX's functions too (or in its derivative): it is traced with the jits inside.
                Without them, which is quicker, a loop would be unrolled.
    tested:     False keeps the op out of the generated matrix.
    """
    if fn is None:
        return lambda f: op(f, name=name, inplace=inplace, out=out, method=method, promotes=promotes, aliases=aliases,
                            operators=operators, returns=returns, writes=writes, **facts)
    full = name or fn.__name__
    is_view = facts.get("view") is not None
    facts.setdefault("layout", None if is_view else layout.rule_of(full, facts.get("promote") is not None))
    facts.setdefault("refuses_out", out_dtypes.rule_of(full))
    facts.setdefault("takes_dtype_of_out", full in out_dtypes.COMPUTED_IN_IT)
    facts.setdefault("out_not_expanded", full in out_dtypes.NOT_EXPANDED)
    facts.setdefault("always", out_dtypes.ALWAYS_OF.get(full))
    record = Op(full, fn, _params(fn), inspect.getdoc(fn) or "", tuple(aliases), tuple(operators),
                method=("." not in full and not facts.get("creates")) if method is None else method,
                inplace=(facts.get("promote") in ("numeric", "int_to_float", "bool")) if inplace is None else inplace,
                out=not is_view if out is None else out,
                promotes=tuple(promotes.split()), returns=tuple(returns.split()), writes=tuple(writes.split()), **facts)
    assert full not in OPS, f"op {full} is declared twice"
    OPS[full] = record
    return fn
