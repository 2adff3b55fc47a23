"""The stream of PyTorch's CPU random numbers: MT19937, and a normal sample kept for the next call."""
from __future__ import annotations

import ctypes
import math
import secrets
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np

from jtorch._base import late_bindings

DEFAULT_SEED = 67280421310721
WORDS = 624                         # words of MT19937's state
_FEW = 8192                         # words; for larger draws NumPy's integers() is faster than random_raw()
_BLOCK = 1 << 15                    # numbers per block; a larger block leaves the processor's cache
_LOW, _STEP = np.uint32(0xFFFFFF), np.float32(2.0**-24)

# The layout of torch.get_rng_state(): PyTorch's C++ struct with its padding.
_LAYOUT = np.dtype({
    "names": ["seed", "left", "seeded", "next", "state", "normal", "normal_valid", "float_normal",
              "float_normal_valid"],
    "formats": ["<u8", "<i4", "<i4", "<u8", ("<u8", WORDS), "<f8", "<i4", "<f4", "u1"],
    "offsets": [0, 8, 12, 16, 24, 5024, 5040, 5048, 5052],
    "itemsize": 5056,
})


def seed_of(number: int) -> int:
    """Return the unsigned 64-bit seed that ``number`` stands for; negative numbers count from 2**64."""
    if not -(1 << 63) <= number < 1 << 64:
        raise ValueError("Overflow when unpacking long long")
    return number % (1 << 64)


def _memory_of(bits: np.random.MT19937) -> np.ndarray:
    """Return a view of the memory of NumPy's generator: the state's words, then the number of used words."""
    memory = (ctypes.c_uint32 * (WORDS + 1)).from_address(bits.ctypes.state_address)
    return np.frombuffer(memoryview(memory).cast("B"), np.uint32)


@cache
def _memory_is_known() -> bool:
    """Return whether NumPy's memory has the layout that ``_memory_of`` assumes. NumPy does not guarantee it."""
    bits = np.random.MT19937(0)
    bits.random_raw(5)
    state = bits.state["state"]
    return np.array_equal(_memory_of(bits), [*state["key"], state["pos"]])


