"""Comparison of results with expected values."""
from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from jtorch._api import functions
from jtorch._api.creation import as_tensor, tensor
from jtorch._base.layout import strided
from jtorch.dtype import dtype as Dtype
from jtorch.dtype import named
from jtorch.tensor import Tensor

__all__ = ["assert_allclose", "assert_close"]

_TOLERANCES = {"float16": (1e-3, 1e-5), "bfloat16": (1.6e-2, 1e-5), "float32": (1.3e-6, 1e-5), "float64": (1e-7, 1e-7),
               "complex64": (1.3e-6, 1e-5), "complex128": (1e-7, 1e-7),
               **dict.fromkeys(["quint8", "qint8", "qint32"], (1.3e-6, 1e-5))}


_INDICES = {"torch.sparse_coo": "_indices", **dict.fromkeys(["torch.sparse_csr", "torch.sparse_bsr"], "crow_indices col_indices"),
            **dict.fromkeys(["torch.sparse_csc", "torch.sparse_bsc"], "ccol_indices row_indices")}


class _Mismatch(Exception):
    """A mismatch: the exception to raise and its message."""

    def __init__(self, kind: type[Exception], message: str, at: tuple = ()):
        self.kind = kind
        place = f"\n\nThe failure occurred for item {''.join(str([key]) for key in at)}" if at else ""
        super().__init__(message + place)


def assert_close(actual: Any, expected: Any, *, allow_subclasses: bool = True, rtol: float | None = None,
                 atol: float | None = None, equal_nan: bool = False, check_device: bool = True, check_dtype: bool = True,
                 check_layout: bool = True, check_stride: bool = False, msg: str | Callable[[str], str] | None = None) -> None:
    """Raise AssertionError unless ``actual`` is close to ``expected``; the message describes the difference.

    The values are tensors, numbers, NumPy arrays, None, or sequences and mappings of these. Two numbers are close if
    ``|actual - expected| <= atol + rtol * |expected|``. The default tolerances depend on the dtype (float32: 1.3e-6 and
    1e-5). Shapes, devices, dtypes and layouts must be equal. Sparse tensors have to have the same indices. Without
    ``check_layout`` tensors of different layouts are compared as dense ones. See torch.testing.assert_close.

        >>> torch.testing.assert_close(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.0 + 1e-7]))
    """
    if (rtol is None) != (atol is None):
        raise ValueError("Both 'rtol' and 'atol' must be either specified or omitted, but got no "
                         f"{'rtol' if rtol is None else 'atol'}.")
    checked = {"layout": check_layout, "stride()": check_stride, "device": check_device, "dtype": check_dtype}
    checks = _Checks(rtol, atol, equal_nan, allow_subclasses, checked)
    try:
        checks.compare(actual, expected, ())
    except _Mismatch as wrong:
        text = str(wrong) if msg is None else msg(str(wrong)) if callable(msg) else msg
        raise wrong.kind(text) from None


def assert_allclose(actual: Any, expected: Any, rtol: float | None = None, atol: float | None = None, equal_nan: bool = True,
                    msg: str = "") -> None:
    """Raise AssertionError unless two values are close, whatever their dtypes. See torch.testing.assert_allclose."""
    if not isinstance(actual, Tensor):
        actual = tensor(actual)
    if not isinstance(expected, Tensor):
        expected = tensor(expected, dtype=actual.dtype)    # type: ignore[attr-defined]
    assert_close(actual, expected, rtol=rtol, atol=atol, equal_nan=equal_nan, check_device=True, check_dtype=False,
                 msg=msg or None)


def _is_number(x: Any) -> bool:
    return isinstance(x, (int, float, complex, np.number)) and not _is_bool(x)


def _is_bool(x: Any) -> bool:
    return isinstance(x, (bool, np.bool_))


