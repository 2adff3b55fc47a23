"""Products by NumPy, in as many threads as ``torch.set_num_threads`` says, and in one where that is as quick.

OpenBLAS shares each product of more than 2**18 multiplications among its threads, and these stay awake for about 25 ms
afterwards, asking for more. On 2 cores they so took one of them from all else: a training step with products of 32x128x128,
call by call, took 3.0 ms, and 2.1 in one thread (medians). The product itself takes 23 µs in one thread, 19 in two; 64x128x128
34 and 26, 64x256x256 129 and 81, which is worth it.
"""
from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np

from jtorch._base.once import once

SHARED, LARGE = 1 << 18, 1 << 20        # multiplications: above the one OpenBLAS uses threads, above the other it is worth it
MANY = 1 << 12      # threads; OpenBLAS takes fewer, too
_PREFIXES, _SUFFIXES = ("scipy_openblas_", "openblas_"), ("64_", "")


def set_threads(n: int) -> None:
    """How many threads OpenBLAS, which is the process's, may use from now on; nothing where NumPy uses another library."""
    threads = _openblas()
    if threads is not None:
        threads.number = min(n, MANY)


def matmul_for(multiplications: int) -> Callable:
    """``numpy.matmul`` for matrices whose product takes so many multiplications."""
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
