"""Comparison of results with expected values."""
from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from jtorch._api import functions
from jtorch._api.creation import as_tensor, tensor
from jtorch._base.layout import sparse_bsc, sparse_bsr, sparse_coo, sparse_csc, sparse_csr, strided
from jtorch.dtype import dtype as Dtype
from jtorch.dtype import named
from jtorch.tensor import Tensor

__all__ = ["assert_allclose", "assert_close"]

_TOLERANCES = {"float16": (1e-3, 1e-5), "bfloat16": (1.6e-2, 1e-5), "float32": (1.3e-6, 1e-5), "float64": (1e-7, 1e-7),
               "complex64": (1.3e-6, 1e-5), "complex128": (1e-7, 1e-7)}


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
    1e-5). Shapes, devices, dtypes and layouts must be equal, and the indices of sparse tensors. See torch.testing.assert_close.

        >>> torch.testing.assert_close(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.0 + 1e-7]))
    """
    if (rtol is None) != (atol is None):
        raise ValueError("Both 'rtol' and 'atol' must be either specified or omitted, but got no "
                         f"{'rtol' if rtol is None else 'atol'}.")
    checks = _Checks(rtol, atol, equal_nan, {"device": check_device, "dtype": check_dtype, "layout": check_layout,
                                                    "stride()": check_stride})
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

    def __init__(self, rtol: float | None, atol: float | None, equal_nan: bool, attributes: dict[str, bool]):
        self.rtol, self.atol, self.equal_nan, self.attributes = rtol, atol, equal_nan, attributes

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
        elif isinstance(actual, (Tensor, np.ndarray)) and isinstance(expected, (Tensor, np.ndarray)):
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
        if self.attributes["dtype"] and type(actual) is not type(expected):
            raise _Mismatch(AssertionError, f"The (d)types do not match: {type(actual)} != {type(expected)}.", at)
        kinds = {int: named("int64"), float: named("float64"), complex: named("complex128")}
        rtol, atol = self._tolerances(*[kinds.get(type(x), kinds[float]) for x in (actual, expected)])
        if actual == expected or (self.equal_nan and actual != actual and expected != expected):
            return
        difference = abs(actual - expected)
        if math.isfinite(difference) and difference <= atol + rtol * abs(expected):
            return
        relative = math.inf if expected == 0 else difference / abs(expected)
        raise _Mismatch(AssertionError, _text("Scalars", f"Expected {expected} but got {actual}.", (difference, None, atol),
                                              (relative, None, rtol)), at)

    def _tensors(self, actual: Any, expected: Any, at: tuple) -> None:
        self._attribute("shape", actual.shape, expected.shape, at)
        if self.attributes["layout"]:
            self._attribute("layout", actual.layout, expected.layout, at)
        if self.attributes["stride()"] and actual.layout is expected.layout is strided:
            self._attribute("stride()", actual.stride(), expected.stride(), at)
        for name in ("device", "dtype"):
            if self.attributes[name]:
                self._attribute(name, getattr(actual, name), getattr(expected, name), at)
        rtol, atol = self._tolerances(actual.dtype, expected.dtype)
        actual, expected = actual.detach().cpu(), expected.detach().cpu()
        if actual.dtype != expected.dtype:
            common = functions.promote_types(actual.dtype, expected.dtype)
            actual, expected = actual.to(common), expected.to(common)
        if actual.layout is not expected.layout:
            actual, expected = [t if t.layout is strided else t.to_dense() for t in (actual, expected)]
        for what, a, e, exact in _parts(actual, expected, at):
            self._elements(what, a, e, (0.0, 0.0) if exact else (rtol, atol), at)

    def _elements(self, what: str, actual: Any, expected: Any, tolerances: tuple[float, float], at: tuple) -> None:
        rtol, atol = tolerances
        matches = functions.isclose(actual, expected, rtol=rtol, atol=atol, equal_nan=self.equal_nan)
        if not bool(matches.all()):
            raise _Mismatch(AssertionError, _elements(what, actual, expected, matches, rtol, atol), at)

    def _attribute(self, name: str, actual: Any, expected: Any, at: tuple) -> None:
        if actual != expected:
            raise _Mismatch(AssertionError, f"The values for attribute '{name}' do not match: {actual} != {expected}.", at)


_COMPRESSED = {sparse_csr: ("CSR", "crow_indices", "col_indices"), sparse_csc: ("CSC", "ccol_indices", "row_indices"),
               sparse_bsr: ("BSR", "crow_indices", "col_indices"), sparse_bsc: ("BSC", "ccol_indices", "row_indices")}


def _parts(actual: Any, expected: Any, at: tuple) -> Iterator[tuple[str, Any, Any, bool]]:
    """Yield what is compared of two tensors of one layout: a name, both values, and whether they must be equal."""
    if actual.layout is sparse_coo:
        _same_number("sparse dimensions in sparse COO tensors", actual.sparse_dim(), expected.sparse_dim(), at)
        _same_number("specified values in sparse COO tensors", actual._nnz(), expected._nnz(), at)
        yield "Sparse COO indices", actual._indices(), expected._indices(), True
        yield "Sparse COO values", actual._values(), expected._values(), False
    elif actual.layout in _COMPRESSED:
        kind, *names = _COMPRESSED[actual.layout]
        _same_number(f"specified values in sparse {kind} tensors", actual._nnz(), expected._nnz(), at)
        for name in names:
            indices = [getattr(t, name)().to(named("int64")) for t in (actual, expected)]
            yield f"Sparse {kind} {name}", *indices, True       # type: ignore[misc]
        yield f"Sparse {kind} values", actual.values(), expected.values(), False
    else:
        yield "Tensor-likes", actual, expected, False


def _same_number(what: str, actual: int, expected: int, at: tuple) -> None:
    if actual != expected:
        raise _Mismatch(AssertionError, f"The number of {what} does not match: {actual} != {expected}", at)


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
