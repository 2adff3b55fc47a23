"""jtorch: PyTorch's imperative API on JAX. ``import jtorch as torch``."""
from __future__ import annotations

import sys as _sys
import types as _types

if _sys.argv[:2] == ["-m", "check"]:        # The command check needs no JAX, so it runs before the imports below.
    import jtorch.check as _check
    _check.run_if_asked()
    del _check, check  # type: ignore[name-defined]  # noqa: F821
import jtorch._base.compat_path as _compat_path  # noqa: F401  (before the modules in the folder compat)
import jtorch._base.libraries as _libraries  # noqa: F401  (before files that import jax, NumPy or SciPy)
from jtorch import __future__ as __future__
from jtorch import amp as amp
from jtorch import autograd as autograd
from jtorch import backends as backends
from jtorch import cpu as cpu
from jtorch import cuda as cuda
from jtorch import device as _device_module
from jtorch import dtype as _dtype_module
from jtorch import engine as engine
from jtorch import func as func
from jtorch import masked as masked
from jtorch import nn as nn
from jtorch import no_grad as _no_grad_module
from jtorch import optim as optim
from jtorch import random as random
from jtorch import serialization as serialization
from jtorch import storage as _storage_module
from jtorch import torch_version as torch_version
from jtorch import utils as utils
from jtorch import version as version
from jtorch._api import aten_enums as _numbered
from jtorch._api import aten_native as _native
from jtorch._api import control_flow as _control
from jtorch._api import conversion as _conversion
from jtorch._api import declared as _declared
from jtorch._api import foreach as _foreach
from jtorch._api import functional
from jtorch._api import functions as _functions
from jtorch._api import generate as _bind
from jtorch._api import indexing as _indexing
from jtorch._api import lazy_modules as _later
from jtorch._api import linalg_lowrank as _lowrank
from jtorch._api import linalg_overloads as _linalg
from jtorch._api import masked_identity as _masked_identity
from jtorch._api import moved as _moved
from jtorch._api import names as _names
from jtorch._api import nn_functions as _nn_functions
from jtorch._api import other_layouts as _dense
from jtorch._api import overloads as _overloads
from jtorch._api import pytree as _trees
from jtorch._api import scaled_mm as _scaled
from jtorch._api import settings as _settings
from jtorch._api import shared_memory as _shared_memory
from jtorch._api import subclasses as _subclass
from jtorch._api import torch_function as _torch_function
from jtorch._api import typed_tensors as _legacy
from jtorch._api import vmap_errors as _vmap_errors
from jtorch._api.creation import as_tensor as as_tensor
from jtorch._api.creation import asarray as asarray
from jtorch._api.creation import empty_strided as empty_strided
from jtorch._api.creation import from_dlpack as from_dlpack
from jtorch._api.creation import from_file as from_file
from jtorch._api.creation import from_jax as from_jax
from jtorch._api.creation import from_numpy as from_numpy
from jtorch._api.creation import frombuffer as frombuffer
from jtorch._api.creation import tensor as _make_tensor
from jtorch._base import not_built as _not_built
from jtorch._base.dtype_info import finfo as finfo
from jtorch._base.dtype_info import iinfo as iinfo
from jtorch._base.layout import layout as layout
from jtorch._base.layout import sparse_bsc as sparse_bsc
from jtorch._base.layout import sparse_bsr as sparse_bsr
from jtorch._base.layout import sparse_coo as sparse_coo
from jtorch._base.layout import sparse_csc as sparse_csc
from jtorch._base.layout import sparse_csr as sparse_csr
from jtorch._base.layout import strided as strided
from jtorch._base.size import Size as Size
from jtorch._storage import typed as _typed
from jtorch._storage.typed import TypedStorage as TypedStorage
from jtorch._storage.untyped import UntypedStorage as UntypedStorage
from jtorch._tensor_str import set_printoptions as set_printoptions
from jtorch.backends.precision import get_float32_matmul_precision as get_float32_matmul_precision
from jtorch.backends.precision import set_float32_matmul_precision as set_float32_matmul_precision
from jtorch.device import get_default_device as get_default_device
from jtorch.device import set_default_device as set_default_device
from jtorch.dispatch import inplace_views as _metadata
from jtorch.nn._functional import attention as _attention
from jtorch.nn._functional import dropout as _dropout
from jtorch.nn._functional import pooling as _pooling
from jtorch.nn._functional import recurrent as _recurrent
from jtorch.serialization import load as load
from jtorch.serialization import save as save
from jtorch.tensor import Tensor as Tensor

