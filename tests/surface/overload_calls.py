"""Calls of each overload that PyTorch's type stubs declare, as JSON, and their outcomes.

``record_overloads.py`` writes ``overload_calls.json.gz`` with PyTorch; ``test_overloads.py`` makes the calls without it.
An argument is plain JSON, or a string that ``value`` reads: ``t:float32:2,3:0`` is a tensor, ``dtype:int64`` a dtype.
"""
from __future__ import annotations

import functools
import gzip
import json
import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np

FILE = Path(__file__).with_suffix(".json.gz")
UNINITIALISED = ("empty", "resize", "set_", "new_empty")     # Their results hold arbitrary numbers.
PRECISION = {"float16": 2e-2, "bfloat16": 5e-2, "complex32": 2e-2}


@functools.cache
def recorded() -> dict[str, list]:
    """Return the recorded calls: for each overload's label a list of (owner, name, args, kwargs, outcome)."""
    return json.loads(gzip.decompress(FILE.read_bytes()))


def value(xp: Any, spec: Any) -> Any:
    """Return the argument that ``spec`` names, made with the library ``xp``."""
    if isinstance(spec, list):
        return [value(xp, s) for s in spec]
    if not isinstance(spec, str) or ":" not in spec:
        return spec
    kind, _, rest = spec.partition(":")
    return MAKERS[kind](xp, rest)


def _tensor(xp: Any, rest: str) -> Any:
    dtype, shape, seed = rest.split(":")
    return xp.from_numpy(_array(dtype, tuple(int(n) for n in shape.split(",") if n), int(seed))).to(getattr(xp, dtype))


def _array(dtype: str, shape: tuple[int, ...], seed: int) -> np.ndarray:
    """Return numbers in (0, 1), or small integers. Square matrices are symmetric and positive definite."""
    count = math.prod(shape)
    numbers = (np.arange(1, count + 1) * 0.618034 + seed * 0.37) % 1.0 * 0.9 + 0.05
    a = np.asarray(numbers.reshape(shape))
    if dtype.startswith("complex"):
        return (a + 1j * a[..., ::-1] if a.ndim else a + 0.5j).astype("complex128" if dtype == "complex128" else "complex64")
    if dtype == "bool":
        return np.asarray(a > 0.5)
    if dtype.startswith(("int", "uint")):
        return np.asarray(np.floor(a * 3)).astype(np.int64)
    if len(shape) >= 2 and shape[-1] == shape[-2]:
        a = (a + np.swapaxes(a, -1, -2)) / 4 + np.eye(shape[-1])
    return a.astype("float64" if dtype == "float64" else "float32")


def _sparse(xp: Any, rest: str) -> Any:
    layout, _, dense = rest.partition(":")
    made = _tensor(xp, dense)
    made = made * (made > 0.4)
    return getattr(made, {"coo": "to_sparse", "csr": "to_sparse_csr", "csc": "to_sparse_csc"}[layout])()


def _generator(xp: Any, rest: str) -> Any:
    return xp.Generator().manual_seed(int(rest))


def _number(xp: Any, rest: str) -> Any:
    return complex(rest)


def _ints(xp: Any, rest: str) -> Any:
    """Return a tensor of the integers that are written out."""
    return xp.tensor([int(n) for n in rest.split(",") if n])


def _attribute(xp: Any, rest: str) -> Any:
    return getattr(xp, rest)


MAKERS = {
    "t": _tensor, "sparse": _sparse, "generator": _generator, "complex": _number, "ints": _ints,
    "torch": _attribute, "device": lambda xp, rest: xp.device(rest), "text": lambda xp, rest: rest,
    "tuple": lambda xp, rest: tuple(json.loads(rest)), "object": lambda xp, rest: object(),
    "identity": lambda xp, rest: (lambda *x: x[0] if x else None), "slice": lambda xp, rest: slice(*json.loads(rest)),
    "storage": lambda xp, rest: xp.arange(float(rest)).untyped_storage(),
    "typed_storage": lambda xp, rest: xp.arange(float(rest)).storage(),
}


def outcome(xp: Any, owner: str, name: str, args: list, kwargs: dict) -> Any:
    """Return what the call gives, described by shapes, dtypes and a sum; or the error's type."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        xp.manual_seed(0)
        given = [value(xp, a) for a in args]
        named = {k: value(xp, v) for k, v in kwargs.items()}
        function = getattr(xp.Tensor if owner == "Tensor" else xp, name)
        try:
            made = function(*given, **named)
            shown = describe(xp, made, name)
            if owner == "Tensor" or name.endswith("_") or "inplace" in named:
                shown = [shown, describe(xp, given[:1], name)]
            return shown
        except Exception as error:      # noqa: BLE001  (the outcome names the error)
            return {"error": type(error).__name__}


def describe(xp: Any, x: Any, name: str) -> Any:
    """Return a result as JSON, for a comparison of two libraries."""
    if isinstance(x, xp.Tensor):
        return {"tensor": [str(x.dtype), list(x.shape), str(x.layout), *_sum(x, name)]}
    if isinstance(x, (list, tuple)):
        return [describe(xp, v, name) for v in x]
    if isinstance(x, np.ndarray):
        return {"array": [str(x.dtype), list(x.shape)]}
    if isinstance(x, complex):
        return {"complex": [x.real, x.imag]}
    if x is None or isinstance(x, (bool, int, float, str)):
        return x
    return str(x) if type(x).__name__ in ("dtype", "device", "layout", "memory_format") else {"a": type(x).__name__}


def _sum(x: Any, name: str) -> list[float]:
    """Return a weighted sum of the absolute values; signs of eigenvectors and the like are free."""
    if any(name.startswith(n) or n in name for n in UNINITIALISED) or not x.numel():
        return []
    if str(x.layout) != "torch.strided":
        x = x.to_dense()
    a = np.asarray(x.detach().resolve_conj().resolve_neg().tolist())
    a = np.abs(np.ravel(np.nan_to_num(a, nan=7e3, posinf=8e3, neginf=9e3)).astype(np.complex128))
    return [float(np.sum(a * (1 + np.arange(a.size) % 7 / 7)))]


def same(a: Any, b: Any, rtol: float = 1e-3) -> bool:
    """Return whether two outcomes agree, with floats to ``rtol``."""
    if isinstance(a, dict) and isinstance(b, dict):
        if "tensor" in a and "tensor" in b:
            rtol = PRECISION.get(a["tensor"][0].removeprefix("torch."), rtol)
        return a.keys() == b.keys() and all(same(a[k], b[k], rtol) for k in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(same(x, y, rtol) for x, y in zip(a, b, strict=True))
    if isinstance(a, float) and isinstance(b, float):
        return a == b or abs(a - b) <= rtol * max(abs(a), abs(b), 1e-2) or (a != a and b != b)
    return type(a) is type(b) and a == b
