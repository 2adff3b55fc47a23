"""What tensors do, as a few hundred lines of NumPy: a second opinion for where PyTorch is not installed.

Modelled, for float64 on the CPU:

- Views: a tensor is a NumPy view of a flat array, so shape, strides, offset and whom a write reaches are NumPy's answer.
- Writes: in-place arithmetic, filling, copying, assignment at slices, numbers and masks; through any view.
- NumPy's writes to what ``numpy()`` gave; ``detach()`` and ``.data``; ``no_grad``.
- Versions: counted by writes, shared by views and ``detach()``; not counted are NumPy's writes, and ``.data`` counts its own.
- ``requires_grad`` and ``is_leaf``, also of a base and of other views after a write has brought a history.
- Gradients, by forward differentiation: beside its numbers a tensor has their derivative in one direction, in which all leaves
  move at once. It is kept per *history* (a base and its views; ``detach()`` starts another), is viewed and written as the
  numbers are, and must be what the gradients of backward come to along that direction.
- Which calls are refused: writes to leaves and to expanded memory, ``numpy()`` with a history, shapes that do not fit.

Not modelled: tensors without elements, views made under ``no_grad``, writes where windows overlap, strides of dims of one
element, strides of results of arguments that are not in order, which of the calls whose saved arguments have been written to
are reached by a backward (it may be refused then), and what it makes of writes that no version has counted.
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided, sliding_window_view

Array = np.ndarray
LARGEST = 1e6       # Calls with larger results are left out, because only rounding would be compared.


class RefusedError(Exception):
    """Where PyTorch raises a RuntimeError, and nothing has changed."""


@dataclass(eq=False)
class Memory:
    """What tensors share: numbers, and how often they were written to by whatever way."""

    flat: Array
    writes: int = 0


@dataclass(eq=False)
class Counter:
    """A version."""

    count: int = 0


@dataclass(frozen=True)
class Saved:
    """What a backward needs of memory, with the state that the memory then had."""

    memory: Memory
    writes: int
    version: Counter
    count: int

    @property
    def counted(self) -> bool:
        """Whether it was written to since, and the version says so."""
        return self.version.count != self.count

    @property
    def uncounted(self) -> bool:
        """Whether it was written to, and the version does not say so."""
        return not self.counted and self.memory.writes != self.writes


@dataclass(eq=False)
class History:
    """What a base and its views share of autograd; ``flat`` holds the derivatives of the memory's numbers."""

    flat: Array
    requires_grad: bool = False
    leaf: Shown | None = None   # The leaf of the tensor, if it needs a gradient.
    saved: set[Saved] = field(default_factory=set)


