"""Compare random programs with the model in ``numpy_model.py``: jtorch always, and PyTorch (a test of the model) if
installed.
"""
from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy_model as model
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    multiple,
    rule,
    run_state_machine_as_test,
)
from numpy_model import BINARY, LARGEST, UNARY, RefusedError

pytestmark = pytest.mark.core

SHAPES = st.sampled_from([(2, 3), (2, 3, 4), (4,), (3, 3), (2, 1, 3), (6,), (3, 1), (1,), ()])
KINDS = st.sampled_from(["computed", "computed", "leaf", "plain"])
NUMBERS = st.sampled_from([2.0, -1.0, 0.5, 0.0, 3.0])
HOT = os.environ.get("JTORCH_ENGINE") == "hot"        # Most steps compile a program in hot mode.
BUDGET = settings(max_examples=15 if HOT else 50, stateful_step_count=50, derandomize=True, database=None, deadline=None, report_multiple_bugs=False,
                  phases=(Phase.generate, Phase.shrink), suppress_health_check=list(HealthCheck))


@dataclass(eq=False)
class Both:
    """A tensor of the library with the model's; or an array of ``numpy()`` with the model's memory."""

    got: Any
    shown: Any
    memory: model.Memory | None = None


View = tuple[Callable, Callable]        # The functions of NumPy and of the library.


