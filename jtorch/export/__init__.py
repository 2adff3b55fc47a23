"""torch.export: a model as a program that is saved, loaded and run without the model's Python code."""
from __future__ import annotations

import os
from typing import Any, NoReturn

from jtorch.export import _archive, _make, _user_error
from jtorch.export.dynamic_shapes import Constraint, Dim, ShapesCollection, dims
from jtorch.export.exported_program import ExportedProgram
from jtorch.export.graph_signature import ExportBackwardSignature, ExportGraphSignature
from jtorch.nn.modules.module import Module

__all__ = ["Constraint", "Dim", "ExportBackwardSignature", "ExportGraphSignature", "ExportedProgram", "ShapesCollection", "dims",
           "draft_export", "export", "load", "register_dataclass", "save", "unflatten"]


def export(mod: Module, args: tuple, kwargs: dict[str, Any] | None = None, *, dynamic_shapes: Any = None,
           strict: bool = False, preserve_module_call_signature: Any = (),
           prefer_deferred_runtime_asserts_over_guards: bool = False) -> ExportedProgram:
    """Return the program of a module for inputs like these. See torch.export.export.

    The program contains what the module's Python code does with these inputs, including the branches that it takes. Sizes are
    those of the inputs, except for dims that ``dynamic_shapes`` gives a ``Dim``. A program cannot draw random numbers: call
    ``mod.eval()`` first.

    Args:
        mod: the module.
        args: example inputs.
        kwargs: example inputs by name.
        dynamic_shapes: for each input, a dict from a dim to a ``Dim``, or None.
        strict: accepted and ignored.
        preserve_module_call_signature: accepted and ignored.
        prefer_deferred_runtime_asserts_over_guards: accepted and ignored.

    Returns:
        The program, with the module's parameters and buffers.

    Raises:
        ValueError: ``mod`` is no module.
        UserError: inputs and ``dynamic_shapes`` that do not fit.

    >>> ep = torch.export.export(torch.nn.Linear(3, 2), (torch.ones(4, 3),),
    ...                          dynamic_shapes=({0: torch.export.Dim("batch")},))
    >>> ep.module()(torch.ones(7, 3)).shape
    torch.Size([7, 2])

    """
    if not isinstance(mod, Module):
        raise ValueError(f"Expected `mod` to be an instance of `torch.nn.Module`, got {type(mod)}.")
    if not isinstance(args, tuple):
        raise _user_error.UserError(f"Expecting `args` to be a tuple of example positional inputs, got {type(args)}")
    return _make.program_of(mod, args, kwargs or {}, dynamic_shapes)


def save(ep: ExportedProgram, f: Any, *, extra_files: dict[str, Any] | None = None, opset_version: dict[str, int] | None = None,
         pickle_protocol: int = 2) -> None:
    """Write a program with its state to a file, which needs the package flatbuffers. See torch.export.save."""
    if not isinstance(ep, ExportedProgram):
        raise TypeError(f"The 'ep' parameter must be an instance of 'ExportedProgram', got '{type(ep).__name__}' instead.")
    _archive.write(ep, os.fspath(f) if isinstance(f, os.PathLike) else f, extra_files)


def load(f: Any, *, extra_files: dict[str, Any] | None = None,
         expected_opset_version: dict[str, int] | None = None) -> ExportedProgram:
    """Return the program in a file that ``save`` wrote. See torch.export.load."""
    return _archive.read(os.fspath(f) if isinstance(f, os.PathLike) else f, extra_files)


def draft_export(*args: Any, **kwargs: Any) -> NoReturn:
    """Raise NotImplementedError: torch.export.export reports what a program cannot do."""
    raise NotImplementedError("torch.export.draft_export is not built; torch.export.export says what a program can't do")


def unflatten(*args: Any, **kwargs: Any) -> NoReturn:
    """Raise NotImplementedError: a program contains no modules."""
    raise NotImplementedError("torch.export.unflatten is not built: a program has no modules inside")


def register_dataclass(cls: Any, *, serialized_type_name: str | None = None) -> NoReturn:
    """Raise NotImplementedError: inputs are tuples, lists and dicts of tensors."""
    raise NotImplementedError("torch.export.register_dataclass is not built; give tensors in tuples, lists and dicts")