class _Checks:
    """The options of one comparison."""

    def __init__(self, rtol: float | None, atol: float | None, equal_nan: bool, subclasses: bool, attributes: dict[str, bool]):
        self.rtol, self.atol, self.equal_nan = rtol, atol, equal_nan
        self.subclasses, self.attributes = subclasses, attributes

    def compare(self, actual: Any, expected: Any, at: tuple) -> None:
        """Compare two objects and raise _Mismatch if they differ. ``at`` is the path within nested containers."""
        strings = isinstance(actual, str) or isinstance(expected, str)
        if isinstance(actual, Sequence) and isinstance(expected, Sequence) and not strings:
            self._sequences(actual, expected, at)
        elif isinstance(actual, Mapping) and isinstance(expected, Mapping):
            self._mappings(actual, expected, at)
        else:
            self._leaves(actual, expected, at)

    def _sequences(self, actual: Sequence, expected: Sequence, at: tuple) -> None:
        if len(actual) != len(expected):
            raise _Mismatch(AssertionError, f"The length of the sequences mismatch: {len(actual)} != {len(expected)}", at)
        for i, (a, e) in enumerate(zip(actual, expected, strict=True)):
            self.compare(a, e, (*at, i))

    def _mappings(self, actual: Mapping, expected: Mapping, at: tuple) -> None:
        missing, more = set(expected) - set(actual), set(actual) - set(expected)
        if missing or more:
            raise _Mismatch(AssertionError, "The keys of the mappings do not match:\n"
                            f"Missing keys in the actual mapping: {sorted(missing)}\n"
                            f"Additional keys in the actual mapping: {sorted(more)}", at)
        for key in expected:
            self.compare(actual[key], expected[key], (*at, key))

    def _leaves(self, actual: Any, expected: Any, at: tuple) -> None:
        if actual is None or expected is None:
            if actual is not expected:
                raise _Mismatch(AssertionError, f"None mismatch: {actual} is not {expected}", at)
        elif _is_bool(actual) and _is_bool(expected):
            if bool(actual) is not bool(expected):
                raise _Mismatch(AssertionError, f"Booleans mismatch: {actual} is not {expected}", at)
        elif _is_number(actual) and _is_number(expected):
            self._numbers(actual, expected, at)
        elif self._are_tensors(actual, expected):
            self._tensors(as_tensor(actual), as_tensor(expected), at)
        else:
            raise _Mismatch(TypeError, f"No comparison pair was able to handle inputs of type {type(actual)} and "
                            f"{type(expected)}.", at)

    def _tolerances(self, *found: Dtype) -> tuple[float, float]:
        if self.rtol is not None and self.atol is not None:
            return self.rtol, self.atol
        each = [_TOLERANCES.get(str(d).removeprefix("torch."), (0.0, 0.0)) for d in found]
        return max(r for r, _ in each), max(a for _, a in each)

    def _numbers(self, actual: Any, expected: Any, at: tuple) -> None:
        actual, expected = (x.item() if isinstance(x, np.number) else x for x in (actual, expected))
        if self.attributes["dtype"] and type(actual) is not type(expected):
            raise _Mismatch(AssertionError, f"The (d)types do not match: {type(actual)} != {type(expected)}.", at)
        kinds = {int: named("int64"), float: named("float64"), complex: named("complex128")}
        rtol, atol = self._tolerances(*[kinds.get(type(x), kinds[float]) for x in (actual, expected)])
        if actual == expected or (self.equal_nan and actual != actual and expected != expected):
            return
        difference = abs(actual - expected)
        if not (math.isfinite(difference) and difference <= atol + rtol * abs(expected)):
            raise _Mismatch(AssertionError, _scalars(actual, expected, rtol, atol), at)

    def _are_tensors(self, actual: Any, expected: Any) -> bool:
        if not all([isinstance(x, (Tensor, np.ndarray)) for x in (actual, expected)]):
            return False
        kinds = [Tensor if getattr(x, "_is_of_layout", False) else type(x) for x in (actual, expected)]
        related = issubclass(*kinds) or issubclass(*kinds[::-1])
        return kinds[0] is kinds[1] or (self.subclasses and related)

    def _tensors(self, actual: Any, expected: Any, at: tuple) -> None:
        self._attribute("shape", actual.shape, expected.shape, at)
        self._attribute("is_quantized", actual.is_quantized, expected.is_quantized, at)
        if actual.is_quantized:
            self._attribute("qscheme()", actual.qscheme(), expected.qscheme(), at)
        same_layout = actual.layout is expected.layout
        for name, value in (("layout", lambda t: t.layout), ("stride()", lambda t: t.stride()), ("device", lambda t: t.device),
                            ("dtype", lambda t: t.dtype)):
            if self.attributes[name] and (name != "stride()" or (same_layout and actual.layout is strided)):
                self._attribute(name, value(actual), value(expected), at)
        if actual.device.type == "meta" or expected.device.type == "meta":
            return
        tolerances = self._tolerances(actual.dtype, expected.dtype)
        actual, expected = actual.detach().cpu(), expected.detach().cpu()
        if actual.is_quantized:
            self._values("Quantized tensor-likes", actual.dequantize(), expected.dequantize(), tolerances, at)
        elif same_layout and actual.layout is not strided:
            self._sparse(actual, expected, tolerances, at)
        else:
            actual, expected = (t if t.layout is strided else t.to_dense() for t in (actual, expected))
            self._values("Tensor-likes", actual, expected, tolerances, at)

    def _sparse(self, actual: Any, expected: Any, tolerances: tuple[float, float], at: tuple) -> None:
        """Compare two sparse tensors of one layout: the numbers of values, the indices, the values."""
        kind = str(actual.layout).removeprefix("torch.sparse_").upper()
        for name, method in (("sparse dimensions", "sparse_dim"), ("specified values", "_nnz")):
            counts = [getattr(t, method)() for t in (actual, expected)]
            if counts[0] != counts[1]:
                raise _Mismatch(AssertionError, f"The number of {name} in sparse {kind} tensors does not match: {counts[0]} != "
                                f"{counts[1]}", at)
        for name in _INDICES[str(actual.layout)].split():
            label = f"Sparse {kind} {name.removeprefix('_')}"
            self._values(label, getattr(actual, name)(), getattr(expected, name)(), (0.0, 0.0), at)
        values = "_values" if actual.is_sparse else "values"
        self._values(f"Sparse {kind} values", getattr(actual, values)(), getattr(expected, values)(), tolerances, at)

    def _values(self, what: str, actual: Any, expected: Any, tolerances: tuple[float, float], at: tuple) -> None:
        """Compare the elements of two dense tensors."""
        rtol, atol = tolerances
        if actual.dtype != expected.dtype:
            common = functions.promote_types(actual.dtype, expected.dtype)
            actual, expected = actual.to(common), expected.to(common)
        matches = functions.isclose(actual, expected, rtol=rtol, atol=atol, equal_nan=self.equal_nan)
        if not bool(matches.all()):
            text = _elements(what, actual, expected, matches, rtol, atol) if actual.dim() else \
                _scalars(actual.item(), expected.item(), rtol, atol)
            raise _Mismatch(AssertionError, text, at)

    def _attribute(self, name: str, actual: Any, expected: Any, at: tuple) -> None:
        if actual != expected:
            raise _Mismatch(AssertionError, f"The values for attribute '{name}' do not match: {actual} != {expected}.", at)