class Programs(RuleBasedStateMachine):
    """Each rule is a call of the library and of the model. After each rule all tensors are compared."""

    tensors, arrays = Bundle("tensors"), Bundle("arrays")

    def __init__(self, xp):
        super().__init__()
        self.xp, self.grad, self.turn, self.look_every = xp, True, 0, 1
        self.alive: list[Both] = []
        self.leaves: list[Both] = []
        self.hosted: list[Both] = []

    # ------------------------------------------------------------ running calls on both sides

    def mode(self):
        """Return the current grad mode of the program."""
        return contextlib.nullcontext() if self.grad else self.xp.no_grad()

    def both(self, of_model, of_library) -> Any:
        """Run a call on both sides. Return both results, or None if both refuse."""
        try:
            shown = of_model()
        except RefusedError:
            with pytest.raises(RuntimeError), self.mode():
                of_library()
            self.look()
            return None
        with self.mode():
            return Both(shown=shown, got=of_library())

    def made(self, of_model, of_library) -> Any:
        """Make a new tensor. Return None if the call is refused or its numbers are too large."""
        found = self.both(of_model, of_library)
        if found is None or np.abs(found.shown.array).max() > LARGEST:
            return multiple()
        self.alive.append(found)
        self.leaves += [found] * (found.shown.history.leaf is found.shown)
        self.look()
        return found

    def written(self, t: Both, of_model, of_library) -> None:
        """Write on both sides. Skip tensors whose elements overlap, except expanded ones."""
        if t.shown.overlaps and not t.shown.expanded:
            return
        self.both(of_model, of_library)
        self.look()

    def look(self) -> None:
        """Compare all tensors, and their numbers sometimes, since a read ends a trace."""
        self.turn += 1
        for t in self.alive:
            described(t)
        if self.turn % self.look_every == 0:
            self.look_at_numbers()

    def look_at_numbers(self) -> None:
        """Compare numbers and shared memory."""
        for t in self.alive:
            np.testing.assert_allclose(t.got.detach().tolist(), t.shown.array, rtol=1e-9, atol=1e-8)
        for a in self.hosted:
            np.testing.assert_allclose(a.got, a.shown, rtol=1e-9, atol=1e-8)
        assert groups([t.got.untyped_storage()._cdata for t in self.alive]) == groups([id(t.shown.memory) for t in self.alive])

    def teardown(self):
        if self.alive:
            self.look_at_numbers()
        for t in self.alive[-4:]:
            self.look_at_gradients(t)

    # ------------------------------------------------------------ tensors

    @initialize(target=tensors, shape=SHAPES, kind=KINDS, look_every=st.sampled_from([1, 1, 3, 100]))
    def start(self, shape, kind, look_every):
        self.look_every = look_every
        return self.create(shape, kind)

    @rule(target=tensors, shape=SHAPES, kind=KINDS)
    def another(self, shape, kind):
        return self.create(shape, kind)

    def create(self, shape: tuple[int, ...], kind: str) -> Any:
        """Make a tensor without a history, a leaf with a gradient, or a computed tensor."""
        numbers = np.arange(np.prod(shape, dtype=int)).reshape(shape) / 2 - 1
        leaf = kind != "plain"
        made = self.made(lambda: model.leaf(model.fresh(numbers)) if leaf else model.fresh(numbers),
                         lambda: self.xp.tensor(numbers, requires_grad=leaf))
        if kind != "computed":
            return made
        self.alive.remove(made)
        return self.made(lambda: model.unary("neg", made.shown, grad=self.grad), lambda: -made.got)

    @rule(target=tensors, t=tensors, way=st.sampled_from(["detach", "data", "leaf"]))
    def without_its_history(self, t, way):
        if way == "leaf" and t.shown.overlaps:
            return multiple()
        return self.made({"detach": t.shown.detach, "data": t.shown.data, "leaf": lambda: model.leaf(t.shown.detach())}[way],
                         {"detach": t.got.detach, "data": lambda: t.got.data, "leaf": lambda: t.got.detach().requires_grad_()}[way])

    @rule(t=consumes(tensors))
    def forget(self, t):
        self.alive.remove(t)

    @rule(off=st.sampled_from([False, False, True]))
    def grad_mode(self, off):
        self.grad = not off

    # ------------------------------------------------------------ views

    @rule(target=tensors, t=tensors, data=st.data())
    def view_of_some(self, t, data):
        return self.viewed(t, data.draw(some(t.shown.array.shape)))

    @rule(target=tensors, t=tensors, data=st.data())
    def view_in_another_order(self, t, data):
        return self.viewed(t, data.draw(turned(t.shown.array.shape)))

    @rule(target=tensors, t=tensors, data=st.data())
    def view_of_another_shape(self, t, data):
        return self.viewed(t, data.draw(reshaped(t.shown.array.shape)))

    def viewed(self, t: Both, view: View) -> Any:
        """Make a view."""
        return self.made(lambda: t.shown.view(view[0]), lambda: view[1](t.got)) if self.grad else multiple()

    def through(self, t: Both, data) -> Both:
        """Return the tensor itself or a temporary view, as the target of a write."""
        view = data.draw(st.none() | some(t.shown.array.shape) | turned(t.shown.array.shape))
        return Both(view[1](t.got), t.shown.view(view[0])) if view and self.grad else t

    # ------------------------------------------------------------ arithmetic

    def ordered(self, result: Any, *args: Both) -> Any:
        """Return the result, or a contiguous copy if the model does not know its memory order."""
        known = args and all(a.shown.array.flags.c_contiguous for a in args)
        return result if known else result.clone(memory_format=self.xp.contiguous_format)

    @rule(target=tensors, t=tensors, name=st.sampled_from(sorted(UNARY)))
    def unary(self, t, name):
        return self.made(lambda: model.unary(name, t.shown, grad=self.grad), lambda: self.ordered(getattr(self.xp, name)(t.got), t))

    @rule(target=tensors, a=tensors, b=tensors, name=st.sampled_from(sorted(BINARY)))
    def binary(self, a, b, name):
        return self.made(lambda: model.binary(name, a.shown, b.shown, grad=self.grad),
                         lambda: self.ordered(getattr(self.xp, name)(a.got, b.got), a, b))

    @rule(target=tensors, t=tensors, data=st.data())
    def total(self, t, data):
        dim = data.draw(st.sampled_from([*range(t.shown.array.ndim), None]))
        return self.made(lambda: model.total(t.shown, dim, grad=self.grad), lambda: self.ordered(t.got.sum() if dim is None else t.got.sum(dim), t))

    @rule(target=tensors, t=tensors, above=NUMBERS)
    def taken_at_a_mask(self, t, above):
        mask = t.shown.array > above
        if not mask.any():
            return multiple()
        return self.made(lambda: model.taken(t.shown, mask, grad=self.grad), lambda: self.ordered(t.got[t.got > above]))

    # ------------------------------------------------------------ writes

    @rule(t=tensors, name=st.sampled_from(sorted(UNARY)), data=st.data())
    def unary_in_place(self, t, name, data):
        t = self.through(t, data)
        self.written(t, lambda: model.unary_(name, t.shown, grad=self.grad), lambda: getattr(t.got, name + "_")())

    @rule(t=tensors, other=tensors, name=st.sampled_from(["copy", *sorted(BINARY)]), data=st.data())
    def binary_in_place(self, t, other, name, data):
        t = self.through(t, data)
        other = self.apart(other, t)
        if name == "copy" and other.shown is t.shown:  # PyTorch ignores a copy of a tensor to itself, even if it is expanded.
            return
        if tame(name, t, other):
            self.written(t, lambda: model.binary_(name, t.shown, other.shown, grad=self.grad),
                         lambda: getattr(t.got, name + "_")(other.got))

    def apart(self, other: Both, t: Both) -> Both:
        """Copy the numbers to other memory, since PyTorch may read written elements."""
        if other.shown.memory is not t.shown.memory or other is t:
            return other
        with self.mode():
            return Both(shown=model.computed(other.shown.array, other.shown.slope, (other.shown,), grad=self.grad), got=other.got.clone())

    @rule(t=tensors, number=NUMBERS, data=st.data())
    def set_numbers(self, t, number, data):
        at = data.draw(indices(t.shown.array.shape))
        if not (t.shown.expanded and t.shown.requires_grad):       # PyTorch's backward fails after such a write.
            self.written(t, lambda: t.shown.write(at, number, 0.0, grad=self.grad), lambda: t.got.__setitem__(at, number))

    @rule(t=tensors, other=tensors, data=st.data())
    def set_tensor(self, t, other, data):
        at, other = data.draw(indices(t.shown.array.shape)), self.apart(other, t)
        if other is t or (t.shown.expanded and (t.shown.requires_grad or other.shown.requires_grad)):
            return
        with contextlib.suppress(RefusedError):
            if model.together(t.shown.array[at].shape, other.shown.array.shape) == t.shown.array[at].shape:
                self.written(t, lambda: model.binary_("copy", t.shown, other.shown, at, grad=self.grad),
                             lambda: t.got.__setitem__(at, other.got))

    @rule(t=tensors, above=NUMBERS, number=NUMBERS)
    def set_numbers_at_a_mask(self, t, above, number):
        mask = np.asarray(t.shown.array > above)
        if not t.shown.expanded:
            self.written(t, lambda: t.shown.write(mask, number, 0.0, grad=self.grad), lambda: t.got.__setitem__(t.got > above, number))

    # ------------------------------------------------------------ NumPy's memory

    @rule(target=arrays, t=tensors, detached=st.booleans())
    def numpy(self, t, detached):
        if t.shown.overlaps:
            return multiple()
        if t.shown.requires_grad and not detached:
            with pytest.raises(RuntimeError):
                t.got.numpy()
            return multiple()
        array = (t.got.detach() if detached else t.got).numpy()
        assert model.several(array.shape, array.strides) == model.several(array.shape, t.shown.array.strides)
        self.hosted.append(Both(got=array, shown=t.shown.array, memory=t.shown.memory))
        return self.hosted[-1]

    @rule(target=tensors, shape=SHAPES)
    def from_numpy(self, shape):
        numbers = np.ones(shape)
        found = self.made(lambda: model.fresh(numbers), lambda: self.xp.from_numpy(numbers))
        self.hosted.append(Both(got=numbers, shown=found.shown.array, memory=found.shown.memory))
        return found

    @rule(a=arrays, number=NUMBERS, data=st.data())
    def numpy_writes(self, a, number, data):
        at = data.draw(indices(a.shown.shape))
        a.got[at] = number
        a.shown[at] = number
        a.memory.writes += 1
        self.look()

    @rule(a=consumes(arrays))
    def forget_array(self, a):
        self.hosted.remove(a)

    # ------------------------------------------------------------ gradients

    @rule(t=tensors)
    def gradients(self, t):
        self.look_at_gradients(t)

    def look_at_gradients(self, t: Both) -> None:
        """Compare the gradients of the tensor's sum with its change when all leaves move."""
        if not t.shown.requires_grad:
            return
        saved = t.shown.history.saved
        try:
            with self.xp.enable_grad():
                grads = self.xp.autograd.grad(t.got.sum(), [o.got for o in self.leaves], allow_unused=True, retain_graph=True)
        except RuntimeError as error:
            assert "modified by an inplace operation" in str(error)
            assert any(s.counted for s in saved)
            return
        if not any(s.counted or s.uncounted for s in saved):
            along = sum((np.array(g.tolist()) * o.shown.slope).sum() for g, o in zip(grads, self.leaves, strict=True) if g is not None)
            np.testing.assert_allclose(along, t.shown.slope.sum(), rtol=1e-6, atol=1e-9 * max(np.abs(o.shown.slope).max() for o in self.alive))


