"""torch.__config__: the build configuration."""
from __future__ import annotations

import os


def show() -> str:
    """Return the versions of JAX and its compiler, and the platforms that JAX has found. See torch.__config__.show."""
    import jax
    import jaxlib
    found = ", ".join(sorted({d.platform for d in jax.devices()}))
    return (f"PyTorch built with:\n  - JAX {jax.__version__}\n  - jaxlib (XLA) {jaxlib.__version__}\n  - platforms: {found}\n"
            "  - Build settings: USE_MKL=OFF, USE_CUDNN=OFF, USE_NCCL=OFF, USE_OPENMP=OFF\n")


def parallel_info() -> str:
    """Return the number of threads for computations. See torch.__config__.parallel_info."""
    from jtorch._api.functional import get_num_interop_threads, get_num_threads
    return (f"ATen/Parallel:\n\tat::get_num_threads() : {get_num_threads()}\n\tat::get_num_interop_threads() : "
            f"{get_num_interop_threads()}\nstd::thread::hardware_concurrency() : {os.cpu_count()}\n")


def _cxx_flags() -> str:
    return ""
