"""jtorch: PyTorch's imperative API on JAX. ``import jtorch as torch``."""
from __future__ import annotations

import sys as _sys
import types as _types

from jtorch import autograd as autograd
from jtorch import bind as _bind
from jtorch import conversion as _conversion
from jtorch import creation as _creation
from jtorch import device as _device_module
from jtorch import dtype as _dtype_module
from jtorch import engine as engine
from jtorch import indexing as _indexing
from jtorch import no_grad as _no_grad_module
from jtorch import tensor as _tensor_module
from jtorch._print import set_printoptions as set_printoptions
from jtorch.size import Size as Size
from jtorch.tensor import Tensor as Tensor

globals().update(_dtype_module.ALL)
globals().update({alias: _dtype_module.named(name) for alias, name in _dtype_module.ALIASES.items()})


def _namespace(name: str) -> _types.ModuleType:
    made = _sys.modules.get(f"jtorch.{name}")
    if made is None:
        made = _types.ModuleType(f"jtorch.{name}", f"torch.{name}")
        _sys.modules[f"jtorch.{name}"] = made
    return made


_bind.load_ops()
linalg, fft, special, nn = (_namespace(n) for n in ("linalg", "fft", "special", "nn"))
nn.functional = _namespace("nn.functional")
_bind.bind({"": globals(), "linalg": vars(linalg), "fft": vars(fft), "special": vars(special),
            "nn.functional": vars(nn.functional)})
_conversion.bind(Tensor, globals())
_indexing.OPS_FUNCTIONS.update(globals())
Tensor.__getitem__, Tensor.__setitem__, Tensor.copy_ = _indexing.getitem, _indexing.setitem, _indexing.copy_

from jtorch.creation import as_tensor, asarray, from_dlpack, from_jax, from_numpy, frombuffer  # noqa: E402

tensor = _creation.tensor
device = _device_module.device
dtype = _dtype_module.dtype
no_grad = _no_grad_module.no_grad

from jtorch import optim as optim  # noqa: E402
