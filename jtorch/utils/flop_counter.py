"""torch.utils.flop_counter: how many multiplications and additions a model's products and convolutions take.

Counted as PyTorch does: those of products, convolutions and attention, a multiplication and an addition as two. Forward only.
"""
from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from jtorch._library.namespaces import ops
from jtorch.amp.state import watch
from jtorch.engine import Call
from jtorch.nn.modules.module import Module, register_module_forward_hook, register_module_forward_pre_hook
from jtorch.overrides import TorchFunctionMode
from jtorch.tensor import Tensor

__all__ = ["FlopCounterMode"]

_Counts = tuple[tuple[str, int], ...]


def _product(a: Sequence[int], b: Sequence[int]) -> _Counts:
    if len(a) < 2 or len(b) < 2:
        return ()       # products with vectors are not counted
    flops = 2 * math.prod(a[-2:]) * b[-1] * math.prod(_broadcast(a[:-2], b[:-2]))
    return (("mm" if len(b) == 2 else "bmm", flops),)


def _broadcast(a: Sequence[int], b: Sequence[int]) -> list[int]:
    n = max(len(a), len(b))
    padded = [(1,) * (n - len(s)) + tuple(s) for s in (a, b)]
    return [max(pair) for pair in zip(*padded, strict=True)]


def _linear(x: Sequence[int], weight: Sequence[int], *bias: Sequence[int]) -> _Counts:
    return (("addmm" if bias else "mm", 2 * math.prod(x) * weight[0]),)


def _convolution(c: Call, transposed: bool, x: Sequence[int], weight: Sequence[int], *bias: Sequence[int]) -> _Counts:
    dims = len(weight) - 2
    batch = math.prod(x[:-1 - dims])
    if transposed:
        places = math.prod(x[-dims:])
    else:
        places = math.prod(_places(c, x[-dims:], weight[2:]))
    return (("convolution", 2 * batch * places * math.prod(weight)),)


