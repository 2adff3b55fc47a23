"""Run random programs with PyTorch and with jtorch, and compare all visible state after each step."""
from __future__ import annotations

import copy
import ctypes
import os
import random
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
from chooser import Chooser
from statements import start, statement

HOT = os.environ.get("JTORCH_ENGINE") == "hot"
LIMIT = 1e6         # A program ends once its numbers exceed this, because only rounding would be compared.


class World:
    """One library's side of a program: the objects of its names, and the log of its hooks."""

    def __init__(self, xp: ModuleType):
        self.xp = xp
        self.log: list = []
        self.broken = False     # True once a bug or a late error of the library makes further comparisons useless.
        self.names: dict[str, Any] = {"xp": xp, "np": np, "copy": copy, "log": self.log, "poke": poke}

    def run(self, line: str) -> tuple:
        """Run a statement. Return (), or ("raises", type, first sentence) of its error."""
        try:
            exec(_compiled(line), self.names)
            self._settle()
        except Exception as e:
            self.broken = self.broken or "INTERNAL ASSERT" in str(e)
            return ("raises", type(e).__name__, first_sentence(str(e)))
        return ()

    def _settle(self) -> None:
        """End a trace with a deferred check of values, so that its error belongs to the statement."""
        if self.xp.__name__ != "jtorch" or not HOT:
            return
        engine = self.xp.engine
        if any(s.kernel.check is not None for s in engine.current().state.path()):
            try:
                engine.end()
            except Exception:
                # The tensors that the statement assigned are never computed, while PyTorch keeps the earlier ones.
                self.broken = True
                raise

    def pool(self) -> dict[str, Any]:
        """Return the tensors and arrays by name."""
        return {n: x for n, x in self.names.items() if re.fullmatch(r"[tn]\d+", n)}

    def state(self, *, values: bool, history: bool) -> dict[str, Any]:
        """Return the visible state of the tensors and arrays."""
        pool = self.pool()
        tensors = {n: t for n, t in pool.items() if isinstance(t, self.xp.Tensor)}
        groups: dict[int, str] = {}
        out: dict[str, Any] = {"log": list(self.log)} if values else {}
        for n, x in pool.items():
            if n not in tensors:
                out[n] = {"array": x.tolist(), "type": type(x).__name__, "dtype": f"torch.{x.dtype}"} \
                    if values and isinstance(x, np.ndarray) else {"type": type(x).__name__}
                continue
            out[n] = _described(x, values=values, history=history)
            if x.numel():
                out[n]["memory of"] = groups.setdefault(x.untyped_storage()._cdata, n)
            if x._is_view():
                out[n]["base"] = next((m for m, t in tensors.items() if t is x._base), "unnamed")
        return out


def poke(t: Any, number: float) -> None:
    """Write a tensor's first element through its address."""
    dtype = np.dtype(str(t.dtype).removeprefix("torch."))
    memory = (ctypes.c_char * dtype.itemsize).from_address(t.data_ptr())
    np.frombuffer(memory, dtype)[...] = np.array(number).astype(dtype)


_code: dict[str, Any] = {}


def _compiled(line: str) -> Any:
    found = _code.get(line)
    if found is None:
        if len(_code) > 10_000:
            _code.clear()
        found = _code[line] = compile(line, "<program>", "exec")
    return found


def first_sentence(text: str) -> str:
    """Return the first sentence of a message."""
    return re.split(r"(?<=[.!?])\s|\n", text.strip(), maxsplit=1)[0]


def _ask(fn) -> Any:
    try:
        return fn()
    except Exception as e:
        if "INTERNAL ASSERT" in str(e):
            raise
        return ("raises", type(e).__name__)


def _described(t: Any, *, values: bool, history: bool) -> dict[str, Any]:
    grad = t.grad
    found = {"shape": tuple(t.shape), "dtype": str(t.dtype), "version": _ask(lambda: t._version),
             "requires_grad": t.requires_grad, "view": t._is_view(), "contiguous": t.is_contiguous()}
    if t.numel():
        found["stride"], found["offset"] = t.stride(), t.storage_offset()
    if history:
        found["grad_fn"] = _ask(lambda: type(t.grad_fn).__name__)
        found["leaf"] = _ask(lambda: t.is_leaf)
    if values:
        found["values"] = t.detach().cpu().resolve_conj().tolist()
        found["grad"] = None if grad is None else (tuple(grad.shape), _strides(grad) if grad.numel() else None, str(grad.dtype),
                                                   grad.requires_grad, grad.detach().tolist())
    return found


