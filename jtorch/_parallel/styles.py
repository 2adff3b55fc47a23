"""Parallel styles: the placements of a module's parameters, inputs and outputs. See torch.distributed.tensor.parallel."""
from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from jtorch._parallel.create import distribute_tensor
from jtorch._parallel.dtensor import DTensor
from jtorch._parallel.placements import Placement, Replicate, Shard
from jtorch._parallel.spmd.dtensor import distributed
from jtorch.distributed.device_mesh import DeviceMesh
from jtorch.nn.modules.linear import Linear
from jtorch.nn.modules.module import Module
from jtorch.nn.modules.sparse import Embedding
from jtorch.tensor import Parameter, Tensor


class ParallelStyle(ABC):
    """The base class of what ``parallelize_module`` applies to a module. See torch.distributed.tensor.parallel.ParallelStyle."""

    src_data_rank: int | None = 0

    @abstractmethod
    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        """Apply the style to a module."""


def distributed_once(module: Module) -> None:
    """Mark a module as distributed; RuntimeError if it was before."""
    if getattr(module, "_distribute_module_applied", False):
        raise RuntimeError("distribute_module should only be called once on a module, but it has already been called on this "
                           "module!")
    module._distribute_module_applied = True        # type: ignore[assignment]


def _prepare_input(x: Any, mesh: DeviceMesh, layouts: tuple, wanted: tuple) -> DTensor:
    """Return an input as a DTensor with the placements ``wanted``.

    On a mesh that XLA's programs span, a plain tensor is the whole input. On other meshes it is this rank's shard.
    """
    if mesh._own is not None:
        return distributed(x, mesh, wanted)
    made = x if isinstance(x, DTensor) else DTensor.from_local(x, mesh, layouts)
    return made.redistribute(placements=wanted) if layouts != wanted else made


def _prepare_output(x: Any, mesh: DeviceMesh, layouts: tuple | None, local: bool) -> Any:
    """Return an output with the placements ``layouts``, as a plain tensor if ``local``."""
    if layouts is None:
        made = x
    elif mesh._own is not None:
        made = x.redistribute(mesh, layouts)
    else:
        made = x if x.placements == layouts else x.redistribute(placements=layouts)
    return _local(made, mesh) if local else made


def _local(x: DTensor, mesh: DeviceMesh) -> Any:
    """Return this rank's shard. On a mesh that XLA's programs span, a tensor that is split stays a DTensor."""
    if mesh._own is not None and not all(isinstance(p, Replicate) for p in x.placements):
        return x
    return x.to_local()


class _WeightStyle(ParallelStyle):
    """The base class of styles for Linear and Embedding: ``_desired`` places the inputs, ``_placed`` the parameters."""

    input_layouts: tuple
    output_layouts: tuple
    use_local_output: bool

    def _placed(self, module: Module, name: str) -> Placement:
        raise NotImplementedError

    def _desired(self, module: Module) -> tuple:
        raise NotImplementedError

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        if not isinstance(module, (Linear, Embedding)):
            raise NotImplementedError(f"{type(self).__name__} currently only support nn.Linear and nn.Embedding!")
        distributed_once(module)
        desired = self._desired(module)
        for name, p in list(module.named_parameters(recurse=False)):
            spread = distribute_tensor(p, device_mesh, [self._placed(module, name)], src_data_rank=self.src_data_rank)
            module.register_parameter(name, Parameter(spread, p.requires_grad))      # type: ignore[arg-type]
        module.register_forward_pre_hook(lambda mod, x: (_prepare_input(x[0], device_mesh, self.input_layouts, desired), *x[1:]))
        local, layouts = self.use_local_output, self.output_layouts
        module.register_forward_hook(lambda mod, x, out: _prepare_output(out, device_mesh, _fronts(layouts, out), local))
        return module

    def __repr__(self) -> str:
        return (f"{type(self).__name__}(input_layouts={self.input_layouts}, output_layouts={self.output_layouts}, "
                f"use_local_output={self.use_local_output})")


def _fronts(layouts: tuple, out: Any) -> tuple:
    return tuple([Shard(p.dim % out.dim()) if isinstance(p, Shard) else p for p in layouts])


class ColwiseParallel(_WeightStyle):
    """A style that shards a Linear or Embedding by its output features. See
    torch.distributed.tensor.parallel.ColwiseParallel.

    Args:
        input_layouts: the placement of the module's input; Replicate, if None.
        output_layouts: the placement of the module's output; Shard of the last dim, if None.
        use_local_output: whether the output is this rank's shard as a plain tensor.

    """

    def __init__(self, *, input_layouts: Placement | None = None, output_layouts: Placement | None = None,
                 use_local_output: bool = True):
        self.input_layouts, self.output_layouts = (input_layouts or Replicate(),), (output_layouts or Shard(-1),)
        self.desired_input_layouts, self.use_local_output = (Replicate(),), use_local_output

    def _desired(self, module: Module) -> tuple:
        return self.desired_input_layouts

    def _placed(self, module: Module, name: str) -> Placement:
        return Shard(0 if isinstance(module, Linear) else 1)


