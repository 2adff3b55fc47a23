"""Names of programs. A name is made without a JAX trace, so that a program on disk can be read without tracing.

A program's name is a hash of its calls, and of all that their traces depend on: the sources of this package, the default dtype
and JAX's settings. Only calls of the package's own ops with plain arguments have a name. A program that may not be equal in
another process has no name. The text of its JAX trace identifies it instead.
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
from jtorch._base import float32_products, jax_private
from jtorch.device import device
from jtorch.engine.kernel import Call
from jtorch.engine.values import Aval
from jtorch.ops import _onednn
from jtorch.ops.registry import OPS, Frozen, Marker, Op

PACKAGE = Path(__file__).parent.parent
_begun = time.time()        # Sources that change after this time may not be what this process runs.
_LIBRARIES = f"{np.__version__} {scipy.__version__} {ml_dtypes.__version__}"        # ``cache`` adds JAX's versions.
_PLAIN = (type(None), bool, int, float, str)


class Unnamed(Exception):
    """Raised for a thing that may not be the same in another process."""


def name_of(structure: tuple) -> str | None:
    """Return the name of a program of this structure (see ``Program``), or None if it has none."""
    try:
        sources = _sources()
    except OSError:         # The package's files are gone or cannot be read.
        return None
    if sources is None:
        return None
    try:
        parts = [sources, _LIBRARIES, jax.default_backend(), dtypes.get_default_dtype().name,
                 str(float32_products.are_quick("conv")), f"oneDNN {_onednn.version()}", _settings(), _written(structure)]
    except (Unnamed, AttributeError):       # AttributeError means that this version of JAX has other settings.
        return None
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _written(thing: Any) -> str:
    """Return a text that identifies a thing. Raise Unnamed if an equal text may mean another thing in another process."""
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
    """Return a text of JAX's settings: those of the process, and those of this thread that a JAX trace depends on."""
    with jax.enable_x64(True):
        found = jax_private.trace_context()
    return _setting((*sorted(jax.config.values.items()), *found))


def _setting(x: Any) -> str:
    if x.__class__ is tuple:
        return f"({','.join(map(_setting, x))})"
    if x.__class__ is frozenset:
        return f"{{{','.join(sorted(map(_setting, x)))}}}"
    kind = type(x).__name__
    # An AxisEnv names the axes under vmap, where nothing is compiled. An empty mesh means that no mesh is set.
    if kind == "AxisEnv" or (kind == "AbstractMesh" and x.empty):
        return ""
    if x.__class__ not in _PLAIN and not isinstance(x, enum.Enum):
        raise Unnamed(x)
    return repr(x)


@functools.cache
def _sources() -> str | None:
    """Return a hash of the package's sources; None if there are none, or if one has changed since the process began."""
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
