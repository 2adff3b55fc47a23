"""Functions as StableHLO: jax.export writes, reads and runs them."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.export

PLATFORMS = ("cpu", "cuda", "tpu")


def symbols(names: Sequence[str], constraints: Sequence[str]) -> list[Any]:
    """Return symbolic sizes with these names and constraints (``"b <= 8"``)."""
    return list(jax.export.symbolic_shape(",".join(names), constraints=constraints)) if names else []


def exported(function: Callable, *specs: Any) -> Any:
    """Export a function of arrays for all platforms, or for this process's platform if others do not support it."""
    with jax.enable_x64(True):
        try:
            return jax.export.export(jax.jit(function), platforms=PLATFORMS)(*specs)
        except NotImplementedError:     # A step has no lowering for some platform.
            return jax.export.export(jax.jit(function))(*specs)


def serialized(program: Any) -> bytes:
    """Return the program as bytes. Raise ImportError without the package flatbuffers, which JAX needs for this."""
    return bytes(program.serialize())


def deserialized(data: bytes) -> Any:
    """Return the program from its bytes."""
    return jax.export.deserialize(bytearray(data))


def runner(program: Any) -> Callable:
    """Return the program as a function of arrays, which is compiled once for each shape."""
    compiled = jax.jit(program.call)

    def run(*args: Any) -> Any:
        with jax.enable_x64(True):
            return compiled(*args)
    return run