class RowwiseParallel(_WeightStyle):
    """A style that shards a Linear by its input features, or an Embedding by its rows.

    See torch.distributed.tensor.parallel.RowwiseParallel.

    Args:
        input_layouts: the placement of the module's input; Shard of the last dim, if None.
        output_layouts: the placement of the module's output; Replicate, if None.
        use_local_output: whether the output is this rank's shard as a plain tensor.

    """

    def __init__(self, *, input_layouts: Placement | None = None, output_layouts: Placement | None = None,
                 use_local_output: bool = True):
        self.input_layouts, self.output_layouts = (input_layouts or Shard(-1),), (output_layouts or Replicate(),)
        self.use_local_output = use_local_output

    def _desired(self, module: Module) -> tuple:
        return (Shard(-1),) if isinstance(module, Linear) else (Replicate(),)

    def _placed(self, module: Module, name: str) -> Placement:
        if name == "bias":
            return Replicate()
        return Shard(1 if isinstance(module, Linear) else 0)


class SequenceParallel(ParallelStyle):
    """A style in which each rank runs a normalization or dropout on its shard of the sequence.

    See torch.distributed.tensor.parallel.SequenceParallel.

    Args:
        sequence_dim: the dim of the sequence in the input.
        use_local_output: whether the output is this rank's shard as a plain tensor.

    """

    def __init__(self, *, sequence_dim: int = 1, use_local_output: bool = False):
        self.sequence_sharding, self.use_local_output = (Shard(sequence_dim),), use_local_output

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        distributed_once(module)
        for part in module.modules():
            for name, p in list(part.named_parameters(recurse=False)):
                everywhere = DTensor.from_local(p.data, device_mesh, [Replicate()])      # type: ignore[attr-defined]
                part.register_parameter(name, Parameter(everywhere, p.requires_grad))
        module.register_forward_pre_hook(lambda mod, x: (self._prepared(mod, x[0], device_mesh), *x[1:]))
        module.register_forward_hook(lambda mod, x, out: _prepare_output(out, device_mesh, None, self.use_local_output))
        return module

    def _prepared(self, module: Module, x: Any, mesh: DeviceMesh) -> DTensor:
        if not isinstance(x, Tensor):
            raise ValueError(f"expecting input of {module} to be a torch.Tensor or DTensor, but got {x}")
        if mesh._own is not None or not isinstance(x, DTensor):
            return _prepare_input(x, mesh, self.sequence_sharding, self.sequence_sharding)
        return x if x.placements == self.sequence_sharding else x.redistribute(placements=self.sequence_sharding)

    def __repr__(self) -> str:
        return f"SequenceParallel(sequence_dim={self.sequence_sharding[0].dim}, use_local_output={self.use_local_output})"


def _as_tuple(layouts: Any) -> Any:
    return (layouts,) if isinstance(layouts, Placement) else layouts


def _convert_layout(x: Any, mesh: DeviceMesh, layout: Placement | None, desired: Placement | None, local: bool) -> Any:
    """Convert one input or output to the desired placement; return it unchanged if no layout is given."""
    if layout is None:
        return x
    if not isinstance(x, Tensor):
        raise AssertionError("expecting input to be a torch.Tensor!")
    made = _prepare_input(x, mesh, (layout,), (desired or layout,))
    return _local(made, mesh) if local else made


