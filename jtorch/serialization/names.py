"""Names in checkpoints, which are always PyTorch's, so that PyTorch can read the checkpoints."""
from __future__ import annotations

import importlib
import re
import sys
from types import FunctionType
from typing import Any

from jtorch._base.absent_dtypes import AbsentDtype
from jtorch._base.generator import Generator
from jtorch._base.qscheme import qscheme
from jtorch._base.size import Size
from jtorch._nodes.hooks import RemovableHandle
from jtorch._storage.untyped import UntypedStorage
from jtorch.device import device as device_class
from jtorch.dtype import dtype as dtype_class
from jtorch.dtype import named
from jtorch.nn.modules._hooks import _WrappedHook
from jtorch.nn.modules.module import Module
from jtorch.nn.parallel import DataParallel
from jtorch.nn.parameter import Buffer
from jtorch.tensor import Parameter, Tensor

# These dtypes have a storage class in checkpoints. Storages of other dtypes are saved as bytes; each tensor names its dtype.
_CLASSIC = ("float64", "float32", "float16", "int64", "int32", "int16", "int8", "uint8", "bool", "bfloat16", "complex128",
            "complex64")
STORAGE_CLASSES = {f"{named(name).scalar_name}Storage": named(name) for name in _CLASSIC}
# Maps the storage classes of quantized tensors to the dtypes of their integers.
QUANTIZED_CLASSES = {"QInt8Storage": named("int8"), "QUInt8Storage": named("uint8"), "QInt32Storage": named("int32")}


class StorageType:
    """Stands for ``torch.FloatStorage`` and similar classes in pickles. See torch.serialization.StorageType."""

    def __init__(self, name: str):
        self._name, self._dtype = name, {**STORAGE_CLASSES, **QUANTIZED_CLASSES}[name]

    @property
    def dtype(self) -> dtype_class:
        """The dtype of the elements."""
        return self._dtype

    def __str__(self):
        return f"StorageType(dtype={self.dtype})"


STORAGE_TYPES = {name: StorageType(name) for name in (*STORAGE_CLASSES, *QUANTIZED_CLASSES)}
STORAGE_OF_DTYPE = {dtype: STORAGE_TYPES[name] for name, dtype in STORAGE_CLASSES.items()}
QUANTIZED_STORAGE_OF = {dtype: STORAGE_TYPES[name] for name, dtype in QUANTIZED_CLASSES.items()}

_SPECIAL: dict[Any, tuple[str, str]] = {
    Tensor: ("torch", "Tensor"), Parameter: ("torch.nn.parameter", "Parameter"), Buffer: ("torch.nn.parameter", "Buffer"),
    Size: ("torch", "Size"), device_class: ("torch", "device"), dtype_class: ("torch", "dtype"),
    Generator: ("torch._C", "Generator"), UntypedStorage: ("torch.storage", "UntypedStorage"),
    DataParallel: ("torch.nn.parallel.data_parallel", "DataParallel"),
    _WrappedHook: ("torch.nn.modules.module", "_WrappedHook"), RemovableHandle: ("torch.utils.hooks", "RemovableHandle"),
}
_OURS = {path: thing for thing, path in _SPECIAL.items()}


def register(thing: Any, module: str, name: str) -> Any:
    """Register the name of an object of jtorch in checkpoints."""
    _SPECIAL[thing], _OURS[module, name] = (module, name), thing
    return thing


# Maps a pattern for names of ``nn.Module`` classes to the file in torch/nn/modules; the first match counts.
_FILES = [(re.compile(pattern), file) for pattern, file in (
    ("Softmax\\w*Loss", "adaptive"), ("Options$", "linear_cross_entropy_options"), ("Loss", "loss"),
    ("Pool|MaxUnpool", "pooling"), ("Dropout", "dropout"), ("BatchNorm", "batchnorm"), ("InstanceNorm", "instancenorm"),
    ("Conv", "conv"), (r"Pad\dd", "padding"), ("Transformer", "transformer"), ("Upsampl", "upsampling"),
    ("GRU|LSTM|RNN", "rnn"), ("Norm$|LRN", "normalization"), ("[Ll]inear$|Identity", "linear"), ("Flatten|Unflatten", "flatten"),
    ("Fold|Unfold", "fold"), ("^(Module|Parameter)(List|Dict)$|Sequential|Container", "container"), ("Embedding", "sparse"),
    ("Distance|CosineSimilarity", "distance"), ("PixelShuffle|PixelUnshuffle", "pixelshuffle"),
    ("ChannelShuffle", "channelshuffle"), ("^Module$", "module"), ("", "activation"))]
