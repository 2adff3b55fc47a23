"""Modules of PyTorch that are not built. Their names can be imported and raise NotImplementedError when used.

So a program may import such a module and ask ``is_available()``. Using more of it raises an error that names the missing part.
"""
from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any


class NotBuiltError(NotImplementedError, AttributeError):
    """The error for a PyTorch name that is not built. ``hasattr`` returns False for the name."""


_SPREAD = "In one process, jax.sharding spreads a computation over several devices."
_QUANTIZED = "torch.ao.quantization.quantize_dynamic is there; torch.bfloat16 halves memory."
_CHECKPOINTS = "torch.distributed.checkpoint.save and load keep what ranks share; state_dict.get_model_state_dict gives it whole."
_GRAPHS = "There is no graph of a module to work on; jax.make_jaxpr of a function that calls it gives JAX's."
_PARTS = "There is no graph of forward and backward to split; torch.compile and the engine compile both."
# Maps each module to advice: an alternative, or the reason.
MODULES = {
    "_decomp": "There is no table of decompositions; torch.compile takes functions as they are.",
    "_dynamo.backends": _PARTS,
    "_dynamo.backends.common": _PARTS,
    "_functorch.compilers": _PARTS,
    "_functorch.partitioners": _PARTS,
    "distributed._functional_collectives": "torch.distributed.nn.functional has collectives with gradients.",
    "distributed._shard": _SPREAD,
    "distributed._state_dict_utils": _SPREAD,
    "distributed.autograd": "torch.distributed.nn.functional has collectives with gradients.",
    "distributed.checkpoint._consolidate_hf_safetensors": _CHECKPOINTS,
    "distributed.checkpoint.format_utils": _CHECKPOINTS,
    "distributed.checkpoint.optimizer": _CHECKPOINTS,
    "distributed.checkpoint.planner": _CHECKPOINTS,
    "distributed.launcher": "torch.distributed.run starts processes.",
    "distributed.utils": _SPREAD,
    "distributed.rpc": "torch.distributed has collectives and point-to-point messages.",
    "quantization": _QUANTIZED,
    "ao": _QUANTIZED,
    "ao.nn": _QUANTIZED,
    "ao.nn.quantized": _QUANTIZED,
    "ao.nn.quantized.dynamic": _QUANTIZED,
    "ao.quantization": _QUANTIZED,
    "ao.quantization.observer": _QUANTIZED,
    "ao.quantization.qconfig": _QUANTIZED,
    "ao.quantization.quantize": _QUANTIZED,
    "ao.pruning": "torch.nn.utils.prune is here.",
    "nn.quantized": _QUANTIZED,
    "nn.quantized.dynamic": _QUANTIZED,
    "nn.quantizable": _QUANTIZED,
    "nn.qat": _QUANTIZED,
    "nn.intrinsic": _QUANTIZED,
    "nn.utils._per_sample_grad": "torch.func.vmap of torch.func.grad gives gradients per sample.",
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


# Names that work in modules that are not built. They say that the feature is absent.
_NO_DEVICES = {"is_available": lambda: False, "is_initialized": lambda: False, "device_count": lambda: 0}
_ANSWERS: dict[str, dict[str, Any]] = {
    "mps": _NO_DEVICES,
    "xpu": _NO_DEVICES,
    "mtia": _NO_DEVICES,
    "distributed.autograd": {"is_available": lambda: False},
    "distributed.rpc": {"is_available": lambda: False},
    "utils.cpp_extension": {"CUDA_HOME": None, "CUDNN_HOME": None, "HIP_HOME": None, "ROCM_HOME": None,
                            "SYCL_HOME": None, "IS_HIP_EXTENSION": False},
}
# Maps a module to the names that work in it, and to the package that has them. Reading one of the names imports the package.
_OBSERVERS = frozenset("""
    ObserverBase PlaceholderObserver UniformQuantizationObserverBase MinMaxObserver PerChannelMinMaxObserver
    default_weight_observer default_per_channel_weight_observer default_dynamic_quant_observer default_placeholder_observer
""".split())
_QCONFIGS = frozenset("QConfig default_dynamic_qconfig float16_dynamic_qconfig per_channel_dynamic_qconfig".split())
_QUANTIZING = frozenset("quantize_dynamic propagate_qconfig_ swap_module".split())
_ALL_OF_QUANTIZATION = _OBSERVERS | _QCONFIGS | _QUANTIZING | {"get_default_dynamic_quant_module_mappings"}
_QUANTIZED_MODULES = frozenset("Linear LSTM GRU LSTMCell GRUCell RNNCell".split())
BUILT: dict[str, tuple[frozenset[str], str]] = {
    "quantization": (_ALL_OF_QUANTIZATION, "_quantized"),
    "ao.quantization": (_ALL_OF_QUANTIZATION, "_quantized"),
    "ao.quantization.observer": (_OBSERVERS, "_quantized"),
    "ao.quantization.qconfig": (_QCONFIGS, "_quantized"),
    "ao.quantization.quantize": (_QUANTIZING, "_quantized"),
    "ao.nn.quantized.dynamic": (_QUANTIZED_MODULES, "_quantized"),
    "nn.quantized.dynamic": (_QUANTIZED_MODULES, "_quantized"),
}
# Names that get no placeholder, since packages look for them to see whether PyTorch was built with the feature.
_ABSENT = {("jtorch.distributed.rpc", "api")}


class NotBuiltMeta(type):
    """The metaclass of placeholders: they may be default arguments, base classes or arguments of isinstance, but not called."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return placeholder(f"{cls.__module__}.{cls.__qualname__}", name)

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(next(vars(c)["_says"] for c in cls.__mro__ if "_says" in vars(c)))

    def __repr__(cls) -> str:
        return f"<{cls.__module__}.{cls.__qualname__}: not built>"


def placeholder(module: str, name: str) -> Any:
    """Return a placeholder for ``module.name``."""
    known = next((m for m in _prefixes(module) if m in MODULES), None)
    says = f"torch.{module}.{name} is not built. {MODULES.get(known, '') if known else ''}".rstrip()
    return NotBuiltMeta(name, (), {"__module__": module, "_says": says, "__doc__": says})


def placeholders(module: str) -> Callable[[str], Any]:
    """Return a module's ``__getattr__`` that gives a placeholder for each public name."""
    def find(name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"module 'torch.{module}' has no attribute {name!r}")
        return placeholder(module, name)
    return find


def _prefixes(module: str) -> list[str]:
    parts = module.split(".")
    return [".".join(parts[:i]) for i in range(len(parts), 0, -1)]


class NotBuilt(ModuleType):
    """A PyTorch module that is not built. Its public names are placeholders, except those in ``_ANSWERS`` and ``BUILT``."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or (self.__name__, name) in _ABSENT:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        path = self.__name__.removeprefix("jtorch.")
        names, package = BUILT.get(path, (frozenset(), ""))
        return getattr(importlib.import_module(f"jtorch.{package}"), name) if name in names else placeholder(path, name)


def make_modules() -> None:
    """Register the modules in ``sys.modules`` and as attributes of loaded parents."""
    for name, instead in MODULES.items():
        full = f"jtorch.{name}"
        module = sys.modules[full] = NotBuilt(full, f"torch.{name}: not built. {instead}")
        module.__dict__.update(_ANSWERS.get(name, {}), __path__=[])
        parent, _, short = full.rpartition(".")
        if parent in sys.modules:       # a parent loaded later finds the module in sys.modules
            setattr(sys.modules[parent], short, module)


def part_of(full: str) -> NotBuilt | None:
    """Return a new module called ``full`` if its parent is a module that is not built, else None."""
    parent = sys.modules.get(full.rpartition(".")[0])
    if not isinstance(parent, NotBuilt):
        return None
    made = sys.modules[full] = NotBuilt(full, parent.__doc__)
    made.__dict__.update(__path__=[])
    setattr(parent, full.rpartition(".")[2], made)
    return made