def _strides(grad: Any) -> list:
    """Return the strides of dims with several elements. Those of other dims have no effect, and may differ in PyTorch."""
    return [s for n, s in zip(grad.shape, grad.stride(), strict=True) if n != 1]


# ---------------------------------------------------------------- comparing


class Scale:
    """The largest number of a program; differences are relative to it."""

    def __init__(self):
        self.largest = 1.0
        self.nan = False

    def note(self, x: Any) -> None:
        """Include all numbers of nested lists and dicts."""
        if isinstance(x, dict):
            for v in x.values():
                self.note(v)
        elif isinstance(x, (list, tuple)):
            for v in x:
                self.note(v)
        elif isinstance(x, (int, float, complex)) and not isinstance(x, bool):
            size = abs(x)
            self.nan = self.nan or size != size
            if size > self.largest:     # The comparison is False for nan.
                self.largest = size if size != float("inf") else 1e300


def same(a: Any, b: Any, tolerance: float) -> bool:
    """Return whether two descriptions are equal, numbers up to a tolerance."""
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(same(v, b[k], tolerance) for k, v in a.items())
    if isinstance(a, (list, tuple)):
        return isinstance(b, (list, tuple)) and len(a) == len(b) and all(map(same, a, b, [tolerance] * len(a)))
    if isinstance(a, (float, complex)) and isinstance(b, (int, float, complex)):
        return a == b or (a != a and b != b) or abs(a - b) <= tolerance
    return type(a) is type(b) and a == b


def difference(expected: dict, got: dict, tolerance: float) -> str | None:
    """Return the first place at which two states differ."""
    if expected.keys() != got.keys():
        return f"names: {sorted(expected)} != {sorted(got)}"
    for name, e in expected.items():
        g = got[name]
        if not isinstance(e, dict):
            if not same(e, g, tolerance):
                return f"{name}: {e} != {g}"
            continue
        for key in e.keys() | g.keys():
            if not same(e.get(key), g.get(key), tolerance):
                return f"{name}.{key}: {e.get(key)} != {g.get(key)}"
    return None


# ---------------------------------------------------------------- running


@dataclass
class Found:
    """A program with a difference after its last step."""

    lines: list[str]
    what: str

    def __str__(self):
        return "\n".join([*self.lines, f"# PyTorch != jtorch: {self.what}"])


@dataclass
class Looks:
    """How often values and histories are compared. A read ends a trace, and reading ``grad_fn`` may make a node."""

    values_every: int = 1
    history_every: int = 1
    messages: bool = False


class Pair:
    """A program that runs with both libraries."""

    note: Callable[[bytes], Any] = staticmethod(lambda side: None)      # Called with the library that is about to run.

    def __init__(self, torch: ModuleType, jtorch: ModuleType, looks: Looks):
        self.torch, self.jtorch, self.looks = World(torch), World(jtorch), looks
        self.scale, self.done, self.bits = Scale(), 0, False
        self.single = False         # True once a tensor has single precision; other tensors may hold its rounded values.

    def step(self, line: str, last: bool = False) -> str | None:
        """Run a statement with both libraries, and return the difference, if any."""
        self.done += 1
        self.bits = self.bits or "view(xp.int" in line
        self.note(b"t")
        expected = self.torch.run(line)
        self.note(b"j")
        got = self.jtorch.run(line)
        if self.torch.broken:
            return None
        if expected[:2] != got[:2] or (self.looks.messages and expected != got):
            return f"{expected or 'no error'} != {got or 'no error'}"
        if self.jtorch.broken:
            return None
        values = last or self.done % self.looks.values_every == 0
        history = last or self.done % self.looks.history_every == 0
        try:
            states = [self.torch.state(values=values, history=history)]
        except Exception:       # The tensor can no longer be read.
            self.torch.broken = True
            return None
        try:
            states.append(self.jtorch.state(values=values, history=history))
        except Exception as e:
            return f"looking at the tensors raises {e!r}"
        self.scale.note(states[0])
        if self.over:
            return None
        self.single |= any(isinstance(s, dict) and s.get("dtype") in ("torch.float32", "torch.complex64") for s in states[0].values())
        return difference(*states, (2e-5 if self.single else 1e-9) * self.scale.largest)

    @property
    def over(self) -> bool:
        """Return whether the program must end: large numbers, visible bits of a nan, or a broken library."""
        return self.scale.largest > LIMIT or (self.bits and self.scale.nan) or self.torch.broken \
            or self.jtorch.broken