class Shown:
    """A tensor: two arrays of the same geometry, over the numbers and over their derivatives."""

    def __init__(self, memory: Memory, version: Counter, history: History, array: Array, slope: Array):
        self.memory, self.version, self.history, self.array, self.slope = memory, version, history, array, slope

    # ------------------------------------------------------------ what can be seen

    @property
    def requires_grad(self) -> bool:
        """Whether a gradient will flow to it."""
        return self.history.requires_grad

    @property
    def is_leaf(self) -> bool:
        """Whether it has no history. A view of a leaf that needs a gradient has one."""
        return not self.requires_grad or self.history.leaf is self

    @property
    def offset(self) -> int:
        """Elements from the memory's start to the tensor's."""
        return _distance(self.array, self.memory.flat)

    def strides(self) -> list[int]:
        """Those of dims of several elements."""
        return several(self.array.shape, [s // self.array.itemsize for s in self.array.strides])

    # ------------------------------------------------------------ tensors made of it

    def view(self, of: Callable[[Array], Array]) -> Shown:
        """A view, by what NumPy calls it."""
        array = of(self.array)
        if not np.may_share_memory(array, self.memory.flat):
            raise RefusedError("no strides show this memory so")
        return Shown(self.memory, self.version, self.history, array, of(self.slope))

    def detach(self) -> Shown:
        """The same memory and version without the history."""
        slopes = np.zeros_like(self.memory.flat)
        return Shown(self.memory, self.version, History(slopes), self.array, _like(self.array, self.memory.flat, slopes))

    def data(self) -> Shown:
        """The same memory, and nothing else."""
        found = self.detach()
        found.version = Counter()
        return found

    def save(self) -> Saved:
        """What a backward would remember now."""
        return Saved(self.memory, self.memory.writes, self.version, self.version.count)

    # ------------------------------------------------------------ writes

    @property
    def expanded(self) -> bool:
        """Whether a dim goes nowhere."""
        return 0 in self.strides()

    @property
    def overlaps(self) -> bool:
        """Whether some number is shown twice."""
        where = _like(self.array, self.memory.flat, np.arange(self.memory.flat.size))
        return np.unique(where).size < where.size

    def write(self, at: Any, number: Any, slope: Any, args: tuple = (), saved: tuple = (), *, grad: bool = True) -> None:
        """Numbers and derivatives at an index, computed from ``args``; without ``grad`` the history stays as it is."""
        needs = grad and any(t.requires_grad for t in (self, *args))
        if needs and self.history.leaf:
            raise RefusedError("a leaf that requires grad, or a view of one")
        if not _is_mask(at) and 0 in several(self.array[at].shape, self.array[at].strides):
            raise RefusedError("several elements are one place")
        self.array[at] = number
        self.memory.writes += 1
        self.version.count += 1
        if grad:
            self.slope[at] = slope
            self.history.requires_grad |= needs
            self._note(args, saved)

    def _note(self, args: tuple, saved: tuple) -> None:
        if self.requires_grad:
            self.history.saved.update(saved, *(t.history.saved for t in args))


def several(shape: Any, strides: Any) -> list[int]:
    """The strides of dims of several elements; others' say nothing."""
    return [s for n, s in zip(shape, strides, strict=True) if n > 1]


def _is_mask(at: Any) -> bool:
    return isinstance(at, Array)


def _distance(array: Array, flat: Array) -> int:
    return (array.__array_interface__["data"][0] - flat.__array_interface__["data"][0]) // flat.itemsize


def _like(array: Array, flat: Array, other: Array) -> Array:
    """The view of ``other`` that ``array`` is of ``flat``."""
    strides = [s // flat.itemsize * other.itemsize for s in array.strides]
    return as_strided(other[_distance(array, flat):], array.shape, strides)


# ---------------------------------------------------------------- new tensors


def fresh(numbers: Array, slopes: Array | None = None) -> Shown:
    """A tensor of memory of its own, in order, without a history."""
    flat = np.array(numbers, np.float64).reshape(-1)
    history = History(np.zeros_like(flat) if slopes is None else np.array(slopes, np.float64).reshape(-1))
    return Shown(Memory(flat), Counter(), history, flat.reshape(numbers.shape), history.flat.reshape(numbers.shape))


def leaf(of: Shown) -> Shown:
    """``of.requires_grad_()``: it moves in a direction of its own, the same at each run."""
    of.slope[...] = np.cos(1 + np.arange(of.array.size)).reshape(of.array.shape)
    of.history.requires_grad, of.history.leaf = True, of
    return of


def computed(numbers: Array, slopes: Array, args: tuple[Shown, ...], saved: tuple[Saved, ...] = (), *, grad: bool = True) -> Shown:
    """What a call makes of its arguments."""
    needs = grad and any(t.requires_grad for t in args)
    found = fresh(np.asarray(numbers), np.asarray(slopes) if needs else None)
    found.history.requires_grad = needs
    found._note(args, saved)
    return found


# ---------------------------------------------------------------- calls: name -> numbers, derivatives, whether its backward needs the arguments

UNARY: dict[str, tuple[Callable, Callable, bool]] = {
    "neg": (np.negative, lambda a, da: -da, False),
    "sin": (np.sin, lambda a, da: np.cos(a) * da, True),
    "abs": (np.abs, lambda a, da: np.sign(a) * da, True),
    "square": (np.square, lambda a, da: 2 * a * da, True),
}
BINARY: dict[str, tuple[Callable, Callable, bool]] = {
    "add": (np.add, lambda a, b, da, db: da + db, False),
    "sub": (np.subtract, lambda a, b, da, db: da - db, False),
    "mul": (np.multiply, lambda a, b, da, db: da * b + a * db, True),
}


def unary(name: str, t: Shown, *, grad: bool) -> Shown:
    """A call of one argument."""
    number, slope, saves = UNARY[name]
    return computed(number(t.array), slope(t.array, t.slope), (t,), (t.save(),) * saves, grad=grad)


def binary(name: str, a: Shown, b: Shown, *, grad: bool) -> Shown:
    """A call of two arguments that broadcast."""
    number, slope, saves = BINARY[name]
    together(a.array.shape, b.array.shape)
    return computed(number(a.array, b.array), slope(a.array, b.array, a.slope, b.slope), (a, b), (a.save(), b.save()) * saves, grad=grad)


def unary_(name: str, t: Shown, *, grad: bool) -> None:
    """The same in place: its backward gets a copy of what was there."""
    number, slope, _ = UNARY[name]
    t.write(..., number(t.array), slope(t.array, t.slope), grad=grad)


def binary_(name: str, t: Shown, other: Shown, at: Any = ..., *, grad: bool) -> None:
    """The same in place, with an argument that broadcasts to the tensor; ``copy`` takes the argument as it is."""
    a, da = t.array[at], t.slope[at]
    if together(a.shape, other.array.shape) != a.shape:
        raise RefusedError("the result would be larger")
    if name == "copy":
        t.write(at, other.array.copy(), other.slope.copy(), (other,), grad=grad)
        return
    number, slope, saves = BINARY[name]
    t.write(at, number(a, other.array), slope(a, other.array, da, other.slope), (other,), (other.save(),) * saves, grad=grad)


def together(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    """The shape to which two broadcast."""
    try:
        return np.broadcast_shapes(a, b)
    except ValueError:
        raise RefusedError("sizes do not fit") from None


def total(t: Shown, dim: int | None, *, grad: bool) -> Shown:
    """The sum over a dim, or over all."""
    return computed(t.array.sum(dim), t.slope.sum(dim), (t,), grad=grad)


def taken(t: Shown, at: Any, *, grad: bool) -> Shown:
    """What stands at a mask or at a list of places: a copy."""
    return computed(t.array[at], t.slope[at], (t,), grad=grad)


def windows(a: Array, dim: int, size: int, step: int) -> Array:
    """``a.unfold(dim, size, step)``."""
    found = sliding_window_view(a, size, dim, writeable=True)
    return found[(slice(None),) * dim + (slice(None, None, step),)]


def diagonal(a: Array, first: int, second: int) -> Array:
    """``a.diagonal(0, first, second)``."""
    return _writable(a, np.diagonal(a, 0, first, second))


def expanded(a: Array, shape: tuple[int, ...]) -> Array:
    """``a.expand(shape)``."""
    return _writable(a, np.broadcast_to(a, shape))


def _writable(a: Array, view: Array) -> Array:
    """The same view of ``a``, which NumPy gives for reading only."""
    return as_strided(a, view.shape, view.strides)
