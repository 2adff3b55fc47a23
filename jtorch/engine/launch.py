"""Run a compiled program in one step of C, so that no exception comes between its start and its results.

A program may overwrite its donated inputs. If Ctrl-C came after the start and before the results are stored, a model would be
lost. Python handles signals between its own steps only. The C functions that ``_steps`` returns run the program and put its
results into a list within one such step. This is also faster than JAX's own call.
"""
from __future__ import annotations

from operator import methodcaller
from typing import Any

import jax

from jtorch.engine import out_of_memory


class Executable:
    """A compiled program of arrays on one device. It may overwrite the first ``donated`` arrays."""

    __slots__ = ("_call", "_consume", "_donated", "_execute")

    def __init__(self, compiled: Any, donated: int):
        self._call, self._donated = compiled, donated
        self._execute, self._consume = _steps(compiled)

    @property
    def is_direct(self) -> bool:
        """Whether the program runs without JAX's Python code."""
        return self._execute is not None

    def run(self, packed: list, arrays: list, results: list[list]) -> None:
        """Run the program on ``packed`` and ``arrays``, and append the list of its outputs to ``results``."""
        if self._execute is not None:
            try:
                results.extend(map(self._consume, map(self._execute, ([*packed, *arrays],))))
            except jax.errors.JaxRuntimeError as error:
                raise out_of_memory.told(error)     # noqa: B904  (its __cause__ is set)
            return
        spared = [a.copy() for a in arrays[:self._donated]]
        with jax.enable_x64(True):
            results.append(list(self._call(*packed, *spared, *arrays[self._donated:])))


def _steps(compiled: Any) -> tuple[Any, Any]:
    """Return a function that runs a program on a list of arrays, and one that makes arrays of its outputs.

    Return (None, None) if the program has effects or callbacks, or if JAX is not as expected.
    """
    try:
        inner = compiled._executable.unsafe_call
        if len(inner.kept_var_idx) != len(compiled._executable.in_avals) or inner.ordered_effects or inner.has_unordered_effects \
                or inner.mut is not None or inner.has_host_callbacks or compiled._params.const_args:
            return None, None
        return inner.xla_executable.execute_sharded, methodcaller("consume_with_handlers", inner.out_handler.handlers)
    except (AttributeError, TypeError):
        return None, None
