"""A module as a function of arrays, from its state and inputs to its results and the buffers that it writes."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from jtorch._api.creation import from_jax
from jtorch._base.accelerated import traced_for_others
from jtorch._base.generator import default_generator
from jtorch._base.pytree import flatten, unflatten
from jtorch.export._open_sizes import NotOpenError, Opened, Points
from jtorch.nn.modules.module import Module
from jtorch.nn.utils import stateless
from jtorch.no_grad import no_grad
from jtorch.tensor import Tensor


class Captured:
    """A model that runs with arrays in place of its tensors, and facts about the last run."""

    def __init__(self, model: Any, args: tuple, kwargs: dict[str, Any]):
        self.model = model
        self.leaves, self.form = flatten((args, kwargs))
        self.inputs = [i for i, leaf in enumerate(self.leaves) if isinstance(leaf, Tensor)]
        module = isinstance(model, Module)
        self.parameters = dict(model.named_parameters()) if module else {}
        self.buffers = dict(model.named_buffers()) if module else {}
        self.state: dict[str, Any] = {**self.parameters, **self.buffers}
        self.written: list[str] = []        # The buffers that a run has written to.
        self.out_form: Any = None
        self.out_leaves: list[Any] = []     # None for a tensor, [x] for another result x, which may be None.

    def run(self, state: Sequence[Any], inputs: Sequence[Any]) -> list[Any]:
        """Return the arrays of the results, and of the buffers that were written to."""
        held = {name: from_jax(a) for name, a in zip(self.state, state, strict=True)}
        before = dict(held)
        leaves = list(self.leaves)
        for at, array in zip(self.inputs, inputs, strict=True):
            leaves[at] = from_jax(array)
        args, kwargs = unflatten(leaves, self.form)
        with no_grad():
            if isinstance(self.model, Module):
                made = stateless.call(self.model, held, args, kwargs, tie_weights=True, strict=False)
            else:
                made = self.model(*args, **kwargs)
        found, self.out_form = flatten(made)
        self.out_leaves = [None if isinstance(x, Tensor) else [x] for x in found]
        changed = {n: held[n].jax() for n in self.buffers}
        self.written = [n for n, a in zip(self.state, state, strict=True)
                        if n in changed and (held[n] is not before[n] or changed[n] is not a)]
        return [x.jax() for x in found if isinstance(x, Tensor)] + [changed[n] for n in self.written]

    def trace(self, shapes: Sequence[tuple[int, ...]]) -> Any:
        """Trace the model for inputs of these shapes. RuntimeError if it draws random numbers: they would become constants."""
        inputs = [jax.ShapeDtypeStruct(s, self.leaves[i].dtype.np) for i, s in zip(self.inputs, shapes, strict=True)]
        state = [jax.ShapeDtypeStruct(tuple(t.shape), t.dtype.np) for t in self.state.values()]
        drawn = default_generator.get_state().numpy().tobytes()
        with traced_for_others():
            made = jax.make_jaxpr(self.run)(state, inputs)
        if default_generator.get_state().numpy().tobytes() != drawn:
            raise RuntimeError("the model draws random numbers, which an exported program can't do: call model.eval() first")
        return made

    def function(self, sizes: Sequence[Sequence[str | None]], symbols: dict[str, Any], examples: dict[str, int]) -> Any:
        """Return a function of (state, inputs) for all values of the sizes that ``sizes`` names, a list of dims for each
        input.
        """
        names = list(symbols)
        points = Points([examples[n] for n in names])
        traces = [self._trace_at(sizes, dict(zip(names, point, strict=True))) for point in points.all]
        opened = Opened(points, [symbols[n] for n in names])

        def run(state: Sequence[Any], inputs: Sequence[Any]) -> list[Any]:
            return opened.run(traces, [*state, *inputs]) if names else jax.core.eval_jaxpr(
                traces[0].jaxpr, traces[0].consts, *state, *inputs)
        return run

    def _trace_at(self, sizes: Any, values: dict[str, int]) -> Any:
        try:
            return self.trace([self._shape(i, named, values) for i, named in zip(self.inputs, sizes, strict=True)])
        except (RuntimeError, ValueError, IndexError, AssertionError) as error:
            if not values:
                raise
            raise NotOpenError(f"The model does not run with {', '.join([f'{n} = {v}' for n, v in values.items()])}: "
                               f"{error}") from error

    def _shape(self, at: int, named: Any, sizes: dict[str, int]) -> tuple[int, ...]:
        return tuple([sizes[n] if n is not None else s for n, s in zip(named, self.leaves[at].shape, strict=True)])

    def specs(self, sizes: Any, symbols: dict[str, Any]) -> tuple[list, list]:
        """Return the shapes and dtypes of the function's arguments."""
        state = [jax.ShapeDtypeStruct(tuple(t.shape), np.dtype(t.dtype.np)) for t in self.state.values()]
        inputs = [jax.ShapeDtypeStruct(self._shape(i, named, symbols), np.dtype(self.leaves[i].dtype.np))
                  for i, named in zip(self.inputs, sizes, strict=True)]
        return state, inputs