def _scalars(actual: Any, expected: Any, rtol: float, atol: float) -> str:
    """Return a message with the difference of two numbers."""
    difference = abs(actual - expected)
    relative = math.inf if expected == 0 else difference / abs(expected)
    return _text("Scalars", f"Expected {expected} but got {actual}.", (difference, None, atol), (relative, None, rtol))


def _elements(what: str, actual: Any, expected: Any, matches: Any, rtol: float, atol: float) -> str:
    """Return a message with the number of mismatched elements and the greatest differences."""
    total, wrong = matches.numel(), int((~matches).sum())
    if not (actual.is_floating_point() or actual.is_complex()):
        actual, expected = actual.to(named("int64")), expected.to(named("int64"))
    difference = (actual - expected).abs().masked_fill(matches, 0)
    relative = (difference / expected.abs()).masked_fill(matches, 0)

    def greatest(values: Any) -> tuple:
        at = int(values.flatten().argmax())
        return values.flatten()[at].item(), tuple([int(i) for i in np.unravel_index(at, tuple(values.shape))])
    return _text(what, f"Mismatched elements: {wrong} / {total} ({wrong / total:.1%})",
                 (*greatest(difference), atol), (*greatest(relative), rtol))


def _text(what: str, head: str, absolute: tuple, relative: tuple) -> str:
    equal = not absolute[2] and not relative[2]
    lines = [f"{what} are not {'equal' if equal else 'close'}!", "", head]
    for name, (value, at, tolerance) in (("absolute", absolute), ("relative", relative)):
        first = f"{name.title()} difference: {value}" if at is None else f"Greatest {name} difference: {value} at index {at}"
        lines.append(first if equal else f"{first} (up to {tolerance} allowed)")
    return "\n".join(lines)
