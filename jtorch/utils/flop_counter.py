"""torch.utils.flop_counter: count the floating point operations of matrix products, convolutions and attention.

A multiplication and an addition count as two. The counter sees operators as a ``TorchDispatchMode`` does, forward and
backward.
"""
from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from jtorch._base.pytree import tree_map
from jtorch._library.namespaces import OpOverloadPacket, ops
from jtorch.nn.modules.module import Module
from jtorch.tensor import Tensor
from jtorch.utils._python_dispatch import TorchDispatchMode
from jtorch.utils.module_tracker import ModuleTracker

__all__ = ["FlopCounterMode", "register_flop_formula"]
aten = ops.aten
flop_registry: dict[Any, Callable] = {}


def get_shape(i: Any) -> Any:
    """Return the shape of a tensor; other objects unchanged."""
    return i.shape if isinstance(i, Tensor) else i


def shape_wrapper(f: Callable) -> Callable:
    """Let a formula of shapes take tensors, and their result as ``out_val``."""
    def of_tensors(*args: Any, out_val: Any = None, **kwargs: Any) -> int:
        args, kwargs, out_shape = tree_map(get_shape, (args, kwargs, out_val))
        return f(*args, out_shape=out_shape, **kwargs)
    return of_tensors


def register_flop_formula(targets: Any, get_raw: bool = False) -> Callable:
    """Register the formula of an operator's FLOP count. See torch.utils.flop_counter.register_flop_formula.

    Args:
        targets: an operator such as ``torch.ops.mylib.op``, or several.
        get_raw: whether the formula gets tensors in place of shapes.

    Raises:
        ValueError: a target is no operator.
        RuntimeError: a target has a formula already.

    """
    def register(formula: Callable) -> Callable:
        counted = formula if get_raw else shape_wrapper(formula)
        for target in targets if isinstance(targets, (list, tuple)) else [targets]:
            if not isinstance(target, OpOverloadPacket):
                raise ValueError("register_flop_formula(targets): expected each target to be OpOverloadPacket (i.e. "
                                 f"torch.ops.mylib.foo), JitFunction, or HigherOrderOperator, got {target} which is of type "
                                 f"{type(target)}")
            if target in flop_registry:
                raise RuntimeError(f"duplicate registrations for {target}")
            flop_registry[target] = counted
        return counted
    return register


# ---------------------------------------------------------------- the formulas

def mm_flop(a_shape: Sequence[int], b_shape: Sequence[int], *args: Any, out_shape: Any = None, **kwargs: Any) -> int:
    """Return the FLOP count of a matrix product."""
    (m, k), (k2, n) = a_shape, b_shape
    if k != k2:
        raise AssertionError(f"matmul: inner dimensions must match (k == k2), got {k} and {k2}")
    return m * n * 2 * k


def addmm_flop(self_shape: Sequence[int], a_shape: Sequence[int], b_shape: Sequence[int], out_shape: Any = None,
               **kwargs: Any) -> int:
    """Return the FLOP count of a matrix product, without the addition."""
    return mm_flop(a_shape, b_shape)


def bmm_flop(a_shape: Sequence[int], b_shape: Sequence[int], out_shape: Any = None, **kwargs: Any) -> int:
    """Return the FLOP count of a product of batches of matrices."""
    (b, m, k), (b2, k2, n) = a_shape, b_shape
    if b != b2:
        raise AssertionError(f"bmm: batch dimensions must match (b == b2), got {b} and {b2}")
    if k != k2:
        raise AssertionError(f"bmm: inner dimensions must match (k == k2), got {k} and {k2}")
    return b * m * n * 2 * k


def baddbmm_flop(self_shape: Sequence[int], a_shape: Sequence[int], b_shape: Sequence[int], out_shape: Any = None,
                 **kwargs: Any) -> int:
    """Return the FLOP count of a product of batches, without the addition."""
    return bmm_flop(a_shape, b_shape)


def _scaled_mm_flop(a_shape: Sequence[int], b_shape: Sequence[int], *args: Any, out_shape: Any = None, **kwargs: Any) -> int:
    return mm_flop(a_shape, b_shape)


def conv_flop_count(x_shape: Sequence[int], w_shape: Sequence[int], out_shape: Sequence[int], transposed: bool = False) -> int:
    """Return the FLOP count of a convolution without bias: one kernel per output position, or input position if transposed."""
    places = (x_shape if transposed else out_shape)[2:]
    return 2 * x_shape[0] * math.prod(places) * math.prod(w_shape)


def conv_flop(x_shape: Sequence[int], w_shape: Sequence[int], _bias: Any, _stride: Any, _padding: Any, _dilation: Any,
              transposed: bool, *args: Any, out_shape: Any = None, **kwargs: Any) -> int:
    """Return the FLOP count of a convolution."""
    return conv_flop_count(x_shape, w_shape, out_shape, transposed=transposed)


