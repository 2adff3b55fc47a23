"""Fuse elementwise steps and reductions of rows into one step, which ``jtorch/ops/_onednn/fused.cc`` computes.

Each NumPy step is a call from Python, reads and writes memory once, and allocates its result. A fused step does so once for all
its steps, and uses the host's threads. The steps share a *domain*, the shape of the largest arrays. A *row* is the last dims of
the domain, if a step reduces over these dims or broadcasts along them.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from jtorch.engine import cost, policy, stats
from jtorch.engine.host.fused_code import BOOL, Assembler, Instruction
from jtorch.engine.host.rules import FLOAT32
from jtorch.engine.host.sizes import spelled
from jtorch.ops import _onednn

# Upper limit in elements for a row. Each register is a buffer of a row, and a larger limit lets buffers leave the cache.
WIDEST = 4 * policy.CACHED

SAME = {"neg": "NEG", "abs": "ABS", "exp": "EXP", "log": "LOG", "tanh": "TANH", "erf": "ERF", "logistic": "LOGISTIC",
        "sqrt": "SQRT", "rsqrt": "RSQRT", "square": "SQUARE", "sign": "SIGN", "floor": "FLOOR", "add": "ADD", "add_any": "ADD",
        "sub": "SUB", "mul": "MUL", "div": "DIV", "max": "MAX", "min": "MIN"}
COMPARISONS = {"eq": "EQ", "ne": "NE", "lt": "LT", "le": "LE", "gt": "GT", "ge": "GE"}
LOGIC = {"and": "AND", "or": "OR", "not": "NOT"}
POWERS = {2: ("SQUARE",), 3: ("CUBE",), 4: ("SQUARE", "SQUARE"), -1: ("RECIPROCAL",), -2: ("SQUARE", "RECIPROCAL")}
REDUCTIONS = {"reduce_sum": "SUM", "reduce_max": "LARGEST", "reduce_min": "LEAST"}
COSTLY = frozenset({"exp", "log", "tanh", "erf", "logistic"})


def is_there() -> bool:
    """Return whether steps can be fused, which needs the oneDNN extension."""
    return _onednn.version() is not None


def is_known(shape: tuple) -> bool:
    """Return whether a shape of ``sizes.spelled`` has no open size."""
    return all([d.__class__ is not tuple for d in shape])


class _Operand(NamedTuple):
    """An operand of a step: a value, and whether the value has a single number for each row."""

    value: int
    is_number: bool


class Run:
    """The steps collected so far for a fused step, and their instructions."""

    def __init__(self, shape: tuple, avals: Sequence[Any]):
        self.shape, self.avals = shape, avals       # the domain, as ``sizes.spelled`` gives it
        self.row: int | None = None         # number of last dims that are a row; None until a step needs rows
        self.most = len(shape)              # upper limit for ``row``: no input may be broadcast along leading dims of the row
        self.steps: list[Any] = []
        self.code: list[Instruction] = []
        self.numbers: dict[int, bool] = {}      # value -> whether it has a single number for each row
        self.made: dict[int, int] = {}          # result of a step -> itself, or the value that it broadcasts or reshapes
        self._temporary = -1

    @property
    def inputs(self) -> list[int]:
        """The values that the run reads and does not compute."""
        made = {m for _, m, _ in self.code}
        return [v for v in self.numbers if v not in made]

    @property
    def whole_inputs(self) -> list[int]:
        """The inputs that have the domain's shape."""
        return [v for v in self.inputs if not self.numbers[v] and spelled(self.avals[v].shape) == self.shape]

    def add(self, step: Any) -> bool:
        """Add a step and return True, or return False and change nothing if the step does not fit."""
        before = self.row, self.most, len(self.code), dict(self.numbers)
        value = self._added(step)
        if value is None:
            self.row, self.most, self.numbers = before[0], before[1], before[3]
            del self.code[before[2]:]
            return False
        self.made[step.outs[0]] = value
        self.steps.append(step)
        return True

    def _added(self, step: Any) -> int | None:
        e, out = step.equation, step.outs[0]
        if e.name in REDUCTIONS:
            return self._reduction(e, step.ins[0], out)
        shape = spelled(e.shape)
        is_row = shape != self.shape
        if is_row and not (self.row is not None and shape in (self._row_shape(True), self._row_shape(False))):
            return None
        if e.name in ("broadcast_in_dim", "reshape"):
            return self._shown(e, step.ins, is_row)
        operation = operations_of(e)
        if operation is None:
            return None
        operands = [self._operand(v, spelled(a.shape), shape) for v, a in zip(step.ins, e.ins, strict=True)]
        if None in operands or (is_row and not all([o.is_number for o in operands if o is not None])):
            return None
        return self._emitted(operation, [o.value for o in operands if o is not None], out, is_row)

    def _emitted(self, operation: tuple, taken: list[int], out: int, is_number: bool) -> int:
        """Append the instructions of an equation, and return the value of its result."""
        for name, pick in operation[:-1]:
            self._temporary -= 1
            self._note(name, self._temporary, [taken[i] for i in pick], is_number)
            taken = [*taken, self._temporary]
        name, pick = operation[-1]
        self._note(name, out, [taken[i] for i in pick], is_number)
        return out

    def _note(self, name: str, made: int, taken: list[int], is_number: bool) -> None:
        self.code.append((name, made, tuple(taken)))
        self.numbers[made] = is_number

    def _reduction(self, e: Any, value: int, out: int) -> int | None:
        (taken,), axes = e.ins, tuple(e.params["axes"])
        rank = len(self.shape)
        are_last = len(axes) < rank and axes == tuple(range(rank - len(axes), rank))
        if spelled(taken.shape) != self.shape or taken.dtype != FLOAT32 or not are_last:
            return None
        operand = self._operand(value, self.shape, self.shape)
        if operand is None or operand.is_number or not self._has_row(len(axes)):
            return None
        self._note(REDUCTIONS[e.name], out, [operand.value], True)
        return out

    def _has_row(self, dims: int) -> bool:
        """Make the last ``dims`` dims the row. Return False if the row is another one, or these dims cannot be a row."""
        sizes = self.shape[len(self.shape) - dims:]
        if self.row not in (None, dims) or dims > self.most or (is_known(sizes) and not 0 < prod(sizes) <= WIDEST):
            return False
        self.row = dims
        return True

    def _row_shape(self, keeps: bool) -> tuple:
        assert self.row is not None
        return self.shape[:len(self.shape) - self.row] + (1,) * (self.row if keeps else 0)

    def _shown(self, e: Any, ins: list[int], is_row: bool) -> int | None:
        """Return the value of a broadcast or reshape, which needs no instruction; None if it does not fit."""
        if len(ins) != 1 or e.ins[0].dtype not in (FLOAT32, BOOL):
            return None
        value = ins[0]
        if value in self.made:
            same = self.made[value]
            fits = self.numbers[same] and (is_row or e.name == "broadcast_in_dim") and self._spreads_rows(e)
            return same if fits else None
        if e.name == "reshape" or is_row:
            return None
        wide: list = [1] * len(self.shape)
        for d, n in zip(e.params["broadcast_dimensions"], spelled(e.ins[0].shape), strict=True):
            wide[d] = n
        operand = self._operand(value, tuple(wide), self.shape)
        return operand.value if operand is not None else None

    def _spreads_rows(self, e: Any) -> bool:
        """Return whether a broadcast or reshape keeps the number of each row with that row."""
        if e.name == "reshape":
            return True
        shape, leading = spelled(e.ins[0].shape), len(self.shape) - (self.row or 0)
        dims = tuple(e.params["broadcast_dimensions"])
        return dims == tuple(range(len(shape))) and shape[:leading] == self.shape[:leading]

    def _operand(self, value: int, shape: tuple, out: tuple) -> _Operand | None:
        """Return the operand for a value of this shape in an equation whose result has shape ``out``; None if it does not fit."""
        if value in self.made:
            same = self.made[value]
            is_number = self.numbers[same]
            fits = shape == out or (is_number and self.row is not None and shape == self._row_shape(True))
            return _Operand(same, is_number) if fits else None
        if self.avals[value].dtype not in (FLOAT32, BOOL):
            return None
        place = self._place(shape, out)
        if place is None or self.numbers.get(value, place) != place:
            return None
        self.numbers[value] = place
        return _Operand(value, place)

    def _place(self, shape: tuple, out: tuple) -> bool | None:
        """Return whether an input has a single number for each row; None if it broadcasts in another way."""
        if out != self.shape:       # the result has a single number for each row
            return True if shape in ((), out) else None
        rank = len(out)
        wide = (1,) * (rank - len(shape)) + tuple(shape)
        if wide == out:
            return False
        if all([n.__class__ is int and n == 1 for n in wide]):
            return True
        begin = next(d for d in range(rank) if not (wide[d].__class__ is int and wide[d] == 1))
        end = next(d for d in range(rank, 0, -1) if not (wide[d - 1].__class__ is int and wide[d - 1] == 1))
        if wide[begin:end] != out[begin:end]:
            return None
        if end < rank:
            return True if self._has_row(rank - end) else None
        if self.row is not None and self.row > rank - begin:
            return None
        self.most = min(self.most, rank - begin)
        return False


