"""Functions as StableHLO: written down by jax.export, read again, and run."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.export

PLATFORMS = ("cpu", "cuda", "tpu")


def symbols(names: Sequence[str], constraints: Sequence[str]) -> list[Any]:
    """Sizes that are left open, of which constraints (``"b <= 8"``) are known."""
    return list(jax.export.symbolic_shape(",".join(names), constraints=constraints)) if names else []


def exported(function: Callable, *specs: Any) -> Any:
    """The program of a function of arrays for all devices, or for this process's where others can't do it."""
    with jax.enable_x64(True):
        try:
            return jax.export.export(jax.jit(function), platforms=PLATFORMS)(*specs)
        except NotImplementedError:     # a step that has no form for all of them
            return jax.export.export(jax.jit(function))(*specs)


def serialized(program: Any) -> bytes:
    """The program as bytes. ImportError without the package flatbuffers, by which JAX writes it."""
    return bytes(program.serialize())


def deserialized(data: bytes) -> Any:
    """The program of bytes."""
    return jax.export.deserialize(bytearray(data))


def runner(program: Any) -> Callable:
    """The program as a function of arrays, compiled once for each shape."""
    compiled = jax.jit(program.call)

    def run(*args: Any) -> Any:
        with jax.enable_x64(True):
            return compiled(*args)
    return run
