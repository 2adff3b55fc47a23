"""ONNX programs: a model is captured as for torch.export, and jax2onnx converts it."""
from __future__ import annotations

import io
import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import jax
import jax.numpy as jnp

from jtorch._base.pytree import flatten
from jtorch.export._capture import Captured
from jtorch.export._dims import OpenSizes
from jtorch.export._open_sizes import NotOpenError, Points
from jtorch.onnx._steps import OnnxSteps
from jtorch.onnx.errors import OnnxExporterError, UnsupportedOperatorError
from jtorch.tensor import Tensor

__all__ = ["ONNXProgram"]


class ONNXProgram:
    """An ONNX model. See torch.onnx.ONNXProgram.

    ``model_proto`` is the package onnx's object. ``save`` writes it, and a call runs it with onnxruntime.
    """

    def __init__(self, proto: Any):
        self.model_proto = proto
        self._session: Any = None

    def save(self, destination: Any, *, include_initializers: bool = True, keep_initializers_as_inputs: bool = False,
             external_data: bool | None = None) -> None:
        """Write the model to a path or a file."""
        data = self.model_proto.SerializeToString()
        if isinstance(destination, io.IOBase) or hasattr(destination, "write"):
            destination.write(data)
            return
        with open(os.fspath(destination), "wb") as f:
            f.write(data)

    def __call__(self, *args: Any, **kwargs: Any) -> list[Tensor]:
        """Run the model with onnxruntime, and return its outputs."""
        from jtorch._api.creation import from_numpy
        if self._session is None:
            try:
                import onnxruntime
            except ImportError as error:
                raise ImportError("running an ONNXProgram takes the package onnxruntime") from error
            self._session = onnxruntime.InferenceSession(self.model_proto.SerializeToString())
        given = [t.detach().numpy() for t in flatten((args, kwargs))[0] if isinstance(t, Tensor)]
        names = [i.name for i in self._session.get_inputs()]
        return [from_numpy(a) for a in self._session.run(None, dict(zip(names, given, strict=True)))]


def converter() -> Any:
    """Return jax2onnx.to_onnx; ImportError with the command to install it."""
    try:
        from jax2onnx import to_onnx
    except ImportError as error:
        raise ImportError("torch.onnx.export takes the package jax2onnx: pip install 'jtorch-jax[onnx]'") from error
    return to_onnx


@contextmanager
def _functions_of_jax_kept() -> Iterator[None]:
    """Restore JAX's functions after this block, since jax2onnx leaves a patched jax.numpy.cumsum."""
    modules = (jnp, jax.lax, jax.nn, jax.random)
    before = [dict(vars(module)) for module in modules]
    try:
        yield
    finally:
        for module, names in zip(modules, before, strict=True):
            vars(module).update({name: value for name, value in names.items() if vars(module).get(name) is not value})


def program_of(model: Any, args: tuple, kwargs: dict[str, Any], opened: OpenSizes, *, input_names: Sequence[str] | None,
               output_names: Sequence[str] | None, opset: int) -> ONNXProgram:
    """Return the ONNX program of a module or function for inputs like these."""
    convert = converter()
    captured = Captured(model, args, kwargs)
    names = list(opened.known)
    points = Points([opened.examples[n] for n in names])
    with jax.enable_x64(True):
        try:
            traces = [captured._trace_at(opened.sizes, dict(zip(names, point, strict=True))) for point in points.all]
        except NotOpenError as error:
            raise OnnxExporterError(str(error)) from error
        count = len([r for r in captured.out_leaves if r is None])
        state = [t.detach().jax() for t in captured.state.values()]

        def run(*inputs: Any) -> Any:
            sizes = {n: d for x, named in zip(inputs, opened.sizes, strict=True)
                     for d, n in zip(x.shape, named, strict=True) if n is not None}
            return tuple(OnnxSteps(points, [sizes[n] for n in names]).run(traces, [*state, *inputs])[:count])
        return ONNXProgram(_converted(convert, run, captured, opened, _all_names(input_names, "input", len(captured.inputs)),
                                      _all_names(output_names, "output", count), opset))


def _all_names(given: Sequence[str] | None, kind: str, count: int) -> list[str] | None:
    """Return a name for each input or output, from names for the first ones."""
    if given is None:
        return None
    if len(given) > count:
        raise ValueError(f"the model has {count} {kind}s, and {kind}_names has {len(given)} names")
    return [*given, *[f"{kind}_{i}" for i in range(len(given), count)]]


def _converted(convert: Any, run: Any, captured: Captured, opened: OpenSizes, input_names: Sequence[str] | None,
               output_names: Sequence[str] | None, opset: int) -> Any:
    symbols = dict(zip(opened.known, jax.export.symbolic_shape(",".join(opened.known)), strict=True)) if opened.known else {}
    inputs = captured.specs(opened.sizes, symbols)[1]
    quiet, before = logging.getLogger("onnx_ir"), logging.getLogger("onnx_ir").level
    quiet.setLevel(logging.ERROR)       # The package onnx_ir warns of types that it omits from the file.
    try:
        with _functions_of_jax_kept():
            return convert(run, inputs, model_name="main_graph", opset=opset, input_names=input_names, output_names=output_names)
    except NotOpenError as error:
        raise OnnxExporterError(str(error)) from error
    except NotImplementedError as error:
        raise UnsupportedOperatorError(f"the model does what can't be written as ONNX here: {error}") from error
    except Exception as error:
        if opened.known and "InconclusiveDimensionOperation" in type(error).__name__:
            raise OnnxExporterError("a step of the model can't be written as ONNX with open sizes; export with fixed ones "
                                    f"(without dynamic_axes and dynamic_shapes): {str(error).splitlines()[0]}") from error
        raise
    finally:
        quiet.setLevel(before)
