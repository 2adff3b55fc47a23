"""Recurrent layers. The time loop is one op; see ``jtorch/ops/nn/recurrent.py``."""
from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from typing import Any

from jtorch._api import functions
from jtorch._base import late_bindings, warned
from jtorch.nn import init
from jtorch.nn._functional import recurrent
from jtorch.nn.modules._make import parameter
from jtorch.nn.modules.module import Module
from jtorch.nn.utils.rnn import PackedSequence
from jtorch.storage import aval_of
from jtorch.tensor import Tensor

__all__ = ["GRU", "LSTM", "RNN", "GRUCell", "LSTMCell", "RNNBase", "RNNCell", "RNNCellBase"]

_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


def _check_dropout(dropout: Any, num_layers: int) -> None:
    if not isinstance(dropout, numbers.Number) or isinstance(dropout, bool) or not 0 <= dropout <= 1:   # type: ignore[operator]
        raise ValueError("dropout should be a number in range [0, 1] representing the probability of an element being zeroed")
    if dropout > 0 and num_layers == 1:     # type: ignore[operator]
        warned.warn("dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects num_layers "
                    f"greater than 1, but got dropout={dropout} and num_layers={num_layers}")


def _check_type(name: str, value: Any, wanted: type) -> None:
    if not isinstance(value, wanted):
        raise TypeError(f"{name} should be of type {wanted.__name__}, got: {type(value).__name__}")


def _check_sizes(**sizes: int) -> None:
    for name, size in sizes.items():
        if name.endswith("_size"):
            _check_type(name, size, int)
        if size <= 0:
            raise ValueError(f"{name} must be greater than zero")


