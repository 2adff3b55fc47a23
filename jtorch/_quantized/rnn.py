"""torch.ao.nn.quantized.dynamic.LSTM and GRU, and the cells."""
from __future__ import annotations

from typing import Any

from jtorch._api import functions
from jtorch._quantized import tensor as quantized
from jtorch._quantized.packed import QINT8, PackedWeight, observer_of, pack, weight_of
from jtorch.dtype import dtype as Dtype
from jtorch.nn._functional import recurrent
from jtorch.nn.modules import rnn as floats
from jtorch.nn.modules.container import ModuleList
from jtorch.nn.modules.module import Module
from jtorch.nn.utils.rnn import PackedSequence
from jtorch.tensor import Tensor

_GATES = {"LSTM": 4, "GRU": 3}
_SUFFIXES = ("", "_reverse")


def _run(mode: str, input: Any, batch_sizes: Tensor | None, hx: list, weights: list[PackedWeight], num_layers: int,
         dropout: float, train: bool, bidirectional: bool, batch_first: bool) -> list[Any]:
    """Run a network whose weights are given in pairs, for inputs and for states."""
    is_quantized = isinstance(weights[0].weight, quantized.QuantizedTensor)
    parts: Any = [w.parts() if is_quantized else (w.weight,) for w in weights]
    biases: Any = [w.bias.detach() if is_quantized else w.bias for w in weights]       # type: ignore[union-attr]
    params = [p for k in range(0, len(weights), 2) for p in (*parts[k], *parts[k + 1], biases[k], biases[k + 1])]
    return recurrent.run(mode, input, batch_sizes, hx, params, True, num_layers, dropout, train, bidirectional, batch_first,
                         op="_recurrent_quantized" if is_quantized else "_recurrent")


def _packed(module: Any, suffix: str, name: str) -> list[PackedWeight]:
    """Return the weights of a float module for inputs and for states, with their biases."""
    if not module.bias:
        raise AssertionError("mod.bias must be True")
    made = []
    for kind in ("ih", "hh"):
        observer = observer_of(module, name)
        weight, bias = (getattr(module, f"{what}_{kind}{suffix}") for what in ("weight", "bias"))
        made.append(pack(weight_of(weight, observer), bias, observer.dtype))
    return made


def _drawn(rows: int, columns: int, dtype: Dtype, scale: float) -> PackedWeight:
    """Return a random weight with a random bias, as PyTorch's constructors do."""
    weight, bias = functions.randn(rows, columns), functions.randn(rows)
    return pack(quantized.per_tensor(weight, scale, 0, QINT8) if dtype is QINT8 else weight, bias, dtype)


class PackedParameter(Module):
    """The weights of one layer in one direction, in a module of their own as in PyTorch's state dicts.

    Shape: the weights have shapes (gates * hidden_size, input_size) and (gates * hidden_size, hidden_size).

    Args:
        param (tuple): the weight for inputs and the weight for states, each with its bias.

    Example::

        >>> from jtorch.ao.nn.quantized.dynamic import LSTM
        >>> list(LSTM(2, 3).state_dict())
        ['_all_weight_values.0.param']

    """

    def __init__(self, param: Any):
        super().__init__()
        self.param = param

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "param"] = self.param

    def _load_from_state_dict(self, state_dict: Any, prefix: str, local_metadata: Any, *args: Any) -> None:
        self.param = state_dict[prefix + "param"]
        super()._load_from_state_dict(state_dict, prefix, local_metadata, False, *args[1:])


