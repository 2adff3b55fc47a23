"""Equations of a program, rewritten so that jax2onnx can convert them with dynamic sizes."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
from jax import lax

from jtorch.export._open_sizes import NotOpenError, Opened, Points


class OnnxSteps(Opened):
    """Runs the traces of a model by operations that jax2onnx can convert to ONNX."""

    def __init__(self, points: Points, symbols: Sequence[Any]):
        super().__init__(points, symbols)
        self.inside: list[Sequence[Any]] = []       # The arguments of the loop bodies that are being written.

    def body(self, traces: Sequence[Any], args: Sequence[Any]) -> list[Any]:
        """Run a loop's body; its arguments give access to dynamic sizes inside the loop."""
        self.inside.append(args)
        try:
            return super().body(traces, args)
        finally:
            self.inside.pop()

    def equation(self, equations: Sequence[Any], given: list[Any]) -> list[Any]:
        """Return the results of one equation."""
        first = equations[0]
        if first.primitive.name == "pad":
            config = self.parameter([e.params["padding_config"] for e in equations])
            if all([isinstance(n, int) and n >= 0 for dim in config for n in dim]) and not any([dim[2] for dim in config]):
                return [_padded(given[0], given[1], config)]
        if first.primitive.name == "broadcast_in_dim" and self.inside:
            shape = self.parameter([e.params["shape"] for e in equations])
            if any([not isinstance(n, int) for n in shape]):
                return [self._spread(given[0], shape, first.params["broadcast_dimensions"])]
        return super().equation(equations, given)

    def _spread(self, x: Any, shape: Sequence[Any], dims: Sequence[int]) -> Any:
        """Broadcast inside a loop by a product with a column of ones, since ONNX's Expand would need the size as an input."""
        x = jax.numpy.asarray(x)
        opened = [a for a, n in enumerate(shape) if not isinstance(n, int)]
        at = opened[0]
        if len(opened) > 1 or any([not isinstance(n, int) for n in x.shape]):
            raise NotOpenError("a broadcast over an open size inside a loop can't be written as ONNX")
        rest = [int(n) for a, n in enumerate(shape) if a != at]
        row = lax.broadcast_in_dim(x.reshape([n for n, d in zip(x.shape, dims, strict=True) if d != at]), rest,
                                   [d - (d > at) for d in dims if d != at]).reshape(1, -1)
        made = lax.dot_general(self._ones(shape[at], row.dtype), row, (((1,), (0,)), ((), ())))
        return jax.numpy.moveaxis(made.reshape(shape[at], *rest), 0, at)

    def _ones(self, size: Any, dtype: Any) -> Any:
        """Return a column of ones with the size of a dim of the loop's arguments."""
        for x in self.inside[-1]:
            for axis, n in enumerate(getattr(x, "shape", ())):
                if not isinstance(n, int) and n == size:
                    line = lax.slice(jax.numpy.moveaxis(x, axis, 0), (0,) * x.ndim, (n,) + (1,) * (x.ndim - 1)).reshape(n, 1)
                    return lax.convert_element_type(lax.bitwise_or(lax.eq(line, line), lax.ne(line, line)), dtype)
        raise NotOpenError("a size that a loop's arguments do not have can't be written as ONNX inside the loop")


def _padded(x: Any, value: Any, config: Sequence[Sequence[int]]) -> Any:
    """Pad by concatenation."""
    for axis, (low, high, _) in enumerate(config):
        parts = [_filled(x, value, low, axis)] * bool(low) + [x] + [_filled(x, value, high, axis)] * bool(high)
        x = lax.concatenate(parts, axis) if len(parts) > 1 else x
    return x


def _filled(like: Any, value: Any, n: int, axis: int) -> Any:
    shape = [n if a == axis else s for a, s in enumerate(like.shape)]
    return lax.broadcast(jax.numpy.asarray(value, like.dtype), shape)
