"""torch._inductor.cpu_vec_isa: the CPU's vector instructions, which XLA finds by itself."""
from __future__ import annotations


class VecISA:
    """A set of vector instructions; False if there is none."""

    def __bool__(self):
        return False


class InvalidVecISA(VecISA):
    """No instructions that code is generated for."""


def pick_vec_isa() -> VecISA:
    """None: no code is generated here."""
    return InvalidVecISA()


def valid_vec_isa_list() -> list[VecISA]:
    """Empty."""
    return []
