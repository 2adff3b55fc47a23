"""Parts of the package that are imported at first use: ``torch.distributions``, ``torch.compile``, …"""
from __future__ import annotations

import importlib
import sys
from typing import Any

from jtorch._base import warned
from jtorch._base.not_built import NotBuiltError

MODULES = tuple("""
    _C _VF __config__ _custom_ops _dynamo _functorch _guards _inductor _jit_internal _library _logging _ops
    _prims_common _subclasses _tensor _utils accelerator compiler distributed distributions export futures fx hub jit
    library multiprocessing nested numa onnx overrides package profiler quasirandom return_types sparse testing types
""".split())
_IN = {      # maps a module to the rarely used names that torch has from it
    "_C": "Graph PyTorchFileReader PyTorchFileWriter ScriptFunction ScriptObject StorageBase Value",
    "_api.checks": "_assert_async _check _check_index _check_is_size _check_not_implemented _check_tensor_all "
                   "_check_tensor_all_with _check_type _check_value _check_with",
    "_api.guards": "_assert_scalar _assert_tensor_metadata _is_all_true _is_any_true sym_constrain_range "
                   "sym_constrain_range_for_size",
    "_api.private_functions": "_cast_Byte _cast_Char _cast_Double _cast_Float _cast_Half _cast_Int _cast_Long _cast_Short "
                              "_int_mm _grouped_mm _weight_int8pack_mm _has_compatible_shallow_copy_type _scaled_mm "
                              "_shape_as_tensor read_vitals set_vital",
    "_api.symbolic": "SymBool SymFloat SymInt",
    "_base.absent_dtypes": "qint8 quint8 qint32 quint4x2 quint2x4 complex32 chalf float4_e2m1fn_x2 "
                           + " ".join([f"int{bits} uint{bits}" for bits in range(1, 8)]),
    "_base.layout": "jagged",
    "_base.qscheme": "qscheme per_tensor_affine per_channel_affine per_tensor_symmetric per_channel_symmetric "
                     "per_channel_affine_float_qparams",
    "_base.streams": "Event Stream",
    "_classes": "classes",
    "_library.tags": "Tag",
    "_ops": "ops",
    "_quantized.creation": "quantize_per_tensor quantize_per_channel quantize_per_tensor_dynamic int_repr q_scale q_zero_point "
                           "q_per_channel_scales q_per_channel_zero_points q_per_channel_axis "
                           "_make_per_tensor_quantized_tensor _make_per_channel_quantized_tensor",
    "compiler": "compile _disable_dynamo",
    "device": "OutOfMemoryError",
    "fx._assertion": "_assert",
    "futures": "Future",
    "jit": "ScriptModule",
    "sparse.creation": "sparse_coo_tensor sparse_csr_tensor sparse_csc_tensor sparse_bsr_tensor sparse_bsc_tensor "
                       "sparse_compressed_tensor _convert_indices_from_coo_to_csr _convert_indices_from_csr_to_coo",
    "sparse.products": "smm spmm dsmm hspmm hsmm sspaddmm",
}
NAMES = {name: module for module, names in _IN.items() for name in names.split()}
_NOT_LISTED = frozenset("""
    __dir__ __getattr__ _api _as_torch _backward _base _import_hook _nodes _optimizers _parallel _storage _vision
    read_vitals set_vital
""".split())
_NO_TENSORS = {      # Maps a kind of tensors to (advice, functions of torch for such tensors that are not built).
    "nested": ("torch.nn.utils.rnn.pad_sequence makes a batch of sequences of different lengths",
               ("_nested_compute_contiguous_strides_offsets", "_nested_view_from_buffer", "_nested_tensor_from_mask")),
    "quantized": ("torch.quantize_per_tensor and torch.quantize_per_channel make some",
                  ("empty_quantized", "fused_moving_avg_obs_fake_quant")),
}
_BUILT = {"has_mps": ("mps", "torch.backends.mps.is_built"), "has_cuda": ("cuda", "torch.backends.cuda.is_built"),
          "has_cudnn": (None, "torch.backends.cudnn.is_available"), "has_mkldnn": (None, "torch.backends.mkldnn.is_available")}


def load(name: str) -> Any:
    """Return ``jtorch.<name>``. Raise AttributeError if there is no such name."""
    if name in MODULES:
        return importlib.import_module(f"jtorch.{name}")
    if name == "torch":      # some scripts use torch.torch by accident
        return sys.modules["jtorch"]
    if name in NAMES:
        return getattr(importlib.import_module(f"jtorch.{NAMES[name]}"), name)
    if name.endswith("Type") and hasattr(importlib.import_module("jtorch._C"), name):      # such as IntType
        return getattr(importlib.import_module("jtorch._C"), name)
    if name in _BUILT:
        module, instead = _BUILT[name]
        warned.warn(f"'{name}' is deprecated, please use '{instead}()'")
        return module is not None and importlib.import_module(f"jtorch.backends.{module}").is_built()
    for kind, (instead, names) in _NO_TENSORS.items():
        if name in names:
            raise NotBuiltError(f"torch.{name}: such {kind} tensors are not built; {instead}")
    raise AttributeError(f"module 'torch' has no attribute {name!r}")


def names() -> list[str]:
    """Return the names for ``dir(torch)``, including lazily imported names, without names that PyTorch lacks."""
    return sorted({*vars(sys.modules["jtorch"]), *MODULES, *NAMES} - _NOT_LISTED)