def _places(c: Call, size: Sequence[int], kernel: Sequence[int]) -> list[int]:
    stride, padding, dilation = c.template[3:6]
    if padding == "same":
        return list(size)
    padding = (0,) * len(size) if padding == "valid" else padding
    return [(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in zip(size, kernel, stride, padding, dilation, strict=True)]


def _attention(q: Sequence[int], k: Sequence[int], v: Sequence[int], *mask: Sequence[int]) -> _Counts:
    flops = 2 * math.prod(q[:-1]) * k[-2] * (q[-1] + v[-1])
    return (("scaled_dot_product_attention", flops),)


def _heads(*shapes: Sequence[int]) -> _Counts:
    given = [s for s in shapes if len(s) == 3]
    q, k = given[0], given[1] if len(given) > 1 else given[0]
    e, n = q[2], q[1]
    rows = q[0] + 2 * k[0]
    return ("addmm", 2 * n * e * e * (rows + q[0])), ("bmm", 4 * n * q[0] * k[0] * e)


def _recurrent(x: Sequence[int], *shapes: Sequence[int]) -> _Counts:
    rows = math.prod(x[:-1])
    return (("addmm", sum(2 * rows * math.prod(s) for s in shapes if len(s) == 2)),)


def _einsum(c: Call, *shapes: Sequence[int]) -> _Counts:
    if len(shapes) != 2:
        raise NotImplementedError("FlopCounterMode does not count an einsum of other than two tensors; contract two at a time.")
    terms = str(c.template[0]).replace(" ", "").split("->")[0].split(",")
    sizes = {label: n for term, shape in zip(terms, shapes, strict=True) for label, n in zip(term, shape, strict=True)}
    return (("bmm", 2 * math.prod(sizes.values())),) if set(terms[0]) & set(terms[1]) else ()


_PLAIN: dict[str, Callable[..., _Counts]] = {
    "nn.functional.linear": _linear, "matmul": _product, "mm": _product, "bmm": _product,
    "addmm": lambda x, a, b: (("addmm", _product(a, b)[0][1]),), "baddbmm": lambda x, a, b: (("baddbmm", _product(a, b)[0][1]),),
    "nn.functional.scaled_dot_product_attention": _attention, "_multi_head_attention": _heads,
    "_recurrent": _recurrent, "_recurrent_solved": lambda *shapes: ()}


_CONVOLUTIONS = {f"nn.functional.conv{kind}{n}d" for kind in ("", "_transpose") for n in (1, 2, 3)}


def _count(c: Call, flat: Sequence[Any]) -> _Counts:
    """What one call adds: the operator's name and its count."""
    shapes = [tuple(t.shape) for t in flat if isinstance(t, Tensor)]
    name = c.op.name
    if name in _PLAIN:
        return _PLAIN[name](*shapes)
    if name in _CONVOLUTIONS:
        return _convolution(c, "transpose" in name, *shapes)
    return _einsum(c, *shapes) if name == "einsum" else ()


class _NoBackward(TorchFunctionMode):
    """Backward is not counted, so a count that would lack it is refused."""

    def __torch_function__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        if getattr(func, "__name__", "") == "backward":
            raise NotImplementedError("FlopCounterMode counts forward only: leave the block before backward(), which takes about "
                                      "twice as much.")
        return func(*args, **(kwargs or {}))


class FlopCounterMode:
    """Counts the floating-point operations of products, convolutions and attention in a ``with`` block, by module.

    Args:
        mods: not needed; modules are found as they are called.
        depth: how deep the printed table goes.
        display: whether the table is printed at the end.
        custom_mapping: not built.

    Raises:
        NotImplementedError: ``backward`` is called in the block; ``custom_mapping`` is given.

    Example:
        >>> counter = torch.utils.flop_counter.FlopCounterMode(display=False)
        >>> with counter:
        ...     y = torch.nn.Linear(4, 8)(torch.ones(2, 4))
        >>> counter.get_total_flops()
        128

    """

    def __init__(self, mods: Module | list[Module] | None = None, depth: int = 2, display: bool = True,
                 custom_mapping: dict[Any, Any] | None = None):
        if custom_mapping:
            raise NotImplementedError("FlopCounterMode's custom_mapping is not built: count those calls by a hook of the module.")
        self.depth, self.display = depth, display
        self.flop_counts: dict[str, dict[Any, int]] = defaultdict(lambda: defaultdict(int))
        self._open: list[str] = []
        self._names: dict[int, str] = {}

    def get_total_flops(self) -> int:
        """The sum of all."""
        return sum(self.flop_counts["Global"].values())

    def get_flop_counts(self) -> dict[str, dict[Any, int]]:
        """For each module, and ``Global``, the counts by operator of ``torch.ops.aten``."""
        return {name: dict(counts) for name, counts in self.flop_counts.items()}

    def get_table(self, depth: int | None = None) -> str:
        """The counts as text: a module and its operators below one another."""
        depth = self.depth if depth is None else depth
        total = max(self.get_total_flops(), 1)
        lines = [f"{'Module':40} {'FLOP':>16} {'% Total':>8}"]
        for name, counts in self.flop_counts.items():
            if name.count(".") <= depth:
                n = sum(counts.values())
                lines.append(f"{name:40} {n:16,} {100 * n / total:7.2f}%")
                lines += [f"{' - ' + str(op):40} {v:16,} {100 * v / total:7.2f}%" for op, v in counts.items()]
        return "\n".join(lines)

    def _enter_module(self, module: Module, args: Any) -> None:
        name = self._names.get(id(module)) or type(module).__name__
        self._names[id(module)] = name
        for child, m in module.named_children():
            self._names[id(m)] = f"{name}.{child}"
        self._open.append(name)

    def _leave_module(self, module: Module, args: Any, result: Any) -> None:
        self._open.pop()

    def _called(self, c: Call, flat: Any) -> None:
        """What every call comes by."""
        for name, flops in _count(c, flat):
            for module in dict.fromkeys(["Global", *self._open]):
                self.flop_counts[module][getattr(ops.aten, name)] += flops

    def __enter__(self) -> FlopCounterMode:
        self.flop_counts.clear()
        self._open, self._names = [], {}
        self._hooks = [register_module_forward_pre_hook(self._enter_module),
                       register_module_forward_hook(self._leave_module, always_call=True)]
        self._refusing = _NoBackward()
        self._refusing.__enter__()
        watch(self._called)
        return self

    def __exit__(self, *exc: object) -> None:
        watch(None)
        self._refusing.__exit__(*exc)
        for hook in self._hooks:
            hook.remove()
        if self.display:
            import sys
            sys.stdout.write(self.get_table() + "\n")
