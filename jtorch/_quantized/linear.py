"""torch.ao.nn.quantized.dynamic.Linear."""
from __future__ import annotations

from typing import Any

from jtorch._api import functions
from jtorch._api.creation import tensor as make_tensor
from jtorch._quantized import tensor as quantized
from jtorch._quantized.packed import QINT8, LinearPackedParams, observer_of, weight_of
from jtorch.dtype import dtype as Dtype
from jtorch.dtype import float16, named
from jtorch.nn.modules.linear import Linear as FloatLinear
from jtorch.nn.modules.linear import NonDynamicallyQuantizableLinear
from jtorch.nn.modules.module import Module
from jtorch.tensor import Tensor


class Linear(Module):
    """A linear layer with a weight of 8 bits, or of 16-bit floats. See torch.ao.nn.quantized.dynamic.Linear.

    It computes ``x @ weight.T + bias`` without gradients. With a weight of qint8 each call rounds ``x`` to 7 bits, by the range
    of its elements.

    Shape: input (*, in_features), output (*, out_features), in float32.

    Args:
        in_features (int): the size of an input.
        out_features (int): the size of an output.
        bias_ (bool): whether to add a bias.
        dtype (dtype): ``torch.qint8`` or ``torch.float16``.

    Example::

        >>> from jtorch.ao.quantization import quantize_dynamic
        >>> net = quantize_dynamic(nn.Sequential(nn.Linear(4, 2)), {nn.Linear}, dtype=torch.qint8)
        >>> net[0]
        DynamicQuantizedLinear(in_features=4, out_features=2, dtype=torch.qint8, qscheme=torch.per_tensor_affine)
        >>> net(torch.ones(3, 4)).shape
        torch.Size([3, 2])

    """

    _version = 4

    def __init__(self, in_features: int, out_features: int, bias_: bool = True, dtype: Dtype = QINT8):
        super().__init__()
        if dtype not in (QINT8, float16):
            raise RuntimeError("Unsupported dtype specified for quantized Linear!")
        self.in_features, self.out_features, self.version = in_features, out_features, 4
        self._packed_params = LinearPackedParams(dtype)
        kind = named("int8") if dtype is QINT8 else named("float32")
        weight = functions.zeros(out_features, in_features, dtype=kind)
        self.set_weight_bias(quantized.quantized(weight, 1.0, 0) if dtype is QINT8 else weight,
                             functions.zeros(out_features) if bias_ else None)
        self.scale, self.zero_point = 1.0, 0

    def forward(self, x: Any) -> Any:
        """Return the output, in the dtype of the input."""
        return self._packed_params._packed_params.linear(x).to(x.dtype)      # type: ignore[attr-defined]

    def set_weight_bias(self, w: Tensor, b: Tensor | None) -> None:
        """Set the weight and the bias."""
        self._packed_params.set_weight_bias(w, b)

    def _weight_bias(self) -> tuple[Tensor, Tensor | None]:
        return self._packed_params._weight_bias()

    def weight(self) -> Tensor:
        """Return the weight, a quantized tensor of qint8 or a tensor in float32."""
        return self._weight_bias()[0]

    def bias(self) -> Tensor | None:
        """Return the bias, or None."""
        return self._weight_bias()[1]

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Linear:
        """Return a quantized layer for a layer with a ``qconfig``."""
        if type(mod) not in (FloatLinear, NonDynamicallyQuantizableLinear):
            raise AssertionError("nn.quantized.dynamic.Linear.from_float only works for one of"
                                 f"['Linear', 'NonDynamicallyQuantizableLinear', 'LinearReLU', 'Linear'], got {type(mod)}")
        observer = observer_of(mod, "linear")
        made = cls(mod.in_features, mod.out_features, dtype=observer.dtype)
        made.set_weight_bias(weight_of(mod.weight, observer), mod.bias)
        return made

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "scale"] = make_tensor(self.scale)
        destination[prefix + "zero_point"] = make_tensor(self.zero_point)

    def _load_from_state_dict(self, state_dict: Any, prefix: str, local_metadata: Any, *args: Any) -> None:
        self.version = local_metadata.get("version")
        self.scale = float(state_dict.pop(prefix + "scale"))
        self.zero_point = int(state_dict.pop(prefix + "zero_point"))
        if self.version in (None, 1):
            for name in ("weight", "bias"):
                state_dict[f"{prefix}_packed_params.{name}"] = state_dict.pop(prefix + name)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, False, *args[1:])

    def _get_name(self) -> str:
        return "DynamicQuantizedLinear"

    def extra_repr(self) -> str:
        """Return the sizes, the dtype and the scheme."""
        text = f"in_features={self.in_features}, out_features={self.out_features}, dtype={self._packed_params.dtype}"
        weight: Any = self.weight()
        return text + (f", qscheme={weight.qscheme()}" if weight.is_quantized else "")

    def __repr__(self) -> str:
        return f"{self._get_name()}({self.extra_repr()})"
