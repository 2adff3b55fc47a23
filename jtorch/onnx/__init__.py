"""torch.onnx: export of models as ONNX, by the package jax2onnx."""
from __future__ import annotations

import contextlib
import enum
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

from jtorch._base.pytree import flatten
from jtorch.export import _dims
from jtorch.export.dynamic_shapes import Dim
from jtorch.export.exported_program import ExportedProgram
from jtorch.onnx import errors, symbolic_helper
from jtorch.onnx._program import ONNXProgram, program_of
from jtorch.onnx.errors import OnnxExporterError
from jtorch.tensor import Tensor

__all__ = ["ONNXProgram", "OnnxExporterError", "OperatorExportTypes", "TrainingMode", "errors", "export", "is_in_onnx_export",
           "register_custom_op_symbolic", "select_model_mode_for_export", "symbolic_helper", "unregister_custom_op_symbolic"]

producer_name, producer_version = "jtorch", "0.1"
OPSET = 20
_exporting = False
_symbolics: dict[tuple[str, int], Callable] = {}


class OperatorExportTypes(enum.Enum):
    """How PyTorch exports operators that ONNX lacks. Only ``ONNX`` is built. See torch.onnx.OperatorExportTypes."""

    ONNX = 0
    ONNX_ATEN = 1
    ONNX_ATEN_FALLBACK = 2
    ONNX_FALLTHROUGH = 3


TensorProtoDataType = enum.IntEnum("TensorProtoDataType", (
    "UNDEFINED FLOAT UINT8 INT8 UINT16 INT16 INT32 INT64 STRING BOOL FLOAT16 DOUBLE UINT32 UINT64 COMPLEX64 COMPLEX128 BFLOAT16 "
    "FLOAT8E4M3FN FLOAT8E4M3FNUZ FLOAT8E5M2 FLOAT8E5M2FNUZ"), start=0)


class TrainingMode(enum.Enum):
    """The mode in which a model is exported. See torch.onnx.TrainingMode."""

    EVAL = 0
    PRESERVE = 1
    TRAINING = 2


def is_in_onnx_export() -> bool:
    """Return whether an export is in progress. See torch.onnx.is_in_onnx_export."""
    return _exporting


@contextlib.contextmanager
def _in_export() -> Iterator[None]:
    global _exporting
    before, _exporting = _exporting, True
    try:
        yield
    finally:
        _exporting = before


@contextlib.contextmanager
def select_model_mode_for_export(model: Any, mode: TrainingMode) -> Iterator[None]:
    """Set the mode of a model in this block. See torch.onnx.select_model_mode_for_export."""
    was = getattr(model, "training", None)
    wanted = mode is TrainingMode.TRAINING
    if was is None or mode is TrainingMode.PRESERVE or was is wanted:
        yield
        return
    each = [(m, m.training) for m in model.modules()]
    model.train(wanted)
    try:
        yield
    finally:
        for m, training in each:
            m.training = training