def operations_of(e: Any) -> tuple | None:
    """Return the operations of an elementwise equation, each with the numbers of its operands; None if there are none.

    Results of earlier operations are numbered after the equation's own operands.
    """
    kinds, made = {a.dtype for a in e.ins}, e.outs[0].dtype
    if kinds == {FLOAT32} and made == FLOAT32:
        return _of_floats(e)
    if kinds == {FLOAT32} and made == BOOL and e.name in COMPARISONS:
        return ((COMPARISONS[e.name], (0, 1)),)
    if kinds == {BOOL} and made == BOOL and e.name in LOGIC:
        return ((LOGIC[e.name], tuple(range(len(e.ins)))),)
    if kinds == {BOOL} and made == FLOAT32 and e.name == "convert_element_type":
        return (("FLOAT", (0,)),)
    if e.name == "select_n" and len(e.ins) == 3 and e.ins[0].dtype == BOOL and e.ins[1].dtype == e.ins[2].dtype == made:
        return (("SELECT", (0, 1, 2)),) if made in (FLOAT32, BOOL) else None
    return None


def _of_floats(e: Any) -> tuple | None:
    n = len(e.ins)
    if e.name in SAME:
        return ((SAME[e.name], tuple(range(n))),)
    if e.name == "clamp":
        return ("MAX", (1, 0)), ("MIN", (3, 2))
    if e.name == "integer_pow" and e.params["y"] in POWERS:
        names = POWERS[e.params["y"]]
        return tuple([(name, (0 if k == 0 else k,)) for k, name in enumerate(names)])
    return None


