"""``summary(model, input_size=...)``: a table of a model's layers, in torchinfo's form."""
from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from jtorch._api.creation import as_tensor
from jtorch.nn import Module
from jtorch.no_grad import no_grad
from jtorch.random import fork_rng, rand
from jtorch.tensor import Tensor

COLUMNS: dict[str, tuple[str, Callable[[Layer, bool], str]]] = {
    "input_size": ("Input Shape", lambda layer, last: _text(layer.input_size)),
    "output_size": ("Output Shape", lambda layer, last: _text(layer.output_size)),
    "num_params": ("Param #", lambda layer, last: layer.params_text(last)),
    "kernel_size": ("Kernel Shape", lambda layer, last: _text(layer.kernel_size)),
    "mult_adds": ("Mult-Adds", lambda layer, last: f"{layer.mult_adds:,}" if layer.mult_adds else "--"),
    "trainable": ("Trainable", lambda layer, last: layer.trainable),
}
WIDTH, NAME_WIDTH = 25, 40


def _text(sizes: list) -> str:
    return str(sizes) if sizes else "--"


@dataclass
class Layer:
    """One line of the table: a call of a module (a module called twice has two), or a container that is never called."""

    module: Module
    depth: int
    index: int
    name: str
    repeated: bool
    input_size: list = field(default_factory=list)
    output_size: list = field(default_factory=list)
    output_bytes: int = 0

    @property
    def is_leaf(self) -> bool:
        """Whether the module has no submodules."""
        return next(iter(self.module.children()), None) is None

    @property
    def kernel_size(self) -> list:
        """The shape of the window, if the module has one."""
        size = getattr(self.module, "kernel_size", [])
        return list(size) if isinstance(size, (tuple, list)) else [size]

    @property
    def trainable(self) -> str:
        """Whether the parameters are trained: True, False, Partial, or -- for none."""
        found = {p.requires_grad for p in self.module.parameters()}
        return "--" if not found else "Partial" if len(found) == 2 else str(found.pop())

    @property
    def mult_adds(self) -> int:
        """The number of multiply-adds of the call, for layers with weights."""
        if not self.is_leaf or not self.output_size or not isinstance(self.output_size[0], int):
            return 0
        size = self.output_size
        return sum(p.numel() * self._uses(name, size) for name, p in self.module.named_parameters())

    def _uses(self, name: str, size: list) -> int:
        """Return how often each element of a parameter is used."""
        if name not in ("weight", "bias"):      # A parameter of a recurrent layer, such as weight_ih_l0.
            return math.prod(size[:2])
        return math.prod([size[0], *size[2:]]) if "Conv" in type(self.module).__name__ else size[0]

    def params_text(self, last: bool) -> str:
        """Return the number of parameters; only the module's own, if its submodules are listed; in () if none is trained."""
        params = list(self.module.parameters())
        if not params:
            return "--"
        if self.repeated:
            return "(recursive)"
        own = params if self.is_leaf or last else list(self.module.parameters(recurse=False))
        n = sum(p.numel() for p in own)
        if not own:
            return "--"
        return f"{n:,}" if any(p.requires_grad for p in own) else f"({n:,})"

    def title(self, names: bool) -> str:
        """Return the line's title: ``Linear: 1-2``, or ``Linear (fc): 1-2`` with names."""
        own = f" ({self.name})" if names and self.name else ""
        return f"{type(self.module).__name__}{own}" + (f": {self.depth}-{self.index}" if self.depth else "")


