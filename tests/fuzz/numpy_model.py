"""A model of tensors in a few hundred lines of NumPy, to compare with where PyTorch is not installed.

Modelled, for float64 on the CPU:

- Views: a tensor is a NumPy view of a flat array, so NumPy gives shape, strides, offset and the effect of a write.
- Writes: in-place arithmetic, filling, copying, assignment at slices, numbers and masks; through any view.
- NumPy's writes to arrays of ``numpy()``; ``detach()`` and ``.data``; ``no_grad``.
- Versions: writes count, and views and ``detach()`` share the count. NumPy's writes do not count, and ``.data`` has its own count.
- ``requires_grad`` and ``is_leaf``, also of a base and of other views after a write has added a history.
- Gradients, by forward differentiation: beside its numbers a tensor has their derivative in one direction. All leaves move in
  this direction at once. Each *history* (a base and its views; ``detach()`` starts another) has its own derivatives. They are
  viewed and written like the numbers, and must equal the gradients of backward along the direction.
- Refused calls: writes to leaves and to expanded memory, ``numpy()`` with a history, shapes that do not fit.

Not modelled: tensors without elements, views made under ``no_grad``, writes to overlapping windows, strides of dims of one
element, strides of results of arguments that are not contiguous. If saved arguments were overwritten, the model does not know
which calls a backward reaches, so the backward may raise. Nor does it know the gradients after uncounted writes.
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
    """PyTorch would raise a RuntimeError for this call. The model has changed nothing."""


@dataclass(eq=False)
class Memory:
    """The memory of one or more tensors: numbers, and counts of all writes."""

    flat: Array
    writes: int = 0


@dataclass(eq=False)
class Counter:
    """A version counter."""

    count: int = 0


@dataclass(frozen=True)
class Saved:
    """Memory that a node's backward reads, with the counts of writes at the time of the call."""

    memory: Memory
    writes: int
    version: Counter
    count: int

    @property
    def counted(self) -> bool:
        """Return whether a later write to the memory was counted by the version."""
        return self.version.count != self.count

    @property
    def uncounted(self) -> bool:
        """Return whether all later writes to the memory were missed by the version, and there was one."""
        return not self.counted and self.memory.writes != self.writes


@dataclass(eq=False)
class History:
    """The autograd state of a base and its views. ``flat`` holds the derivatives of the memory's numbers."""

    flat: Array
    requires_grad: bool = False
    leaf: Shown | None = None   # The leaf with this history, if the leaf needs a gradient.
    saved: set[Saved] = field(default_factory=set)