def merged(steps: Sequence[Any], avals: Sequence[Any], wanted: Iterable[int], opened: Callable[[Any], Any]) -> list[Any]:
    """Fuse runs of steps, and return the steps of the host program.

    A step has an ``equation``, ``fn`` (None if a size is open), ``ins`` and ``outs``. ``wanted`` are the program's outputs.
    ``opened`` turns a step into an object that gives its equation when the sizes are known.
    """
    wanted = set(wanted)
    made: list[Any] = []
    run: Run | None = None
    for step in steps:
        if run is not None and run.add(step):
            continue
        fresh = _begun(step, avals)
        if run is not None and (fresh is not None or not set(run.made).isdisjoint(step.ins)):
            made += _ended(run, steps, wanted, opened)
            run = None
        if fresh is None:
            made.append(step)       # a step that does not read the run goes before the run
        else:
            run = fresh
    return made + (_ended(run, steps, wanted, opened) if run is not None else [])


def _begun(step: Any, avals: Sequence[Any]) -> Run | None:
    """Return a run that begins with a step; None if no run can begin with it."""
    e = step.equation
    if len(e.outs) != 1 or e.name in ("reshape", "broadcast_in_dim"):
        return None
    shape = spelled(e.ins[0].shape if e.name in REDUCTIONS else e.shape)
    if not shape or (is_known(shape) and prod(shape) < 2):
        return None
    run = Run(shape, avals)
    return run if run.add(step) else None


