"""Plain pickles of tensors and storages, as PyTorch writes them: storages are bytes that ``torch.save`` wrote."""
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
    """Return (function, arguments) that make a tensor again. A pickle keeps storages that its tensors share shared."""
    return reduce_tensor(t, _of_pickle)


def _of_pickle(t: Tensor) -> tuple[Any, dtype_class | None]:
    """Return the storage, which pickles itself, and the dtype where it is none that pickles of storages say."""
    says_dtype = t._storage.aval.dtype is t.dtype and t.dtype in names.STORAGE_OF_DTYPE
    return t._storage, None if says_dtype else t.dtype


def bytes_of(storage: Any) -> bytes:
    """Return what ``torch.save`` writes of a storage, in the format before the zip archives."""
    file = io.BytesIO()
    saving.save(storage, file, pickle, 2, archive=False, byteorder=True)
    return file.getvalue()


def storage_of(data: bytes) -> Any:
    """Return the storage in these bytes. The first tensor that is made of it gives its memory a form."""
    return rebuild.awaited(loading.load(io.BytesIO(data), None, pickle, False, False, {}))


# cloudpickle writes a function by its name where the module that it says it is of has been imported.
for _function in (*rebuild.FUNCTIONS.values(), rebuild._rebuild_from_type_v2):
    importlib.import_module(_function.__module__)
