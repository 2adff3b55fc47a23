"""torch.utils.tensorboard: ``SummaryWriter``, which is tensorboardX's for tensors of this library."""
from __future__ import annotations

import functools
import importlib
import importlib.util
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from jtorch.tensor import Tensor

__all__ = ["SummaryWriter"]     # The class is created on first access.


def __getattr__(name: str) -> Any:
    if name == "SummaryWriter":
        return _writer()
    if name in ("writer", "summary", "_pytorch_graph"):
        return importlib.import_module(f"jtorch.utils.tensorboard.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def required() -> Any:
    """Return the package tensorboardX; ImportError if it is not installed."""
    try:
        import tensorboardX  # type: ignore[import-not-found,import-untyped,unused-ignore]
    except ImportError as error:
        raise ImportError("SummaryWriter writes with tensorboardX, which is not installed: pip install tensorboardX, or "
                          "jtorch-jax[tensorboard]") from error
    return tensorboardX


def arrays(x: Any) -> Any:
    """Convert the tensors in ``x`` to NumPy arrays, 16-bit floats to float32."""
    if isinstance(x, Tensor):
        x = x.detach()
        return (x.float() if x.dtype.is_floating_point and x.dtype.itemsize < 4 else x).cpu().numpy().copy()    # type: ignore[attr-defined]
    if isinstance(x, dict):
        return {k: arrays(v) for k, v in x.items()}
    return [arrays(v) for v in x] if isinstance(x, list) else x


def _with_arrays(method: Callable) -> Callable:
    @functools.wraps(method)
    def add(self: Any, *args: Any, **kwargs: Any) -> Any:
        return method(self, *[arrays(a) for a in args], **{k: arrays(v) for k, v in kwargs.items()})
    return add


class _Refused:
    """Stands for SummaryWriter if only the package ``tensorboard``, which PyTorch needs, is installed."""

    def __init__(self, *args: Any, **kwargs: Any):
        required()


@functools.cache
def _writer() -> type:
    if importlib.util.find_spec("tensorboardX") is None and importlib.util.find_spec("tensorboard") is not None:
        return type("SummaryWriter", (_Refused,), {"__module__": __name__})
    base: Any = required().SummaryWriter

    class SummaryWriter(base):
        """Writes logs for TensorBoard. See torch.utils.tensorboard.SummaryWriter.

        All ``add_…`` methods accept tensors where tensorboardX accepts arrays. ``add_graph`` draws the graph that torch.fx
        traces, with each module of torch.nn as one node. If a module cannot be traced, it warns and writes nothing.

        >>> from torch.utils.tensorboard import SummaryWriter     # doctest: +SKIP
        >>> with SummaryWriter() as writer:                       # doctest: +SKIP
        ...     for step in range(100):
        ...         writer.add_scalar("loss", loss, step)

        """

        def __init__(self, log_dir: str | None = None, comment: str = "", purge_step: int | None = None, max_queue: int = 10,
                     flush_secs: int = 120, filename_suffix: str = "") -> None:
            super().__init__(log_dir, comment, purge_step, max_queue, flush_secs, filename_suffix)
            self.log_dir = self.logdir

        def get_logdir(self) -> str:
            """Return the log folder."""
            return self.log_dir

        def add_scalar(self, tag: str, scalar_value: Any, global_step: Any = None, walltime: float | None = None,
                       new_style: bool = False, double_precision: bool = False) -> None:
            """Write one number, or a tensor with one element."""
            value = np.asarray(arrays(scalar_value))
            if value.size != 1:
                raise AssertionError(f"Expected scalar value to have 1 element, got {value.size}")
            super().add_scalar(tag, value.item(), None if global_step is None else int(global_step), walltime)

        def add_hparams(self, hparam_dict: dict, metric_dict: dict, hparam_domain_discrete: Any = None,
                        run_name: str | None = None, global_step: int | None = None) -> None:
            """Write hyperparameters and the metrics that they led to."""
            metrics = {k: float(v) for k, v in metric_dict.items()}
            hparams = {k: v.item() if isinstance(v, Tensor) else v for k, v in hparam_dict.items()}
            super().add_hparams(hparams, metrics, run_name, global_step)

        def add_graph(self, model: Any, input_to_model: Any = None, verbose: bool = False, use_strict_trace: bool = True) -> None:
            """Write the graph of a module that torch.fx traces; warn if it cannot be traced."""
            from jtorch.utils.tensorboard._pytorch_graph import graph
            try:
                drawn = graph(model, input_to_model, verbose, use_strict_trace)
            except Exception as error:
                warnings.warn(f"add_graph: torch.fx could not trace {type(model).__name__}, so no graph is written: {error}",
                              stacklevel=2)
                return
            self._get_file_writer().add_graph(drawn)

    for name in dir(base):
        if name.startswith("add_") and name not in vars(SummaryWriter):
            setattr(SummaryWriter, name, _with_arrays(getattr(base, name)))
    return SummaryWriter
