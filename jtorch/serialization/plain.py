"""Plain pickles of tensors and storages, as PyTorch writes them: a storage is the bytes of ``torch.save``."""
from __future__ import annotations

import importlib
import io
import pickle
from typing import Any

from jtorch.dtype import dtype as dtype_class
from jtorch.serialization import loading, names, rebuild, saving
from jtorch.serialization.pickler import reduce_tensor
from jtorch.tensor import Tensor


def reduced(t: Tensor) -> tuple[Any, tuple]:
    """Return the function and arguments that rebuild a tensor. Tensors of one pickle keep sharing storages."""
    return reduce_tensor(t, _storage_for_pickle)


def _storage_for_pickle(t: Tensor) -> tuple[Any, dtype_class | None]:
    """Return the storage, and the tensor's dtype if a storage's pickle does not tell it."""
    says_dtype = t._storage.aval.dtype is t.dtype and t.dtype in names.STORAGE_OF_DTYPE
    return t._storage, None if says_dtype else t.dtype


def bytes_of(storage: Any) -> bytes:
    """Return the bytes that ``torch.save`` writes for a storage, in the format before zip archives."""
    file = io.BytesIO()
    saving.save(storage, file, pickle, 2, archive=False, byteorder=True)
    return file.getvalue()


def storage_of(data: bytes) -> Any:
    """Return the storage that ``bytes_of`` wrote. The first tensor that shows all of it determines its dtype and shape."""
    return rebuild.awaited(loading.load(io.BytesIO(data), None, pickle, False, False, {}))


# The package cloudpickle writes a function by name only if the module it claims to be from has been imported.
for _function in (*rebuild.FUNCTIONS.values(), rebuild._rebuild_from_type_v2):
    importlib.import_module(_function.__module__)