class Shown:
    """A tensor: two arrays of the same geometry, over the numbers and over their derivatives."""

    def __init__(self, memory: Memory, version: Counter, history: History, array: Array, slope: Array):
        self.memory, self.version, self.history, self.array, self.slope = memory, version, history, array, slope

    # ------------------------------------------------------------ what can be seen

    @property
    def requires_grad(self) -> bool:
        """Return whether a gradient will flow to the tensor."""
        return self.history.requires_grad

    @property
    def is_leaf(self) -> bool:
        """Return whether the tensor has no history. A view of a leaf that needs a gradient has one."""
        return not self.requires_grad or self.history.leaf is self

    @property
    def offset(self) -> int:
        """Return the number of elements from the memory's start to the tensor's."""
        return _distance(self.array, self.memory.flat)

    def strides(self) -> list[int]:
        """Return the strides of dims of several elements."""
        return several(self.array.shape, [s // self.array.itemsize for s in self.array.strides])

    # ------------------------------------------------------------ tensors made from this one

    def view(self, of: Callable[[Array], Array]) -> Shown:
        """Make a view with a function of NumPy."""
        array = of(self.array)
        if not np.may_share_memory(array, self.memory.flat):
            raise RefusedError("no strides show this memory so")
        return Shown(self.memory, self.version, self.history, array, of(self.slope))

    def detach(self) -> Shown:
        """Return a tensor with the same memory and version, without the history."""
        slopes = np.zeros_like(self.memory.flat)
        return Shown(self.memory, self.version, History(slopes), self.array, _like(self.array, self.memory.flat, slopes))

    def data(self) -> Shown:
        """Return a tensor with the same memory only."""
        found = self.detach()
        found.version = Counter()
        return found

    def save(self) -> Saved:
        """Return the state that a backward would save now."""
        return Saved(self.memory, self.memory.writes, self.version, self.version.count)

    # ------------------------------------------------------------ writes

    @property
    def expanded(self) -> bool:
        """Return whether a dim has stride 0."""
        return 0 in self.strides()

    @property
    def overlaps(self) -> bool:
        """Return whether two elements of the tensor have the same place in memory."""
        where = _like(self.array, self.memory.flat, np.arange(self.memory.flat.size))
        return np.unique(where).size < where.size

    def write(self, at: Any, number: Any, slope: Any, args: tuple = (), saved: tuple = (), *, grad: bool = True) -> None:
        """Write numbers and derivatives, computed from ``args``, at an index. Without ``grad`` keep the history."""
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
    """Return the strides of dims of several elements; the others are meaningless."""
    return [s for n, s in zip(shape, strides, strict=True) if n > 1]


def _is_mask(at: Any) -> bool:
    return isinstance(at, Array)


def _distance(array: Array, flat: Array) -> int:
    return (array.__array_interface__["data"][0] - flat.__array_interface__["data"][0]) // flat.itemsize


def _like(array: Array, flat: Array, other: Array) -> Array:
    """Return the view of ``other`` with the geometry that ``array`` has in ``flat``."""
    strides = [s // flat.itemsize * other.itemsize for s in array.strides]
    return as_strided(other[_distance(array, flat):], array.shape, strides)


# ---------------------------------------------------------------- new tensors


def fresh(numbers: Array, slopes: Array | None = None) -> Shown:
    """Make a contiguous tensor with its own memory and without a history."""
    flat = np.array(numbers, np.float64).reshape(-1)
    history = History(np.zeros_like(flat) if slopes is None else np.array(slopes, np.float64).reshape(-1))
    return Shown(Memory(flat), Counter(), history, flat.reshape(numbers.shape), history.flat.reshape(numbers.shape))


def leaf(of: Shown) -> Shown:
    """``of.requires_grad_()``: give the leaf a direction of its own, the same in each run."""
    of.slope[...] = np.cos(1 + np.arange(of.array.size)).reshape(of.array.shape)
    of.history.requires_grad, of.history.leaf = True, of
    return of


def computed(numbers: Array, slopes: Array, args: tuple[Shown, ...], saved: tuple[Saved, ...] = (), *, grad: bool = True) -> Shown:
    """Make the result of a call of tensors."""
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
    """Call a function of one argument."""
    number, slope, saves = UNARY[name]
    return computed(number(t.array), slope(t.array, t.slope), (t,), (t.save(),) * saves, grad=grad)


def binary(name: str, a: Shown, b: Shown, *, grad: bool) -> Shown:
    """Call a function of two arguments that broadcast."""
    number, slope, saves = BINARY[name]
    together(a.array.shape, b.array.shape)
    return computed(number(a.array, b.array), slope(a.array, b.array, a.slope, b.slope), (a, b), (a.save(), b.save()) * saves, grad=grad)


def unary_(name: str, t: Shown, *, grad: bool) -> None:
    """Call a function of one argument in place. Its backward gets a copy of the old values."""
    number, slope, _ = UNARY[name]
    t.write(..., number(t.array), slope(t.array, t.slope), grad=grad)


def binary_(name: str, t: Shown, other: Shown, at: Any = ..., *, grad: bool) -> None:
    """Call a function of two arguments in place. The second broadcasts to the tensor; ``copy`` writes it unchanged."""
    a, da = t.array[at], t.slope[at]
    if together(a.shape, other.array.shape) != a.shape:
        raise RefusedError("the result would be larger")
    if name == "copy":
        t.write(at, other.array.copy(), other.slope.copy(), (other,), grad=grad)
        return
    number, slope, saves = BINARY[name]
    t.write(at, number(a, other.array), slope(a, other.array, da, other.slope), (other,), (other.save(),) * saves, grad=grad)


def together(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape to which two shapes broadcast."""
    try:
        return np.broadcast_shapes(a, b)
    except ValueError:
        raise RefusedError("sizes do not fit") from None


def total(t: Shown, dim: int | None, *, grad: bool) -> Shown:
    """Return the sum over a dim, or over all."""
    return computed(t.array.sum(dim), t.slope.sum(dim), (t,), grad=grad)


def taken(t: Shown, at: Any, *, grad: bool) -> Shown:
    """Return a copy of the elements at a mask or at a list of places."""
    return computed(t.array[at], t.slope[at], (t,), grad=grad)


def windows(a: Array, dim: int, size: int, step: int) -> Array:
    """Return ``a.unfold(dim, size, step)``."""
    found = sliding_window_view(a, size, dim, writeable=True)
    return found[(slice(None),) * dim + (slice(None, None, step),)]


def diagonal(a: Array, first: int, second: int) -> Array:
    """Return ``a.diagonal(0, first, second)``."""
    return _writable(a, np.diagonal(a, 0, first, second))


def expanded(a: Array, shape: tuple[int, ...]) -> Array:
    """Return ``a.expand(shape)``."""
    return _writable(a, np.broadcast_to(a, shape))


def _writable(a: Array, view: Array) -> Array:
    """Return the same view of ``a`` for writing; NumPy returns it read-only."""
    return as_strided(a, view.shape, view.strides)
