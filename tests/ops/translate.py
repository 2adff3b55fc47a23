"""Translate PyTorch's values and test functions to jtorch, so that PyTorch's samples become jtorch's."""
from __future__ import annotations

import dataclasses
import functools
import random
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

SEED = 1234         # PyTorch's own seed for its samples.
MOST_DIMS = 32      # Upper limit of an array's dims in NumPy and JAX; some versions have 64.


class Unsupported(Exception):
    """A sample with a feature that jtorch leaves out on purpose: a sparse layout, another device."""


class Translator:
    """Turns values of ``torch`` into values of ``jtorch``. With ``torch`` itself as the target it copies them."""

    def __init__(self, torch: Any, jtorch: Any):
        self.torch, self.jtorch = torch, jtorch
        self.rewritten: dict[Callable, Callable] = {}

    def named(self, dotted: str) -> Any:
        """Return jtorch's ``nn.functional.relu``. Raise AttributeError for missing names."""
        return functools.reduce(getattr, dotted.split("."), self.jtorch)

    def tensor(self, t: Any) -> Any:
        """Return a tensor of the same content, geometry and ``requires_grad``, in memory of its own."""
        if t.layout != self.torch.strided or t.device.type != "cpu":
            raise Unsupported(f"{t.layout} on {t.device}")
        if t.dim() > MOST_DIMS:
            raise Unsupported(f"{t.dim()} dimensions")
        with self.torch.no_grad(), self.jtorch.no_grad():
            plain = t.detach().resolve_conj().resolve_neg()
            if _is_whole(plain):
                made = self._copied(plain)
            else:
                memory = plain.as_strided((plain.untyped_storage().nbytes() // plain.element_size(),), (1,), 0)
                made = self._copied(memory).as_strided(tuple(plain.shape), plain.stride(), plain.storage_offset()).detach()
        return made.requires_grad_() if t.requires_grad else made

    def _copied(self, t: Any) -> Any:
        if self.jtorch is self.torch:
            return t.clone()
        if t.dtype == self.torch.bfloat16:
            return self.jtorch.tensor(t.float().numpy()).to(self.jtorch.bfloat16)
        return self.jtorch.tensor(t.numpy())

    def value(self, v: Any) -> Any:
        """Translate any value of a sample: tensors, dtypes, containers and functions of them."""
        torch = self.torch
        if isinstance(v, torch.Tensor):
            return self.tensor(v)
        if isinstance(v, torch.layout) and v is not torch.strided:
            raise Unsupported(str(v))
        if isinstance(v, (torch.dtype, torch.memory_format, torch.layout)):
            return self.named(str(v).removeprefix("torch."))
        if isinstance(v, torch.device):
            return self.jtorch.device(str(v))
        if isinstance(v, dict):
            return {k: self.value(x) for k, x in v.items()}
        if isinstance(v, (list, tuple)):
            made = [self.value(x) for x in v]
            return made if isinstance(v, list) else type(v)(*made) if hasattr(v, "_fields") else tuple(made)
        if isinstance(v, slice):
            return slice(*map(self.value, (v.start, v.stop, v.step)))
        if isinstance(v, torch.nn.Module) or dataclasses.is_dataclass(v):
            return self._object(v)
        return self.function(v) if callable(v) else v

    def _object(self, v: Any) -> Any:
        """Translate a module without parameters, or options, to jtorch's class of that name with the same attributes."""
        if isinstance(v, type) or self.jtorch is self.torch:
            return v
        cls = getattr(self.jtorch.nn, type(v).__name__, None)
        if cls is None:
            return v
        if dataclasses.is_dataclass(v):
            return cls(**{f.name: self.value(getattr(v, f.name)) for f in dataclasses.fields(v)})
        made = cls()
        vars(made).update({k: self.value(x) for k, x in vars(v).items() if not k.startswith("_")})
        return made

    def function(self, f: Any) -> Any:
        """Return jtorch's counterpart of a function. A test function is rewritten to call jtorch."""
        if self.jtorch is self.torch:
            return f
        if isinstance(f, types.ModuleType):
            return self._module(f)
        if isinstance(f, functools.partial):
            return functools.partial(self.function(f.func), *map(self.value, f.args), **self.value(f.keywords))
        if getattr(f, "__name__", None) == "wrapper_set_seed":
            return self._seeded
        if isinstance(f, types.FunctionType) and (f.__module__ or "").startswith("torch.testing"):
            if f not in self.rewritten:
                self.rewritten[f] = self._rewrite(f)
            return self.rewritten[f]
        if isinstance(f, type):
            return self.jtorch.Tensor if f is self.torch.Tensor else f
        name = self.name_of(f)
        return f if name is None else self.anywhere(name)

    def anywhere(self, dotted: str) -> Any:
        """Return jtorch's function of that name, else its method."""
        try:
            return self.named(dotted)
        except AttributeError:
            return self.named(f"Tensor.{dotted.rpartition('.')[2]}")

    def samples(self, made: Iterator) -> Iterator:
        """Yield the samples of ``sample_inputs_func`` or ``error_inputs_func`` in PyTorch's database, each from one seed.

        ``info.sample_inputs`` does the same, but looks for a unittest in the stack, which takes longer than all the rest.
        """
        left = iter(made)
        while True:
            self.torch.default_generator.manual_seed(SEED)
            random.seed(SEED)
            np.random.seed(SEED)
            try:
                yield next(left)
            except StopIteration:
                return

    def _seeded(self, op: Callable, *args, **kwargs) -> Any:
        self.jtorch.manual_seed(42)
        return op(*args, **kwargs)

    def _module(self, m: types.ModuleType) -> Any:
        path = m.__name__.split(".")
        if path[0] != "torch":
            return m
        try:
            return functools.reduce(getattr, path[1:], self.jtorch)
        except AttributeError:
            return m

    def name_of(self, f: Any) -> str | None:
        """Return the dotted name of ``f`` in PyTorch."""
        name = getattr(f, "__name__", None)
        for space in ("", "nn.functional", "linalg", "fft", "special", "signal.windows", "Tensor", "functional"):
            home = functools.reduce(getattr, filter(None, space.split(".")), self.torch)
            for short in (name, *_short_names(name)):
                if getattr(home, str(short), None) is f:
                    return f"{space}.{short}" if space else str(short)
        return None

    def _rewrite(self, f: types.FunctionType) -> types.FunctionType:
        """Return the same code with PyTorch's names replaced by jtorch's."""
        cells = tuple(types.CellType(self.value(c.cell_contents)) for c in f.__closure__ or ())
        defaults = tuple(map(self.value, f.__defaults__)) if f.__defaults__ else None
        made = types.FunctionType(f.__code__, self._globals(f), f.__name__, defaults, cells or None)
        made.__kwdefaults__ = self.value(f.__kwdefaults__) if f.__kwdefaults__ else None
        return made

    def _globals(self, f: types.FunctionType) -> dict:
        used = {n: f.__globals__[n] for n in _names(f.__code__) if n in f.__globals__}
        changed = {n: self.function(v) for n, v in used.items() if isinstance(v, (types.ModuleType, types.FunctionType))}
        return {**f.__globals__, **changed}


def cotangent(xp: Any, t: Any) -> Any:
    """Return the gradient of a result as a tensor of its library: the same numbers for the same shape."""
    made = np.random.default_rng(0).standard_normal((2, *t.shape))
    return xp.as_tensor(made[0] + 1j * made[1] if t.is_complex() else made[0]).to(t.dtype)


def _is_whole(t: Any) -> bool:
    return t.is_contiguous() and t.untyped_storage().nbytes() == t.numel() * t.element_size()


def _short_names(name: str | None) -> Iterator[str]:
    """Yield the short name in a namespace, if any: ``eigh`` for ``linalg_eigh``."""
    if name and name.split("_")[0] in ("linalg", "special", "fft"):
        yield name.partition("_")[2]


def _names(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names(constant)


def tensors(x: Any, cls: type) -> list:
    """Return the tensors of class ``cls`` in nested containers, in order."""
    if isinstance(x, dict):
        x = list(x.values())
    if isinstance(x, (list, tuple)):
        return [t for y in x for t in tensors(y, cls)]
    return [x] if isinstance(x, cls) else []


def leaves(x: Any) -> list:
    """Return all leaves of nested containers, in order."""
    if isinstance(x, dict):
        x = list(x.values())
    return [z for y in x for z in leaves(y)] if isinstance(x, (list, tuple)) else [x]


def array(t: Any) -> np.ndarray:
    """Return a tensor's elements as a NumPy array; bfloat16 as float32."""
    t = t.detach()
    return np.asarray((t.float() if str(t.dtype) == "torch.bfloat16" else t).numpy(force=True))


# Tolerance of results: relative, and absolute for elements of size 1.
TOLERANCE = {"float32": 2e-4, "complex64": 2e-4, "bfloat16": 2e-2, "float16": 2e-3}


def tolerance(*dtypes: Any) -> float:
    """Return the tolerance of the least precise of some dtypes, given as such or by name."""
    named = [str(d).removeprefix("torch.") for d in dtypes]
    return max(TOLERANCE.get(n, 1e-7 if n in ("float64", "complex128") else 2e-4) for n in named)


def difference(expected: Any, got: Any, near: float = 0) -> str | None:
    """Return the difference between two results in type, dtype, shape or elements, or None."""
    if hasattr(expected, "detach"):
        return _tensor_difference(expected, got, near or tolerance(expected.dtype))
    if isinstance(expected, (bool, int, float, complex)):
        same = type(expected) is type(got) and np.allclose(expected, got, rtol=1e-5, equal_nan=True)
        return None if same else f"{got!r}, not {expected!r}"
    return None if str(expected) == str(got) else f"{got!r}, not {expected!r}"


def _tensor_difference(expected: Any, got: Any, near: float) -> str | None:
    if not hasattr(got, "detach"):
        return f"a {type(got).__name__}, not a Tensor"
    if str(expected.dtype) != str(got.dtype):
        return f"dtype {got.dtype}, not {expected.dtype}"
    if tuple(expected.shape) != tuple(got.shape):
        return f"shape {tuple(got.shape)}, not {tuple(expected.shape)}"
    a, b = array(expected), array(got)
    if a.dtype.kind not in "fc":
        return None if np.array_equal(a, b) else f"{b.tolist()}, not {a.tolist()}"[:300]
    finite = np.abs(a[np.isfinite(a)])
    if np.allclose(a, b, rtol=near, atol=near * max(1.0, finite.max(initial=0)), equal_nan=True):
        return None
    with np.errstate(all="ignore"):
        return f"differs by {np.nanmax(np.abs(a - b)):.3g}: {b.ravel()[:6]}, not {a.ravel()[:6]}"


def differences(expected: Any, got: Any, near: float = 0) -> str | None:
    """Return the first difference between all leaves."""
    a, b = leaves(expected), leaves(got)
    if len(a) != len(b):
        return f"{len(b)} results, not {len(a)}"
    for i, (x, y) in enumerate(zip(a, b, strict=True)):
        wrong = difference(x, y, near)
        if wrong is not None:
            return wrong if len(a) == 1 else f"result {i}: {wrong}"
    return None