def export(model: Any, args: Any = (), f: Any = None, *, kwargs: dict[str, Any] | None = None, verbose: bool | None = None,
           input_names: Any = None, output_names: Any = None, opset_version: int | None = None, dynamo: bool = True,
           external_data: bool = True, dynamic_shapes: Any = None, custom_translation_table: Any = None, report: bool = False,
           optimize: bool = True, verify: bool = False, profile: bool = False, dump_exported_program: bool = False,
           artifacts_dir: Any = ".", fallback: bool = False, export_params: bool = True,
           keep_initializers_as_inputs: bool = False, dynamic_axes: Any = None, training: TrainingMode = TrainingMode.EVAL,
           operator_export_type: OperatorExportTypes = OperatorExportTypes.ONNX, do_constant_folding: bool = True,
           custom_opsets: Any = None, export_modules_as_functions: Any = False,
           autograd_inlining: bool = True) -> ONNXProgram:
    """Export a model as ONNX for inputs like these, by the package jax2onnx. See torch.onnx.export.

    Parameters become constants of the model.

    Args:
        model: a module, or a function of tensors.
        args: example inputs; a dict at the end gives inputs by name.
        f: a path or a file to write to, or None.
        kwargs: example inputs by name.
        input_names: names of the inputs.
        output_names: names of the outputs.
        opset_version: the version of ONNX's operators.
        dynamic_shapes: dynamic sizes, as torch.export.export takes them; sizes are fixed otherwise.
        dynamic_axes: dynamic sizes in PyTorch's older form: maps an input's name to names of dims.
        training: the mode of the model during the export.
        operator_export_type: ``OperatorExportTypes.ONNX``.
        export_params: True; parameters are constants of the model.
        custom_translation_table: not built.
        export_modules_as_functions: not built.
        dynamo: accepted and ignored.
        external_data: accepted and ignored.
        report: accepted and ignored.
        optimize: accepted and ignored.
        verify: accepted and ignored.
        profile: accepted and ignored.
        dump_exported_program: accepted and ignored.
        artifacts_dir: accepted and ignored.
        fallback: accepted and ignored.
        verbose: accepted and ignored.
        keep_initializers_as_inputs: accepted and ignored.
        do_constant_folding: accepted and ignored.
        custom_opsets: accepted and ignored.
        autograd_inlining: accepted and ignored.

    Returns:
        The ONNX program.

    Raises:
        OnnxExporterError: the model cannot be written as ONNX.
        NotImplementedError: an option that is not built.

    """
    _refuse_options(operator_export_type, custom_translation_table, export_params, export_modules_as_functions, model)
    args, kwargs = _call(args, kwargs)
    with select_model_mode_for_export(model, training), _in_export():
        shapes = _by_axes(args, kwargs, input_names, dynamic_axes) if dynamic_axes else dynamic_shapes
        opened = _dims.OpenSizes(model, args, kwargs, shapes)
        made = program_of(model, args, kwargs, opened, input_names=input_names, output_names=output_names,
                          opset=opset_version or OPSET)
    if f is not None:
        made.save(f)
    return made


def _refuse_options(kind: Any, table: Any, export_params: bool, functions: Any, model: Any) -> None:
    if kind is not OperatorExportTypes.ONNX or table or not export_params or functions:
        raise NotImplementedError("torch.onnx.export writes ONNX operators only, and parameters as constants: "
                                  "operator_export_type, custom_translation_table, export_params=False and "
                                  "export_modules_as_functions are not built")
    if isinstance(model, ExportedProgram):
        raise NotImplementedError("torch.onnx.export of an ExportedProgram is not built: give the model itself")


def _call(args: Any, kwargs: dict[str, Any] | None) -> tuple[tuple, dict[str, Any]]:
    """Return (args, kwargs). ``args`` may be one tensor, or may end with a dict of arguments by name."""
    args = args if isinstance(args, tuple) else (args,)
    if kwargs is None and args and isinstance(args[-1], dict):
        return args[:-1], args[-1]
    return args, kwargs or {}


def _by_axes(args: tuple, kwargs: dict[str, Any], input_names: Any, axes: dict[str, Any]) -> Any:
    """Return the dynamic sizes that ``dynamic_axes`` describes: names of dims by an input's name."""
    from jtorch.export.dynamic_shapes import ShapesCollection
    shapes, known = ShapesCollection(), dict[str, Dim]()
    tensors = [t for t in flatten((args, kwargs))[0] if isinstance(t, Tensor)]
    for name, t in zip(input_names or [], tensors, strict=False):
        given = axes.get(name, {})
        named = given if isinstance(given, dict) else {d: f"{name}_dynamic_axes_{i + 1}" for i, d in enumerate(given)}
        shapes[t] = {d: known.setdefault(n, Dim(n if n.isidentifier() else f"d{len(known)}")) for d, n in named.items()}
    return shapes


def register_custom_op_symbolic(symbolic_name: str, symbolic_fn: Callable, opset_version: int) -> None:
    """Store a symbolic function of PyTorch's TorchScript exporter, which is never called in jtorch.

    See torch.onnx.register_custom_op_symbolic. ValueError for a name without ``::``.
    """
    if "::" not in symbolic_name:
        raise ValueError(f"Failed to register operator {symbolic_name}. The symbolic name must match the format domain::name, "
                         "and should start with a letter and contain only alphanumerical characters")
    _symbolics[symbolic_name, opset_version] = symbolic_fn


def unregister_custom_op_symbolic(symbolic_name: str, opset_version: int) -> None:
    """Remove a symbolic function. See torch.onnx.unregister_custom_op_symbolic."""
    _symbolics.pop((symbolic_name, opset_version), None)


def dynamo_export(*args: Any, **kwargs: Any) -> NoReturn:
    """Raise NotImplementedError: PyTorch has replaced this function by torch.onnx.export."""
    raise NotImplementedError("torch.onnx.dynamo_export is not built; torch.onnx.export does the same")
