"""Translate a run of steps into the instructions of ``jtorch/ops/_onednn/fused.cc``."""
from __future__ import annotations

from struct import pack
from typing import TYPE_CHECKING

import numpy as np

from jtorch.ops import _onednn

if TYPE_CHECKING:
    from jtorch.engine.host.fused import Run

Instruction = tuple[str, int, tuple[int, ...]]      # an operation, its result, and its operands
BOOL = np.dtype(np.bool_)


class Assembler:
    """Translate a run into instructions. Each value becomes an input, an output, a single number or a register.

    A register is used again after the last read of its value.
    """

    def __init__(self, run: Run, ins: list[int], outs: list[int]):
        self._run, self._ins, self._outs = run, ins, outs
        self._codes = {name: k for k, name in enumerate(_onednn.operations())}
        self._places: dict[int, tuple[str, int]] = {v: ("array", k) for k, v in enumerate(ins)}
        self._counts = {"number": 0, "register": 0}
        self._free: list[int] = []

    def program(self) -> bytes:
        """Return the bytes of the program."""
        code = self._with_masks()
        last = {v: k for k, (_, _, taken) in enumerate(code) for v in taken}
        targets = self._targets(code)
        lines = []
        for k, (name, made, taken) in enumerate(code):
            if made not in self._places:
                self._places[made] = targets.get(made) or self._new(made)
            lines.append((self._codes[name], made, taken))
            for v in {made, *taken}:
                if last.get(v, -1) <= k and self._places[v][0] == "register":
                    self._free.append(self._places[v][1])
        words = [w for code_of, made, taken in lines for w in self._words(code_of, made, taken)]
        header = len(self._ins), len(self._outs), self._counts["number"], self._counts["register"], len(lines)
        return pack(f"{len(header) + len(words)}i", *header, *words)

    def _new(self, made: int) -> tuple[str, int]:
        kind = "number" if self._run.numbers[made] else "register"
        if kind == "register" and self._free:
            return kind, self._free.pop()
        self._counts[kind] += 1
        return kind, self._counts[kind] - 1

    def _words(self, operation: int, made: int, taken: tuple[int, ...]) -> list[int]:
        places = [self._number(v) for v in taken]
        return [operation, self._number(made), *places, *[0] * (3 - len(places))]

    def _number(self, value: int) -> int:
        kind, k = self._places[value]
        first = {"array": 0, "number": len(self._ins) + len(self._outs)}
        return k + first[kind] if kind in first else k + first["number"] + self._counts["number"]

    def _targets(self, code: list[Instruction]) -> dict[int, tuple[str, int]]:
        """Return the outputs that an instruction writes directly, with their places."""
        made = {m for _, m, _ in code}
        found: dict[int, tuple[str, int]] = {}
        for k, out in enumerate(self._outs):
            if out in made and out not in found:
                found[out] = "array", len(self._ins) + k
        return found

    def _with_masks(self) -> list[Instruction]:
        """Return the run's code with conversions between bools and masks, and with copies for outputs that are equal."""
        run = self._run
        bools = [v for v in self._ins if run.avals[v].dtype == BOOL]
        made = [o for o in self._outs if run.avals[o].dtype == BOOL and run.made[o] == o]
        masks = {v: self._another(v) for v in (*bools, *made)}
        code: list[Instruction] = [("FROM_BOOL", masks[v], (v,)) for v in bools]
        code += [(name, masks.get(result, result), tuple([masks.get(v, v) for v in taken])) for name, result, taken in run.code]
        for out in self._outs:
            source = masks.get(run.made[out], run.made[out])
            if source != out:
                run.numbers.setdefault(out, run.numbers[source])
                code.append(("TO_BOOL" if run.avals[out].dtype == BOOL else "COPY", out, (source,)))
        return code

    def _another(self, value: int) -> int:
        """Return a new value that has the kind of another value."""
        made = min(-1, *self._run.numbers) - 1
        self._run.numbers[made] = self._run.numbers[value]
        return made
