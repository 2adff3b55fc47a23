"""torch.backends.cpu."""
from __future__ import annotations

from jtorch._base.cpu_flags import flags


def get_cpu_capability() -> str:
    """Return the widest vector instructions of this CPU, by PyTorch's names.

    See torch.backends.cpu.get_cpu_capability.
    """
    found = flags()
    if {"avx512f", "avx512vl", "avx512bw", "avx512dq", "fma"} <= found:
        return "AVX512"
    return "AVX2" if {"avx2", "fma"} <= found else "DEFAULT"
