"""jtorch: PyTorch's imperative API on JAX. ``import jtorch as torch``."""
from __future__ import annotations

import sys as _sys
import types as _types

from jtorch import amp as amp
from jtorch import attention as _attention
from jtorch import autograd as autograd
from jtorch import backends as backends
from jtorch import bind as _bind
from jtorch import control as _control
from jtorch import conversion as _conversion
from jtorch import cpu as cpu
from jtorch import cuda as cuda
from jtorch import dense as _dense
from jtorch import device as _device_module
from jtorch import dropout as _dropout
from jtorch import dtype as _dtype_module
from jtorch import engine as engine
from jtorch import func as func
from jtorch import functional as functional
from jtorch import indexing as _indexing
from jtorch import later as _later
from jtorch import legacy as _legacy
from jtorch import lowrank as _lowrank
from jtorch import metadata as _metadata
from jtorch import native as _native
from jtorch import nn as nn
from jtorch import no_grad as _no_grad_module
from jtorch import not_built as _not_built
from jtorch import numbered as _numbered
from jtorch import optim as optim
from jtorch import overloads as _overloads
from jtorch import pooling as _pooling
from jtorch import random as random
from jtorch import recurrent as _recurrent
from jtorch import scaled as _scaled
from jtorch import serialization as serialization
from jtorch import settings as _settings
from jtorch import shared_memory as _shared_memory
from jtorch import trees as _trees
from jtorch import utils as utils
from jtorch import version as version
from jtorch._print import get_printoptions as get_printoptions
from jtorch._print import set_printoptions as set_printoptions
from jtorch.backends.precision import get_float32_matmul_precision as get_float32_matmul_precision
from jtorch.backends.precision import set_float32_matmul_precision as set_float32_matmul_precision
from jtorch.creation import as_tensor as as_tensor
from jtorch.creation import asarray as asarray
from jtorch.creation import empty_strided as empty_strided
from jtorch.creation import from_dlpack as from_dlpack
from jtorch.creation import from_jax as from_jax
from jtorch.creation import from_numpy as from_numpy
from jtorch.creation import frombuffer as frombuffer
from jtorch.creation import tensor as _tensor
from jtorch.device import get_default_device as get_default_device
from jtorch.device import set_default_device as set_default_device
from jtorch.dtype_info import finfo as finfo
from jtorch.dtype_info import iinfo as iinfo
from jtorch.layouts import layout as layout
from jtorch.layouts import strided as strided
from jtorch.ops.linalg import LinAlgError as _LinAlgError
from jtorch.serialization import load as load
from jtorch.serialization import save as save
from jtorch.size import Size as Size
from jtorch.tensor import Tensor as Tensor
from jtorch.untyped_storage import UntypedStorage as UntypedStorage

globals().update(_dtype_module.ALL)
globals().update({alias: _dtype_module.named(name) for alias, name in _dtype_module.ALIASES.items()})


def _namespace(name: str) -> _types.ModuleType:
    """The module ``jtorch.<name>``, made here where no file has it."""
    made = _sys.modules.get(f"jtorch.{name}")
    if made is None:
        made = _sys.modules[f"jtorch.{name}"] = _types.ModuleType(f"jtorch.{name}", f"torch.{name}")
    return made


linalg, fft, special, signal, masked = (_namespace(n) for n in ("linalg", "fft", "special", "signal", "masked"))
signal.windows = _namespace("signal.windows")   # type: ignore[attr-defined]
_spaces = {"": globals(), "linalg": vars(linalg), "fft": vars(fft), "special": vars(special),
           "nn.functional": vars(nn.functional), "masked": vars(masked),
           "signal.windows": vars(signal.windows)}       # type: ignore[attr-defined]
_bind.load_ops()
_bind.bind(_spaces)
linalg.LinAlgError = _LinAlgError               # type: ignore[attr-defined]
random.bind(_spaces)
_dropout.bind(_spaces)
_pooling.bind(_spaces)
_recurrent.bind(globals())
_attention.bind(vars(nn.functional))
functional.bind(globals())
_conversion.bind(Tensor, globals())
_indexing.bind(Tensor, globals())
_metadata.bind(Tensor)
_overloads.bind(Tensor, globals())
_legacy.bind(globals())
_native.bind(globals(), vars(nn.functional))
_numbered.bind(globals(), vars(nn.functional))
_scaled.bind(vars(nn.functional))
_control.bind(globals())
_lowrank.bind(globals())
_settings.bind(Tensor, globals())
_shared_memory.bind()
_dense.bind(Tensor, globals())
amp.autocast_mode.bind(globals())
amp.deprecated.make_modules()
_not_built.make_modules()
_trees.register()
cuda.on_synchronize(engine.synchronize)
cuda.use_generators(random.generator_of)

# The names that are a module of this package and a callable of torch: the callables win, bound last.
tensor = _tensor
device = _device_module.device
dtype = _dtype_module.dtype
no_grad, enable_grad = _no_grad_module.no_grad, _no_grad_module.enable_grad
set_grad_enabled, inference_mode = _no_grad_module.set_grad_enabled, _no_grad_module.inference_mode
is_grad_enabled = _no_grad_module.is_grad_enabled
is_inference_mode_enabled = _no_grad_module.is_inference_mode_enabled
vmap = func.vmap
is_anomaly_enabled = autograd.anomaly.is_anomaly_enabled
is_anomaly_check_nan_enabled = autograd.anomaly.is_anomaly_check_nan_enabled
__version__ = version.__version__
GradScaler = amp.GradScaler
__getattr__ = _later.load