def conv_backward_flop(grad_out_shape: Sequence[int], x_shape: Sequence[int], w_shape: Sequence[int], _bias: Any, _stride: Any,
                       _padding: Any, _dilation: Any, transposed: bool, _output_padding: Any, _groups: int, output_mask: Any,
                       out_shape: Any, **kwargs: Any) -> int:
    """Return the FLOP count of a convolution's backward, whose gradients of input and weight are convolutions."""
    def swapped(shape: Sequence[int]) -> list[int]:
        return [shape[1], shape[0], *shape[2:]]
    count = 0
    if output_mask[0]:
        count += conv_flop_count(grad_out_shape, w_shape, get_shape(out_shape[0]), not transposed)
    if output_mask[1]:
        a, b = (grad_out_shape, x_shape) if transposed else (x_shape, grad_out_shape)
        count += conv_flop_count(swapped(a), swapped(b), swapped(get_shape(out_shape[1])), transposed=False)
    return count


def sdpa_flop_count(query_shape: Sequence[int], key_shape: Sequence[int], value_shape: Sequence[int]) -> int:
    """Return the FLOP count of attention: the scores and the weighted sums of values."""
    b, heads, rows, width = query_shape
    b2, kv_heads, columns, width2 = key_shape
    b3, v_heads, columns2, v_width = value_shape
    if not (b == b2 == b3 and kv_heads == v_heads and width == width2 and columns == columns2):
        raise AssertionError(f"sdpa_flop_count: query/key/value shapes are incompatible: q={query_shape}, k={key_shape}, "
                             f"v={value_shape}")
    if heads < kv_heads or heads % kv_heads:
        raise AssertionError(f"sdpa_flop_count: query heads ({heads}) must be a multiple of key/value heads ({kv_heads})")
    return 2 * b * heads * rows * columns * (width + v_width)


def sdpa_flop(query_shape: Sequence[int], key_shape: Sequence[int], value_shape: Sequence[int], *args: Any, out_shape: Any = None,
              **kwargs: Any) -> int:
    """Return the FLOP count of attention, for any mask."""
    return sdpa_flop_count(query_shape, key_shape, value_shape)


def sdpa_backward_flop_count(grad_out_shape: Sequence[int], query_shape: Sequence[int], key_shape: Sequence[int],
                             value_shape: Sequence[int]) -> int:
    """Return the FLOP count of attention's backward: the scores again, and the four products of the gradients."""
    b, heads, rows, width = query_shape
    columns, v_width = key_shape[2], value_shape[3]
    return 2 * b * heads * rows * columns * (3 * width + 2 * v_width)


def sdpa_backward_flop(grad_out_shape: Sequence[int], query_shape: Sequence[int], key_shape: Sequence[int],
                       value_shape: Sequence[int], *args: Any, out_shape: Any = None, **kwargs: Any) -> int:
    """Return the FLOP count of attention's backward."""
    return sdpa_backward_flop_count(grad_out_shape, query_shape, key_shape, value_shape)


_FORMULAS: tuple[tuple[str, Callable], ...] = (
    ("mm", mm_flop), ("addmm", addmm_flop), ("bmm", bmm_flop), ("baddbmm", baddbmm_flop), ("_scaled_mm", _scaled_mm_flop),
    ("convolution _convolution cudnn_convolution convolution_overrideable _slow_conv2d_forward", conv_flop),
    ("convolution_backward", conv_backward_flop),
    ("_scaled_dot_product_efficient_attention _scaled_dot_product_flash_attention "
     "_scaled_dot_product_cudnn_attention", sdpa_flop),
    ("_scaled_dot_product_efficient_attention_backward _scaled_dot_product_flash_attention_backward "
     "_scaled_dot_product_cudnn_attention_backward", sdpa_backward_flop))
for _names, _formula in _FORMULAS:
    for _name in _names.split():
        if hasattr(aten, _name):
            register_flop_formula(getattr(aten, _name))(_formula)


# ---------------------------------------------------------------- printing

suffixes = ["", "K", "M", "B", "T"]


