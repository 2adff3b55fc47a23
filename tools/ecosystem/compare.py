"""Compare the numbers of two libraries."""
from __future__ import annotations

import numpy as np

# Sums of float32 in another order differ by some units in the last place. Some training steps multiply these
# differences.
RTOL, ATOL = 1e-3, 1e-4


def _of_arrays(expected: np.ndarray, actual: np.ndarray, at: str) -> str | None:
    if expected.shape != actual.shape:
        return f"{at}: shape {actual.shape}, not {expected.shape}"
    if expected.dtype.kind != actual.dtype.kind:
        return f"{at}: {actual.dtype}, not {expected.dtype}"
    if expected.dtype.kind not in "fc":
        wrong = int((expected != actual).sum())
        return f"{at}: {wrong} of {expected.size} elements differ" if wrong else None
    if np.allclose(actual, expected, RTOL, ATOL, equal_nan=True):
        return None
    with np.errstate(all="ignore"):
        return f"{at}: differs by up to {np.nanmax(np.abs(actual - expected)):.3g} (largest {np.nanmax(np.abs(expected)):.3g})"


def difference(expected: object, actual: object, at: str = "result") -> str | None:
    """Return the first difference between PyTorch's result and jtorch's; None if there is none."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        if set(expected) != set(actual):
            return f"{at}: keys {sorted(set(expected) ^ set(actual))[:4]} in one only"
        parts = [difference(expected[key], actual[key], f"{at}[{key!r}]") for key in expected]
    elif isinstance(expected, list) and isinstance(actual, list):
        if len(expected) != len(actual):
            return f"{at}: {len(actual)} items, not {len(expected)}"
        parts = [difference(e, a, f"{at}[{i}]") for i, (e, a) in enumerate(zip(expected, actual, strict=True))]
    elif isinstance(expected, (np.ndarray, float)) and isinstance(actual, (np.ndarray, float)):
        return _of_arrays(np.asarray(expected), np.asarray(actual), at)
    else:
        return None if expected == actual else f"{at}: {actual!r:.80}, not {expected!r:.80}"
    return next((part for part in parts if part is not None), None)