_OPTIMIZER_FILES = {"Adafactor": "_adafactor", "Muon": "_muon", "SparseAdam": "sparse_adam"}
_FUNCTIONS = ("torch.nn.functional", "torch.nn.init", "torch.linalg", "torch.fft", "torch.special", "torch")


def _public(path: str) -> Any:
    """Return the jtorch module with PyTorch's path ``path``, if it has been imported."""
    return sys.modules.get("jtorch" + path.removeprefix("torch"))


def _has(path: str, name: str, thing: Any) -> bool:
    return getattr(_public(path), name, None) is thing


def torch_name(thing: Any) -> tuple[str, str] | None:
    """Return the (module, name) in PyTorch of a class, function or dtype of jtorch; None for other objects."""
    if thing.__class__ in (dtype_class, AbsentDtype, qscheme):
        return "torch", thing.name
    if thing.__class__ is StorageType:
        return "torch", thing._name
    if not isinstance(thing, (type, FunctionType)):
        return None
    found = _SPECIAL.get(thing)
    module, name = thing.__module__, thing.__qualname__
    if found or not isinstance(module, str) or module.split(".")[0] != "jtorch":
        return found
    if isinstance(thing, FunctionType):
        return next(((path, name) for path in _FUNCTIONS if _has(path, name, thing)), _literal(module, name))
    return _class_name(thing, module, name)


def _class_name(thing: type, module: str, name: str) -> tuple[str, str]:
    if module.startswith("jtorch.nn.") and (issubclass(thing, Module) or name.endswith("Options")):
        return f"torch.nn.modules.{next(file for pattern, file in _FILES if pattern.search(name))}", name
    if _has("torch.optim.lr_scheduler", name, thing):
        return "torch.optim.lr_scheduler", name
    if "optim" in module and _has("torch.optim", name, thing):
        return f"torch.optim.{_OPTIMIZER_FILES.get(name, name.lower())}", name
    return ("torch", name) if _has("torch", name, thing) else _literal(module, name)


def _literal(module: str, name: str) -> tuple[str, str]:
    return "torch" + module.removeprefix("jtorch"), name


# Maps the prefix of a module's path in PyTorch to the module in which jtorch has the names.
_MOVED = (("torch.nn.modules", "torch.nn"), ("torch.optim", "torch.optim"), ("torch._C._nn", "torch.nn.functional"),
          ("torch._C", "torch"), ("torch._tensor", "torch"), ("torch.tensor", "torch"))


def find(module: str, name: str) -> Any:
    """Return jtorch's object for a name in one of PyTorch's modules; AttributeError if there is none."""
    module = "torch" + module.removeprefix("jtorch") if module.split(".")[0] == "jtorch" else module
    if (module, name) in _OURS:
        return _OURS[module, name]
    if name in STORAGE_TYPES:
        return STORAGE_TYPES[name]
    # PyTorch pickles builtin functions as attributes of ``torch._C._VariableFunctionsClass``.
    if (module, name) == ("torch._C", "_VariableFunctionsClass"):
        return _public("torch")
    for path in (*(new for old, new in _MOVED if f"{module}.".startswith(f"{old}.")), module):
        thing = _attribute(path, name)
        if thing is not None:
            return thing
    raise AttributeError(f"jtorch has no {module}.{name}, which this checkpoint needs")


def _attribute(path: str, name: str) -> Any:
    try:
        thing: Any = importlib.import_module("jtorch" + path.removeprefix("torch"))
        for part in name.split("."):
            thing = getattr(thing, part)
    except (ImportError, AttributeError):
        return None
    return thing


def shown(thing: Any) -> str:
    """Return a short text for an object of a checkpoint. The repr of nested tuples may take forever."""
    return repr(thing)[:200] if isinstance(thing, (str, int, float, type, FunctionType)) else f"a {type(thing).__name__}"


def is_torch(module: str) -> bool:
    """Return whether a module that a pickle names belongs to PyTorch or jtorch."""
    return module.split(".")[0] in ("torch", "jtorch")


def python3_name(module: str, name: str) -> tuple[str, str]:
    """Return the (module, name) of Python 3 for one of Python 2 in a pickle; other names stay the same."""
    import _compat_pickle
    if (module, name) in _compat_pickle.NAME_MAPPING:
        return _compat_pickle.NAME_MAPPING[module, name]
    return _compat_pickle.IMPORT_MAPPING.get(module, module), name