class ModelSummary:
    """The result of ``summary``; its text is the table.

    ``layers`` are the lines. ``total_params``, ``trainable_params``, ``total_mult_adds``, ``total_input`` (bytes),
    ``total_output_bytes`` and ``total_param_bytes`` are the sums.
    """

    def __init__(self, model: Module, layers: list[Layer], inputs: list[Tensor], depth: int, col_names: Sequence[str],
                 col_width: int, names: bool) -> None:
        self.layers, self.depth, self.col_names, self.col_width, self.names = layers, depth, tuple(col_names), col_width, names
        params = list(model.parameters())
        self.total_params = sum(p.numel() for p in params)
        self.trainable_params = sum(p.numel() for p in params if p.requires_grad)
        self.total_param_bytes = sum(p.nbytes for p in params)
        self.total_mult_adds = sum(layer.mult_adds for layer in layers)
        self.total_input = sum(t.nbytes for t in inputs)
        self.total_output_bytes = sum(2 * layer.output_bytes for layer in layers       # The factor 2 accounts for the gradients.
                                      if layer.is_leaf and next(iter(layer.module.parameters()), None) is not None)
        self.has_inputs = bool(inputs)

    def __str__(self) -> str:
        shown = [layer for layer in self.layers if layer.depth <= self.depth]
        titles = [_indent(layer.depth) + layer.title(self.names) for layer in shown]
        longest = max((len(layer.title(self.names)) + 5 * layer.depth + 1 for layer in shown), default=0)
        wide = max(NAME_WIDTH, math.ceil(longest / 5) * 5)
        line = "=" * (wide + self.col_width * len(self.col_names))
        rows = [self._row(wide, f"Layer (type{' (var_name)' if self.names else ''}:depth-idx)",
                          [COLUMNS[c][0] for c in self.col_names]), line]
        rows += [self._row(wide, title, [COLUMNS[c][1](layer, layer.depth == self.depth) for c in self.col_names])
                 for title, layer in zip(titles, shown, strict=True)]
        return "\n".join([line, *rows, line, *self._totals(line), line])

    __repr__ = __str__

    def _row(self, wide: int, title: str, values: Sequence[str]) -> str:
        return f"{title:<{wide}} " + " ".join(f"{v:<{self.col_width}}" for v in values).rstrip()

    def _totals(self, line: str) -> Iterator[str]:
        yield f"Total params: {self.total_params:,}"
        yield f"Trainable params: {self.trainable_params:,}"
        yield f"Non-trainable params: {self.total_params - self.trainable_params:,}"
        if not self.has_inputs:
            return
        yield f"Total mult-adds{_with_unit(self.total_mult_adds)}"
        yield line
        sizes = {"Input size": self.total_input, "Forward/backward pass size": self.total_output_bytes,
                 "Params size": self.total_param_bytes}
        for name, size in {**sizes, "Estimated Total Size": sum(sizes.values())}.items():
            yield f"{name} (MB): {size / 1e6:.2f}"


def _indent(depth: int) -> str:
    return "" if depth == 0 else "├─" if depth == 1 else "│    " * (depth - 1) + "└─"


def _with_unit(n: float) -> str:
    unit, size = next(((u, s) for u, s in (("T", 1e12), ("G", 1e9)) if n >= s), ("M", 1e6))
    number = n / size
    return f" ({unit}): {int(number):,d}" if number.is_integer() else f" ({unit}): {number:,.2f}"


def summary(model: Module, input_size: Any = None, input_data: Any = None, *, batch_dim: int | None = None, depth: int = 3,
            col_names: Sequence[str] = ("output_size", "num_params"), col_width: int = WIDTH, device: Any = None,
            dtypes: Any = None, mode: str = "eval", row_settings: Sequence[str] = ("depth",), verbose: int | None = None,
            **kwargs: Any) -> ModelSummary:
    """Return a table of a model's layers with the shapes of their outputs and their parameters, and print it.

    The model runs once, without gradients and in eval mode; afterwards the generators and the model's mode are restored.

    Args:
        model: the module.
        input_size: the shape of a random input, or a list of shapes. Without any input only parameters are listed.
        input_data: the inputs, in place of ``input_size``: a tensor, several, or a dict by name.
        batch_dim: the position of a batch dim of size 1 to insert into the shapes.
        depth: the depth of submodules in the table.
        col_names: among input_size, output_size, num_params, kernel_size, mult_adds and trainable.
        col_width: the width of a column.
        device: the device of the inputs.
        dtypes: the dtypes of random inputs.
        mode: eval, train or same.
        row_settings: ``("var_names",)`` shows attribute names.
        verbose: 0 does not print.
        kwargs: further arguments of ``forward``.

    Returns:
        The summary.

    Raises:
        ValueError: an unknown column or mode, or both ``input_size`` and ``input_data``.

    >>> model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
    >>> torch.utils.viz.summary(model, input_size=(16, 4), verbose=0).total_params
    58

    """
    unknown = [c for c in col_names if c not in COLUMNS]
    if unknown:
        raise ValueError(f"unknown column {unknown[0]!r}: col_names are among {', '.join(COLUMNS)}")
    if input_size is not None and input_data is not None:
        raise ValueError("give either input_size or input_data")
    if mode not in ("eval", "train", "same"):
        raise ValueError(f"mode must be eval, train or same, not {mode!r}")
    with fork_rng():
        args, named = _inputs(input_size, input_data, batch_dim, device, dtypes)
        layers = _run(model, args, {**named, **kwargs}, mode) if args or named else _listed(model)
    inputs = [t for t in [*args, *named.values()] if isinstance(t, Tensor)]
    made = ModelSummary(model, layers, inputs, depth, col_names, col_width, "var_names" in row_settings)
    if verbose or (verbose is None and not hasattr(sys, "ps1")):
        print(made)  # noqa: T201
    return made