def described(t: Both) -> None:
    """Compare the visible state of a tensor without its numbers."""
    got, shown = t.got, t.shown
    seen = (tuple(got.shape), model.several(got.shape, got.stride()), got.storage_offset(), got.requires_grad, got.is_leaf, got._version)
    assert seen == (shown.array.shape, shown.strides(), shown.offset, shown.requires_grad, shown.is_leaf, shown.version.count)


def groups(of: list) -> list[int]:
    """Return for each element the first element equal to it."""
    return [of.index(x) for x in of]


def tame(name: str, t: Both, other: Both) -> bool:
    """Return whether the numbers after a write are not too large."""
    if name == "mul":
        return np.abs(t.shown.array).max() * np.abs(other.shown.array).max() <= LARGEST
    return np.abs(t.shown.array).max() + np.abs(other.shown.array).max() <= LARGEST


# ---------------------------------------------------------------- what is drawn


@st.composite
def indices(draw, shape: tuple[int, ...]) -> tuple:
    """Choose numbers and slices that leave some elements."""
    items = [draw(st.sampled_from(part(n))) for n in shape[:draw(st.integers(min(1, len(shape)), len(shape)))]]
    return (*items, *[None] * draw(st.sampled_from([0, 0, 0, 1])), ...)


def part(n: int) -> list:
    """Return items of an index for a dim of ``n`` elements. Each leaves at least one element."""
    if n == 1:
        return [slice(None), 0]
    return [slice(1, None), n // 2, slice(None, None, 2), slice(0, n - 1), slice(None), -1, slice(n - 1, None)]


def some(shape: tuple[int, ...]) -> st.SearchStrategy[View]:
    """Return views of some of the elements."""
    return st.one_of(indices(shape).map(lambda at: (lambda a: a[at], lambda t: t[at])), *[windows(shape)] * (len(shape) > 0),
                     *[diagonals(shape)] * (len(shape) > 1))


@st.composite
def windows(draw, shape: tuple[int, ...]) -> View:
    dim, step = draw(st.integers(0, len(shape) - 1)), draw(st.sampled_from([2, 1]))
    size = draw(st.integers(1, shape[dim]))
    return lambda a: model.windows(a, dim, size, step), lambda t: t.unfold(dim, size, step)


def diagonals(shape: tuple[int, ...]) -> st.SearchStrategy[View]:
    pairs = st.sampled_from(list(itertools.permutations(range(len(shape)), 2)))
    return pairs.map(lambda ij: (lambda a: model.diagonal(a, *ij), lambda t: t.diagonal(0, *ij)))


def turned(shape: tuple[int, ...]) -> st.SearchStrategy[View]:
    """Return views with the dims in another order."""
    if len(shape) < 2:
        return reshaped(shape)
    orders = st.sampled_from(list(itertools.permutations(range(len(shape))))[:0:-1])
    return orders.map(lambda order: (lambda a: a.transpose(order), lambda t: t.permute(order))) \
        | st.just((lambda a: a.swapaxes(0, -1), lambda t: t.transpose(0, -1)))


def reshaped(shape: tuple[int, ...]) -> st.SearchStrategy[View]:
    """Return views of another shape. Some are refused for the tensor's strides."""
    count, wide = int(np.prod(shape)), tuple(n if n > 1 else 3 for n in shape)
    sizes = st.sampled_from([(-1,), *[size for n in (2, 3, 4) if count % n == 0 for size in ((n, -1), (-1, n), (n, 1, -1))]])
    return st.one_of(
        sizes.map(lambda size: (lambda a: a.reshape(size), lambda t: t.view(size))),
        st.integers(0, len(shape)).map(lambda dim: (lambda a: np.expand_dims(a, dim), lambda t: t.unsqueeze(dim))),
        st.sampled_from([wide, (2, *shape)]).map(lambda size: (lambda a: model.expanded(a, size), lambda t: t.expand(size))),
        st.just((lambda a: a.squeeze(), lambda t: t.squeeze())))


# ---------------------------------------------------------------- the tests


@pytest.mark.slow
def test_random_programs_do_what_the_model_says(xp):
    run_state_machine_as_test(lambda: Programs(xp), settings=BUDGET)
