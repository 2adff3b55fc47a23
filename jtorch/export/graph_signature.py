"""The kinds of the inputs and outputs of an exported program. See torch.export.graph_signature."""
from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Any

__all__ = ["ConstantArgument", "ExportBackwardSignature", "ExportGraphSignature", "InputKind", "InputSpec", "OutputKind",
           "OutputSpec", "TensorArgument"]


class InputKind(enum.Enum):
    """The kind of an input. See torch.export.graph_signature.InputKind."""

    USER_INPUT = enum.auto()
    PARAMETER = enum.auto()
    BUFFER = enum.auto()
    CONSTANT_TENSOR = enum.auto()
    CUSTOM_OBJ = enum.auto()
    TOKEN = enum.auto()


class OutputKind(enum.Enum):
    """The kind of an output. See torch.export.graph_signature.OutputKind."""

    USER_OUTPUT = enum.auto()
    LOSS_OUTPUT = enum.auto()
    BUFFER_MUTATION = enum.auto()
    GRADIENT_TO_PARAMETER = enum.auto()
    GRADIENT_TO_USER_INPUT = enum.auto()
    USER_INPUT_MUTATION = enum.auto()
    TOKEN = enum.auto()


@dataclass
class TensorArgument:
    """A tensor, by name."""

    name: str


@dataclass
class ConstantArgument:
    """A value that is part of the program."""

    name: str
    value: Any


@dataclass
class InputSpec:
    """An input. See torch.export.graph_signature.InputSpec."""

    kind: InputKind
    arg: Any
    target: str | None
    persistent: bool | None = None

    def __str__(self) -> str:
        target = "" if self.target is None else f" target='{self.target}'"
        kept = "" if self.persistent is None else f" persistent={self.persistent}"
        return f"{self.arg.name}: {self.kind.name}{target}{kept}"


@dataclass
class OutputSpec:
    """An output. See torch.export.graph_signature.OutputSpec."""

    kind: OutputKind
    arg: Any
    target: str | None

    def __str__(self) -> str:
        return f"{self.arg.name}: {self.kind.name}" + ("" if self.target is None else f" target='{self.target}'")


@dataclass
class ExportBackwardSignature:
    """The signature of a program that computes gradients; none is made in jtorch."""

    gradients_to_parameters: dict[str, str]
    gradients_to_user_inputs: dict[str, str]
    loss_output: str


@dataclass
class ExportGraphSignature:
    """The inputs and outputs in order. See torch.export.ExportGraphSignature."""

    input_specs: list[InputSpec]
    output_specs: list[OutputSpec]
    backward_signature: Any = field(default=None)

    def _targets(self, kind: InputKind) -> tuple[str, ...]:
        return tuple([str(s.target) for s in self.input_specs if s.kind is kind])

    parameters = property(lambda self: self._targets(InputKind.PARAMETER))
    buffers = property(lambda self: self._targets(InputKind.BUFFER))
    non_persistent_buffers = property(lambda self: tuple(
        [s.target for s in self.input_specs if s.kind is InputKind.BUFFER and s.persistent is False]))
    user_inputs = property(lambda self: tuple([getattr(s.arg, "value", s.arg.name) for s in self.input_specs
                                               if s.kind is InputKind.USER_INPUT]))
    user_outputs = property(lambda self: tuple([getattr(s.arg, "value", s.arg.name) for s in self.output_specs
                                                if s.kind is OutputKind.USER_OUTPUT]))
    inputs_to_parameters = property(lambda self: {s.arg.name: s.target for s in self.input_specs
                                                  if s.kind is InputKind.PARAMETER})
    inputs_to_buffers = property(lambda self: {s.arg.name: s.target for s in self.input_specs
                                               if s.kind is InputKind.BUFFER})
    buffers_to_mutate = property(lambda self: {s.arg.name: s.target for s in self.output_specs
                                               if s.kind is OutputKind.BUFFER_MUTATION})

    def __str__(self) -> str:
        return "\n".join(["", "# inputs", *map(str, self.input_specs), "", "# outputs", *map(str, self.output_specs), ""])
