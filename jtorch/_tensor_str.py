"""The text of tensors for ``repr``, ``str`` and ``format``, and the print options.

The functions work on any object with a tensor's attributes. Only ``_host_values`` reads the data.
"""
from __future__ import annotations

import contextlib
import math
import textwrap
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import ml_dtypes
import numpy as np

import jtorch.dtype as dtypes
from jtorch._base import late_bindings
from jtorch._nodes import tangents


@dataclass
class _PrinterOptions:
    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


PRINT_OPTS = _PrinterOptions()
_PROFILES = {
    "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
    "full": {"precision": 4, "threshold": math.inf, "edgeitems": 3, "linewidth": 80},
}


def set_printoptions(precision=None, threshold=None, edgeitems=None, linewidth=None, profile=None, sci_mode=None):
    """Set how tensors print: digits, where to summarise and wrap, scientific notation. See torch.set_printoptions."""
    chosen = dict(_PROFILES.get(profile, {}))
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    chosen.update({name: value for name, value in given.items() if value is not None})
    for name, value in chosen.items():
        setattr(PRINT_OPTS, name, value)
    PRINT_OPTS.sci_mode = sci_mode  # A call without sci_mode resets it to automatic, like PyTorch's.


def get_printoptions() -> dict[str, Any]:
    """Return the current options, as keywords for set_printoptions. See torch.get_printoptions."""
    return asdict(PRINT_OPTS)


@contextlib.contextmanager
def printoptions(**kwargs):
    """Change the options inside a ``with`` block. See torch.printoptions."""
    before = get_printoptions()
    set_printoptions(**kwargs)
    try:
        yield
    finally:
        set_printoptions(**before)


def _host_values(t) -> np.ndarray:
    return t._numpy_copy()


def _widened(values: np.ndarray) -> np.ndarray:
    """Convert ml_dtypes' floats to float64, which represents them exactly and becomes a Python float in lists."""
    return values.astype(np.float64) if values.dtype.kind == "V" or values.dtype.type.__module__ == ml_dtypes.__name__ \
        else values


# -- formatting one element -------------------------------------------------------------------------------------------

Cell = Callable[[Any], str]


def _plain_cell(values: list) -> tuple[Cell, int]:
    """Return a function that formats one integer or bool of ``values``, and the common width."""
    width = max((len(str(v)) for v in values), default=1)
    return lambda v: str(v).rjust(width), width


def _float_spec(values: list[float]) -> str:
    """Return ``e`` for scientific notation, ``i`` if all values are whole numbers (``2.``), else ``f``."""
    sizes = [abs(v) for v in values]
    low, high = min(sizes), max(sizes)
    scientific = PRINT_OPTS.sci_mode
    if scientific is None:
        scientific = high / low > 1000.0 or high > 1.0e8 or low < 1.0e-4
    if scientific:
        return "e"
    return "i" if all(v.is_integer() for v in values) else "f"


def _whole(v: float) -> str:
    return f"{v:.0f}." if math.isfinite(v) else f"{v:.0f}"


def _float_cell(values: list[float]) -> tuple[Cell, int]:
    """Return a function that formats one float of ``values``, and the width. Zeros, infinities and nans do not affect them."""
    telling = [v for v in values if v != 0 and math.isfinite(v)]
    spec = _float_spec(telling) if telling else "i"
    if spec == "i":
        write: Cell = _whole
    else:
        pattern = f".{PRINT_OPTS.precision}{spec}"
        write = lambda v: format(v, pattern)
    width = max((len(write(v)) for v in telling), default=1)
    return lambda v: write(v).rjust(width), width


def _complex_cell(values: list[complex]) -> tuple[Cell, int]:
    real, real_width = _float_cell([v.real for v in values])
    imag, imag_width = _float_cell([v.imag for v in values])

    def cell(v: complex) -> str:
        second = imag(v.imag).lstrip() + "j"
        return real(v.real) + (second if second[0] in "+-" else "+" + second)

    return cell, real_width + imag_width + 1


def _cell_for(values: np.ndarray) -> tuple[Cell, int]:
    flat = values.ravel().tolist()
    match values.dtype.kind:
        case "f":
            return _float_cell(flat)
        case "c":
            return _complex_cell(flat)
    return _plain_cell(flat)


class _Formatter:
    """Formats an element of a tensor with the width of the widest printed element."""

    def __init__(self, tensor: Any):
        values = _host_values(tensor)
        self._cell, self.max_width = _cell_for(_widened(_edges(values) if values.size > PRINT_OPTS.threshold else values))

    def width(self) -> int:
        """Return the number of characters that an element takes."""
        return self.max_width

    def format(self, value: Any) -> str:
        """Return the text of an element, or of a tensor with one element."""
        text = self._cell(value.item() if hasattr(value, "item") else value)
        return " " * (self.max_width - len(text)) + text


# -- formatting nested lists ------------------------------------------------------------------------------------------


def _edges(values: np.ndarray) -> np.ndarray:
    """Return the elements that a summary shows: the first and last ``edgeitems`` along each dim."""
    edge = PRINT_OPTS.edgeitems
    for axis, size in enumerate(values.shape):
        if size > 2 * edge:
            values = np.take(values, [*range(edge), *range(size - edge, size)], axis)
    return values