class RNNBase(Module):
    """The base class of the quantized LSTM and GRU. See torch.ao.nn.quantized.dynamic.

    Shape: input (L, N, input_size), or (N, L, input_size) with ``batch_first``; the output has D * hidden_size features, D being
    2 if bidirectional; the state is (D * num_layers, N, hidden_size). All are float32.

    Args:
        mode (str): "LSTM" or "GRU".
        input_size (int): the number of input features at each step.
        hidden_size (int): the number of features of the state.
        num_layers (int): the number of layers.
        bias (bool): must be True for a module made from floats.
        batch_first (bool): whether the batch dim comes first.
        dropout (float): the probability that an element is dropped between layers, in training.
        bidirectional (bool): whether a second layer processes the sequence in reverse.
        dtype (dtype): ``torch.qint8`` or ``torch.float16``.

    Example::

        >>> from jtorch.ao.nn.quantized.dynamic import GRU
        >>> GRU(3, 4, num_layers=2)
        DynamicQuantizedGRU(3, 4, num_layers=2)

    """

    _version = 2

    def __init__(self, mode: str, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True,
                 batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False, dtype: Dtype = QINT8):
        super().__init__()
        floats._check_dropout(dropout, num_layers)
        self.mode, self.input_size, self.hidden_size, self.num_layers, self.bias = mode, input_size, hidden_size, num_layers, bias
        self.batch_first, self.dropout, self.bidirectional, self.dtype = batch_first, float(dropout), bidirectional, dtype
        self.version, self.training = 2, False
        self._all_weight_values = ModuleList([PackedParameter(self._pair(layer)) for layer, _ in self._places()])

    def _places(self) -> list[tuple[int, str]]:
        """Return (layer, suffix) for each direction of each layer, in the order of the weights."""
        return [(layer, suffix) for layer in range(self.num_layers) for suffix in _SUFFIXES[:self._directions]]

    def _pair(self, layer: int) -> tuple[PackedWeight, PackedWeight]:
        rows = _GATES[self.mode] * self.hidden_size
        columns = self.hidden_size * self._directions if layer else self.input_size
        return _drawn(rows, columns, self.dtype, 0.1), _drawn(rows, self.hidden_size, self.dtype, 0.1)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """Return a quantized network for one with a ``qconfig``."""
        if type(mod) not in (floats.LSTM, floats.GRU):
            raise AssertionError("nn.quantized.dynamic.RNNBase.from_float only works for nn.LSTM and nn.GRU")
        made = {"LSTM": LSTM, "GRU": GRU}[mod.mode](mod.input_size, mod.hidden_size, mod.num_layers, mod.bias, mod.batch_first,
                                                    mod.dropout, mod.bidirectional, observer_of(mod, "rnn").dtype)
        if getattr(mod, "proj_size", 0):
            raise NotImplementedError("A quantized LSTM with proj_size is not built")
        made._all_weight_values = ModuleList([PackedParameter(tuple(_packed(mod, f"_l{layer}{suffix}", "rnn")))
                                              for layer, suffix in made._places()])
        return made

    # The quantized layers share these functions of the float layers, which read only sizes.
    _directions: Any = floats.RNNBase._directions
    _batch: Any = floats.RNNBase._batch
    get_expected_hidden_size: Any = floats.RNNBase.get_expected_hidden_size
    check_hidden_size: Any = floats.RNNBase.check_hidden_size
    permute_hidden: Any = floats.RNNBase.permute_hidden
    _state_size = property(lambda self: self.hidden_size)

    def check_input(self, input: Any, batch_sizes: Tensor | None) -> None:
        """Raise PyTorch's error for an input of a wrong shape."""
        dims = 3 if batch_sizes is None else 2
        if input.dim() != dims:
            raise RuntimeError(f"input must have {dims} dimensions, got {input.dim()}")
        if input.size(-1) != self.input_size:
            raise RuntimeError(f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.size(-1)}")

    def check_forward_args(self, input: Any, hidden: Any, batch_sizes: Tensor | None) -> None:
        """Raise PyTorch's error for arguments of wrong shapes."""
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden, self.get_expected_hidden_size(input, batch_sizes))

    def _zeros(self, input: Any, batch_sizes: Tensor | None) -> Any:
        batch = int(batch_sizes[0]) if batch_sizes is not None else input.size(0 if self.batch_first else 1)
        return functions.zeros(self.num_layers * self._directions, batch, self.hidden_size)

    def _states(self, hidden: Any) -> list[Any]:
        return [hidden]

    def _hidden(self, states: list[Any]) -> Any:
        return states[0]

    def forward(self, input: Any, hx: Any = None) -> tuple[Any, Any]:
        """Return the output and the last state."""
        data, batch_sizes, order, back = input if isinstance(input, PackedSequence) else (input, None, None, None)
        hidden = self._zeros(data, batch_sizes) if hx is None else self.permute_hidden(hx, order)
        self.check_forward_args(data, hidden, batch_sizes)
        weights = [w for m in self._all_weight_values for w in m.param]     # type: ignore[union-attr]
        out, *states = _run(self.mode.lower(), data, batch_sizes, self._states(hidden), weights, self.num_layers, self.dropout,
                            self.training, self.bidirectional, batch_sizes is None and self.batch_first)
        made = out if batch_sizes is None else PackedSequence(out, batch_sizes, order, back)
        return made, self.permute_hidden(self._hidden(states), back)

    def _weight_bias(self) -> dict[str, dict[str, Any]]:
        found: dict[str, dict[str, Any]] = {"weight": {}, "bias": {}}
        for (layer, suffix), module in zip(self._places(), self._all_weight_values, strict=True):
            for kind, packed in zip(("ih", "hh"), module.param, strict=True):        # type: ignore[arg-type]
                found["weight"][f"weight_{kind}_l{layer}{suffix}"] = packed.weight
                found["bias"][f"bias_{kind}_l{layer}{suffix}"] = packed.bias
        return found

    def get_weight(self) -> dict[str, Tensor]:
        """Return the weights by name."""
        return self._weight_bias()["weight"]

    def get_bias(self) -> dict[str, Tensor]:
        """Return the biases by name."""
        return self._weight_bias()["bias"]

    def _get_name(self) -> str:
        return f"DynamicQuantized{self.mode}"

    def extra_repr(self) -> str:
        """Return the sizes, and the options that differ from the defaults."""
        defaults = {"num_layers": 1, "bias": True, "batch_first": False, "dropout": 0, "bidirectional": False}
        given = "".join([f", {n}={getattr(self, n)}" for n, default in defaults.items() if getattr(self, n) != default])
        return f"{self.input_size}, {self.hidden_size}{given}"

    def __repr__(self) -> str:
        return f"{self._get_name()}({self.extra_repr()})"