def _ended(run: Run, steps: Sequence[Any], wanted: set[int], opened: Callable[[Any], Any]) -> list[Any]:
    """Return the steps of a finished run: a fused step if that is faster, else the steps themselves."""
    size = prod(run.shape) if is_known(run.shape) else 0
    computed = [s for s in run.steps if s.equation.name not in ("broadcast_in_dim", "reshape")]
    # Costly functions are always fused: NumPy rounds them differently, and backward must have the bits of forward.
    is_costly = any([s.equation.name in COSTLY for s in computed])
    pays = is_costly or len(computed) > policy.FEW or size >= (policy.CACHED if len(computed) > 1 else policy.SHARED)
    inside = set(map(id, run.steps))
    read = wanted.union(*[s.ins for s in steps if id(s) not in inside])
    outs = [o for o in run.made if o in read]
    if not pays or not outs or not (is_known(run.shape) or run.whole_inputs):
        return run.steps
    stats.counters.fused += 1
    return [Merged(run, outs, opened)]


class Merged:
    """A fused step, which takes the values ``ins`` and gives ``outs``. ``late`` are its equations with open sizes."""

    def __init__(self, run: Run, outs: list[int], opened: Callable[[Any], Any]):
        self.ins = run.inputs
        self.outs, self.fn = outs, Fused(run, self.ins, outs)
        self.late = [opened(s) for s in run.steps if s.fn is None]
        self.work = sum([s.work for s in run.steps if s.fn is not None], cost.NOTHING)


class Fused:
    """The function of a run. It takes arrays, and returns an array or a list of arrays."""

    __slots__ = ("_code", "_copies", "_kinds", "_outs", "_row", "_shape", "_source")

    def __init__(self, run: Run, ins: list[int], outs: list[int]):
        is_flat = run.row is None and run.most == len(run.shape)
        self._row = 0 if is_flat else run.row or run.most
        self._shape = run.shape if is_known(run.shape) else None
        self._source = ins.index(run.whole_inputs[0]) if self._shape is None else 0
        avals = [run.avals[o] for o in outs]
        are_rows = [run.numbers[run.made[o]] and spelled(a.shape) != run.shape for o, a in zip(outs, avals, strict=True)]
        keeps = [len(a.shape) == len(run.shape) for a in avals]
        self._outs = list(zip(are_rows, keeps, [np.dtype(a.dtype) for a in avals], strict=True))
        self._copies = False        # True once an array was not contiguous; then all are copied
        self._kinds = bytes([*[run.numbers[v] for v in ins], *are_rows])
        self._code = Assembler(run, ins, outs).program()

    def __call__(self, *arrays: np.ndarray) -> Any:
        shape = self._shape or arrays[self._source].shape
        leading = shape[:len(shape) - self._row]
        outs = [np.empty((leading + (1,) * self._row if keeps else leading) if is_row else shape, dtype)
                for is_row, keeps, dtype in self._outs]
        width, rows = (prod(shape[len(leading):]), prod(leading)) if self._row else (0, prod(shape))
        given = map(np.ascontiguousarray, arrays) if self._copies else arrays
        try:
            _onednn.fuse(self._code, width, rows, self._kinds, *given, *outs)
        except (BufferError, ValueError):       # an array is not contiguous
            self._copies = True
            _onednn.fuse(self._code, width, rows, self._kinds, *map(np.ascontiguousarray, arrays), *outs)
        return outs[0] if len(outs) == 1 else outs
