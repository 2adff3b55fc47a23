"""torch.ao.quantization.quantize_dynamic: a model whose Linear and recurrent modules have quantized weights."""
from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from typing import Any

from jtorch._base.absent_dtypes import absent
from jtorch._quantized import linear, rnn
from jtorch._quantized.packed import QINT8
from jtorch._quantized.qconfig import default_dynamic_qconfig, float16_dynamic_qconfig
from jtorch.dtype import float16
from jtorch.nn.modules import linear as float_linear
from jtorch.nn.modules import rnn as float_rnn
from jtorch.nn.modules.module import Module
from jtorch.nn.modules.sparse import Embedding, EmbeddingBag
from jtorch.nn.utils.parametrize import type_before_parametrizations

DEPRECATION_WARNING = (
    "torch.ao.quantization is deprecated and will be removed in 2.10. \nFor migrations of users: \n1. Eager mode quantization "
    "(torch.ao.quantization.quantize, torch.ao.quantization.quantize_dynamic), please migrate to use torchao eager mode "
    "quantize_ API instead \n2. FX graph mode quantization (torch.ao.quantization.quantize_fx.prepare_fx,"
    "torch.ao.quantization.quantize_fx.convert_fx, please migrate to use torchao pt2e quantization API instead (prepare_pt2e, "
    "convert_pt2e) \n3. pt2e quantization has been migrated to torchao "
    "(https://github.com/pytorch/ao/tree/main/torchao/quantization/pt2e) \nsee https://github.com/pytorch/ao/issues/2259 for "
    "more details")
_MAPPING: dict[type, Any] = {
    float_linear.Linear: linear.Linear, float_linear.NonDynamicallyQuantizableLinear: linear.Linear,
    float_rnn.LSTM: rnn.LSTM, float_rnn.GRU: rnn.GRU, float_rnn.LSTMCell: rnn.LSTMCell, float_rnn.GRUCell: rnn.GRUCell,
    float_rnn.RNNCell: rnn.RNNCell}
_DEFAULT = (float_linear.Linear, float_rnn.LSTM, float_rnn.GRU, float_rnn.LSTMCell, float_rnn.RNNCell, float_rnn.GRUCell)
_QCONFIGS = {QINT8: default_dynamic_qconfig, float16: float16_dynamic_qconfig}
_OF_EMBEDDINGS = (absent("quint8"), absent("quint4x2"))


def get_default_dynamic_quant_module_mappings() -> dict[type, Any]:
    """Return the quantized class of each class of modules.

    See torch.ao.quantization.get_default_dynamic_quant_module_mappings.
    """
    return dict(_MAPPING)


def quantize_dynamic(model: Module, qconfig_spec: Any = None, dtype: Any = QINT8, mapping: Any = None,
                     inplace: bool = False) -> Any:
    """Return a copy of a model with quantized Linear and recurrent modules. See torch.ao.quantization.quantize_dynamic.

    Weights get 8 bits (``torch.qint8``) or 16 (``torch.float16``). With 8 bits, each call rounds the inputs too. The modules are
    for inference: they have no gradients.

    Args:
        model (Module): the model, in float32.
        qconfig_spec (set or dict): types or names of modules, or a dict of these to QConfigs. By default Linear, LSTM, GRU and
            the cells.
        dtype (dtype): ``torch.qint8`` or ``torch.float16``, unless ``qconfig_spec`` is a dict.
        mapping (dict): maps types of modules to their quantized types.
        inplace (bool): change the model itself.

    Raises:
        NotImplementedError: for the dtypes of embeddings, ``torch.quint8`` and ``torch.quint4x2``.

    Example::

        >>> from jtorch.ao.quantization import quantize_dynamic
        >>> quantize_dynamic(nn.Sequential(nn.Linear(2, 3), nn.ReLU()), dtype=torch.float16)
        Sequential(
          (0): DynamicQuantizedLinear(in_features=2, out_features=3, dtype=torch.float16)
          (1): ReLU()
        )

    """
    _warn()
    spec = _specified(qconfig_spec, dtype)
    model = model if inplace else copy.deepcopy(model)
    model.eval()
    propagate_qconfig_(model, spec)
    _swap_children(model, _MAPPING if mapping is None else mapping)
    _remove_qconfig(model)
    return model