def run(seed: int, torch: ModuleType, jtorch: ModuleType, steps: int = 16, messages: bool = False) -> Found | None:
    """Make and run the program of a seed, and return its difference."""
    rng = random.Random(seed)
    looks = Looks(rng.choice([1, 1, 2, 5, 100]), rng.choice([1, 1, 3, 100]), messages)
    lines: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pair = Pair(torch, jtorch, looks)
        chooser = Chooser(rng, {})
        chooser.bool_ = torch.bool
        todo = start(chooser)
        while todo or len(lines) < steps:
            if not todo:
                chooser.pool = {n: x for n, x in pair.torch.pool().items() if n[0] == "n" or isinstance(x, torch.Tensor)}
                if not chooser.tensors():
                    return None
                todo = statement(chooser)
            lines.append(todo.pop(0))
            what = pair.step(lines[-1], last=not todo and len(lines) >= steps)
            if what is not None and of_rounding(lines, torch, jtorch):
                return None
            if what is not None:
                return shrunk(Found(lines, what), torch, jtorch, looks)
            if pair.over:
                return None
    return None


def of_rounding(lines: list[str], torch: ModuleType, jtorch: ModuleType) -> bool:
    """Return whether rounding before the last statement explains the difference.

    Two numbers may be on different sides of an integer, or be large angles. A zero in complex numbers may have another sign:
    PyTorch's depends on the processor's vectors, and branch cuts, angles and reciprocals show it.
    """
    worlds = World(torch), World(jtorch)
    of_angles = any(re.search(r"\b(sin|cos|tan|polar|sinc)_?\(", line) for line in lines)
    for line in lines[:-1]:
        found = []
        for world in worlds:
            world.run(line)
            found.append({n: t for n, t in world.pool().items() if isinstance(t, world.xp.Tensor)})
        for name, t in found[0].items():
            other = found[1].get(name, t)
            if (t.is_complex() or t.is_floating_point()) and t.shape == other.shape and _of_rounding(t, other, of_angles):
                return True
    return False


def _of_rounding(t: Any, other: Any, of_angles: bool) -> bool:
    try:
        expected, got = _parts(t), _parts(other)
    except Exception:       # This tensor cannot be read.
        return False
    return bool((t.is_complex() and _of_other_sign(expected, got)) or _apart(expected, got)
                or (of_angles and (np.abs(expected - got) > (1e-8 if expected.itemsize == 8 else 1e-5)).any()))


def _of_other_sign(a: np.ndarray, b: np.ndarray) -> bool:
    return (np.signbit(a) != np.signbit(b))[(a == 0) & (b == 0)].any()


def _apart(a: np.ndarray, b: np.ndarray) -> bool:
    """Return whether an integer lies between two nearly equal numbers."""
    near = np.isclose(a, b, rtol=1e-6, atol=1e-9)
    return ((np.floor(a) != np.floor(b)) | (np.ceil(a) != np.ceil(b)))[near].any()


def _parts(t: Any) -> np.ndarray:
    array = t.detach().resolve_conj().resolve_neg().numpy(force=True)
    return np.stack([array.real, array.imag])


def replay(lines: list[str], torch: ModuleType, jtorch: ModuleType, looks: Looks) -> Found | None:
    """Run given statements, and return the first difference."""
    pair = Pair(torch, jtorch, looks)
    for i, line in enumerate(lines):
        what = pair.step(line, last=i == len(lines) - 1)
        if what is not None:
            return Found(lines[:i + 1], what)
    return None


def _kind(what: str) -> str:
    return re.sub(r"[tn]\d+|[-\d.e]+", "", what)[:40] if what.startswith("(") or "no error" in what else what.split(":")[0].split(".")[-1]


def shrunk(found: Found, torch: ModuleType, jtorch: ModuleType, looks: Looks) -> Found:
    """Find the same difference with fewer statements."""
    best = found
    changed = True
    while changed:
        changed = False
        for i in range(len(best.lines) - 2, -1, -1):
            again = replay(best.lines[:i] + best.lines[i + 1:], torch, jtorch, looks)
            if again is not None and _kind(again.what) == _kind(best.what) and "NameError" not in again.what:
                best, changed = again, True
                break
    return best
