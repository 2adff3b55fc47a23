"""torch.testing._internal.common_utils: the base class of test cases with tensors."""
from __future__ import annotations

import random
import sys
import unittest
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from jtorch._api.creation import as_tensor
from jtorch.random import manual_seed
from jtorch.tensor import Tensor
from jtorch.testing import assert_close
from jtorch.testing import make_tensor as make_tensor

IS_WINDOWS, IS_MACOS, IS_LINUX = sys.platform == "win32", sys.platform == "darwin", sys.platform == "linux"
SEED = 1234


def set_rng_seed(seed: int | None = None) -> None:
    """Seed the generators of jtorch, Python and NumPy."""
    seed = SEED if seed is None else seed
    manual_seed(seed)
    random.seed(seed)
    np.random.seed(seed)


class TestCase(unittest.TestCase):
    """A test case whose ``assertEqual`` compares tensors and numbers with tolerances. It seeds the generators."""

    __test__ = False            # pytest collects subclasses but not this class.
    precision, rel_tol = 0.0, 0.0       # the smallest tolerances

    def __init_subclass__(cls, **kwargs: Any):
        super().__init_subclass__(**kwargs)
        cls.__test__ = True

    def setUp(self) -> None:
        """Seed the generators."""
        set_rng_seed()

    def assertEqual(self, x: Any, y: Any, msg: str | Callable[[str], str] | None = None, *,     # type: ignore[override]
                    atol: float | None = None, rtol: float | None = None, equal_nan: bool = True, exact_dtype: bool = True,
                    exact_device: bool = False, exact_layout: bool = False, exact_stride: bool = False) -> None:
        """Raise AssertionError unless tensors, numbers or containers of them are close, and other objects are equal."""
        __tracebackhide__ = True
        options: dict[str, Any] = {"atol": atol, "rtol": rtol, "equal_nan": equal_nan, "exact_dtype": exact_dtype,
                                   "exact_device": exact_device, "exact_layout": exact_layout, "exact_stride": exact_stride}
        x, y = _alike(x, y), _alike(y, x)
        if _is_sequence(x) and _is_sequence(y):
            super().assertEqual(len(x), len(y), msg)        # noqa: PT009
            for a, b in zip(x, y, strict=True):
                self.assertEqual(a, b, msg, **options)      # noqa: PT009
        elif isinstance(x, Mapping) and isinstance(y, Mapping):
            super().assertEqual(x.keys(), y.keys(), msg)    # noqa: PT009
            for key, a in x.items():
                self.assertEqual(a, y[key], msg, **options)     # noqa: PT009
        elif _is_numeric(x) and _is_numeric(y):
            self._assert_close(x, y, msg, **options)
        else:
            super().assertEqual(x, y, msg)      # noqa: PT009

    def _assert_close(self, x: Any, y: Any, msg: Any, *, atol: float | None, rtol: float | None, equal_nan: bool,
                      exact_dtype: bool, exact_device: bool, exact_layout: bool, exact_stride: bool) -> None:
        __tracebackhide__ = True
        if rtol is not None and atol is not None:
            rtol, atol = max(rtol, self.rel_tol), max(atol, self.precision)
        assert_close(x, y, rtol=rtol, atol=atol, equal_nan=equal_nan, check_dtype=exact_dtype and not _has_number(x, y),
                     check_device=exact_device, check_layout=exact_layout, check_stride=exact_stride,
                     msg=(lambda text: f"{text}\n{msg}") if isinstance(msg, str) else msg)

    def assertNotEqual(self, x: Any, y: Any, msg: str | None = None, *, atol: float | None = None,      # type: ignore[override]
                       rtol: float | None = None, **kwargs: Any) -> None:
        """Raise AssertionError if ``assertEqual`` finds no difference."""
        with self.assertRaises(AssertionError, msg=msg):        # noqa: PT027
            self.assertEqual(x, y, msg, atol=atol, rtol=rtol, **kwargs)     # noqa: PT009


def _alike(x: Any, other: Any) -> Any:
    """Convert a sequence or number to a tensor if the other operand is a tensor."""
    if isinstance(other, Tensor) and isinstance(x, (Sequence, int, float, complex)) and not isinstance(x, str):
        return as_tensor(x, dtype=other.dtype, device=other.device)
    return as_tensor(x) if isinstance(x, np.ndarray) and isinstance(other, (Tensor, np.ndarray)) else x


def _has_number(*given: Any) -> bool:
    return any(isinstance(x, (bool, int, float, complex, np.generic)) for x in given)


def _is_sequence(x: Any) -> bool:
    return isinstance(x, Sequence) and not isinstance(x, (str, bytes))


def _is_numeric(x: Any) -> bool:
    return isinstance(x, (Tensor, np.ndarray, np.generic, int, float, complex))


def run_tests(argv: list[str] | None = None) -> None:
    """Run the tests of the program, as ``unittest.main`` does."""
    unittest.main(argv=argv or sys.argv)
