"""torch._inductor.cpu_vec_isa: the CPU's vector instructions, which XLA detects by itself."""
from __future__ import annotations


class VecISA:
    """A set of vector instructions. It is false, since no code is generated for it."""

    def __bool__(self):
        return False


class InvalidVecISA(VecISA):
    """The absence of vector instructions for generated code."""


def pick_vec_isa() -> VecISA:
    """Return InvalidVecISA: no code is generated in jtorch."""
    return InvalidVecISA()


def valid_vec_isa_list() -> list[VecISA]:
    """Return an empty list."""
    return []
