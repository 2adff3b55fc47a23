"""ExportedProgram: StableHLO with a state, which runs without the model's Python code. See torch.export.ExportedProgram."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn

from jtorch.export import _program_module
from jtorch.export.graph_signature import (
    ConstantArgument,
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    TensorArgument,
)
from jtorch.nn.modules.module import Module
from jtorch.tensor import Tensor

__all__ = ["ExportedProgram"]


class ExportedProgram:
    """A model as a program and a state. See torch.export.ExportedProgram.

    ``module()`` returns a module that runs the program, without gradients. ``stablehlo()`` returns the program's text.
    """

    def __init__(self, program: Any, state: dict[str, Tensor], description: _program_module.Description,
                 example_inputs: Any = None):
        self._program, self._state, self._description = program, state, description
        self.example_inputs = example_inputs

    # ------------------------------------------------------------ running

    def module(self, check_guards: bool = True) -> Module:
        """Return a module that runs the program with its own parameters. See torch.export.ExportedProgram.module."""
        return _program_module.ProgramModule(self._program, dict(self._state), self._description)

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError("Unable to call ExportedProgram directly. You should use `exported_program.module()` instead.")

    # ------------------------------------------------------------ properties

    @property
    def state_dict(self) -> dict[str, Tensor]:
        """The parameters and buffers, except for buffers that state dicts omit."""
        return {n: t for n, t in self._state.items() if n not in self._description.transient}

    def named_parameters(self) -> Iterator[tuple[str, Tensor]]:
        """Yield (name, parameter)."""
        yield from [(n, self._state[n]) for n in self._description.parameters]

    def parameters(self) -> Iterator[Tensor]:
        """Yield the parameters."""
        yield from [t for _, t in self.named_parameters()]

    def named_buffers(self) -> Iterator[tuple[str, Tensor]]:
        """Yield (name, buffer)."""
        yield from [(n, self._state[n]) for n in self._description.buffers]

    def buffers(self) -> Iterator[Tensor]:
        """Yield the buffers."""
        yield from [t for _, t in self.named_buffers()]

    @property
    def range_constraints(self) -> dict[str, tuple[int, int]]:
        """The smallest and the largest value of each dynamic size."""
        return {name: (low, high) for name, (low, high) in self._description.bounds.items()}

    @property
    def graph_signature(self) -> ExportGraphSignature:
        """The kinds of the program's inputs and outputs."""
        d = self._description
        inputs = [InputSpec(InputKind.PARAMETER, TensorArgument(f"p_{n.replace('.', '_')}"), n) for n in d.parameters]
        inputs += [InputSpec(InputKind.BUFFER, TensorArgument(f"b_{n.replace('.', '_')}"), n, n not in d.transient)
                   for n in d.buffers]
        constant: dict[int, Any] = dict(d.constants)
        inputs += [InputSpec(InputKind.USER_INPUT, ConstantArgument(n, constant[i]) if i in constant else TensorArgument(n), None)
                   for i, n in enumerate(d.names)]
        outputs = [OutputSpec(OutputKind.BUFFER_MUTATION, TensorArgument(f"b_{n.replace('.', '_')}"), n) for n in d.written]
        outputs += [OutputSpec(OutputKind.USER_OUTPUT, TensorArgument(f"output_{i}") if r is None else ConstantArgument("", r[0]),
                               None) for i, r in enumerate(d.results)]
        return ExportGraphSignature(inputs, outputs)

    def stablehlo(self) -> str:
        """Return the program's text."""
        return self._program.mlir_module()

    @property
    def graph_module(self) -> NoReturn:
        """Raise NotImplementedError: the program is StableHLO and no FX graph."""
        raise NotImplementedError("an ExportedProgram has no FX graph here: it is StableHLO, see ExportedProgram.stablehlo(); "
                                  "torch.fx.symbolic_trace(model) gives a graph of the model's modules")

    graph = graph_module

    def run_decompositions(self, decomp_table: Any = None, decompose_custom_triton_ops: bool = False) -> NoReturn:
        """Raise NotImplementedError: there are no ATen operators to decompose."""
        raise NotImplementedError("ExportedProgram.run_decompositions is not built: there are no ATen operators in StableHLO")

    def __str__(self) -> str:
        return f"ExportedProgram:\n{self.stablehlo()}\nGraph signature: {self.graph_signature}\n" \
               f"Range constraints: {self.range_constraints}\n"