class _Recurrent(Module):
    """The base of layers and cells: the initialization of their weights."""

    hidden_size: int

    def reset_parameters(self) -> None:
        """Reinitialize the parameters."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)


class RNNBase(_Recurrent):
    """The base class of RNN, LSTM and GRU. See torch.nn.RNNBase.

    The parameters of layer k are ``weight_ih_l{k}`` (gates * hidden_size, input), ``weight_hh_l{k}``, ``bias_ih_l{k}``,
    ``bias_hh_l{k}`` and, with ``proj_size``, ``weight_hr_l{k}``. The names of the reverse direction end in
    ``_reverse``.

    Shape: input (L, N, input_size), (N, L, input_size) with ``batch_first`` or (L, input_size); the output has D *
    hidden_size features, D being 2 if bidirectional; the state is (D * num_layers, N, hidden_size).

    Args:
        mode (str): "LSTM", "GRU", "RNN_TANH" or "RNN_RELU".
        input_size (int): the number of input features at each step.
        hidden_size (int): the number of features of the state.
        num_layers (int): the number of layers.
        bias (bool): whether to add a learned bias.
        batch_first (bool): whether the batch dim comes first, (N, L, ...), instead of second.
        dropout (float): the probability that an element is dropped, in training.
        bidirectional (bool): whether a second layer processes the sequence in reverse.
        proj_size (int): the number of features of an LSTM's projected state; 0 for none.
        device (device or None): the device of parameters and buffers.
        dtype (dtype or None): their dtype, floating or complex.

    Example::

        >>> issubclass(nn.LSTM, nn.RNNBase)
        True

    """

    __constants__ = ["mode", "input_size", "hidden_size", "num_layers", "bias", "batch_first", "dropout", "bidirectional",
                     "proj_size"]

    def __init__(self, mode: str, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True,
                 batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False, proj_size: int = 0,
                 device: Any = None, dtype: Any = None):
        super().__init__()
        _check_dropout(dropout, num_layers)
        _check_type("bias", bias, bool)
        _check_type("batch_first", batch_first, bool)
        _check_sizes(input_size=input_size, hidden_size=hidden_size, num_layers=num_layers)
        if proj_size < 0:
            raise ValueError("proj_size should be a positive integer or zero to disable projections")
        if proj_size >= hidden_size:
            raise ValueError("proj_size has to be smaller than hidden_size")
        if mode not in _GATES:
            raise ValueError(f"Unrecognized RNN mode: {mode}")
        self.mode, self.input_size, self.hidden_size, self.num_layers = mode, input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.dropout = bias, batch_first, float(dropout)
        self.bidirectional, self.proj_size = bidirectional, proj_size
        self._all_weights: list[list[str]] = []
        self._flat_weights_names: list[str] = []
        self._make_parameters({"device": device, "dtype": dtype})
        self._init_flat_weights()
        self.reset_parameters()

    @property
    def _directions(self) -> int:
        return 2 if self.bidirectional else 1

    @property
    def _state_size(self) -> int:
        return self.proj_size or self.hidden_size

    def _make_parameters(self, place: dict[str, Any]) -> None:
        rows = _GATES[self.mode] * self.hidden_size
        for layer in range(self.num_layers):
            columns = self._directions * self._state_size if layer else self.input_size
            shapes: dict[str, tuple[int, ...]] = {"weight_ih": (rows, columns), "weight_hh": (rows, self._state_size)}
            if self.bias:
                shapes.update(bias_ih=(rows,), bias_hh=(rows,))
            if self.proj_size:
                shapes["weight_hr"] = (self.proj_size, self.hidden_size)
            for suffix in ("", "_reverse")[:self._directions]:
                names = {f"{name}_l{layer}{suffix}": shape for name, shape in shapes.items()}
                for name, shape in names.items():
                    setattr(self, name, parameter(*shape, **place))
                self._flat_weights_names += names
                self._all_weights.append(list(names))

    # ------------------------------------------------------------ the weights as a list

    def _init_flat_weights(self) -> None:
        self._flat_weights: list[Any] = [getattr(self, name, None) for name in self._flat_weights_names]

    # PyTorch's name. ``forward`` calls it to read the weights again, since users may have replaced them, even by plain tensors.
    _update_flat_weights = _init_flat_weights

    def __setattr__(self, name: str, value: Any) -> None:
        names = self.__dict__.get("_flat_weights_names", ())
        if name in names and "_flat_weights" in self.__dict__:
            self._flat_weights[names.index(name)] = value
        super().__setattr__(name, value)

    def _apply(self, fn: Any, recurse: bool = True):
        made = super()._apply(fn, recurse)
        self._init_flat_weights()
        return made

    def flatten_parameters(self) -> None:
        """Do nothing: the weights need not be adjacent in memory."""

    @property
    def all_weights(self) -> list[list[Any]]:
        """Return the parameters by layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    # ------------------------------------------------------------ checks

    def check_input(self, input: Any, batch_sizes: Tensor | None) -> None:
        """Raise PyTorch's error for an input of a wrong dtype or shape."""
        wanted = self._flat_weights[0].dtype
        if input.dtype != wanted and late_bindings.autocast is None:
            raise ValueError(f"RNN input dtype ({input.dtype}) does not match weight dtype ({wanted}). Convert input: "
                             f"input.to({wanted}), or convert model: model.to({input.dtype})")
        dims = 3 if batch_sizes is None else 2
        if input.dim() != dims:
            raise RuntimeError(f"input must have {dims} dimensions, got {input.dim()}")
        if input.size(-1) != self.input_size:
            raise RuntimeError(f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.size(-1)}")

    def get_expected_hidden_size(self, input: Any, batch_sizes: Tensor | None) -> tuple[int, int, int]:
        """Return the shape of the hidden state."""
        return (self.num_layers * self._directions, self._batch(input, batch_sizes), self._state_size)

    def _batch(self, input: Any, batch_sizes: Tensor | None) -> int:
        return int(batch_sizes[0]) if batch_sizes is not None else input.size(0 if self.batch_first else 1)

    def check_hidden_size(self, hx: Any, expected_hidden_size: tuple[int, int, int],
                          msg: str = "Expected hidden size {}, got {}") -> None:
        """Raise PyTorch's error for a state of a wrong shape."""
        if tuple(hx.size()) != tuple(expected_hidden_size):
            raise RuntimeError(msg.format(expected_hidden_size, list(hx.size())))

    def check_forward_args(self, input: Any, hidden: Any, batch_sizes: Tensor | None) -> None:
        """Raise PyTorch's error for arguments of wrong shapes."""
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden, self.get_expected_hidden_size(input, batch_sizes))

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        """Return the state with permuted sequences."""
        return hx if permutation is None else hx.index_select(1, permutation)

    # ------------------------------------------------------------ forward

    def _zeros(self, input: Any, batch: int) -> Any:
        """Return the zero state that is the default."""
        return functions.zeros(self.num_layers * self._directions, batch, self._state_size, dtype=input.dtype,
                              device=aval_of(input).device)

    def _batched_hidden(self, hx: Any, batched: bool) -> Any:
        """Return the given state with a batch dim."""
        if hx.dim() != (3 if batched else 2):
            raise RuntimeError(f"For {'batched 3' if batched else 'unbatched 2'}-D input, hx should also be "
                               f"{3 if batched else 2}-D but got {hx.dim()}-D tensor")
        return hx if batched else hx.unsqueeze(1)

    def _run(self, input: Any, batch_sizes: Tensor | None, hx: Any) -> tuple[Any, Any]:
        out, h = recurrent.run(self.mode.lower(), input, batch_sizes, [hx], *self._options(batch_sizes))
        return out, h

    def _options(self, batch_sizes: Tensor | None) -> tuple:
        return (self._flat_weights, self.bias, self.num_layers, self.dropout, self.training, self.bidirectional,
                batch_sizes is None and self.batch_first)

    def forward(self, input, hx=None):
        """Return the output and the last state."""
        self._update_flat_weights()
        if isinstance(input, PackedSequence):
            return self._forward_packed(input, hx)
        if input.dim() not in (2, 3):
            kind = "tensor " if self.mode.startswith("RNN") else ""
            raise ValueError(f"{self._get_name_of_mode()}: Expected input to be 2D or 3D, got {input.dim()}D {kind}instead")
        batched, batch_dim = input.dim() == 3, 0 if self.batch_first else 1
        x = input if batched else input.unsqueeze(batch_dim)
        state = self._zeros(x, x.size(batch_dim)) if hx is None else self._batched_hidden(hx, batched)
        self.check_forward_args(x, state, None)
        out, hidden = self._run(x, None, state)
        return (out, hidden) if batched else (out.squeeze(batch_dim), self._without_batch(hidden))

    def _forward_packed(self, packed: PackedSequence, hx: Any) -> tuple[PackedSequence, Any]:
        data, batch_sizes, order, back = packed
        state = self._zeros(data, int(batch_sizes[0])) if hx is None else self.permute_hidden(hx, order)
        self.check_forward_args(data, state, batch_sizes)
        out, hidden = self._run(data, batch_sizes, state)
        return PackedSequence(out, batch_sizes, order, back), self.permute_hidden(hidden, back)

    def _without_batch(self, hidden: Any) -> Any:
        return hidden.squeeze(1)

    def _get_name_of_mode(self) -> str:
        return self.mode.partition("_")[0]

    def extra_repr(self) -> str:
        """Return the sizes, and the options that differ from the defaults."""
        defaults = {"proj_size": 0, "num_layers": 1, "bias": True, "batch_first": False, "dropout": 0, "bidirectional": False}
        given = "".join([f", {n}={getattr(self, n)}" for n, default in defaults.items() if getattr(self, n) != default])
        return f"{self.input_size}, {self.hidden_size}{given}"


