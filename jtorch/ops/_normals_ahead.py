"""Standard normals for small calls, computed for many calls at once: most of what a small transform takes is overhead.

What a word stands for depends on where the call that draws it began: in its blocks of 16 the first eight words are radii
and the last eight angles. As seen from a fixed grid of 16 there are but two kinds of numbers: ``phases[0]`` is what the
grid's own blocks give, ``phases[1]`` what blocks that begin in the middle of the grid's give. Any other block of a call
takes its numbers from both, place by place.
"""
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from jtorch.ops import _box_muller

if TYPE_CHECKING:
    from jtorch._base.mt19937 import Stream

SMALL = 2048                        # numbers of a call; for more the transform itself is what takes the time
_MOST = 12_288                      # words ahead: 96 KiB of normals at most
_LEAST = 256
_FEWEST_CALLS = 3                   # that ``_MOST`` words must last for
_GROWTH = 4


class NormalsAhead:
    """The normals that a stream's coming words give, in the blocks that a call asks for.

    It looks ahead only where calls follow one another closely, and further each time that what was computed is used up.
    The stream forgets it when it goes elsewhere; other draws only move the stream on in it.
    """

    __slots__ = ("_both", "_covered", "_integers", "_last", "_phases", "_start")

    def __init__(self) -> None:
        self._start = self._covered = 0         # from which word on, and how many
        self._last: int | None = None           # where the last call began
        self._both = False                      # whether the last words were needed in both phases
        self._phases: list[np.ndarray | None] = [None, None]

    def take(self, stream: Stream, n: int, gap: int) -> np.ndarray | None:
        """``n`` normals drawn from the stream, or None with nothing drawn where looking ahead does not pay.

        For an ``n`` that is no multiple of 16 the last 16 come from words of their own, ``gap`` words after the others.
        """
        rest = n % 16
        own = n - rest + gap
        words = own + 16 if rest else n
        before, self._last = self._last, stream.position
        at = stream.position - self._start
        if at + words > self._covered:
            self._both = self._both or own % 16 > 0         # then this call is itself in both phases
            if before is None or not self._look(stream, max(words, stream.position - before)):
                return None
            at = 0
        out = np.empty(n, np.float32)
        self._copy(at, out[:n - rest] if rest else out)
        if rest:
            self._copy(at + own, out[n - 16:])
        stream.skip(words)
        return out

    def _look(self, stream: Stream, step: int) -> bool:
        """Covers words from here on, if that will do for a few calls; ``step``: words from one call to the next."""
        if step * _FEWEST_CALLS > _MOST:
            return False
        used_up = stream.position - self._start <= self._covered
        ahead = min(max(2 * step, _LEAST, _GROWTH * self._covered * used_up), _MOST) + 31 & -16
        self._start, self._covered = stream.position, ahead - 8
        self._integers = stream.peek(ahead)
        self._phases = [*_box_muller.normals32_of_all(self._integers)] if self._both else [None, None]
        self._both = False
        return True

    def _copy(self, at: int, out: np.ndarray) -> None:
        """Writes the normals of the blocks that begin ``at`` words after the start."""
        phase, shift = at >> 3 & 1, at & 7
        first = at - 8 * phase
        out[:] = self._phase(phase)[first:first + out.size]
        if shift:               # the end of each eight is on the other side of a boundary of the grid
            first = at - shift + 8 * phase
            other = self._phase(1 - phase)[first:first + out.size]
            out.reshape(-1, 8)[:, 8 - shift:] = other.reshape(-1, 8)[:, :shift]

    def _phase(self, phase: int) -> np.ndarray:
        self._both = self._both or phase == 1
        made = self._phases[phase]
        if made is None:
            integers = self._integers[8:-8] if phase else self._integers
            made = self._phases[phase] = _box_muller.normals32(integers)
        return made
