"""Names of programs that are known before JAX traces them: what an earlier process has compiled is read at once.

A program's name is a hash of its calls, written down, and of all that decides what they are traced to: the sources of this
package, the default dtype and JAX's settings. Only calls of the package's own ops with plain arguments are written down. What
is not certain to be the same in another process has no name here, and is known by the text that JAX makes of it.
"""
from __future__ import annotations

import enum
import functools
import hashlib
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import ml_dtypes
import numpy as np
import scipy

import jtorch.dtype as dtypes
from jtorch._base import float32_products
from jtorch.device import device
from jtorch.engine.kernel import Call
from jtorch.engine.values import Aval
from jtorch.ops import _onednn
from jtorch.ops.registry import OPS, Frozen, Marker, Op

PACKAGE = Path(__file__).parent.parent
_begun = time.time()        # what is written behind that may not be what this process runs
_LIBRARIES = f"{np.__version__} {scipy.__version__} {ml_dtypes.__version__}"        # JAX's are in ``cache``
_PLAIN = (type(None), bool, int, float, str)


class Unnamed(Exception):
    """Something that is not certain to be the same in another process."""


def name_of(structure: tuple) -> str | None:
    """The name of a program of this structure (see ``Program``), or None if it has none."""
    try:
        sources = _sources()
    except OSError:         # the package's files are gone, or out of reach
        return None
    if sources is None:
        return None
    try:
        parts = [sources, _LIBRARIES, jax.default_backend(), dtypes.get_default_dtype().name,
                 str(float32_products.are_quick("conv")), f"oneDNN {_onednn.version()}", _settings(), _written(structure)]
    except (Unnamed, AttributeError):       # AttributeError: this version of JAX calls its settings otherwise
        return None
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _written(thing: Any) -> str:
    """A thing as a text that no other has. Raises Unnamed for what may differ between processes and look the same."""
    kind = thing.__class__
    if kind is tuple:
        return f"({','.join([_written(x) for x in thing])})"
    if kind in _PLAIN:
        return f"{kind.__name__} {thing!r}"
    writer = _WRITERS.get(kind)
    if writer is None:
        raise Unnamed(kind)
    return f"{kind.__name__} {writer(thing)}"


def _aval(a: Aval) -> str:
    if a.spec is not None or a.traced or a.device.type not in ("cpu", "cuda"):
        raise Unnamed(a)
    return f"{a.np.name}{a.shape}{a.device}"


def _call(c: Call) -> str:
    return f"{_op(c.op)}{_written(c.template)}{_written(c.creates)}"


def _op(o: Op) -> str:
    derived_from: Any = o.body
    if isinstance(derived_from, Op) and type(o).__module__.startswith("jtorch."):
        return f"{type(o).__qualname__} {_op(derived_from)}"
    if OPS.get(o.name) is not o or not o.body.__module__.startswith("jtorch."):
        raise Unnamed(o)
    return repr(o.name)


_WRITERS: dict[type, Any] = {
    Aval: _aval, Call: _call, Frozen: lambda x: f"{x[0].__name__} {x[1]!r}", dtypes.dtype: lambda x: x.name, device: repr,
    Marker: lambda x: x.name,
}


def _settings() -> str:
    """JAX's settings: the process's, and those of this thread that what it traces depends on."""
    from jax._src import config
    with jax.enable_x64(True):
        found = config.trace_context()      # type: ignore[attr-defined]
    return _setting((*sorted(jax.config.values.items()), *found))


def _setting(x: Any) -> str:
    if x.__class__ is tuple:
        return f"({','.join(map(_setting, x))})"
    if x.__class__ is frozenset:
        return f"{{{','.join(sorted(map(_setting, x)))}}}"
    kind = type(x).__name__
    if kind == "AxisEnv" or (kind == "AbstractMesh" and x.empty):   # names of axes under vmap, where nothing is compiled; no mesh
        return ""
    if x.__class__ not in _PLAIN and not isinstance(x, enum.Enum):
        raise Unnamed(x)
    return repr(x)


@functools.cache
def _sources() -> str | None:
    """A hash of the package's sources; None where some have changed since the process began, or are not there."""
    digest, found = hashlib.sha256(), False
    for path in _files(PACKAGE):
        with open(path, "rb") as f:
            if os.fstat(f.fileno()).st_mtime > _begun:
                return None
            digest.update(f"{os.path.relpath(path, PACKAGE)}\n".encode() + f.read())
        found = True
    return digest.hexdigest() if found else None


def _files(folder: Path) -> Iterator[str]:
    for place, folders, files in os.walk(folder):
        folders.sort()
        yield from [os.path.join(place, name) for name in sorted(files) if name.endswith(".py")]
