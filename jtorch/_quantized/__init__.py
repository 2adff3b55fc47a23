"""Dynamic quantization: modules with weights of 8 or 16 bits. It exports the names of torch.ao.quantization that work."""
from __future__ import annotations

from jtorch._quantized.convert import (
    get_default_dynamic_quant_module_mappings as get_default_dynamic_quant_module_mappings,
)
from jtorch._quantized.convert import propagate_qconfig_ as propagate_qconfig_
from jtorch._quantized.convert import quantize_dynamic as quantize_dynamic
from jtorch._quantized.convert import swap_module as swap_module
from jtorch._quantized.linear import Linear as Linear
from jtorch._quantized.observers import MinMaxObserver as MinMaxObserver
from jtorch._quantized.observers import ObserverBase as ObserverBase
from jtorch._quantized.observers import PerChannelMinMaxObserver as PerChannelMinMaxObserver
from jtorch._quantized.observers import PlaceholderObserver as PlaceholderObserver
from jtorch._quantized.observers import UniformQuantizationObserverBase as UniformQuantizationObserverBase
from jtorch._quantized.observers import default_dynamic_quant_observer as default_dynamic_quant_observer
from jtorch._quantized.observers import default_per_channel_weight_observer as default_per_channel_weight_observer
from jtorch._quantized.observers import default_placeholder_observer as default_placeholder_observer
from jtorch._quantized.observers import default_weight_observer as default_weight_observer
from jtorch._quantized.qconfig import QConfig as QConfig
from jtorch._quantized.qconfig import default_dynamic_qconfig as default_dynamic_qconfig
from jtorch._quantized.qconfig import float16_dynamic_qconfig as float16_dynamic_qconfig
from jtorch._quantized.qconfig import per_channel_dynamic_qconfig as per_channel_dynamic_qconfig
from jtorch._quantized.rnn import GRU as GRU
from jtorch._quantized.rnn import LSTM as LSTM
from jtorch._quantized.rnn import GRUCell as GRUCell
from jtorch._quantized.rnn import LSTMCell as LSTMCell
from jtorch._quantized.rnn import RNNCell as RNNCell
