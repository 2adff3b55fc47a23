"""The module that runs an exported program, and the facts that the program's StableHLO does not contain."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from jtorch._api.creation import from_jax
from jtorch._base.pytree import flatten, unflatten
from jtorch.engine import stablehlo
from jtorch.nn.modules.module import Module
from jtorch.nn.parameter import Parameter
from jtorch.no_grad import no_grad
from jtorch.tensor import Tensor


@dataclass
class Description:
    """The facts that a program's StableHLO does not contain: names, structures, and bounds of sizes."""

    parameters: list[str]
    buffers: list[str]
    transient: list[str]            # Buffers that state dicts omit.
    written: list[str]              # Buffers that a call writes to.
    names: list[str]                # The names of the inputs.
    in_form: Any
    out_form: Any
    constants: list[Any]            # Inputs that are no tensors, each with its position: [i, value].
    results: list[Any]              # Outputs that are no tensors, as [value]; None stands for a tensor.
    sizes: list[list[Any]]          # The name of the size, or the size, for each dim of each tensor input.
    bounds: dict[str, list[int]] = field(default_factory=dict)
    training: bool = False          # The mode of the exported model.


class ProgramModule(Module):
    """Runs a program with its own parameters and buffers."""

    def __init__(self, program: Any, state: dict[str, Tensor], description: Description):
        super().__init__()
        self._description, self._run, self.training = description, stablehlo.runner(program), description.training
        for name, value in state.items():
            *path, last = name.split(".")
            owner: Any = self
            for part in path:
                if part not in owner._modules:
                    owner.add_module(part, Module())
                owner = owner._modules[part]
            if name in description.parameters:
                owner.register_parameter(last, value if isinstance(value, Parameter) else Parameter(value, requires_grad=False))
            else:
                owner.register_buffer(last, value, persistent=name not in description.transient)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Return the model's results for these inputs, without gradients."""
        d = self._description
        leaves = _checked(d, *flatten((args, kwargs)))
        held = {**dict(self.named_parameters(remove_duplicate=False)), **dict(self.named_buffers(remove_duplicate=False))}
        with no_grad():
            state = [held[n].detach().jax() for n in (*d.parameters, *d.buffers)]
            made = self._run(state, [t.detach().jax() for t in leaves])
            tensors = iter([from_jax(a) for a in made])
            results = [next(tensors) if r is None else r[0] for r in d.results]
            for name in d.written:
                held[name].copy_(next(tensors))
        return unflatten(results, d.out_form)

    def train(self, mode: bool = True) -> Any:
        """Return the module if ``mode`` is the exported model's; NotImplementedError for the other mode."""
        if mode is not self._description.training:
            raise NotImplementedError(f"Calling {'train' if mode else 'eval'}() is not supported yet: the program is what the "
                                      "model did in the other mode")
        self.training = mode
        return self


def _checked(d: Description, leaves: list[Any], form: Any) -> list[Tensor]:
    """Return the tensors of a call; AssertionError or ValueError if the call differs from the exported one."""
    if form != d.in_form:
        raise ValueError(f"Trying to flatten user inputs with exported input tree spec: \n{d.in_form}\nbut actually got "
                         f"inputs with tree spec of: \n{form}.\nPlease check that the inputs have the same number and "
                         "type of args and kwargs as the ones you used when tracing.")
    for i, value in d.constants:
        if leaves[i] is not value and leaves[i] != value:
            raise AssertionError(f"Guard failed: {d.names[i]} == {value!r}")
    places = {i for i, _ in d.constants}
    tensors = [(name, t) for i, (name, t) in enumerate(zip(d.names, leaves, strict=True)) if i not in places]
    found: dict[str, int] = {}
    for (name, t), sizes in zip(tensors, d.sizes, strict=True):
        _check_sizes(d, name, t, sizes, found)
    return [t for _, t in tensors]


def _check_sizes(d: Description, name: str, t: Any, sizes: Sequence[Any], found: dict[str, int]) -> None:
    if not isinstance(t, Tensor):
        raise AssertionError(f"Guard failed: isinstance({name}, torch.Tensor)")
    if t.dim() != len(sizes):
        raise AssertionError(f"Guard failed: {name}.dim() == {len(sizes)}")
    for k, (n, wanted) in enumerate(zip(t.shape, sizes, strict=True)):
        if isinstance(wanted, str):
            low, high = d.bounds[wanted]
            if n < low or n > high:
                raise AssertionError(f"Guard failed: {name}.size()[{k}] {'>=' if n < low else '<='} {low if n < low else high}")
            wanted = found.setdefault(wanted, n)
        if n != wanted:
            raise AssertionError(f"Guard failed: {name}.size()[{k}] == {wanted}")
