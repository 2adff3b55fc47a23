"""Objects to save, and what a test compares of what it has loaded: the same functions for PyTorch and jtorch."""
from __future__ import annotations

import io
import warnings
from collections import OrderedDict
from typing import Any

import numpy as np
import pytest
from libraries import HAS_TORCH, NO_TORCH, library

NEEDS_TORCH = pytest.mark.skipif(not HAS_TORCH, reason=NO_TORCH)
DIRECTIONS = [pytest.param(("torch", "jtorch"), id="from-torch", marks=NEEDS_TORCH),
              pytest.param(("jtorch", "torch"), id="to-torch", marks=NEEDS_TORCH),
              pytest.param(("jtorch", "jtorch"), id="here")]


def both(direction):
    """Return the two libraries of a direction."""
    return tuple(map(library, direction))


def saved(xp, obj: Any, **options: Any) -> bytes:
    """Return the bytes that ``xp.save`` writes for an object."""
    buffer = io.BytesIO()
    xp.save(obj, buffer, **options)
    return buffer.getvalue()


def loaded(xp, data: bytes, **options: Any) -> Any:
    """Return the object that ``xp.load`` reads from bytes."""
    return xp.load(io.BytesIO(data), **options)


def is_tensor(x: Any) -> bool:
    """Return whether this is a tensor of either library."""
    return hasattr(x, "storage_offset")


def elements(t: Any) -> list:
    """Return a tensor's elements as bytes, in order."""
    xp = library(type(t).__mro__[-2].__module__.split(".")[0] if not HAS_TORCH else
                 "torch" if isinstance(t, library("torch").Tensor) else "jtorch")
    flat = t.detach().clone().reshape(-1)
    if flat.dtype in (xp.complex64, xp.complex128):
        flat = xp.view_as_real(flat).reshape(-1)
    return flat.view(xp.uint8).tolist() if flat.numel() else []


def described(x: Any) -> Any:
    """Return an object with each tensor replaced by its visible properties, so that two libraries' objects compare."""
    if is_tensor(x):
        return (type(x).__name__, str(x.dtype), tuple(x.shape), tuple(x.stride()), x.storage_offset(), x.requires_grad,
                x.untyped_storage().nbytes(), str(x.device), elements(x) if str(x.device) != "meta" else None)
    if isinstance(x, dict):
        return type(x).__name__, [(described(k), described(v)) for k, v in x.items()], described(vars(x)) if hasattr(
            x, "__dict__") else None
    if isinstance(x, (list, tuple)):
        return type(x).__name__, [described(v) for v in x]
    plain = x is None or isinstance(x, (int, float, str, bytes, set, complex, bytearray))
    return (type(x).__name__, x) if plain else repr(x)


INTEGERS = "uint8 int8 int16 int32 int64 uint16 uint32 uint64"
FLOATS = "float16 bfloat16 float32 float64 complex64 complex128"
BYTES = "float8_e5m2 float8_e4m3fn float8_e5m2fnuz float8_e4m3fnuz float8_e8m0fnu"


def of_all_dtypes(xp) -> dict:
    """Return a tensor of each dtype."""
    made = {name: xp.arange(6).reshape(2, 3).to(getattr(xp, name)) for name in f"{INTEGERS} {FLOATS} bool".split()}
    made |= {name: xp.arange(40, 46, dtype=xp.uint8).view(getattr(xp, name)) for name in BYTES.split()}
    made["special"] = xp.tensor([float("nan"), float("inf"), -0.0, 1e-45])
    return made


def classic_dtypes(xp) -> dict:
    """Return a tensor of each dtype that PyTorch's legacy format can hold."""
    return {k: v for k, v in of_all_dtypes(xp).items() if k not in ("uint16", "uint32", "uint64", *BYTES.split())}


def views(xp) -> dict:
    """Return tensors that share storages, with many geometries."""
    base = xp.arange(24.).reshape(2, 3, 4)
    other = xp.arange(5)
    return {"base": base, "same": base, "alias": base.detach(), "part": base[1:, :, ::2], "transposed": base.transpose(0, 2),
            "flat": base.view(-1), "expanded": base[0, 0, :1].expand(3, 4), "tail only": xp.arange(10)[7:], "scalar": other[3],
            "first": other[:3], "diagonal": base[0].diagonal(), "empty": base[:0], "no elements": xp.zeros(0, 3),
            "one": xp.tensor(3.5), "unsqueezed": other[None, :, None]}


def of_arrays(xp) -> dict:
    """Return tensors made of NumPy arrays with many memory layouts."""
    whole = np.arange(24.).reshape(2, 3, 4)
    arrays = {"transposed": whole[0].T, "fortran": np.asfortranarray(whole), "permuted": whole.transpose(1, 2, 0),
              "steps": whole[:, :, ::2], "part": whole[0, 1:, 1:3], "column": np.arange(3.).reshape(1, 3).T,
              "broadcast": np.broadcast_to(np.arange(2.)[:, None], (2, 3)), "0-dim": whole[0, 0, :1].reshape(()),
              "empty": np.zeros((0, 3)).T, "windows": np.lib.stride_tricks.sliding_window_view(np.arange(5.), 3),
              "complex": whole[0].T.astype(np.complex64), "bool": whole[0].T > 3}
    ways = {"tensor": xp.tensor, "from_numpy": xp.from_numpy, "as_tensor": xp.as_tensor, "asarray": xp.asarray}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")     # Some of the arrays are read-only.
        made = {(name, way): ways[way](a) for name, a in arrays.items() for way in ways}
    return made | {"buffer": xp.frombuffer(bytearray(32), dtype=xp.float32, count=3, offset=8),
                   "parameter": xp.nn.Parameter(xp.tensor(whole.T)), "in place": xp.tensor(whole[0].T).add_(1)}


def requiring_grad(xp) -> dict:
    """Return leaves, parameters and results."""
    w = xp.nn.Parameter(xp.arange(4.).reshape(2, 2))
    x = xp.ones(2, requires_grad=True)
    w.grad = xp.ones(2, 2)
    return {"w": w, "again": w, "frozen": xp.nn.Parameter(xp.ones(3), requires_grad=False), "x": x, "result": x * 2,
            "view of w": w.detach()[0]}


def plain_things(xp) -> dict:
    """Return objects other than tensors."""
    state = OrderedDict(a=1, b=OrderedDict(c=2))
    state._metadata = {"version": 1}
    return {"numbers": [0, 1, -1, 255, 256, 65536, 2 ** 31, -2 ** 31, 2 ** 63, -2 ** 200, 0.5, float("inf"), True, False, 1 + 2j],
            "strings": ["", "a", "é€😀", "x" * 300, "\ud800"], "bytes": [b"\0\xff", bytearray(b"ab")], "none": None,
            "tuples": [(), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4)], "set": {1, "a"}, "nested": {1: {2: [{3: (4, [5])}]}},
            "ordered": state, (1, "key"): xp.float32, "dtypes": [xp.bool, xp.bfloat16, xp.float8_e5m2], "size": xp.Size([2, 0]),
            "devices": [xp.device("cpu"), xp.device("cuda", 1), xp.device("meta")], "layout": xp.strided}


CASES = {f.__name__: f for f in (of_all_dtypes, classic_dtypes, views, of_arrays, requiring_grad, plain_things)}
