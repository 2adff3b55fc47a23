"""The parts of PyTorch that are not here, as modules whose names can be imported and raise NotImplementedError when used.

So a program that imports ``torch.distributed`` and then asks ``is_available()`` runs, and one that goes on says what it lacks.
"""
from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any


class NotBuiltError(NotImplementedError, AttributeError):
    """A name of PyTorch's that is not here; ``hasattr`` is False for it."""


# Module: what can be done instead, or what is the case.
_SPREAD = "In one process, jax.sharding spreads a computation over several devices."
_QUANTIZED = "Quantized tensors are not built; torch.bfloat16 halves memory."
_GRAPHS = "There is no graph of a module to work on; jax.make_jaxpr of a function that calls it gives JAX's."
_SPARSE = "Sparse tensors are not built; torch.Tensor.scatter_add_ and index_add_ work on dense ones."
MODULES = {
    "distributed": _SPREAD,
    "distributed.nn": _SPREAD,
    "distributed.rpc": _SPREAD,
    "distributed.fsdp": _SPREAD,
    "distributed.tensor": _SPREAD,
    "distributed.optim": _SPREAD,
    "distributed.checkpoint": "torch.save writes whole checkpoints.",
    "distributed.elastic": _SPREAD,
    "distributed.algorithms": _SPREAD,
    "distributed.device_mesh": _SPREAD,
    "quantization": _QUANTIZED,
    "ao": _QUANTIZED,
    "ao.nn": _QUANTIZED,
    "ao.quantization": _QUANTIZED,
    "ao.pruning": "torch.nn.utils.prune is here.",
    "nn.quantized": _QUANTIZED,
    "nn.quantizable": _QUANTIZED,
    "nn.qat": _QUANTIZED,
    "nn.intrinsic": _QUANTIZED,
    "nested": "torch.nn.utils.rnn.pad_sequence makes a batch of sequences of different lengths.",
    "sparse": _SPARSE,
    "export": _GRAPHS,
    "fx": _GRAPHS,
    "onnx": "jax.export writes a function that calls the module as StableHLO.",
    "package": "torch.save keeps tensors and modules.",
    "library": "torch.autograd.Function makes an operation with a derivative of its own.",
    "monitor": "torch.utils.tensorboard writes what is measured.",
    "futures": "concurrent.futures has futures.",
    "mps": "The accelerators here are JAX's: cuda and xla.",
    "xpu": "The accelerators here are JAX's: cuda and xla.",
    "mtia": "The accelerators here are JAX's: cuda and xla.",
    "utils.cpp_extension": "jax.ffi calls compiled code.",
    "utils.mobile_optimizer": _GRAPHS,
    "utils.model_zoo": "Nothing is downloaded; torch.load reads a file.",
    "utils.flop_counter": "jax.jit(f).lower(x).cost_analysis() counts the operations of a function.",
    "nn.attention.flex_attention": "torch.nn.functional.scaled_dot_product_attention takes a mask of any kind.",
}


class NotBuiltMeta(type):
    """Lets a name be a default argument, a base class, the second argument of isinstance; calling it raises."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return placeholder(f"{cls.__module__}.{cls.__qualname__}", name)

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(next(vars(c)["_says"] for c in cls.__mro__ if "_says" in vars(c)))

    def __repr__(cls) -> str:
        return f"<{cls.__module__}.{cls.__qualname__}: not built>"


def placeholder(module: str, name: str) -> Any:
    """What stands for ``module.name``."""
    known = next((m for m in _prefixes(module) if m in MODULES), None)
    says = f"torch.{module}.{name} is not built. {MODULES.get(known, '') if known else ''}".rstrip()
    return NotBuiltMeta(name, (), {"__module__": module, "_says": says, "__doc__": says})


def _prefixes(module: str) -> list[str]:
    parts = module.split(".")
    return [".".join(parts[:i]) for i in range(len(parts), 0, -1)]


class NotBuilt(ModuleType):
    """A module of PyTorch's that is not here: every public name can be had, and says so when it is called."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        return placeholder(self.__name__.removeprefix("jtorch."), name)


def _answers(name: str) -> dict[str, Callable]:
    """What can be answered all the same: that nothing is there."""
    if name == "distributed":
        return {n: lambda: False for n in ("is_available", "is_initialized", "is_nccl_available", "is_gloo_available",
                                           "is_mpi_available", "is_torchelastic_launched")}
    if name in ("mps", "xpu", "mtia"):
        return {"is_available": lambda: False, "is_initialized": lambda: False, "device_count": lambda: 0}
    if name == "onnx":
        return {"is_in_onnx_export": lambda: False}
    return {}


def make_modules() -> None:
    """Puts the modules where they can be imported; attributes of modules that have files are left alone."""
    for name, instead in MODULES.items():
        full = f"jtorch.{name}"
        module = sys.modules[full] = NotBuilt(full, f"torch.{name}: not built. {instead}")
        module.__dict__.update(_answers(name), __path__=[])
        parent, _, short = full.rpartition(".")
        setattr(sys.modules[parent], short, module)