def get_suffix_str(number: int) -> str:
    """Return the suffix of the magnitude in which a number is printed."""
    return suffixes[max(0, min(len(suffixes) - 1, (len(str(number)) - 2) // 3))]


def convert_num_with_suffix(number: int, suffix: str) -> str:
    """Return a number in the magnitude of a suffix."""
    return f"{number / 1000 ** suffixes.index(suffix):.3f}{suffix}"


def convert_to_percent_str(num: int, denom: int) -> str:
    """Return ``num`` as a percentage of ``denom``."""
    return "0%" if denom == 0 else f"{num / denom:.2%}"


def _shortened(text: str) -> str:
    """Return a number without a suffix as ``tabulate`` prints it."""
    return text if text[-1].isalpha() else f"{float(text):g}"


def _aligned(rows: list[list[str]]) -> str:
    """Format rows as ``tabulate`` does: a rule under the first row, names aligned left and numbers right."""
    width = [max(len(rows[0][i]) + 2, *[len(row[i]) for row in rows[1:]]) for i in range(3)]
    lines = [f"{a:<{width[0]}}  {b:>{width[1]}}  {c:>{width[2]}}" for a, b, c in rows]
    return "\n".join([lines[0], "  ".join(["-" * w for w in width]), *lines[1:]])


class FlopCounterMode:
    """Count the floating point operations of a block, by module and operator. See torch.utils.flop_counter.FlopCounterMode.

    Args:
        mods: ignored; modules are found when they are called.
        depth: the depth of modules in the printed table.
        display: whether to print the table at the end.
        custom_mapping: formulas of further operators, which take precedence over registered ones.

    Example:
        >>> layer = torch.nn.Linear(4, 8)
        >>> counter = torch.utils.flop_counter.FlopCounterMode(display=False)
        >>> with counter:
        ...     layer(torch.ones(2, 4)).sum().backward()
        >>> counter.get_total_flops()
        256

    """

    def __init__(self, mods: Module | list[Module] | None = None, depth: int = 2, display: bool = True,
                 custom_mapping: dict[Any, Any] | None = None):
        if mods is not None:
            import warnings
            warnings.warn("mods argument is not needed anymore, you can stop passing it", stacklevel=2)
        self.depth, self.display = depth, display
        self.flop_counts: dict[str, dict[Any, int]] = defaultdict(lambda: defaultdict(int))
        self.mode: _FlopCounterMode | None = None
        own = {k: v if getattr(v, "_get_raw", False) else shape_wrapper(v) for k, v in (custom_mapping or {}).items()}
        self.flop_registry = {**flop_registry, **own}
        self.mod_tracker = ModuleTracker()

    def get_total_flops(self) -> int:
        """Return the sum of all FLOP counts."""
        return sum(self.flop_counts["Global"].values())

    def get_flop_counts(self) -> dict[str, dict[Any, int]]:
        """Return the FLOP counts by operator of each module and of ``Global``."""
        return {name: dict(counts) for name, counts in self.flop_counts.items()}

    def get_table(self, depth: int | None = None) -> str:
        """Return the counts as text, with the operators below their module."""
        depth = self.depth if depth is None else depth
        depth = 999999 if depth is None else depth
        total = self.get_total_flops()
        rows: list[list[str]] = []
        subsumed = False
        for name in sorted(self.flop_counts):
            if name == "Global" or name.count(".") + 1 > depth:
                continue
            subsumed = subsumed or sum(self.flop_counts[name].values()) >= total
            rows += self._rows(name, name.count("."), total)
        if "Global" in self.flop_counts and not subsumed:
            rows = [*self._rows("Global", 0, total), *[[f" {a}", b, c] for a, b, c in rows]]
        return _aligned([["Module", "FLOP", "% Total"], *(rows or [["Global", "0", "0%"]])])

    def _rows(self, name: str, indent: int, total: int) -> list[list[str]]:
        suffix, counts = get_suffix_str(total), self.flop_counts[name]
        shown = [(name, sum(counts.values())), *[(f" - {op}", n) for op, n in counts.items()]]
        return [[" " * indent + text, _shortened(convert_num_with_suffix(n, suffix)), convert_to_percent_str(n, total)]
                for text, n in shown]

    def __enter__(self) -> FlopCounterMode:
        self.flop_counts.clear()
        self.mod_tracker.__enter__()
        self.mode = _FlopCounterMode(self)
        self.mode.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        if self.mode is None:
            raise AssertionError("Internal error: FlopCounter.__exit__ called but mode is None")
        self.mode.__exit__(*error)
        self.mode = None
        self.mod_tracker.__exit__()
        if self.display:
            import sys
            sys.stdout.write(self.get_table(self.depth) + "\n")

    def _count_flops(self, packet: Any, out: Any, args: tuple, kwargs: dict) -> Any:
        if packet in self.flop_registry:
            count = self.flop_registry[packet](*args, **kwargs, out_val=out)
            for name in set(self.mod_tracker.parents):
                self.flop_counts[name][packet] += count
        return out


class _FlopCounterMode(TorchDispatchMode):
    """The dispatch mode that sees the operators."""

    def __init__(self, counter: FlopCounterMode):
        super().__init__()
        self.counter = counter

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func._overloadpacket not in self.counter.flop_registry:
            with self:
                made = func.decompose(*args, **kwargs)
            if made is not NotImplemented:
                return made
        return self.counter._count_flops(func._overloadpacket, func(*args, **kwargs), args, kwargs)