class Stream:
    """PyTorch's CPU generator, with the same words for the same seed and the same state bytes.

    Single normal samples are made in pairs. ``next_normal`` holds the second sample of the last pair for the next call.
    """

    __slots__ = ("_bits", "_fresh", "_integers", "_memory", "_raw", "lock", "next_float_normal", "next_normal",
                 "seed_value")

    def __init__(self, seed: int = DEFAULT_SEED):
        self._bits = np.random.MT19937(0)
        self._integers, self._raw = np.random.Generator(self._bits).integers, self._bits.random_raw
        self._memory = _memory_of(self._bits) if _memory_is_known() else None
        self.lock = threading.RLock()
        self.manual_seed(seed)

    def manual_seed(self, seed: int) -> None:
        """Start the stream of ``seed`` (of which MT19937 uses the low 32 bits)."""
        value = seed_of(seed)
        with self.lock:
            self.seed_value = value
            self._bits._legacy_seeding(value & 0xFFFFFFFF)
            self._fresh = True
            self.next_normal: float | None = None
            self.next_float_normal: float | None = None

    def seed(self) -> int:
        """Start the stream of a seed from the system's entropy and return the seed."""
        self.manual_seed(secrets.randbits(64))
        return self.seed_value

    def initial_seed(self) -> int:
        """Return the seed this stream was started with."""
        return self.seed_value

    def words(self, n: int) -> np.ndarray:
        """Return the next ``n`` words of 32 bits."""
        with self.lock:
            self._fresh = self._fresh and not n
            return self._words(n)

    def _words(self, n: int) -> np.ndarray:
        if late_bindings.draw_words is not None and self._memory is not None:
            words = np.empty(n, np.uint32)
            late_bindings.draw_words(self._memory, words)
            return words
        if n < _FEW:
            return self._raw(n).astype(np.uint32)
        return self._integers(0, 1 << 32, n, dtype=np.uint32)

    def _saved(self) -> Any:
        """Return the state of NumPy's generator, for ``_restore``."""
        return self._bits.state if self._memory is None else self._memory.copy()

    def _restore(self, saved: Any) -> None:
        if self._memory is None:
            self._bits.state = saved
        else:
            self._memory[:] = saved

    def long_words(self, n: int) -> np.ndarray:
        """Return the next ``n`` words of 64 bits: two draws each, the high half first."""
        pairs = self.words(2 * n).astype(np.uint64)
        return (pairs[0::2] << np.uint64(32)) | pairs[1::2]

    def low_bits(self, n: int) -> np.ndarray:
        """Return the low 24 bits of ``n`` words as int32, which converts to float faster than uint32."""
        words = self.words(n)
        words &= _LOW
        return words.view(np.int32)

    def floats(self, n: int) -> np.ndarray:
        """Return ``n`` float32 in [0, 1), each from the low 24 bits of a word."""
        x = self.low_bits(n).astype(np.float32)
        x *= _STEP
        return x

    def doubles(self, n: int) -> np.ndarray:
        """Return ``n`` float64 in [0, 1), each from the low 53 bits of two words."""
        pairs = self.words(2 * n)
        high = (pairs[0::2] & np.uint32(0x1FFFFF)).astype(np.float64)
        high *= 2.0**32
        high += pairs[1::2]
        high *= 2.0**-53
        return high

    def below(self, n: int, p: float) -> np.ndarray:
        """Return ``doubles(n) < p``. Comparing the high words decides most elements, which is faster."""
        first, rest = divmod(math.ceil(math.ldexp(p, 53)), 1 << 32)     # exact: x < p means that x's 53 bits are below this
        made = np.empty(n, bool)
        with self.lock:
            for at in range(0, n, _BLOCK):
                some = made[at:at + _BLOCK]
                pairs = self.words(2 * some.size)
                high = pairs[0::2] & np.uint32(0x1FFFFF)
                np.less(high, first, out=some)
                equal = np.flatnonzero(high == first)
                some[equal] = pairs[1::2][equal] < rest
        return made

    @contextmanager
    def one_by_one(self, expected: int) -> Iterator[Callable[[], float]]:
        """Yield a function that returns the next double, for loops that need about ``expected`` doubles."""
        feed = self._feed(max(16, min(expected, 4096)))
        try:
            yield feed.__next__
        finally:
            feed.close()

    def _feed(self, block: int) -> Generator[float, None, None]:
        while True:
            saved, fresh, used = self._saved(), self._fresh, 0
            try:
                for value in self.doubles(block).tolist():
                    used += 1
                    yield value
            except GeneratorExit:       # put back unused numbers
                self._fresh = fresh
                self._restore(saved)
                self.words(2 * used)
                raise

    def get_state(self) -> np.ndarray:
        """Return the 5056 bytes that torch.get_rng_state() returns for a generator in this state."""
        raw = np.zeros(_LAYOUT.itemsize, np.uint8)
        s, (key, used) = raw.view(_LAYOUT)[0], self._key()
        s["seed"], s["seeded"], s["state"] = self.seed_value, 1, key
        s["next"] = 0 if self._fresh else used
        s["left"] = 1 if self._fresh else WORDS + 1 - used
        s["normal"], s["normal_valid"] = self.next_normal or 0.0, self.next_normal is not None
        s["float_normal"], s["float_normal_valid"] = self.next_float_normal or 0.0, self.next_float_normal is not None
        return raw

    def _key(self) -> tuple[np.ndarray, int]:
        """Return the words of MT19937's state and how many of them are used."""
        if self._memory is not None:
            return self._memory[:WORDS], int(self._memory[WORDS])
        state = self._bits.state["state"]
        return state["key"], state["pos"]

    def set_state(self, raw: np.ndarray) -> None:
        """Set the state to one that ``get_state`` or PyTorch returned."""
        if raw.size != _LAYOUT.itemsize:
            raise RuntimeError(f"Expected a CPUGeneratorImplState of size {_LAYOUT.itemsize} but found the input RNG "
                               f"state size to be {raw.size}")
        s = np.ascontiguousarray(raw, np.uint8).reshape(-1).view(_LAYOUT)[0]
        left, position = int(s["left"]), int(s["next"])
        if s["seeded"] != 1 or not 0 < left <= WORDS or position > WORDS:
            raise RuntimeError("Invalid mt19937 state")
        with self.lock:
            self._fresh, self.seed_value = left == 1 and position == 0, int(s["seed"])
            self._set_key(s["state"].astype(np.uint32), WORDS if left == 1 else position)
            self.next_normal = float(s["normal"]) if s["normal_valid"] else None
            self.next_float_normal = float(s["float_normal"]) if s["float_normal_valid"] else None

    def _set_key(self, key: np.ndarray, used: int) -> None:
        if self._memory is None:
            self._bits.state = {"bit_generator": "MT19937", "state": {"key": key, "pos": used}}
        else:
            self._memory[:WORDS], self._memory[WORDS] = key, used

    def clone(self) -> Stream:
        """Return another stream in the same state."""
        other = Stream()
        other.set_state(self.get_state())
        return other

    def __reduce__(self):
        return Stream, (), self.get_state()

    __setstate__ = set_state