class LSTM(RNNBase):
    """An LSTM with weights of 8 bits, or of 16-bit floats. See torch.ao.nn.quantized.dynamic.LSTM.

    The products with the weights are those of the quantized Linear. Gates and states are float32. There are no gradients.

    Shape: as for ``torch.nn.LSTM``, with a batch dim.

    Args:
        args: the arguments of ``torch.nn.LSTM`` up to ``bidirectional``, and ``dtype``.
        kwargs: the same by name.

    Example::

        >>> from jtorch.ao.quantization import quantize_dynamic
        >>> net = quantize_dynamic(nn.ModuleList([nn.LSTM(3, 5)]), {nn.LSTM}, dtype=torch.qint8)[0]
        >>> out, (h, c) = net(torch.zeros(7, 2, 3))
        >>> out.shape, c.shape
        (torch.Size([7, 2, 5]), torch.Size([1, 2, 5]))

    """

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__("LSTM", *args, **kwargs)

    permute_hidden: Any = floats.LSTM.permute_hidden

    def check_forward_args(self, input: Any, hidden: Any, batch_sizes: Tensor | None) -> None:
        """Raise PyTorch's error for arguments of wrong shapes."""
        self.check_input(input, batch_sizes)
        for k in (0, 1):
            self.check_hidden_size(hidden[k], self.get_expected_hidden_size(input, batch_sizes),
                                   f"Expected hidden[{k}] size {{}}, got {{}}")

    def _zeros(self, input: Any, batch_sizes: Tensor | None) -> Any:
        zeros = super()._zeros(input, batch_sizes)
        return zeros, zeros

    def _states(self, hidden: Any) -> list[Any]:
        return list(hidden)

    def _hidden(self, states: list[Any]) -> Any:
        return tuple(states)


