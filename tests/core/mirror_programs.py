"""Random programs and the text of their state, for tests that run the same program in several ways."""
from __future__ import annotations

import importlib
import weakref
from typing import Any

import numpy as np

import jtorch as torch
from jtorch import engine, storage, tape
from jtorch.engine import Value, policy
from jtorch.engine.trie import State, Trie

# The attribute jtorch.engine.trace is a function, not the module.
traces = importlib.import_module("jtorch.engine.trace")

SHAPES = [(), (3,), (3,), (2, 3), (2, 3), (3, 3), (1, 3), (0, 3), (2, 2, 3)]
DTYPES = [torch.float32] * 8 + [torch.float64, torch.int64, torch.bool, torch.complex64]
NUMBERS = [2, 2.0, True, -0.5, 0, 1j]

UNARY = ["tanh", "exp", "neg", "relu", "sigmoid", "abs", "sum", "mean", "floor", "sqrt", "t", "clone", "contiguous", "isnan", "round",
         "square", "log1p", "prod", "double", "detach", "trunc", "conj", "angle", "std"]
WITH_DIM = ["softmax", "cumsum", "max", "sort", "unbind", "squeeze", "unsqueeze", "logsumexp", "argmax", "flip", "sum", "cumprod"]
BINARY = ["add", "sub", "mul", "div", "pow", "maximum", "lt", "matmul", "atan2", "fmod", "__add__", "__mul__", "__truediv__", "__rsub__"]
INPLACE = ["add_", "mul_", "sub_", "div_", "pow_", "copy_", "fill_", "atan2_"]
INPLACE_UNARY = ["tanh_", "zero_", "exp_", "relu_", "neg_", "sigmoid_", "t_", "detach_", "requires_grad_"]


class Program:
    """Statements drawn from a seed, run one by one. Each adds to the existing tensors. Errors are recorded and
    skipped.
    """

    def __init__(self, seed: int, length: int = 16):
        self.rng = np.random.default_rng(seed)
        self.tensors: list[Any] = [self.new() for _ in range(4)]
        self.kept: list[Any] = []       # These NumPy arrays share memory with tensors.
        self.said: list[str] = []       # The errors, and the results other than tensors.
        self.length = length

    def pick(self, choices: list) -> Any:
        return choices[self.rng.integers(len(choices))]

    def new(self) -> Any:
        dtype, shape = self.pick(DTYPES), self.pick(SHAPES)
        t = torch.tensor(self.rng.integers(-3, 4, shape) * 0.5 + 0.25).to(dtype)
        engine.read(t._storage.content())
        return t.requires_grad_() if dtype.is_floating_point and self.rng.random() < 0.6 else t

    def run(self) -> None:
        modes = [*[torch.enable_grad] * 8, *[torch.no_grad] * 3, *[torch.inference_mode] * 2]
        kinds = [*[self.call] * 6, *[self.write, self.view, self.backward, self.step] * 2, self.rows, self.other]
        for _ in range(self.length):
            statement, mode = self.pick(kinds), self.pick(modes)
            try:
                with mode():
                    made = statement()
            except Exception as error:
                self.said.append(f"{statement.__name__}: {type(error).__name__}: {error}")
                continue
            for t in made if isinstance(made, (tuple, list)) else (made,):
                if isinstance(t, torch.Tensor):
                    self.tensors.append(t)
                else:
                    self.said.append(repr(t))

    def operand(self) -> Any:
        return self.pick(self.tensors) if self.rng.random() < 0.7 else self.pick(NUMBERS)

    def call(self) -> Any:
        t, kind = self.pick(self.tensors), self.rng.integers(3)
        if kind == 0:
            return getattr(t, self.pick(UNARY))()
        if kind == 1:
            return getattr(t, self.pick(WITH_DIM))(int(self.rng.integers(-1, 2)))
        return getattr(t, self.pick(BINARY))(self.operand())

    def write(self) -> Any:
        t = self.pick(self.tensors)
        if self.rng.random() < 0.3:
            return getattr(t, self.pick(INPLACE_UNARY))()
        return getattr(t, self.pick(INPLACE))(self.operand())

    def view(self) -> Any:
        t = self.pick(self.tensors)
        make = [lambda: t[0], lambda: t[..., 1:], lambda: t.mT, lambda: t.view(-1), lambda: t.expand(2, *t.shape), lambda: t.data,
                lambda: t.reshape(3, -1), lambda: t[0, 1], lambda: t[[0, 1]]]
        return self.pick(make)()

    def rows(self) -> Any:
        t = self.pick(self.tensors[:4])     # The tensor is an older one, as a data set is.
        return [t[0], t[0], t[-1]]

    def other(self) -> Any:
        t, other = self.pick(self.tensors), self.operand()

        def shares() -> None:
            array = t.detach().numpy()
            array[...] = 1
            self.kept.append(array)

        make = [shares, lambda: t.register_hook(lambda grad: grad * 2), t.retain_grad, lambda: setattr(t, "grad", None),
                lambda: torch.where(t > 0, t, other), lambda: torch.nn.Parameter(t), lambda: setattr(t, "data", other),
                lambda: t.__setitem__(0, other), lambda: torch.cat([t, other]), lambda: self.in_autocast(t, other)]
        made = self.pick(make)()
        return made if isinstance(made, torch.Tensor) else None

    def in_autocast(self, t: Any, other: Any) -> Any:
        with torch.autocast("cpu", torch.bfloat16):
            return t @ other

    def backward(self) -> None:
        graphs = [t for t in self.tensors if t.grad_fn is not None] or self.tensors
        self.pick(graphs[-4:]).sum().backward(retain_graph=bool(self.rng.random() < 0.4))

    def step(self) -> None:
        leaves = list({id(t): t for t in self.tensors if t.is_leaf and t.requires_grad}.values())
        if leaves:
            torch.optim.SGD(leaves, 0.5, momentum=0.9).step()


