"""torch.lstm, torch.gru, torch.rnn_tanh and torch.rnn_relu, and packed sequences."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import jtorch.dtype as dtypes
from jtorch._api import functions
from jtorch._api.creation import from_host
from jtorch._api.names import put
from jtorch._backward.view_history import requires_grad
from jtorch._base import late_bindings
from jtorch.dispatch import call
from jtorch.engine import call_of
from jtorch.nn._functional.dropout import _mask
from jtorch.no_grad import mode as grad_mode
from jtorch.ops.registry import NUMBERS, OPS, T, freeze
from jtorch.tensor import Tensor


def run(mode: str, input: Tensor, batch_sizes: Tensor | None, hx: Sequence[Tensor], params: Sequence[Tensor],
        has_biases: bool, num_layers: int, dropout: float, train: bool, bidirectional: bool, batch_first: bool,
        op: str = "_recurrent") -> list[Tensor]:
    """Return a recurrent network's output and last states. With ``batch_sizes``, the input is packed rows.

    ``op`` is the op of the time loops: ``_recurrent_quantized`` takes weights of int8 and has no gradients.
    """
    if late_bindings.aten is not None and batch_sizes is None and op == "_recurrent":
        given = hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first
        seen = late_bindings.aten.recurrent(mode, lambda: run(mode, input, None, *given), input, *given)
        if seen is not None:
            return seen
    masks = _masks(input, batch_sizes, hx[0], num_layers, dropout, bidirectional, batch_first) if dropout and train else []
    if batch_sizes is None:
        made = _run(op, mode, input, None, hx, params, masks, has_biases, num_layers, dropout, bidirectional, batch_first)
        return [made[0].transpose(0, 1), *made[1:]] if batch_first else made     # This is a view, as in PyTorch.
    order = Order(batch_sizes._numpy_copy(), input.device)
    valid = from_host(order.place >= 0, input.device)
    padded, *masks = [order.pad(x) for x in (input, *masks)]
    out = _run(op, mode, padded, valid, hx, params, masks, has_biases, num_layers, dropout, bidirectional, batch_first=False)
    return [order.pack(out[0]), *out[1:]]


def _masks(input: Tensor, batch_sizes: Tensor | None, h: Tensor, num_layers: int, dropout: float, bidirectional: bool,
           batch_first: bool) -> list[Tensor]:
    """Draw dropout masks for the outputs of all layers but the last."""
    rows = input.shape[:1] if batch_sizes is not None else input.shape[1::-1] if batch_first else input.shape[:2]
    shape = (*rows, h.shape[2] * (2 if bidirectional else 1))
    return [_mask(input, shape, dropout) for _ in range(num_layers - 1)]


def _run(op: str, mode: str, input: Tensor, valid: Tensor | None, hx, params, masks, has_biases: bool, num_layers: int,
         dropout: float, bidirectional: bool, batch_first: bool) -> list[Tensor]:
    given = [input, *hx, *params, *masks, *([] if valid is None else [valid])]
    marks = (T, (T,) * len(hx), (T,) * len(params), (T,) * len(masks), None if valid is None else T)
    statics = (mode, has_biases, num_layers, bidirectional, batch_first, freeze(float(dropout)))
    made = call(call_of(OPS[op], (*marks, *statics)), given)
    n = 1 + len(hx)
    if op != "_recurrent" or not grad_mode.grad or grad_mode.inference or not any(requires_grad(t) for t in given):
        return made[:n]
    path = made[n:]
    return call(call_of(OPS["_recurrent_solved"], (*marks, (T,) * len(path), *statics)), [*given, *path])


# ---------------------------------------------------------------- packed sequences

class Order:
    """The positions of packed rows in the padded batch. ``exact`` keeps the number of time steps.

    Otherwise the length is rounded up. So one compiled network serves several similar lengths.
    """

    def __init__(self, batch_sizes: np.ndarray, device: Any, exact: bool = False, total: int | None = None):
        steps, batch = len(batch_sizes), int(batch_sizes[0])
        rows = np.zeros(total or (steps if exact else _rounded(steps)), np.int64)
        rows[:steps] = batch_sizes
        first = np.cumsum(rows) - rows
        column = np.arange(batch)
        self.place = np.where(column < rows[:, None], first[:, None] + column, -1)
        self._flat = from_host(np.flatnonzero(self.place >= 0), device)
        self._place = from_host(self.place, device)

    def pad(self, x: Tensor, batch_first: bool = False, padding_value: float = 0.0) -> Tensor:
        """Return packed rows as a padded batch."""
        c = call_of(OPS["_pad_rows"], (T, T, T, NUMBERS[type(padding_value)], batch_first))
        return call(c, [x, self._flat, self._place, padding_value])

    def pack(self, x: Tensor, batch_first: bool = False) -> Tensor:
        """Return a padded batch as packed rows."""
        return call(call_of(OPS["_pack_rows"], (T, T, T, batch_first)), [x, self._flat, self._place])


def _rounded(steps: int) -> int:
    """Round ``steps`` up by less than a quarter, so that similar lengths share a compiled network."""
    unit = 1 << max(steps.bit_length() - 3, 0)
    return -(-steps // unit) * unit


def pack_padded_sequence(input: Tensor, lengths: Tensor, batch_first: bool) -> tuple[Tensor, Tensor]:
    """Return a padded batch's valid rows, ordered by time step, and their number at each time step.

    See torch.nn.utils.rnn.
    """
    if lengths.device.type != "cpu":
        raise RuntimeError("'lengths' argument should be a 1D CPU int64 tensor, but got "
                           f"{lengths.dim()}D {lengths.device} {lengths.dtype.scalar_name} tensor")
    if lengths.dim() != 1 or lengths.dtype is not dtypes.int64:
        raise RuntimeError(f"'lengths' argument should be a 1D CPU int64 tensor, but got {lengths.dim()}D {lengths.device} "
                           f"{lengths.dtype.scalar_name} tensor")
    if not input.numel():
        raise RuntimeError("Cannot pack empty tensors.")
    sizes = lengths._numpy_copy()
    _check_lengths(sizes, input.shape[1 - batch_first], input.shape[int(batch_first)])
    batch_sizes = (sizes > np.arange(sizes[0])[:, None]).sum(1)
    return Order(batch_sizes, input.device, exact=True).pack(input, batch_first), from_host(batch_sizes.astype(np.int64))


def _check_lengths(sizes: np.ndarray, batch: int, steps: int) -> None:
    if len(sizes) != batch:
        raise RuntimeError(f"Expected `len(lengths)` to be equal to batch_size, but got {len(sizes)} (batch_size={batch})")
    if sizes[-1] <= 0 or (sizes <= 0).any():
        raise RuntimeError("Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0")
    if (sizes[1:] > sizes[:-1]).any():
        raise RuntimeError("`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass "
                           "`enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this requirement "
                           "if you do not need ONNX exportability.")
    if sizes[0] > steps:
        raise RuntimeError(f"Expected lengths of at most {steps}, the input's number of time steps, but got {sizes[0]}")


def pad_packed_sequence(data: Tensor, batch_sizes: Tensor, batch_first: bool, padding_value: float,
                        total_length: int) -> tuple[Tensor, Tensor]:
    """Return the padded batch of packed rows, and the sequences' lengths. See torch.nn.utils.rnn."""
    sizes = batch_sizes._numpy_copy()
    order = Order(sizes, data.device, exact=True, total=max(total_length, len(sizes)))
    lengths = (sizes[:, None] > np.arange(sizes[0])).sum(0)
    return order.pad(data, batch_first, padding_value), from_host(lengths.astype(np.int64))


