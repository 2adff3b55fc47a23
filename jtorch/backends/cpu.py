"""torch.backends.cpu."""
from __future__ import annotations

import functools
import pathlib


@functools.cache
def get_cpu_capability() -> str:
    """The widest vector instructions of this CPU, by PyTorch's names. See torch.backends.cpu.get_cpu_capability."""
    try:
        text = pathlib.Path("/proc/cpuinfo").read_text()
    except OSError:
        return "DEFAULT"
    flags = set(text.split())
    if {"avx512f", "avx512vl", "avx512bw", "avx512dq", "fma"} <= flags:
        return "AVX512"
    return "AVX2" if {"avx2", "fma"} <= flags else "DEFAULT"
