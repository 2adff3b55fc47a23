"""PyTorch's errors for a host or an accelerator without free memory."""
from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from jtorch._base.accelerated import is_accelerated
from jtorch.device import OutOfMemoryError

_TRIED = re.compile(r"allocate ([\d.]+) ?(\w+)")
_BYTES = re.compile(r"allocating (\d+) bytes")


def of_host(error: MemoryError) -> Exception:
    """Return PyTorch's error for a MemoryError of NumPy. Other errors are returned as they are."""
    shape, dtype = getattr(error, "shape", None), getattr(error, "dtype", None)
    if shape is None or dtype is None:
        return error
    return _refused(math.prod(shape) * np.dtype(dtype).itemsize, error)


def allocated(make: Callable[..., Any], *args: Any) -> Any:
    """Return the new NumPy array ``make(*args)``, or raise PyTorch's error if there is no memory for it."""
    try:
        return make(*args)
    except MemoryError as error:
        raise of_host(error)    # noqa: B904  (its __cause__ is set)


def _refused(nbytes: int, error: Exception) -> RuntimeError:
    made = RuntimeError("[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to "
                        f"allocate {nbytes} bytes. Error code 12 (Cannot allocate memory)")
    made.__cause__ = error
    return made


def told(error: jax.errors.JaxRuntimeError) -> Exception:
    """Return the error that PyTorch raises instead of JAX's ``error``. Only errors of full memory are replaced."""
    text = str(error)
    if not text.startswith("RESOURCE_EXHAUSTED"):
        return error
    if not is_accelerated():
        found = _BYTES.search(text)
        return _refused(int(found[1]), error) if found else error
    size = _TRIED.search(text)
    tried = f" Tried to allocate {size[1]} {size[2]}." if size else ""
    made = OutOfMemoryError(f"CUDA out of memory.{tried}")
    made.__cause__ = error
    return made