class PrepareModuleInput(ParallelStyle):
    """A style that converts a module's inputs to DTensors. See torch.distributed.tensor.parallel.PrepareModuleInput.

    Args:
        input_layouts: the placements of the positional inputs; None for inputs that stay as they are.
        desired_input_layouts: the placements that the module needs.
        input_kwarg_layouts: the placements of inputs by name.
        desired_input_kwarg_layouts: the placements that the module needs, by name.
        use_local_output: whether the module gets this rank's shards as plain tensors.

    """

    def __init__(self, *, input_layouts: Any = None, desired_input_layouts: Any = None, input_kwarg_layouts: dict | None = None,
                 desired_input_kwarg_layouts: dict | None = None, use_local_output: bool = False):
        self.input_layouts, self.desired_input_layouts = _as_tuple(input_layouts), _as_tuple(desired_input_layouts)
        self.use_local_output, self.with_kwargs = use_local_output, input_kwarg_layouts is not None
        self.input_kwarg_layouts = input_kwarg_layouts or {}
        self.desired_input_kwarg_layouts = desired_input_kwarg_layouts or {}
        if self.input_layouts is not None and self.desired_input_layouts is None:
            raise AssertionError("desired module inputs should not be None!")
        if self.input_layouts is not None and len(self.input_layouts) != len(self.desired_input_layouts):
            raise AssertionError("input_layouts and desired_input_layouts should have same length!")
        if self.with_kwargs and len(self.input_kwarg_layouts) != len(self.desired_input_kwarg_layouts):
            raise AssertionError("input_kwarg_layouts and desired_input_kwarg_layouts should have same length!")

    def _prepared(self, inputs: Any, mesh: DeviceMesh) -> Any:
        if self.input_layouts is None:
            return inputs
        given = inputs if isinstance(inputs, tuple) else (inputs,)
        if len(given) != len(self.input_layouts):
            raise ValueError("module inputs and input_layouts should have same length!")
        return tuple([_convert_layout(x, mesh, a, b, self.use_local_output)
                      for x, a, b in zip(given, self.input_layouts, self.desired_input_layouts, strict=True)])

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        wanted, desired, local = self.input_kwarg_layouts, self.desired_input_kwarg_layouts, self.use_local_output

        def prepare(mod: Module, inputs: tuple, kwargs: dict) -> tuple:
            named = {k: _convert_layout(x, device_mesh, wanted.get(k), desired.get(k), local) for k, x in kwargs.items()}
            return self._prepared(inputs, device_mesh), named
        module.register_forward_pre_hook(prepare, with_kwargs=True)
        return module

    def __repr__(self) -> str:
        return (f"PrepareModuleInput(input_layouts={self.input_layouts}, desired_input_layouts={self.desired_input_layouts}, "
                f"input_kwarg_layouts={self.input_kwarg_layouts}, "
                f"desired_input_kwarg_layouts={self.desired_input_kwarg_layouts}, use_local_output={self.use_local_output})")


class PrepareModuleOutput(ParallelStyle):
    """A style that converts a module's outputs to DTensors. See torch.distributed.tensor.parallel.PrepareModuleOutput.

    Args:
        output_layouts: the placements of the outputs.
        desired_output_layouts: the placements to convert them to.
        use_local_output: whether the outputs are this rank's shards as plain tensors.

    """

    def __init__(self, *, output_layouts: Any, desired_output_layouts: Any, use_local_output: bool = True):
        self.output_layouts, self.desired_output_layouts = _as_tuple(output_layouts), _as_tuple(desired_output_layouts)
        self.use_local_output = use_local_output
        if len(self.output_layouts) != len(self.desired_output_layouts):
            raise AssertionError("output_layouts and desired_output_layouts should have same length!")

    def _finished(self, outputs: Any, mesh: DeviceMesh) -> Any:
        given = outputs if isinstance(outputs, tuple) else (outputs,)
        if len(given) != len(self.output_layouts):
            raise ValueError("module outputs and output_layouts should have same length!")
        made = tuple([_convert_layout(x, mesh, a, b, self.use_local_output)
                      for x, a, b in zip(given, self.output_layouts, self.desired_output_layouts, strict=True)])
        return made[0] if len(made) == 1 else made

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        module.register_forward_hook(lambda mod, inputs, outputs: self._finished(outputs, device_mesh))
        return module

    def __repr__(self) -> str:
        return (f"PrepareModuleOutput(output_layouts={self.output_layouts}, "
                f"desired_output_layouts={self.desired_output_layouts}, use_local_output={self.use_local_output})")


class PrepareModuleInputOutput(ParallelStyle):
    """PrepareModuleInput and PrepareModuleOutput in one. See torch.distributed.tensor.parallel.PrepareModuleInputOutput."""

    def __init__(self, *, input_layouts: Any = None, desired_input_layouts: Any = None, input_kwarg_layouts: dict | None = None,
                 desired_input_kwarg_layouts: dict | None = None, use_local_input: bool = False, output_layouts: Any = None,
                 desired_output_layouts: Any = None, use_local_output: bool = True):
        self.prepare_module_input = PrepareModuleInput(
            input_layouts=input_layouts, desired_input_layouts=desired_input_layouts, input_kwarg_layouts=input_kwarg_layouts,
            desired_input_kwarg_layouts=desired_input_kwarg_layouts, use_local_output=use_local_input)
        self.prepare_module_output = PrepareModuleOutput(
            output_layouts=output_layouts, desired_output_layouts=desired_output_layouts, use_local_output=use_local_output)

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        self.prepare_module_input._apply(module, device_mesh)
        return self.prepare_module_output._apply(module, device_mesh)
