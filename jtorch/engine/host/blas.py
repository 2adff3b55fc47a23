"""Choose the function of a matrix product on the host: oneDNN if it is installed, else NumPy's BLAS.

OpenBLAS divides each product of more than 2**18 multiplications among its threads. These threads then spin for a while and
keep a core from other work. So products of medium size run in one thread. oneDNN's products use the host's own threads, which
sleep.
"""
from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np

from jtorch._base.once import once
from jtorch.engine import cost, policy, stats
from jtorch.ops import _onednn

_MOST = 2**31 - 1        # The largest number of threads that OpenBLAS's function takes.
_PREFIXES, _SUFFIXES = ("scipy_openblas_", "openblas_"), ("64_", "")


def set_threads(n: int) -> None:
    """Set the number of threads that OpenBLAS may use in this process. Do nothing if NumPy uses another library."""
    threads = _openblas()
    if threads is not None:
        threads.number = min(n, _MOST)


def matmul_for(rows: int, columns: int, length: int, dtype: np.dtype) -> Callable:
    """Return a function for products of rows x length by length x columns: ``numpy.matmul`` or a faster one."""
    multiplications = rows * columns * length
    is_large, is_wide = multiplications > policy.SHARED, min(rows, columns) > policy.FEW
    if is_large and is_wide and dtype == np.float32 and _onednn.version() is not None:
        stats.counters.onednn_products += 1
        return _onednn.multiply
    threads = _openblas() if is_large and multiplications <= cost.SMALL_PRODUCT // 2 else None
    return np.matmul if threads is None else threads.matmul


class _Threads:
    """OpenBLAS's number of threads, which holds for the process. ``matmul`` sets it to 1 and restores it after the product."""

    def __init__(self, get: Callable[[], int], set_: Callable[[int], None]):
        self._get, self._set = get, set_
        self._lock, self._inside, self._before = threading.Lock(), 0, 0

    @property
    def number(self) -> int:
        """The number of threads outside of ``matmul``."""
        with self._lock:
            return self._before if self._inside else self._get()

    @number.setter
    def number(self, n: int) -> None:
        with self._lock:
            if self._inside:
                self._before = n
            else:
                self._set(n)

    def matmul(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Return ``a @ b``, computed in the calling thread."""
        with self._lock:
            if not self._inside:
                self._before = self._get()
                self._set(1)
            self._inside += 1
        try:
            return np.matmul(a, b)
        finally:
            with self._lock:
                self._inside -= 1
                if not self._inside:
                    self._set(self._before)


@once
def _openblas() -> _Threads | None:
    """Return the threads of the OpenBLAS that came with NumPy; None if NumPy uses another library."""
    package = Path(np.__file__).parent
    for path in sorted([*package.parent.glob("numpy.libs/*openblas*"), *package.glob(".dylibs/*openblas*")]):
        try:
            library = ctypes.CDLL(str(path))
        except OSError:
            continue
        for prefix, suffix in [(p, s) for p in _PREFIXES for s in _SUFFIXES]:
            found = [getattr(library, f"{prefix}{what}_num_threads{suffix}", None) for what in ("get", "set")]
            if all(found):
                return _Threads(*found)     # type: ignore[arg-type]
    return None
