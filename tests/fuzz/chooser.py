"""The parts of statements: names, numbers, dims, indices, shapes, and questions about a tensor."""
from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

Pool = dict[str, Any]       # Maps the names bound by a program to PyTorch's tensors and NumPy arrays.

SHAPES = [(2, 3), (3, 4), (2, 3, 4), (4,), (6,), (2, 2, 2), (1, 3), (3, 1), (2, 1, 3), (), (3, 3), (2, 3, 2, 2), (1,)]
EMPTY = [(0,), (0, 3), (3, 0), (2, 0, 3), (0, 1), (1, 0), (0, 0)]


class Chooser:
    """Chooses the next statement of a program by the objects bound so far."""

    def __init__(self, rng: random.Random, pool: Pool):
        self.rng, self.pool, self.made = rng, pool, 0
        self.hosted = False         # True if NumPy shares memory with some tensor.
        self.bool_: Any = None      # Set to PyTorch's torch.bool.

    # ------------------------------------------------------------ names

    def tensors(self, fits: Callable[[Any], bool] = lambda t: True) -> list[str]:
        """Return the names of the tensors that fit."""
        return [n for n, t in self.pool.items() if n[0] == "t" and fits(t)]

    def tensor(self, fits: Callable[[Any], bool] = lambda t: True) -> str:
        """Choose a fitting tensor, late ones more often; any tensor if none fits."""
        names = self.tensors(fits) or self.tensors()
        return names[max(self.rng.randrange(len(names)), self.rng.randrange(len(names)))]

    def of(self, name: str) -> Any:
        """Return the object of a name."""
        return self.pool[name]

    def new(self, kind: str = "t") -> str:
        """Return a new name."""
        self.made += 1
        return f"{kind}{self.made}"

    def number(self) -> str:
        """Choose a small number."""
        return self.rng.choice(["2", "-1", "0.5", "3", "1.5", "0", "-2"])

    def dim(self, t: Any, more: int = 0) -> int:
        """Choose a dim of a tensor, rarely a missing one."""
        n = t.dim() + more
        if not n or self.rng.random() < 0.03:
            return self.rng.choice([0, 1, 4, -1])
        return self.rng.randrange(-n, n)

    def of_shape(self, shape: Any, dtype: Any) -> str:
        """Return the name of a tensor that broadcasts to a shape, or the source of a new one."""
        fitting = self.tensors(lambda o: o.dtype == dtype and broadcasts(o.shape, shape))
        if fitting and self.rng.random() < 0.6:
            return self.rng.choice(fitting)
        return self.fresh(tuple(self.rng.choice([n, n, n, 1]) for n in shape), dtype)

    def fresh(self, shape: tuple[int, ...], dtype: Any) -> str:
        """Return the source of a new tensor."""
        count = 1
        for n in shape:
            count *= n
        name = str(dtype).removeprefix("torch.")
        if name == "bool":
            return f"(xp.arange({count}) % {self.rng.choice([2, 3])} == 0).reshape({shape})"
        start = self.rng.choice([1, 2, -3])
        if name.startswith("complex"):
            return f"(xp.arange({count}, dtype=xp.float64) + {start}j).to(xp.{name}).reshape({shape})"
        return f"(xp.arange({count}, dtype=xp.{name}) + {start}).reshape({shape})"


def broadcasts(shape: Any, to: Any) -> bool:
    """Return whether a shape broadcasts to another one."""
    return len(shape) <= len(to) and all(a in (1, b) for a, b in zip(reversed(shape), reversed(to), strict=False))


def broadcastable(a: Any, b: Any) -> bool:
    """Return whether two shapes broadcast against each other."""
    return all(m == n or 1 in (m, n) for m, n in zip(reversed(a), reversed(b), strict=False))


def index(c: Chooser, shape: Any) -> str:
    """Choose a basic index of a shape."""
    items = []
    for n in shape[:c.rng.randint(0, len(shape))]:
        kind = c.rng.random()
        if kind < 0.35 and n:
            items.append(str(c.rng.randrange(-n, n)))
        elif kind < 0.75:
            a, b = sorted((c.rng.randrange(n + 1), c.rng.randrange(n + 1)))
            items.append(c.rng.choice([f"{a}:{b}", f"{a}:", ":", f"::{c.rng.choice([1, 2, 3])}", f"{a}:{b}:2", f":{b}", f"-{n}:"]))
        else:
            items.append(":")
        if c.rng.random() < 0.12:
            items.append("None")
    if c.rng.random() < 0.15:
        items.insert(c.rng.randint(0, len(items)), "...")
    if c.rng.random() < 0.02:
        items.append(c.rng.choice(["9", "'x'", "1.5"]))
    return ", ".join(items) or "..."


def strided(c: Chooser, t: Any) -> str:
    """Choose arguments of as_strided."""
    size = tuple(c.rng.choice([1, 2, 3]) for _ in range(c.rng.randint(0, 2)))
    stride = tuple(c.rng.choice([1, 2, 3, 1, 0]) for _ in size)
    return f"{size}, {stride}" + c.rng.choice(["", f", {c.rng.randint(0, 2)}"])


def whole(t: Any) -> bool:
    """Return whether all numbers of a tensor are whole."""
    parts = [t.data.real, t.data.imag] if t.is_complex() else [t.data] if t.is_floating_point() else []
    return all(bool((x == x.floor()).all()) for x in parts)


def windows(t: Any) -> bool:
    """Return whether elements of a tensor overlap. PyTorch does not check this, and reads elements that it has just written."""
    reach = 0
    for s, n in sorted([(s, n) for n, s in zip(t.shape, t.stride(), strict=True) if n > 1 and s]):
        if s <= reach:
            return True
        reach += (n - 1) * s
    return False
