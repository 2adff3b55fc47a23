"""torch.ao.quantization.qconfig: which observers choose the scales of activations and of weights."""
from __future__ import annotations

from typing import Any, NamedTuple

from jtorch._quantized import observers
from jtorch.nn.modules.module import Module


class _Pair(NamedTuple):
    activation: Any
    weight: Any


class QConfig(_Pair):
    """How a layer is quantized: classes of observers for its activations and its weights.

    See torch.ao.quantization.qconfig.QConfig.
    """

    __slots__ = ()

    def __new__(cls, activation: Any, weight: Any) -> Any:
        if isinstance(activation, Module) or isinstance(weight, Module):
            raise ValueError("QConfig received observer instance, please pass observer class instead. Use "
                             "MyObserver.with_args(x=1) to override arguments to constructor if needed")
        return super().__new__(cls, activation, weight)


default_dynamic_qconfig = QConfig(observers.default_dynamic_quant_observer, observers.default_weight_observer)
per_channel_dynamic_qconfig = QConfig(observers.default_dynamic_quant_observer, observers.default_per_channel_weight_observer)
float16_dynamic_qconfig = QConfig(observers._dynamic_float16_observer, observers._float16_observer)