def _row(values: list, size: int, indent: int, summarize: bool, cell: Cell, width: int) -> str:
    edge = PRINT_OPTS.edgeitems
    cells = [cell(v) for v in values]
    if summarize and size > 2 * edge:
        cells[edge:edge] = [" ..." if edge else "..."]
    per_line = max(1, math.floor((PRINT_OPTS.linewidth - indent) / (width + 2)))
    lines = [", ".join(cells[i:i + per_line]) for i in range(0, len(cells), per_line)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


def _block(values, shape: tuple[int, ...], indent: int, summarize: bool, cell: Cell, width: int) -> str:
    """Format the nested lists ``values``. ``shape`` is the tensor's shape, which is larger if a summary omits
    elements.
    """
    if not shape:
        return cell(values)
    if len(shape) == 1:
        return _row(values, shape[0], indent, summarize, cell, width)
    parts = [_block(v, shape[1:], indent + 1, summarize, cell, width) for v in values]
    if summarize and shape[0] > 2 * PRINT_OPTS.edgeitems:
        parts.insert(PRINT_OPTS.edgeitems, "...")
    return "[" + ("," + "\n" * (len(shape) - 1) + " " * (indent + 1)).join(parts) + "]"


def _contents(t, indent: int) -> str:
    values = _host_values(t)
    if values.size == 0:
        return "[]"
    shape, summarize = values.shape, values.size > PRINT_OPTS.threshold
    if summarize:
        values = _edges(values)
    values = _widened(values)
    cell, width = _cell_for(values)
    return _block(values.tolist(), shape, indent, summarize, cell, width)


# -- suffixes ---------------------------------------------------------------------------------------------------------


def _layout_suffixes(t) -> list[str]:
    """Return ``size=`` and ``dtype=``, if the contents do not show them."""
    default = dtypes.get_default_dtype()
    size, dtype = f"size={tuple(t.shape)}", f"dtype={t.dtype}"
    if t.device.type == "meta":
        return [size] if t.dtype is default else [size, dtype]
    if 0 in t.shape:
        return [size] * (len(t.shape) != 1) + [dtype] * (t.dtype is not default)
    default_complex = dtypes.complex128 if default is dtypes.float64 else dtypes.complex64
    told = t.dtype in (default, default_complex, dtypes.int64, dtypes.bool_)
    return [size] * (not PRINT_OPTS.edgeitems) + [dtype] * (not told)


def _history_suffixes(t) -> list[str]:
    try:
        grad_fn = t.grad_fn
    except RuntimeError:  # The history of this view can no longer be derived.
        return ["grad_fn=<Invalid>"]
    if grad_fn is not None:
        return [f"grad_fn=<{grad_fn.name().rsplit('::', 1)[-1]}>"]
    return ["requires_grad=True"] if t.requires_grad else []


def _tangent_suffixes(t) -> list[str]:
    level = tangents.highest((t,)) if tangents.opened else None
    return [] if level is None else [f"tangent={tangents.of(t, level)}"]


def _suffixes(t) -> list[str]:
    device = [] if t.device.type == "cpu" else [f"device='{t.device}'"]
    return device + _layout_suffixes(t) + _history_suffixes(t) + _tangent_suffixes(t)


def _with_suffixes(text: str, suffixes: list[str], indent: int, new_line: bool = False) -> str:
    column = len(text) - text.rfind("\n") + 1  # PyTorch counts two more columns than there are.
    for suffix in suffixes:
        if new_line or column + len(suffix) + 2 > PRINT_OPTS.linewidth:
            new_line = False
            text += ",\n" + " " * indent + suffix
            column = indent + len(suffix)
        else:
            text += ", " + suffix
            column += len(suffix) + 2
    return text + ")"


# -- entry points -----------------------------------------------------------------------------------------------------


def _is_parameter(t) -> bool:
    return getattr(t, "_is_parameter", False)


def _str_intern(t, *, tensor_contents=None) -> str:
    return tensor_str(t, tensor_contents=tensor_contents)


def _tensor_str(t, indent: int) -> str:
    return _contents(t, indent)


def _add_suffixes(text: str, suffixes: list[str], indent: int, force_newline: bool) -> str:
    """Append the suffixes to the text. Packages that print their own classes call this with PyTorch's arguments."""
    if force_newline and suffixes:
        return _with_suffixes(text + ",\n" + " " * indent + suffixes[0], suffixes[1:], indent)
    return _with_suffixes(text, suffixes, indent)


def tensor_str(t, *, indent: int = 0, tensor_contents: str | None = None) -> str:
    """Return ``repr(t)``. ``indent`` is the column where it starts; ``tensor_contents`` replaces the values' text."""
    kind = type(t).__name__
    plain = kind in ("Tensor", "Parameter")
    prefix = "tensor(" if plain else f"{kind}("
    indent += len(prefix)
    if tensor_contents is None:
        tensor_contents = "..." if t.device.type == "meta" else _contents(t, indent)
    text = _with_suffixes(prefix + tensor_contents, _suffixes(t), indent)
    if not _is_parameter(t):
        return text
    return "Parameter containing:\n" + (text if plain else f"Parameter({text})")


def str_of_samples(value: Any) -> str:
    """Return the ``repr`` of a tensor that holds all samples of a ``vmap``."""
    inside = textwrap.indent(repr(late_bindings.wrap(value.array.value)), "    ")
    return f"BatchedTensor(lvl={value.array.level.depth}, bdim=0, value=\n{inside}\n)"


def tensor_format(t, spec: str) -> str:
    """Return ``format(t, spec)``; a 0-dim tensor formats as its Python number."""
    if len(t.shape) == 0 and t.device.type != "meta" and type(t).__name__ == "Tensor" and not _is_parameter(t):
        return format(_widened(_host_values(t)).item(), spec)
    return object.__format__(t, spec)