def _warn() -> None:
    warnings.warn(DEPRECATION_WARNING, DeprecationWarning, stacklevel=3)


def _specified(spec: Any, dtype: Any) -> dict[Any, Any]:
    """Return the QConfig of each type or name."""
    if spec is not None and not isinstance(spec, set):
        return spec     # type: ignore[no-any-return]
    if dtype in _OF_EMBEDDINGS:
        raise NotImplementedError(f"quantize_dynamic of embeddings ({dtype}) is not built; torch.qint8 and torch.float16 are")
    if dtype not in _QCONFIGS:
        if spec is None:
            raise ValueError(f"Don't know how to quantize with default settings for {dtype}. Provide full qconfig please")
        raise RuntimeError("Unknown dtype specified for quantize_dynamic: ", str(dtype))
    return dict.fromkeys(_DEFAULT if spec is None else spec, _QCONFIGS[dtype])


def propagate_qconfig_(module: Any, qconfig_dict: Any = None, prepare_custom_config_dict: Any = None) -> None:
    """Set the attribute ``qconfig`` of a module and of its submodules. See torch.ao.quantization.propagate_qconfig_.

    Args:
        module (Module): the module.
        qconfig_dict (dict): maps types or names of submodules to QConfigs.
        prepare_custom_config_dict (dict): the names and classes that are left out, as ``non_traceable_module_name`` and
            ``non_traceable_module_class``.

    """
    left_out = prepare_custom_config_dict or {}
    _propagate(module, qconfig_dict or {}, None, "", (left_out.get("non_traceable_module_name", []),
                                                     left_out.get("non_traceable_module_class", [])))


def _propagate(module: Any, spec: dict, inherited: Any, path: str, left_out: tuple) -> None:
    chosen = spec.get(path, spec.get(type_before_parametrizations(module), inherited))
    module.qconfig = getattr(module, "qconfig", chosen)
    for name, child in module.named_children():
        if name not in left_out[0] and type(child) not in left_out[1]:
            _propagate(child, spec, module.qconfig, f"{path}.{name}" if path else name, left_out)


def _swap_children(module: Any, mapping: dict) -> None:
    made = {}
    for name, child in module.named_children():
        _swap_children(child, mapping)
        made[name] = swap_module(child, mapping, {})
    module._modules.update(made)


def swap_module(mod: Any, mapping: dict, custom_module_class_mapping: dict, use_precomputed_fake_quant: bool = False) -> Any:
    """Return the quantized module for a module with a ``qconfig``, or the module. See torch.ao.quantization.swap_module.

    Args:
        mod (Module): the module.
        mapping (dict): maps types of modules to their quantized types.
        custom_module_class_mapping (dict): maps types of the user's modules to types with ``from_observed``.
        use_precomputed_fake_quant (bool): ignored.

    """
    kind = type_before_parametrizations(mod)
    if getattr(mod, "qconfig", None) is None:
        return mod
    if kind in (Embedding, EmbeddingBag) and kind not in mapping and mapping.keys() == _MAPPING.keys():
        raise NotImplementedError("quantize_dynamic of embeddings is not built")
    make: Callable | None = None
    if kind in custom_module_class_mapping:
        make = custom_module_class_mapping[kind].from_observed
    elif kind in mapping:
        make = mapping[kind].from_float
    if make is None:
        return mod
    made = make(mod)
    for hook in mod._forward_pre_hooks.values():
        made.register_forward_pre_hook(hook)
    for hook in mod._forward_hooks.values():
        made.register_forward_hook(hook)
    return made


def _remove_qconfig(module: Any) -> None:
    for m in module.modules():
        if hasattr(m, "qconfig"):
            del m.qconfig
