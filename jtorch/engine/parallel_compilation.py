"""Compile an accelerator's kernels and programs in parallel, because each takes long to compile before its first run."""
from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

import jax

from jtorch._base import warned
from jtorch.engine import stats
from jtorch.engine.jax_settings import left_as_found

if TYPE_CHECKING:
    from jtorch.engine.kernel import Kernel
    from jtorch.engine.program import Program
    from jtorch.engine.trie import State


def compile_missing(path: list[State]) -> None:
    """Compile the missing kernels of an accelerator's path. Ignore errors, since the kernel raises them when it runs."""
    wanted = {s.kernel: None for s in path if s.kernel.compiled is None and s.kernel.is_accelerated}
    if len(wanted) > 1:
        _compile(wanted, _begun)


def compile_programs(programs: list[Program]) -> None:
    """Compile an accelerator's programs, equal ones once. A program with an error stays without an executable."""
    firsts = {p.key: p for p in reversed(programs) if not p.takes_equal()}
    _compile(firsts.values(), lambda program: program.begun(tries=False))
    for program in programs:
        if not program.is_compiled:
            program.takes_equal()


def _begun(kernel: Kernel) -> Callable[[], Any]:
    return partial(kernel.of_xla, kernel.lowered())


def _compile(wanted: Iterable[Kernel | Program], begin: Callable[[Any], Callable[[], Any]]) -> None:
    """Compile kernels or programs. JAX traces one after the other in this thread, and XLA compiles each in its own thread."""
    start = perf_counter()
    with left_as_found(), warned.ignored():
        pool = ThreadPoolExecutor(os.cpu_count())
        try:
            making = {}
            for each in wanted:
                with contextlib.suppress(Exception):
                    making[each] = pool.submit(_made, begin(each))
            for each, made in making.items():
                with contextlib.suppress(Exception):
                    each.become(made.result(), perf_counter() - start)
                    start = perf_counter()
                    stats.counters.side_by_side += 1
        finally:
            pool.shutdown(cancel_futures=True)


def _made(make: Callable[[], Any]) -> Any:
    with jax.enable_x64(True):
        return make()