# ---------------------------------------------------------------- torch.lstm and similar functions

_REST = ("hx", "params", "has_biases", "num_layers", "dropout", "train", "bidirectional")


_KINDS: dict[str, Any] = {"input": Tensor, "data": Tensor, "batch_sizes": Tensor, "params": (list, tuple), "has_biases": bool,
                          "num_layers": int, "dropout": (int, float), "train": bool, "bidirectional": bool, "batch_first": bool}


def _check_kinds(name: str, given: dict[str, Any]) -> None:
    """Raise TypeError if an argument has another type than PyTorch declares."""
    kinds = {**_KINDS, "hx": (list, tuple) if name == "lstm" else Tensor}
    odd = next((n for n, v in given.items() if not isinstance(v, kinds[n]) or (kinds[n] is int and isinstance(v, bool))), None)
    if odd is not None:
        raise TypeError(f"{name}() received an invalid combination of arguments - got {odd}={type(given[odd]).__name__}")


def _arguments(name: str, args: tuple, kw: dict) -> dict[str, Any]:
    """Return the arguments by name, for either signature: padded input or packed data."""
    packed = "batch_sizes" in kw or "data" in kw or (len(args) > 3 and isinstance(args[3], (list, tuple)))
    names = ("data", "batch_sizes", *_REST) if packed else ("input", *_REST, "batch_first")
    given = dict(zip(names, args, strict=False), **kw)
    if set(given) != set(names) or len(args) > len(names):
        kinds = ", ".join([type(a).__name__ for a in args])
        raise TypeError(f"{name}() received an invalid combination of arguments - got ({kinds}), but expected one of:\n"
                        " * (Tensor data, Tensor batch_sizes, ...)\n * (Tensor input, ..., bool batch_first)")
    _check_kinds(name, given)
    return {"batch_sizes": None, "batch_first": False, **{("input" if n == "data" else n): v for n, v in given.items()}}


def _function(name: str):
    """Return the function ``torch.<name>``."""
    def network(*args: Any, **kw: Any) -> tuple[Tensor, ...]:
        given = _arguments(name, args, kw)
        hx = given.pop("hx")
        return tuple(run(name, hx=list(hx) if name == "lstm" else [hx], **given))
    network.__name__ = network.__qualname__ = name
    network.__doc__ = f"The output and last state of a recurrent network. See torch.nn.{_MODULES[name]}."
    return network


_MODULES = {"lstm": "LSTM", "gru": "GRU", "rnn_tanh": "RNN", "rnn_relu": "RNN"}
lstm, gru, rnn_tanh, rnn_relu = (_function(n) for n in _MODULES)


def bind() -> None:
    """Bind the functions of this file in the package."""
    put(functions, {"lstm": lstm, "gru": gru, "rnn_tanh": rnn_tanh, "rnn_relu": rnn_relu,
                    "_pack_padded_sequence": pack_padded_sequence, "_pad_packed_sequence": pad_packed_sequence})