def _without_projection(kwargs: dict[str, Any]) -> dict[str, Any]:
    if "proj_size" in kwargs:
        raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
    return kwargs


class RNN(RNNBase):
    """Layers of ``h = tanh(x @ w_ih.T + b_ih + h @ w_hh.T + b_hh)``, or of relu. See torch.nn.RNN.

    ``RNN(input_size, hidden_size, num_layers=1, nonlinearity='tanh', bias=True, batch_first=False, dropout=0.0,
    bidirectional=False)``. Takes (time, batch, input_size), with ``batch_first`` (batch, time, input_size), without a batch
    (time, input_size), or a PackedSequence; and the first state (layers * directions, batch, hidden_size), by default 0.
    Returns the last layer's states and the last state of each layer.

    Shape: input (L, N, input_size), (N, L, input_size) with ``batch_first`` or (L, input_size); the output has D *
    hidden_size features, D being 2 if bidirectional; the state is (D * num_layers, N, hidden_size).

    >>> out, h = torch.nn.RNN(3, 5)(torch.zeros(7, 2, 3))
    >>> out.shape, h.shape
    (torch.Size([7, 2, 5]), torch.Size([1, 2, 5]))
    """

    def __init__(self, *args: Any, **kwargs: Any):
        _without_projection(kwargs)
        nonlinearity = args[3] if len(args) > 3 else kwargs.pop("nonlinearity", "tanh")
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
        self.nonlinearity = nonlinearity
        super().__init__(f"RNN_{nonlinearity.upper()}", *args[:3], *args[4:], **kwargs)


class GRU(RNNBase):
    """Layers of gated recurrent units, with RNN's arguments and results. See torch.nn.GRU.

    With r = sigmoid(W_ir x + b_ir + W_hr h + b_hr), z likewise and n = tanh(W_in x + b_in + r * (W_hn h + b_hn)), the new
    state is (1 - z) * n + z * h.

    Shape: input (L, N, input_size), (N, L, input_size) with ``batch_first`` or (L, input_size); the output has D *
    hidden_size features, D being 2 if bidirectional; the state is (D * num_layers, N, hidden_size).

    >>> out, h = torch.nn.GRU(3, 5, num_layers=2)(torch.zeros(7, 2, 3))
    >>> out.shape, h.shape
    (torch.Size([7, 2, 5]), torch.Size([2, 2, 5]))
    """

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__("GRU", *args, **_without_projection(kwargs))


