"""Products on the host: by oneDNN where it is installed, else by NumPy's BLAS in as many threads as pay.

OpenBLAS shares each product of more than 2**18 multiplications among its threads. They stay awake for about 25 ms afterwards
and so keep a core from everything else. oneDNN's products use the host's own threads, which sleep.
"""
from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np

from jtorch._base.once import once
from jtorch.engine import stats
from jtorch.ops import _onednn

SHARED = 1 << 18    # multiplications of one product: OpenBLAS uses threads for more
LARGE = 1 << 20     # multiplications of one product: OpenBLAS's threads pay for more
NARROW = 4          # rows or columns: oneDNN is slower than BLAS for fewer
MANY = 1 << 12      # threads; OpenBLAS takes fewer, too
_PREFIXES, _SUFFIXES = ("scipy_openblas_", "openblas_"), ("64_", "")


def set_threads(n: int) -> None:
    """How many threads OpenBLAS, which is the process's, may use from now on; nothing where NumPy uses another library."""
    threads = _openblas()
    if threads is not None:
        threads.number = min(n, MANY)


def matmul_for(rows: int, columns: int, length: int, dtype: np.dtype) -> Callable:
    """Return ``numpy.matmul``, or what is quicker for products of rows x length by length x columns."""
    multiplications = rows * columns * length
    if multiplications > SHARED and min(rows, columns) >= NARROW and dtype == np.float32 and _onednn.version() is not None:
        stats.counters.onednn_products += 1
        return _onednn.multiply
    threads = _openblas() if SHARED < multiplications <= LARGE else None
    return np.matmul if threads is None else threads.matmul


class _Threads:
    """OpenBLAS's number of threads, which is the process's: what is set for a product is taken back behind it."""

    def __init__(self, get: Callable[[], int], set_: Callable[[int], None]):
        self._get, self._set = get, set_
        self._lock, self._inside, self._before = threading.Lock(), 0, 0

    @property
    def number(self) -> int:
        """How many there are, but for a product that is made in one."""
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
        """``a @ b`` in this thread."""
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
    """The OpenBLAS that came with NumPy; None where NumPy uses another library."""
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
