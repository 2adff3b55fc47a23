"""torch._dynamo.utils: what is counted, and small questions."""
from __future__ import annotations

import contextlib
import logging
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

from jtorch._dynamo import config

# Nothing is counted: jtorch.engine.report() says what is compiled.
counters: defaultdict[str, Counter[str]] = defaultdict(Counter)
compilation_time_metrics: dict[str, list[float]] = {}


def is_compile_supported(device_type: Any) -> bool:
    """Return whether ``torch.compile`` can be called: yes, with any device."""
    return True


def compile_times(repr: str = "str", aggregate: bool = False) -> Any:
    """No times: what is compiled is said by ``jtorch.engine.report()``."""
    return "" if repr == "str" else ([], [])


@contextlib.contextmanager
def disable_cache_limit() -> Iterator[None]:
    """Set the limits of recompiling as high as they go in a ``with`` block. They limit nothing here."""
    with config.patch(recompile_limit=sys.maxsize, accumulated_recompile_limit=sys.maxsize):      # type: ignore[attr-defined]
        yield


def maybe_enable_compiled_autograd(should_enable: bool, fullgraph: bool = True, dynamic: bool = True) -> Any:
    """Nothing in a ``with`` block: backwards that repeat are compiled without being asked."""
    return contextlib.nullcontext()


_warned: set[str] = set()


def warn_once(msg: str, stacklevel: int = 1) -> None:
    """Log a warning the first time that it comes."""
    if msg not in _warned:
        _warned.add(msg)
        logging.getLogger(__name__).warning(msg)
