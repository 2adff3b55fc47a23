"""torch.nn.parallel: wrappers that run a module on several devices."""
from __future__ import annotations

from typing import Any

from jtorch import cuda
from jtorch._base.pytree import tree_map
from jtorch.device import canonical, device, jax_devices
from jtorch.nn.modules.module import Module
from jtorch.nn.parallel import split
from jtorch.tensor import Tensor

__all__ = ["DataParallel", "DistributedDataParallel", "data_parallel"]


class DataParallel(Module):
    """Wraps a module and splits its batches over devices. See torch.nn.DataParallel.

    The parameters stay on the first of ``device_ids``. Each forward copies them to the other devices, and each device
    computes its part of the batch. Layers that reduce over the batch, such as batch normalization, use the whole batch.
    The number of devices is the largest that divides the batch into equal parts. Without a GPU, several ``device_ids``
    name JAX's CPU devices; PyTorch then runs the module unchanged.

    Shape: whatever ``forward`` takes and gives, with the batch in dim ``dim``.

    Args:
        module (Module): the module to call.
        device_ids (list or None): the devices; None means all GPUs.
        output_device (device or None): the device of the results; None means the first device.
        dim (int): the dim of inputs that is split.

    Example::

        >>> net = torch.nn.DataParallel(torch.nn.Linear(2, 1))
        >>> list(net.state_dict()), net(torch.ones(3, 2)).shape
        (['module.weight', 'module.bias'], torch.Size([3, 1]))

    """

    def __init__(self, module: Module, device_ids: Any = None, output_device: Any = None, dim: int = 0):
        super().__init__()
        self.module = module
        self.device_ids: list = []
        on_cpu = not cuda.is_available()
        if not on_cpu or (device_ids is not None and len(device_ids) > 1 and len(jax_devices("cpu")) > 1):
            self.device_ids = list(range(cuda.device_count())) if device_ids is None else list(device_ids)
            self.dim, self.output_device = dim, self.device_ids[0] if output_device is None else output_device
            self._places = [_place(d, "cpu" if on_cpu else "cuda") for d in self.device_ids]
            module.to(self._places[0])

    def forward(self, *inputs, **kwargs):
        """Return the module's result."""
        if not self.device_ids:
            return self.module(*inputs, **kwargs)
        if len(self._places) == 1:
            inputs, kwargs = tree_map(lambda x: _moved(x, self._places[0]), (inputs, kwargs))
            return self.module(*inputs, **kwargs)
        made = split.forward(self.module, self._places, self.dim, inputs, kwargs)
        at = _place(self.output_device, self._places[0].type)
        return made if at is self._places[0] else tree_map(lambda x: _moved(x, at), made)


def _place(given: Any, kind: str) -> device:
    return canonical(device(kind, given) if isinstance(given, int) else device(given))


def _moved(x: Any, place: device) -> Any:
    return x.to(place) if isinstance(x, Tensor) else x      # type: ignore[attr-defined]


def data_parallel(module: Module, inputs: Any, device_ids: Any = None, output_device: Any = None, dim: int = 0,
                  module_kwargs: Any = None) -> Any:
    """Return the module's result for a batch split over devices. See torch.nn.parallel.data_parallel."""
    given = inputs if isinstance(inputs, tuple) else (inputs,) if inputs is not None else ()
    return DataParallel(module, device_ids, output_device, dim)(*given, **(module_kwargs or {}))


def __getattr__(name: str) -> Any:
    """Import ``DistributedDataParallel`` on first access, since it needs ``torch.distributed``."""
    if name == "DistributedDataParallel":
        from jtorch.nn.parallel.distributed import DistributedDataParallel
        return DistributedDataParallel
    raise AttributeError(f"module 'torch.nn.parallel' has no attribute {name!r}")
