"""torch._dynamo.utils: counters and small queries."""
from __future__ import annotations

import contextlib
import logging
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

from jtorch._dynamo import config

# The counters stay empty; jtorch.engine.report() tells what is compiled.
counters: defaultdict[str, Counter[str]] = defaultdict(Counter)
compilation_time_metrics: dict[str, list[float]] = {}


def is_compile_supported(device_type: Any) -> bool:
    """Return True: ``torch.compile`` can be called for any device."""
    return True


def compile_times(repr: str = "str", aggregate: bool = False) -> Any:
    """Return empty compile times; ``jtorch.engine.report()`` tells what is compiled."""
    return "" if repr == "str" else ([], [])


@contextlib.contextmanager
def disable_cache_limit() -> Iterator[None]:
    """Set the recompile limits to their maximum in this block. The limits have no effect."""
    with config.patch(recompile_limit=sys.maxsize, accumulated_recompile_limit=sys.maxsize):      # type: ignore[attr-defined]
        yield


def maybe_enable_compiled_autograd(should_enable: bool, fullgraph: bool = True, dynamic: bool = True) -> Any:
    """Return a block without effect: backwards that repeat are compiled anyway."""
    return contextlib.nullcontext()


_warned: set[str] = set()


def warn_once(msg: str, stacklevel: int = 1) -> None:
    """Log a warning the first time that it occurs."""
    if msg not in _warned:
        _warned.add(msg)
        logging.getLogger(__name__).warning(msg)
