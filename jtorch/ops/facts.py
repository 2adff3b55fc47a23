"""What the record of an op says in groups: what its node saves, how it is a view, its in-place form, ``out=``, memory.

Each group is a value with defaults, so a declaration says only what differs: ``@op(saves=Saves("all", frees=beyond_first))``.
Where the first fact is the only one, it stands for its group: ``saves="none"``, ``inplace=True``, ``view=_geometry``.
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, eq=False)
class Saves:
    """What the version check of the backward looks at, as PyTorch saves it.

    what:       ``inputs`` (the default: those that the vjp uses), ``all`` (where the vjp depends on inputs whose values it
                does not use), ``result``, ``both`` (``all`` and the result) or ``none``.
    checks:     a function of the template and the node's edges (of which it may ask only whether they are None): the positions
                of the arrays (and "result") that the version check looks at, where they are fewer than ``what`` says (none,
                where PyTorch saves indices), or None.
    copies:     a function of the arguments' (size, stride) and of which of them need gradients: which of them PyTorch has
                saved a copy of, so that they may be written to.
    jointly:    PyTorch computes all gradients in one function, so its node holds what any of them uses, needed or not.
    frees:      a function of the template and the node's edges: whether a backward frees something, so that a second one
                is an error; None where ``what`` says it.
    idempotent: a second call changes nothing, and its derivative at the result is that at the argument: the node keeps the
                result alone, so that memory which only the argument holds can go.
    change:     the derivative written with the result, for results that were overwritten behind autograd's back: see
                ``derivatives_from_result.py``. ``takes``: for how many tensors as arguments it is known.
    """

    what: str = "inputs"
    checks: Callable | None = None
    copies: Callable | None = None
    jointly: bool = False
    frees: Callable | None = None
    idempotent: bool = False
    change: Callable | None = None
    takes: tuple[int, ...] = (1,)
    anything: bool = field(init=False)
    everything: bool = field(init=False)
    result: bool = field(init=False)        # beside others or alone
    result_only: bool = field(init=False)
    both: bool = field(init=False)

    def __post_init__(self):
        assert self.what in ("inputs", "all", "result", "both", "none"), self.what
        for name, is_so in (("anything", self.what != "none"), ("everything", self.what in ("all", "both")),
                            ("result", self.what in ("result", "both")), ("result_only", self.what == "result"),
                            ("both", self.what == "both")):
            object.__setattr__(self, name, is_so)


JOINTLY = Saves(jointly=True)


@dataclass(frozen=True, slots=True, eq=False)
class ViewRule:
    """How a view op shows the memory of its first argument.

    geometry:   the function from (size, stride, offset, *other arguments) to the same of the result.
    alias_name, copy_name:  the node's name where the base is not contiguous, and where only a copy shows the result.
    replayed:   a view of the result is taken again of the same tensors once the base was written to. ``remade``: it is made
                again by the same call then.
    node_each:  each result is a slice with a node of its own, and may be written to: a function of the template and the
                base's size that gives the dim and the (start, length) of each.
    inplace:    the in-place form, where there is one.
    """

    geometry: Callable
    alias_name: str | None = None
    copy_name: str | None = None
    replayed: bool = False
    remade: bool = False
    node_each: Callable | None = None
    inplace: InPlaceView | None = None


@dataclass(frozen=True, slots=True, eq=False)
class InPlaceView:
    """The in-place form of a view op, which changes what a tensor shows.

    further:    how many numbers behind that of the view's node its node has (``TBackward0`` and ``TBackward1``).
    check:      a function of the tensor's number of dims that raises what the view op itself does not.
    """

    further: int = 1
    check: Callable | None = None


@dataclass(frozen=True, slots=True, eq=False)
class InPlace:
    """The in-place form of an op, and what it may write to.

    form:       whether there is one. By default where ``promote`` is set.
    name:       its ``grad_fn`` name where it is another one, or a function of the template that gives it. An op that is not
                differentiable, but has this, gives a tensor that it is written into a gradient of 0.
    fills:      it may write to expanded tensors; a function of the template and the tensor's size and stride where it depends
                on these.
    deprecated: its writes to expanded tensors are deprecated: what of the warning is its own.
    reads:      the place of the argument that is read before anything is written, so that it may lie in the target's memory.
    uniform:    all elements become the same, so nothing of them has to be merged, and the number may lie in the memory that is
                written to.
    adds:       a function of the template: whether what is written to one place several times is added up.
    writes_leaves: though the op is not differentiable, it may write to a leaf that requires grad.
    """

    form: bool | None = None
    name: str | Callable | None = None
    fills: bool | Callable = False
    deprecated: str = ""
    reads: int | None = None
    uniform: bool = False
    adds: Callable | None = None
    writes_leaves: bool = False

    def fills_expanded(self, template: tuple, size: tuple[int, ...], stride: tuple[int, ...]) -> bool:
        """Whether it may write to a tensor of this geometry though several elements are one place in memory."""
        return self.fills if self.fills.__class__ is bool else self.fills(template, size, stride)       # type: ignore[operator,return-value]


@dataclass(frozen=True, slots=True, eq=False)
class Out:
    """``out=`` of an op.

    form:       whether there is one. By default for all that return new tensors.
    refuses:    a function of the result, an ``out=`` of another dtype, the template and the first argument that raises where
                PyTorch does not cast; ``out_dtypes.py`` has the usual ones. None: it casts where ``can_cast`` says so.
    refuses_first: one of the first argument and ``out=``, called before all other errors.
    takes_dtype: the op computes in the dtype of what it is to be written to, where ``dtype=`` does not say another.
    not_expanded: an expanded ``out=`` is refused even where it will take another shape, as elementwise ops do.
    """

    form: bool | None = None
    refuses: Callable | None = None
    refuses_first: Callable | None = None
    takes_dtype: bool = False
    not_expanded: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Memory:
    """What an op asks of the memory that it writes to, in place or by ``out=``, and in which order its errors come.

    apart:      it must not be shared with an argument at all.
    dtypes_first: errors of dtypes come before those of memory that is shared.
    checks_first: a function of the template and the first argument's number of dims, which raises what comes before those
                errors; by default all errors of dtypes and shapes do.
    """

    apart: bool = False
    dtypes_first: bool = False
    checks_first: Callable | None = None


INPUTS, NO_INPLACE, WITH_OUT, ANY_MEMORY = Saves(), InPlace(form=False), Out(form=True), Memory()      # what others default to
GROUPS: dict[str, Any] = {"saves": Saves, "view": ViewRule, "inplace": InPlace, "out": Out, "memory": Memory}


def grouped(name: str, given: Any) -> Any:
    """A group of facts: as it is given, or made of its first fact."""
    return given if given is None or isinstance(given, GROUPS[name]) else GROUPS[name](given)