globals().update(_dtype_module.ALL)
globals().update(_typed.LEGACY)
_names.put(_storage_module, {n: thing for n, thing in _typed.IN_STORAGE.items() if n not in vars(_storage_module)})
_storage_classes = {UntypedStorage, TypedStorage, *_typed.LEGACY.values()}
globals().update({alias: _dtype_module.named(name) for alias, name in _dtype_module.ALIASES.items()})


def _namespace(name: str) -> _types.ModuleType:
    """Return the module ``jtorch.<name>``; create the module if no file defines it."""
    made = _sys.modules.get(f"jtorch.{name}")
    if made is None:
        made = _sys.modules[f"jtorch.{name}"] = _types.ModuleType(f"jtorch.{name}", f"torch.{name}")
    return made


linalg, fft, special, signal = (_namespace(n) for n in ("linalg", "fft", "special", "signal"))
signal.windows = _namespace("signal.windows")   # type: ignore[attr-defined]
_spaces = {"": _functions, "nn.functional": _nn_functions, "linalg": linalg, "fft": fft, "special": special, "masked": masked,
           "signal.windows": signal.windows}        # type: ignore[attr-defined]
_names.put(_functions, {"linalg": linalg, "special": special})
_bind.load_ops()
_bind.bind(_spaces)
linalg.LinAlgError = ops.linalg.LinAlgError     # type: ignore[attr-defined,name-defined]    # noqa: F821
_linalg.bind(linalg)
_masked_identity.bind_to(masked)
_names.put(Tensor, _metadata.methods())
for _file in (random, _dropout, _pooling, _recurrent, _attention, functional, _conversion, _indexing, _overloads, _legacy,
              _native, _foreach, _numbered, _scaled, _control, _lowrank, _settings, _shared_memory,
               _dense, _subclass, amp.autocast_mode, amp.scaling, _vmap_errors, _declared):
    _file.bind()        # type: ignore[attr-defined]
del _file
_names.put(_sys.modules[__name__], _names.public(_functions, "torch"))
_names.put(nn.functional, _names.public(_nn_functions, "torch.nn.functional"))
_torch_function.bind({"": _sys.modules[__name__], "nn.functional": nn.functional, "linalg": linalg, "fft": fft,
                      "special": special, "nn.init": nn.init})
for _space in (fft, special):
    _space.__all__ = sorted([n for n in vars(_space) if not n.startswith("_")])     # type: ignore[attr-defined]
del _space
amp.deprecated.make_modules()
_not_built.make_modules()
_trees.register()
_moved.register()

# tensor, device, dtype and no_grad are both modules of this package and callables of torch. The callables are bound last, so
# ``torch.tensor`` is the function.
tensor = _make_tensor
device = _device_module.device
dtype = _dtype_module.dtype
no_grad, enable_grad = _no_grad_module.no_grad, _no_grad_module.enable_grad
set_grad_enabled, inference_mode = _no_grad_module.set_grad_enabled, _no_grad_module.inference_mode
is_grad_enabled = _no_grad_module.is_grad_enabled
is_inference_mode_enabled = _no_grad_module.is_inference_mode_enabled
vmap = func.vmap
is_anomaly_enabled = autograd.anomaly.is_anomaly_enabled
is_anomaly_check_nan_enabled = autograd.anomaly.is_anomaly_check_nan_enabled
__version__ = torch_version.__version__
GradScaler = amp.GradScaler
__getattr__, __dir__ = _later.load, _later.names
_names.forget(globals())
