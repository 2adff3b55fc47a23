"""The weights and biases of quantized modules. The weights are 8-bit integers with scales, or 16-bit floats."""
from __future__ import annotations

from typing import Any

from jtorch._api import functions
from jtorch._api import nn_functions as functional
from jtorch._api.creation import tensor as make_tensor
from jtorch._base.absent_dtypes import absent
from jtorch._quantized import tensor as quantized
from jtorch._quantized.qconfig import default_dynamic_qconfig
from jtorch._quantized.tensor import QuantizedTensor, integers_of
from jtorch.dispatch import call
from jtorch.dtype import dtype as Dtype
from jtorch.dtype import float16, float32, named
from jtorch.engine import call_of
from jtorch.nn.modules.module import Module
from jtorch.ops.registry import OPS, T
from jtorch.tensor import Tensor

QINT8 = absent("qint8")
_GREATEST = 65504.0       # the greatest number of float16


class PackedWeight:
    """A weight and its bias. The weight is qint8, or float32 with numbers that float16 can represent."""

    def __init__(self, weight: Tensor, bias: Tensor | None):
        self.weight, self.bias = weight, bias

    def unpack(self) -> tuple[Tensor, Tensor | None]:
        """Return the weight and the bias."""
        return self.weight, self.bias

    def parts(self) -> tuple[Tensor, Tensor, Tensor]:
        """Return the integers of a weight of qint8, its scales in float32 and its zero points in int32."""
        w: Any = self.weight
        scales, zero_points = (v if isinstance(v, Tensor) else make_tensor([v]) for v in (w._scale, w._zero_point))
        return integers_of(w), scales.to(float32), zero_points.to(named("int32"))      # type: ignore[attr-defined]

    def linear(self, x: Tensor) -> Tensor:
        """Return the product of ``x`` with the weight, plus the bias."""
        weight, bias = self.weight, self.bias
        _check_input(x, weight)
        if not isinstance(weight, QuantizedTensor):
            return functional.linear(x, weight, bias)
        given = [x, *self.parts(), *([] if bias is None else [bias.detach()])]
        return call(call_of(OPS["_linear_quantized"], (T, T, T, T, None if bias is None else T)), given)


def _check_input(x: Tensor, weight: Tensor) -> None:
    if x.dtype is not float32:
        raise RuntimeError(f"expected scalar type Float but found {x.dtype.scalar_name}")
    if x.dim() < 2 and isinstance(weight, QuantizedTensor):
        raise RuntimeError("The dimension of input tensor should be larger than or equal to 2")
    if x.shape[-1] != weight.shape[1]:
        raise RuntimeError(f"The number of columns in the input, {x.shape[-1]}, must be that of the weight, {weight.shape[1]}")


def pack(weight: Tensor, bias: Tensor | None, dtype: Dtype) -> PackedWeight:
    """Return a weight and its bias as a PackedWeight. A weight that is not qint8 is rounded to float16 numbers."""
    if dtype is QINT8:
        return PackedWeight(weight, bias)
    return PackedWeight(functions.clamp(weight.detach(), -_GREATEST, _GREATEST).to(float16).to(float32), bias)


def weight_of(weight: Tensor, observer: Any) -> Tensor:
    """Return a weight of qint8 with the scales that ``observer`` chooses. For float16, return a float32 weight for ``pack``."""
    observer(weight)
    weight = weight.detach().to(float32)        # type: ignore[attr-defined]
    if observer.dtype is float16:
        return weight
    scale, zero_point = observer.calculate_qparams()
    if hasattr(observer, "ch_axis"):
        return quantized.per_channel(weight, scale, zero_point, observer.ch_axis, QINT8)
    return quantized.per_tensor(weight, scale.item(), int(zero_point.item()), QINT8)


def observer_of(module: Any, name: str) -> Any:
    """Return a new observer for a module's weight, from the module's qconfig or the default one."""
    if not hasattr(module, "qconfig"):
        raise AssertionError("Input float module must have qconfig defined")
    chosen = module.qconfig
    observer = (default_dynamic_qconfig if chosen is None or chosen.weight is None else chosen).weight()
    if observer.dtype not in (QINT8, float16):
        if name == "linear":
            raise AssertionError("The only supported dtypes for dynamic quantized linear are qint8 and float16, got: "
                                 f"{observer.dtype}")
        raise RuntimeError(f"Unsupported dtype for dynamic RNN quantization: {observer.dtype}")
    return observer


class LinearPackedParams(Module):
    """The weight and the bias of a quantized Linear, in a module of their own as in PyTorch's checkpoints.

    Shape: the weight has shape (out_features, in_features).

    Args:
        dtype (dtype): ``torch.qint8`` or ``torch.float16``.

    Example::

        >>> from jtorch.ao.nn.quantized.dynamic import Linear
        >>> list(Linear(2, 3).state_dict())
        ['scale', 'zero_point', '_packed_params.dtype', '_packed_params._packed_params']

    """

    _version = 3

    def __init__(self, dtype: Dtype = QINT8):
        super().__init__()
        self.dtype = dtype

    def set_weight_bias(self, weight: Tensor, bias: Tensor | None) -> None:
        """Set the weight and the bias."""
        self._packed_params = pack(weight, bias, self.dtype)

    def _weight_bias(self) -> tuple[Tensor, Tensor | None]:
        return self._packed_params.unpack()

    def forward(self, x: Any) -> Any:
        """Return the input."""
        return x

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "dtype"] = self.dtype
        destination[prefix + "_packed_params"] = self._weight_bias()

    def _load_from_state_dict(self, state_dict: Any, prefix: str, local_metadata: Any, *args: Any) -> None:
        version = local_metadata.get("version") or 1
        self.dtype = QINT8 if version < 2 else state_dict.pop(prefix + "dtype")
        if version < 3:
            weight, bias = (state_dict.pop(prefix + name) for name in ("weight", "bias"))
        else:
            weight, bias = state_dict.pop(prefix + "_packed_params")
        self.set_weight_bias(weight, bias)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, False, *args[1:])

    def __repr__(self) -> str:
        return repr(self._weight_bias())
