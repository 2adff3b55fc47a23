"""torch.__config__: what the library was built with."""
from __future__ import annotations

import os


def show() -> str:
    """What computes: JAX and its compiler, and the devices it has found. See torch.__config__.show."""
    import jax
    import jaxlib
    found = ", ".join(sorted({d.platform for d in jax.devices()}))
    return (f"PyTorch built with:\n  - JAX {jax.__version__}\n  - jaxlib (XLA) {jaxlib.__version__}\n  - platforms: {found}\n"
            "  - Build settings: USE_MKL=OFF, USE_CUDNN=OFF, USE_NCCL=OFF, USE_OPENMP=OFF\n")


def parallel_info() -> str:
    """How many threads there are to compute with. See torch.__config__.parallel_info."""
    from jtorch._api.functional import get_num_interop_threads, get_num_threads
    return (f"ATen/Parallel:\n\tat::get_num_threads() : {get_num_threads()}\n\tat::get_num_interop_threads() : "
            f"{get_num_interop_threads()}\nstd::thread::hardware_concurrency() : {os.cpu_count()}\n")


def _cxx_flags() -> str:
    return ""