class GRU(RNNBase):
    """A GRU with weights of 8 bits, or of 16-bit floats. See torch.ao.nn.quantized.dynamic.GRU.

    Shape: as for ``torch.nn.GRU``, with a batch dim.

    Args:
        args: the arguments of ``torch.nn.GRU`` up to ``bidirectional``, and ``dtype``.
        kwargs: the same by name.

    Example::

        >>> from jtorch.ao.nn.quantized.dynamic import GRU
        >>> out, h = GRU(3, 5)(torch.zeros(7, 2, 3))
        >>> out.shape, h.shape
        (torch.Size([7, 2, 5]), torch.Size([1, 2, 5]))

    """

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__("GRU", *args, **kwargs)


# ---------------------------------------------------------------- cells

class RNNCellBase(Module):
    """The base class of quantized cells. See torch.ao.nn.quantized.dynamic.RNNCell.

    Shape: input (N, input_size), state (N, hidden_size), which the result has.

    Args:
        input_size (int): the number of input features.
        hidden_size (int): the number of features of the state.
        bias (bool): must be True for a module made from floats.
        num_chunks (int): the number of gates.
        dtype (dtype): ``torch.qint8`` or ``torch.float16``.

    Example::

        >>> from jtorch.ao.nn.quantized.dynamic import GRUCell
        >>> GRUCell(3, 4)(torch.ones(2, 3)).shape
        torch.Size([2, 4])

    """

    _mode = ""

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, num_chunks: int = 4, dtype: Dtype = QINT8):
        super().__init__()
        self.input_size, self.hidden_size, self.bias, self.weight_dtype = input_size, hidden_size, bias, dtype
        self._packed_weight_ih = _drawn(num_chunks * hidden_size, input_size, dtype, 1.0)
        self._packed_weight_hh = _drawn(num_chunks * hidden_size, hidden_size, dtype, 1.0)

    @property
    def bias_ih(self) -> Any:
        """The bias of the input."""
        return self._packed_weight_ih.bias

    @property
    def bias_hh(self) -> Any:
        """The bias of the state."""
        return self._packed_weight_hh.bias

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """Return a quantized cell for a cell with a ``qconfig``."""
        kinds: dict[type, Any] = {floats.LSTMCell: LSTMCell, floats.GRUCell: GRUCell, floats.RNNCell: RNNCell}
        if type(mod) not in kinds:
            raise AssertionError("nn.quantized.dynamic.RNNCellBase.from_float only works for nn.LSTMCell, nn.GRUCell "
                                 "and nn.RNNCell")
        options = {"nonlinearity": mod.nonlinearity} if type(mod) is floats.RNNCell else {}
        made = kinds[type(mod)](mod.input_size, mod.hidden_size, bias=mod.bias, dtype=observer_of(mod, "rnn").dtype, **options)
        made._packed_weight_ih, made._packed_weight_hh = _packed(mod, "", "rnn")
        return made

    def _check(self, input: Any, states: list[Any]) -> None:
        if input.size(1) != self.input_size:
            raise RuntimeError(f"input has inconsistent input_size: got {input.size(1)}, expected {self.input_size}")
        for k, h in enumerate(states):
            label = f"[{k}]" if len(states) > 1 else ""
            if input.size(0) != h.size(0):
                raise RuntimeError(f"Input batch size {input.size(0)} doesn't match hidden{label} batch size {h.size(0)}")
            if h.size(1) != self.hidden_size:
                raise RuntimeError(f"hidden{label} has inconsistent hidden_size: got {h.size(1)}, expected {self.hidden_size}")

    def _step(self, mode: str, input: Any, states: list[Any]) -> list[Any]:
        self._check(input, states)
        weights = [self._packed_weight_ih, self._packed_weight_hh]
        made = _run(mode, input.unsqueeze(0), None, [h.unsqueeze(0) for h in states], weights, 1, 0.0, False, False, False)
        return [h.squeeze(0) for h in made[1:]]

    def _zeros(self, input: Any) -> Any:
        return functions.zeros(input.size(0), self.hidden_size, dtype=input.dtype)

    def get_weight(self) -> dict[str, Tensor]:
        """Return the weights by name."""
        return {"weight_ih": self._packed_weight_ih.weight, "weight_hh": self._packed_weight_hh.weight}

    def get_bias(self) -> dict[str, Any]:
        """Return the biases by name."""
        return {"bias_ih": self.bias_ih, "bias_hh": self.bias_hh}

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        for name in ("_packed_weight_ih", "_packed_weight_hh"):
            destination[prefix + name] = getattr(self, name)

    def _load_from_state_dict(self, state_dict: Any, prefix: str, local_metadata: Any, *args: Any) -> None:
        for name in ("_packed_weight_ih", "_packed_weight_hh"):
            setattr(self, name, state_dict.pop(prefix + name))
        super()._load_from_state_dict(state_dict, prefix, local_metadata, False, *args[1:])

    def _get_name(self) -> str:
        return f"DynamicQuantized{type(self).__name__}"

    def extra_repr(self) -> str:
        """Return the sizes."""
        nonlinearity = getattr(self, "nonlinearity", "tanh")
        text = f"{self.input_size}, {self.hidden_size}" + ("" if self.bias is True else f", bias={self.bias}")
        return text if nonlinearity == "tanh" else f"{text}, nonlinearity={nonlinearity}"