class LSTM(RNNBase):
    """Layers of long short-term memory, with RNN's arguments and a state ``(h, c)``. See torch.nn.LSTM.

    With gates i, f, o (sigmoid) and g (tanh) of W_i x + b_i + W_h h + b_h, the new c is f * c + i * g and the new h is
    o * tanh(c), multiplied by ``weight_hr`` where there is a ``proj_size``.

    Shape: input (L, N, input_size), (N, L, input_size) with ``batch_first`` or (L, input_size); the output has D *
    hidden_size features, D being 2 if bidirectional; the state is a pair of (D * num_layers, N, hidden_size); the
    first of them has proj_size features, where that is set.

    >>> out, (h, c) = torch.nn.LSTM(3, 5, bidirectional=True)(torch.zeros(7, 2, 3))
    >>> out.shape, h.shape, c.shape
    (torch.Size([7, 2, 10]), torch.Size([2, 2, 5]), torch.Size([2, 2, 5]))
    """

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__("LSTM", *args, **kwargs)

    def get_expected_cell_size(self, input: Any, batch_sizes: Tensor | None) -> tuple[int, int, int]:
        """Return the shape of the cell state."""
        return (self.num_layers * self._directions, self._batch(input, batch_sizes), self.hidden_size)

    def check_forward_args(self, input: Any, hidden: Any, batch_sizes: Tensor | None) -> None:
        """Raise PyTorch's error for arguments of wrong shapes."""
        self.check_input(input, batch_sizes)
        sizes = self.get_expected_hidden_size(input, batch_sizes), self.get_expected_cell_size(input, batch_sizes)
        for k, size in enumerate(sizes):
            self.check_hidden_size(hidden[k], size, f"Expected hidden[{k}] size {{}}, got {{}}")

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        """Return the states with permuted sequences."""
        return hx if permutation is None else tuple([h.index_select(1, permutation) for h in hx])

    def _zeros(self, input: Any, batch: int) -> tuple[Any, Any]:
        layers = self.num_layers * self._directions
        c = functions.zeros(layers, batch, self.hidden_size, dtype=input.dtype, device=aval_of(input).device)
        return (super()._zeros(input, batch) if self.proj_size else c), c

    def _batched_hidden(self, hx: Any, batched: bool) -> tuple[Any, Any]:
        h, c = hx
        n = 3 if batched else 2
        if h.dim() != n or c.dim() != n:
            raise RuntimeError(f"For {'' if batched else 'un'}batched {n}-D input, hx and cx should also be {n}-D but got "
                               f"({h.dim()}-D, {c.dim()}-D) tensors")
        return (h, c) if batched else (h.unsqueeze(1), c.unsqueeze(1))

    def _run(self, input: Any, batch_sizes: Tensor | None, hx: Any) -> tuple[Any, tuple[Any, Any]]:
        out, h, c = recurrent.run("lstm", input, batch_sizes, list(hx), *self._options(batch_sizes))
        return out, (h, c)

    def _without_batch(self, hidden: Any) -> Any:
        return tuple([h.squeeze(1) for h in hidden])


# ---------------------------------------------------------------- cells

