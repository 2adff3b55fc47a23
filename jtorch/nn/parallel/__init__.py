"""torch.nn.parallel: what wraps a module to run on several devices. Here such a module runs on one."""
from __future__ import annotations

from typing import Any

from jtorch import cuda
from jtorch.device import device
from jtorch.nn.modules.module import Module
from jtorch.tensor import Tensor

__all__ = ["DataParallel", "DistributedDataParallel", "data_parallel"]


class DataParallel(Module):
    """A module as an attribute ``module``, called on one device with the whole batch. See torch.nn.DataParallel.

    Results and the names in ``state_dict`` are PyTorch's. Without a GPU that is all; with GPUs the module goes to the first
    of ``device_ids`` and inputs are moved there, but batches are not split among the others (layers that look at the batch,
    as batch normalization, see all of it).

    Shape: whatever ``forward`` takes and gives.

    Args:
        module (Module): called.
        device_ids (list or None): accepted.
        output_device (device or None): accepted.
        dim (int): accepted.

    Example::

        >>> net = torch.nn.DataParallel(torch.nn.Linear(2, 1))
        >>> list(net.state_dict()), net(torch.ones(3, 2)).shape
        (['module.weight', 'module.bias'], torch.Size([3, 1]))

    """

    def __init__(self, module: Module, device_ids: Any = None, output_device: Any = None, dim: int = 0):
        super().__init__()
        self.module = module
        self.device_ids: list = []
        if cuda.is_available():
            self.device_ids = list(range(cuda.device_count())) if device_ids is None else list(device_ids)
            self.dim, self.output_device = dim, self.device_ids[0] if output_device is None else output_device
            module.to(self._place())

    def _place(self) -> device:
        first = self.device_ids[0]
        return device("cuda", first) if isinstance(first, int) else device(first)

    def forward(self, *inputs, **kwargs):
        """The module's result."""
        if self.device_ids:
            place = self._place()
            inputs, kwargs = tuple([_moved(x, place) for x in inputs]), {k: _moved(x, place) for k, x in kwargs.items()}
        return self.module(*inputs, **kwargs)


def _moved(x: Any, place: device) -> Any:
    return x.to(place) if isinstance(x, Tensor) else x      # type: ignore[attr-defined]


def data_parallel(module: Module, inputs: Any, device_ids: Any = None, output_device: Any = None, dim: int = 0,
                  module_kwargs: Any = None) -> Any:
    """The module's result for the whole batch, on one device. See torch.nn.parallel.data_parallel."""
    given = inputs if isinstance(inputs, tuple) else (inputs,) if inputs is not None else ()
    return DataParallel(module, device_ids, output_device, dim)(*given, **(module_kwargs or {}))


def __getattr__(name: str) -> Any:
    """``DistributedDataParallel``, imported when it is asked for: it needs ``torch.distributed``."""
    if name == "DistributedDataParallel":
        from jtorch.nn.parallel.distributed import DistributedDataParallel
        return DistributedDataParallel
    raise AttributeError(f"module 'torch.nn.parallel' has no attribute {name!r}")
