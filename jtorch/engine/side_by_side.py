"""Kernels of an accelerator, compiled side by side: a call there costs up to a second of compiling before it is run first."""
from __future__ import annotations

import contextlib
import os
import warnings
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter
from typing import TYPE_CHECKING, Any

import jax

from jtorch.engine import stats
from jtorch.engine.jax_settings import left_as_found

if TYPE_CHECKING:
    from jtorch.engine.kernel import Kernel
    from jtorch.engine.trie import State


def compile_missing(path: list[State]) -> None:
    """Compiles what an accelerator is to run and has not run yet: JAX traces it here, XLA takes a thread for each kernel.

    What cannot be compiled says so when it is its turn.
    """
    wanted = {s.kernel: None for s in path if s.kernel.compiled is None and s.kernel.is_accelerated}
    if len(wanted) < 2:
        return
    start, lowered = perf_counter(), {}
    for kernel in wanted:
        with contextlib.suppress(Exception):
            lowered[kernel] = kernel.lowered()
    with left_as_found(), warnings.catch_warnings():        # which is of the process, and not to be left by several threads
        warnings.simplefilter("ignore")
        pool = ThreadPoolExecutor(os.cpu_count())
        try:
            begun = {kernel: pool.submit(_compiled, kernel, text) for kernel, text in lowered.items()}
            for kernel, made in begun.items():
                with contextlib.suppress(Exception):
                    kernel.become(made.result(), perf_counter() - start)
                    start = perf_counter()
                    stats.counters.side_by_side += 1
        finally:
            pool.shutdown(cancel_futures=True)


def _compiled(kernel: Kernel, lowered: Any) -> Any:
    with jax.enable_x64(True):
        return kernel.of_xla(lowered)