class RNNCellBase(_Recurrent):
    """The base class of cells: their weights.

    Shape: input (N, input_size) or (input_size,), state (N, hidden_size) or (hidden_size,), which the result has.

    Args:
        input_size (int): the number of input features at each step.
        hidden_size (int): the number of features of the state.
        bias (bool): whether to add a learned bias.
        num_chunks (int): the number of gates of the cell.
        device (device or None): the device of parameters and buffers.
        dtype (dtype or None): their dtype, floating or complex.

    Example::

        >>> issubclass(nn.GRUCell, nn.RNNCellBase)
        True

    """

    __constants__ = ["input_size", "hidden_size", "bias"]

    def __init__(self, input_size: int, hidden_size: int, bias: bool, num_chunks: int, device: Any = None, dtype: Any = None):
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        rows, place = num_chunks * hidden_size, {"device": device, "dtype": dtype}
        self.weight_ih, self.weight_hh = parameter(rows, input_size, **place), parameter(rows, hidden_size, **place)
        for name in ("bias_ih", "bias_hh"):
            self.register_parameter(name, parameter(rows, **place) if bias else None)
        self.reset_parameters()

    def extra_repr(self) -> str:
        """Return the sizes."""
        text = f"{self.input_size}, {self.hidden_size}" + ("" if self.bias is True else f", bias={self.bias}")
        nonlinearity = getattr(self, "nonlinearity", "tanh")
        return text if nonlinearity == "tanh" else f"{text}, nonlinearity={nonlinearity}"

    def _check_dim(self, what: str, x: Any) -> None:
        if x.dim() not in (1, 2):
            raise ValueError(f"{self._get_name()}: Expected {what} to be 1D or 2D, got {x.dim()}D instead")

    def _step(self, function: Callable, input: Any, hx: Any) -> Any:
        """Return the new state, computed by the cell's op. The inputs can lack the batch dim."""
        weights = (self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        batched = input.dim() == 2
        x = input if batched else input.unsqueeze(0)
        if hx is None:
            state = functions.zeros(x.size(0), self.hidden_size, dtype=x.dtype, device=aval_of(x).device)
            given = (state, state) if function is functions.lstm_cell else state
        elif isinstance(hx, Tensor):
            given = hx if batched else hx.unsqueeze(0)      # type: ignore[attr-defined]
        else:
            given = tuple(hx) if batched else tuple([h.unsqueeze(0) for h in hx])
        made = function(x, given, *weights)
        if batched:
            return made
        return made.squeeze(0) if isinstance(made, Tensor) else tuple([h.squeeze(0) for h in made])     # type: ignore[attr-defined]


class RNNCell(RNNCellBase):
    """One step of RNN: (batch, input_size) and the state (batch, hidden_size) to the new state. See torch.nn.RNNCell.

    Shape: input (N, input_size) or (input_size,), state (N, hidden_size) or (hidden_size,), which the result has.

    Args:
        input_size (int): the number of input features at each step.
        hidden_size (int): the number of features of the state.
        bias (bool): whether to add a learned bias.
        nonlinearity (str): "tanh" or "relu".
        device (device or None): the device of parameters and buffers.
        dtype (dtype or None): their dtype, floating or complex.

    Example::

        >>> nn.RNNCell(3, 4)(torch.randn(2, 3)).shape
        torch.Size([2, 4])

    """

    __constants__ = ["input_size", "hidden_size", "bias", "nonlinearity"]

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, nonlinearity: str = "tanh", device: Any = None,
                 dtype: Any = None):
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input, hx=None):
        """Return the new state."""
        self._check_dim("input", input)
        if hx is not None:
            self._check_dim("hidden", hx)
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        return self._step(functions.rnn_tanh_cell if self.nonlinearity == "tanh" else functions.rnn_relu_cell, input, hx)


class LSTMCell(RNNCellBase):
    """One step of LSTM: (batch, input_size) and ``(h, c)`` to the new ``(h, c)``. See torch.nn.LSTMCell.

    Shape: input (N, input_size) or (input_size,), a pair of states (N, hidden_size) or (hidden_size,), which the
    result is too.

    Args:
        input_size (int): the number of input features at each step.
        hidden_size (int): the number of features of the state.
        bias (bool): whether to add a learned bias.
        device (device or None): the device of parameters and buffers.
        dtype (dtype or None): their dtype, floating or complex.

    Example::

        >>> h, c = nn.LSTMCell(3, 4)(torch.randn(2, 3))
        >>> h.shape, c.shape
        (torch.Size([2, 4]), torch.Size([2, 4]))

    """

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None):
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input, hx=None):
        """Return the new states."""
        self._check_dim("input", input)
        for k, h in enumerate(hx or ()):
            self._check_dim(f"hx[{k}]", h)
        return self._step(functions.lstm_cell, input, hx)


class GRUCell(RNNCellBase):
    """One step of GRU: (batch, input_size) and the state (batch, hidden_size) to the new state. See torch.nn.GRUCell.

    Shape: input (N, input_size) or (input_size,), state (N, hidden_size) or (hidden_size,), which the result has.

    Args:
        input_size (int): the number of input features at each step.
        hidden_size (int): the number of features of the state.
        bias (bool): whether to add a learned bias.
        device (device or None): the device of parameters and buffers.
        dtype (dtype or None): their dtype, floating or complex.

    Example::

        >>> nn.GRUCell(3, 4)(torch.randn(2, 3)).shape
        torch.Size([2, 4])

    """

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None):
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input, hx=None):
        """Return the new state."""
        self._check_dim("input", input)
        if hx is not None:
            self._check_dim("hidden", hx)
        return self._step(functions.gru_cell, input, hx)

del _Recurrent      # PyTorch's module does not have this name