class RNNCell(RNNCellBase):
    """One step of RNN with quantized weights. See torch.ao.nn.quantized.dynamic.RNNCell.

    Shape: input (N, input_size), state (N, hidden_size), which the result has.

    Args:
        input_size (int): the number of input features.
        hidden_size (int): the number of features of the state.
        bias (bool): must be True for a module made from floats.
        nonlinearity (str): "tanh" or "relu".
        dtype (dtype): ``torch.qint8`` or ``torch.float16``.

    Example::

        >>> from jtorch.ao.nn.quantized.dynamic import RNNCell
        >>> RNNCell(3, 4)(torch.ones(2, 3)).shape
        torch.Size([2, 4])

    """

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, nonlinearity: str = "tanh", dtype: Dtype = QINT8):
        super().__init__(input_size, hidden_size, bias, 1, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Any, hx: Any = None) -> Any:
        """Return the new state."""
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        return self._step(f"rnn_{self.nonlinearity}", input, [self._zeros(input) if hx is None else hx])[0]


class LSTMCell(RNNCellBase):
    """One step of LSTM with quantized weights. See torch.ao.nn.quantized.dynamic.LSTMCell.

    Shape: input (N, input_size), a pair of states (N, hidden_size), which the result is too.

    Args:
        args: input_size, hidden_size and bias.
        kwargs: the same by name, and ``dtype``.

    Example::

        >>> from jtorch.ao.nn.quantized.dynamic import LSTMCell
        >>> h, c = LSTMCell(3, 4)(torch.ones(2, 3))
        >>> h.shape
        torch.Size([2, 4])

    """

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, num_chunks=4, **kwargs)     # type: ignore[misc]

    def forward(self, input: Any, hx: Any = None) -> Any:
        """Return the new states."""
        return tuple(self._step("lstm", input, [self._zeros(input)] * 2 if hx is None else list(hx)))


class GRUCell(RNNCellBase):
    """One step of GRU with quantized weights. See torch.ao.nn.quantized.dynamic.GRUCell.

    Shape: input (N, input_size), state (N, hidden_size), which the result has.

    Args:
        input_size (int): the number of input features.
        hidden_size (int): the number of features of the state.
        bias (bool): must be True for a module made from floats.
        dtype (dtype): ``torch.qint8`` or ``torch.float16``.

    Example::

        >>> from jtorch.ao.nn.quantized.dynamic import GRUCell
        >>> GRUCell(3, 4)(torch.ones(2, 3)).shape
        torch.Size([2, 4])

    """

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, dtype: Dtype = QINT8):
        super().__init__(input_size, hidden_size, bias, 3, dtype)

    def forward(self, input: Any, hx: Any = None) -> Any:
        """Return the new state."""
        return self._step("gru", input, [self._zeros(input) if hx is None else hx])[0]
