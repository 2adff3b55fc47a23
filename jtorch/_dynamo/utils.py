"""torch._dynamo.utils: what is counted, and small questions."""
from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

# Nothing is counted: jtorch.engine.report() says what is compiled.
counters: defaultdict[str, Counter[str]] = defaultdict(Counter)
compilation_time_metrics: dict[str, list[float]] = {}


def is_compile_supported(device_type: Any) -> bool:
    """Whether ``torch.compile`` can be called: yes, with any device."""
    return True


def compile_times(repr: str = "str", aggregate: bool = False) -> Any:
    """No times: what is compiled is said by ``jtorch.engine.report()``."""
    return "" if repr == "str" else ([], [])
