"""Outcomes (values, layout, errors, warnings) of one body run by a library, and their comparison."""
from __future__ import annotations

import cmath
import re
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

WRONG_CALL = re.compile(r"missing \d|takes .*argument|unexpected keyword|invalid combination of arguments|takes no keyword")


def first_sentence(message: str) -> str:
    """Return the first sentence of an error's text, or "wrong call" for an unmatched signature."""
    line = message.strip().splitlines()[0] if message.strip() else ""
    if WRONG_CALL.search(line):
        return "wrong call"
    line = re.sub(r" \(position \d\)| \(Triggered internally.*", "", line)
    return re.split(r"\.\s|\.$", line)[0].strip()


def describe(x: Any) -> Any:
    """Return ``x`` as plain data, for a comparison of two libraries."""
    name = type(x).__name__
    if name in ("Tensor", "Parameter"):
        data = x.detach().tolist()
        stride = x.stride() if x.numel() else None      # Without elements, any strides are right.
        return (name, str(x.dtype), tuple(x.shape), stride, x.requires_grad, str(x.device), data)
    if isinstance(x, np.ndarray):
        return ("ndarray", str(x.dtype), x.shape, x.tolist())
    if isinstance(x, np.generic):
        return (type(x).__name__, x.item())
    if isinstance(x, dict):
        return {k: describe(v) for k, v in x.items()}
    if isinstance(x, (list, tuple)):
        return (name, [describe(v) for v in x])
    if x is None or isinstance(x, (bool, int, float, complex, str, bytes)):
        return x
    return repr(x)


def outcome(body: Callable[[Any], Any], xp: Any) -> Any:
    """Return the described result of ``body(xp)``, or its error, with the categories of its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = ("returns", describe(body(xp)))
        except Exception as error:
            result = ("raises", type(error).__name__, first_sentence(str(error)))
    warned = {first_sentence(str(w.message)) for w in caught if issubclass(w.category, UserWarning)}
    return (*result, ("warns", sorted(warned))) if warned else result


def close(a: Any, b: Any, rtol: float) -> bool:
    """Return whether two described results are equal, floats to a relative precision."""
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(close(a[k], b[k], rtol) for k in a)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(close(x, y, rtol) for x, y in zip(a, b, strict=True))
    if isinstance(a, (float, complex)):
        return a == b or (cmath.isnan(a) and cmath.isnan(b)) or abs(a - b) <= rtol * max(abs(a), abs(b), 1e-3)
    return a == b


def where(a: Any, b: Any, rtol: float, path: str = "") -> str:
    """Return the first place at which two described results differ, with both values."""
    if type(a) is type(b) and isinstance(a, (list, tuple)) and len(a) == len(b):
        for k, (x, y) in enumerate(zip(a, b, strict=True)):
            if not close(x, y, rtol):
                return where(x, y, rtol, f"{path}[{k}]")
    return f"at {path}: {a}  !=  {b}"


def compare(labels: Iterable[str], expected: Iterable[Any], got: Iterable[Any], rtol: float = 1e-5) -> None:
    """Fail with all bodies whose outcomes differ. Each shows the expected outcome first."""
    wrong = [f"[{k}] {label}\n    {where(a, b, rtol)}"
             for k, (label, a, b) in enumerate(zip(labels, expected, got, strict=True)) if not close(a, b, rtol)]
    assert not wrong, f"{len(wrong)} outcomes differ (expected != got):\n" + "\n".join(wrong)