def _inputs(input_size: Any, input_data: Any, batch_dim: int | None, device: Any, dtypes: Any) -> tuple[list, dict]:
    """Return the positional and keyword arguments of ``forward``."""
    if input_data is not None:
        if isinstance(input_data, dict):
            return [], {k: _moved(v, device) for k, v in input_data.items()}
        return [_moved(x, device) for x in (input_data if isinstance(input_data, (list, tuple)) else [input_data])], {}
    if input_size is None:
        return [], {}
    sizes = [tuple(input_size)] if all(isinstance(n, int) for n in input_size) else [tuple(s) for s in input_size]
    if batch_dim is not None:
        sizes = [(*s[:batch_dim], 1, *s[batch_dim:]) for s in sizes]
    kinds = dtypes or [None] * len(sizes)
    return [(rand(s, device=device) if kind is None else rand(s, device=device).to(kind))      # type: ignore[attr-defined]
            for s, kind in zip(sizes, kinds, strict=True)], {}


def _moved(x: Any, device: Any) -> Any:
    x = as_tensor(x) if isinstance(x, np.ndarray) else x
    return x.to(device) if device is not None and isinstance(x, Tensor) else x      # type: ignore[attr-defined]


class _Watch:
    """Hooks on all modules that record their calls in order; a container that is never called comes before its first part."""

    def __init__(self, model: Module) -> None:
        self.layers: list[Layer] = []
        self.counts: dict[int, int] = {}
        self.seen: set[int] = set()
        self.running: list[Layer] = []
        self.handles: list[Any] = []
        self.above: dict[int, list[tuple[Module, str]]] = {}
        self._watch(model, "", [])

    def _watch(self, module: Module, name: str, above: list[tuple[Module, str]]) -> None:
        if id(module) in self.above:
            return
        self.above[id(module)] = above
        depth = len(above)
        self.handles.append(module.register_forward_pre_hook(lambda m, args: self._enter(m, name, depth, args)))
        self.handles.append(module.register_forward_hook(lambda m, args, out: self._leave(out)))
        for child_name, child in module.named_children():
            self._watch(child, child_name, [*above, (module, name)])

    def _note(self, module: Module, name: str, depth: int) -> Layer:
        self.counts[depth] = self.counts.get(depth, 0) + 1
        layer = Layer(module, depth, self.counts[depth], name, id(module) in self.seen)
        self.seen.add(id(module))
        self.layers.append(layer)
        return layer

    def _enter(self, module: Module, name: str, depth: int, args: tuple) -> None:
        for k, (container, container_name) in enumerate(self.above[id(module)]):
            if id(container) not in self.seen:
                self._note(container, container_name, k)
        layer = self._note(module, name, depth)
        layer.input_size = _sizes(args[0] if len(args) == 1 else args)
        self.running.append(layer)

    def _leave(self, out: Any) -> None:
        layer = self.running.pop()
        layer.output_size, layer.output_bytes = _sizes(out), sum(t.nbytes for t in _tensors(out))

    def remove(self) -> None:
        """Remove the hooks."""
        for handle in self.handles:
            handle.remove()


def _run(model: Module, args: list, named: dict, mode: str) -> list[Layer]:
    modes = [(m, m.training) for m in model.modules()]
    watch = _Watch(model)
    try:
        if mode != "same":
            model.train(mode == "train")
        with no_grad():
            model(*args, **named)
    finally:
        watch.remove()
        for module, training in modes:
            module.training = training
    return watch.layers


def _listed(model: Module) -> list[Layer]:
    """Return the layers of a model that is not run."""
    watch = _Watch(model)
    watch.remove()
    names = {id(m): name.rpartition(".")[2] for name, m in model.named_modules()}
    for module in model.modules():
        watch._note(module, names[id(module)], len(watch.above[id(module)]))
    return watch.layers


def _tensors(x: Any) -> list[Tensor]:
    if isinstance(x, Tensor):
        return [x]
    parts = x.values() if isinstance(x, dict) else x if isinstance(x, (list, tuple)) else ()
    return [t for part in parts for t in _tensors(part)]


def _sizes(x: Any) -> list:
    """Return the shape of a tensor, or a list of the shapes of several."""
    found = [list(t.shape) for t in _tensors(x)]
    return found[0] if len(found) == 1 else found
