"""torch.cuda.sparse: classes of sparse tensors on a GPU, for old scripts."""
from __future__ import annotations

from jtorch._api.typed_tensors import CUDA_SPARSE as _CUDA_SPARSE

ByteTensor, CharTensor, ShortTensor, IntTensor, LongTensor = (
    _CUDA_SPARSE[f"{name}Tensor"] for name in "Byte Char Short Int Long".split())
HalfTensor, BFloat16Tensor, FloatTensor, DoubleTensor = (
    _CUDA_SPARSE[f"{name}Tensor"] for name in "Half BFloat16 Float Double".split())