def run(seed: int) -> list[str]:
    """Run the program of a seed in a trace of its own, and return the text of its state."""
    recorder = traces.local.recorder
    recorder.longest, recorder.cuts = 8 if seed % 4 == 0 else policy.MAX_CALLS, 0
    recorder.begin()
    first = tape.sequence()
    program = Program(seed)
    program.run()
    trace = recorder.trace
    told = [*program.said, *Description(first, trace).of([trace, program.tensors])]
    if trace.mode is traces.DEFERRED and not trace.noting:
        try:
            traces.catch_up(trace, trace.state)
        except Exception as error:
            told.append(repr(error))
    recorder.longest, recorder.cuts = policy.MAX_CALLS, 0
    recorder.begin()
    return told + [_text(t) for t in program.tensors]


def _text(t: Any) -> str:
    try:
        value = storage.value_of(t)
        engine.read(value)
        return engine.host_array(value).tobytes().hex()
    except Exception as error:
        return repr(error)


def begin_anew(monkeypatch: Any, held: bool) -> None:
    """Give the thread an empty trie. With ``held`` all calls are deferred from the first on."""
    monkeypatch.setattr("jtorch.engine.trie.ENGINE_MODE", "hot" if held else "auto")
    monkeypatch.setattr("jtorch.engine.policy.DOZENS", 1)
    monkeypatch.setattr(traces.local.recorder, "trie", Trie())
    traces.local.recorder.begin()


class Description:
    """The contents of objects, line by line. Each object is described once. Calls, avals and states are interned, so
    ids name them.
    """

    def __init__(self, first: int, trace: Any):
        self.first, self.trace = first, trace
        self.numbers: dict[int, int] = {}
        self.lines: list[str] = []
        self.alive: list[Any] = []

    def of(self, objects: Any) -> list[str]:
        self.tell(objects)
        return self.lines

    def tell(self, x: Any) -> str:
        """Return a short name of an object. At its first use add a line with its contents."""
        if isinstance(x, weakref.ref):
            return f"weak {self.tell(x())}"
        if isinstance(x, (tuple, list)):
            return f"{type(x).__name__}({', '.join([self.tell(y) for y in x])})"
        if isinstance(x, dict):
            return f"dict({', '.join([f'{key}: {self.tell(y)}' for key, y in x.items() if not isinstance(key, int)])} {len(x)})"
        if isinstance(x, np.ndarray):
            return f"array {x.dtype} {x.shape} {x.tobytes().hex()}"
        if not isinstance(x, (torch.Tensor, storage.Storage, storage.View, storage.VersionCounter, storage.SavedTensorRef, tape.Node, Value,
                              traces.Trace)):
            return self.plain(x)
        if id(x) not in self.numbers:
            self.numbers[id(x)] = n = len(self.numbers)
            self.alive.append(x)
            self.lines.append(f"{n} {type(x).__name__}: {', '.join([f'{name}={self.tell(y)}' for name, y in self.parts(x)])}")
        return f"{type(x).__name__} {self.numbers[id(x)]}"

    def plain(self, x: Any) -> str:
        if isinstance(x, (int, float, complex, str, bool)) or x is None:
            return repr(x)
        if isinstance(x, (engine.Call, engine.Aval, State, torch.dtype, torch.device)):
            return f"{type(x).__name__} at {id(x)}"
        return type(x).__name__

    def parts(self, x: Any) -> list[tuple[str, Any]]:
        if isinstance(x, Value):
            return self.parts_of_value(x)
        names = [name for cls in type(x).__mro__ for name in getattr(cls, "__slots__", ()) if not name.startswith("__")]
        found = [(name, getattr(x, name)) for name in names if hasattr(x, name)]
        found += [(name, y) for name, y in sorted(getattr(x, "__dict__", {}).items()) if y is not None]
        return [(name, y - self.first if name == "seq" and y != tape.AT_ONCE else y) for name, y in found if name not in ("begun", "number", "first_row")]

    def parts_of_value(self, v: Value) -> list[tuple[str, Any]]:
        here = v.stamp is self.trace
        return [("aval", v.aval), ("slot", v.slot if here else None), ("here", here), ("born", v.born is self.trace),
                ("computed", v.array is not None)]
