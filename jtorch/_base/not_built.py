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
_CHECKPOINTS = "torch.distributed.checkpoint.save and load keep what ranks share; state_dict.get_model_state_dict gives it whole."
_GRAPHS = "There is no graph of a module to work on; jax.make_jaxpr of a function that calls it gives JAX's."
MODULES = {
    "distributed._functional_collectives": _SPREAD,
    "distributed._shard": _SPREAD,
    "distributed._state_dict_utils": _SPREAD,
    "distributed.checkpoint._consolidate_hf_safetensors": _CHECKPOINTS,
    "distributed.checkpoint.format_utils": _CHECKPOINTS,
    "distributed.checkpoint.optimizer": _CHECKPOINTS,
    "distributed.checkpoint.planner": _CHECKPOINTS,
    "distributed.fsdp.sharded_grad_scaler": "torch.bfloat16 needs no scaling of the loss.",
    "distributed.launcher": "torch.distributed.run starts processes.",
    "distributed.utils": _SPREAD,
    "distributed.rpc": _SPREAD,
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
    "nn.utils._per_sample_grad": "torch.func.vmap of torch.func.grad gives gradients per sample.",
    "package": "torch.save keeps tensors and modules.",
    "monitor": "torch.utils.tensorboard writes what is measured.",
    "mps": "The accelerators here are JAX's: cuda and xla.",
    "xpu": "The accelerators here are JAX's: cuda and xla.",
    "mtia": "The accelerators here are JAX's: cuda and xla.",
    "utils.cpp_extension": "jax.ffi calls compiled code.",
    "utils._sympy": "There are no symbolic sizes here.",
    "utils.mobile_optimizer": _GRAPHS,
    "distributed.tensor.experimental": _SPREAD,
    "distributed._tensor.experimental": _SPREAD,
}


# Names that PyTorch lacks too where it was built without them, and packages ask about.
_ABSENT = {("jtorch.distributed.rpc", "api")}


class NotBuiltMeta(type):
    """Lets a name be a default argument, a base class, the second argument of isinstance; calling it raises."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
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


def placeholders(module: str) -> Callable[[str], Any]:
    """Return a ``__getattr__`` for a file of PyTorch's name: each public name of it raises when it is used."""
    def find(name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"module 'torch.{module}' has no attribute {name!r}")
        return placeholder(module, name)
    return find


def _prefixes(module: str) -> list[str]:
    parts = module.split(".")
    return [".".join(parts[:i]) for i in range(len(parts), 0, -1)]


class NotBuilt(ModuleType):
    """A module of PyTorch's that is not here: every public name can be had, and says so when it is called."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or (self.__name__, name) in _ABSENT:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        return placeholder(self.__name__.removeprefix("jtorch."), name)


def _answers(name: str) -> dict[str, Callable]:
    """What can be answered all the same: that nothing is there."""
    if name in ("mps", "xpu", "mtia"):
        return {"is_available": lambda: False, "is_initialized": lambda: False, "device_count": lambda: 0}
    return {}


def make_modules() -> None:
    """Puts the modules where they can be imported; attributes of modules that have files are left alone."""
    for name, instead in MODULES.items():
        full = f"jtorch.{name}"
        module = sys.modules[full] = NotBuilt(full, f"torch.{name}: not built. {instead}")
        module.__dict__.update(_answers(name), __path__=[])
        parent, _, short = full.rpartition(".")
        if parent in sys.modules:       # else it is loaded later, and finds this one
            setattr(sys.modules[parent], short, module)


def part_of(full: str) -> NotBuilt | None:
    """The module ``full``, made now, if it is a part of one that is not built."""
    parent = sys.modules.get(full.rpartition(".")[0])
    if not isinstance(parent, NotBuilt):
        return None
    made = sys.modules[full] = NotBuilt(full, parent.__doc__)
    made.__dict__.update(__path__=[])
    setattr(parent, full.rpartition(".")[2], made)
    return made
