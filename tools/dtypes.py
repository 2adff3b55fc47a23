"""Find the dtypes an op accepts: make PyTorch's first sample of the op with each dtype, and call jtorch with it."""
from __future__ import annotations

import contextlib
import functools
import importlib
import warnings
from typing import Any

from tests.ops.translate import Translator, Unsupported

# The table shows one dtype of each kind by this letter.
KINDS = {"b": "bool", "i": "int64", "h": "bfloat16", "f": "float32", "c": "complex64"}


@functools.cache
def entries() -> dict[str, Any]:
    """Return PyTorch's operator database by name, aliases included."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        database = importlib.import_module("torch.testing._internal.common_methods_invocations").op_db
    found: dict[str, Any] = {}
    for info in reversed(database):     # The first entry of a name is the plain one. It is added last, so it remains.
        found.update(dict.fromkeys((info.name, *(a.name for a in info.aliases)), info))
    return found


@functools.cache
def translator() -> Translator:
    """Return the translator from PyTorch's values to jtorch's."""
    return Translator(importlib.import_module("torch"), importlib.import_module("jtorch"))


@functools.cache
def taken(name: str) -> tuple[str, str]:
    """Return (letters of the accepted dtypes, letters of the dtypes accepted by PyTorch only)."""
    info = entries().get(name) or entries().get(f"nn.functional.{name}")
    if info is None:
        return "", ""
    theirs = [k for k, d in KINDS.items() if info.supports_dtype(getattr(translator().torch, d), "cpu")]
    ours = [k for k in theirs if _works(info, name, KINDS[k])]
    return "".join(ours), "".join(k for k in theirs if k not in ours)


def _works(info: Any, name: str, dtype: str) -> bool:
    """Return whether jtorch accepts the first sample that PyTorch accepts."""
    real = getattr(translator().torch, dtype)
    for sample in translator().samples(info.sample_inputs_func(info, "cpu", real, False)):
        with contextlib.suppress(Unsupported), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            args, kwargs = translator().value([sample.input, *sample.args]), translator().value(dict(sample.kwargs))
            return _runs(_function(info, name), args, kwargs)
    return False


def _function(info: Any, name: str) -> Any:
    try:
        found = translator().function(info.op)
    except AttributeError:
        found = None
    return translator().anywhere(name) if found is None or found is info.op else found


def _runs(function: Any, args: list, kwargs: dict) -> bool:
    try:
        function(*args, **kwargs)
    except Exception:
        return False
    return True
