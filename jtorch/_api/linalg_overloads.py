"""Overloads of torch.linalg that one signature cannot express, and the errors of ``check_errors``."""
from __future__ import annotations

import functools
from collections.abc import Callable
from types import ModuleType
from typing import Any

from jtorch._api import functions
from jtorch._api.names import put
from jtorch.dispatch import return_type
from jtorch.ops.linalg import LinAlgError
from jtorch.tensor import Tensor

_ZERO_PIVOT = ("U[{i},{i}] is zero and using it on lu_solve would result in a division by zero. If you still want to perform the "
               "factorization, consider calling linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)")
_CHECKED = {    # maps a function to (name in the message, exception class, message for the first failed matrix)
    "inv_ex": ("linalg.inv_ex", LinAlgError, "The diagonal element {i} is zero, the inversion could not be completed because the "
               "input matrix is singular."),
    "cholesky_ex": ("linalg.cholesky_ex", LinAlgError, "The factorization could not be completed because the input is not "
                    "positive-definite (the leading minor of order {i} is not positive-definite)."),
    "lu_factor_ex": ("torch.linalg.lu_factor_ex", RuntimeError, _ZERO_PIVOT),
    "solve_ex": ("torch.linalg.solve_ex", LinAlgError, "The solver failed because the input matrix is singular."),
}


def check_info(info: Tensor, name: str) -> None:
    """Raise the error of ``check_errors`` if a matrix failed.

    Args:
        info (Tensor): integers, 0 for each matrix that succeeded.
        name (str): the function's name in ``torch.linalg``.

    """
    failed = info.reshape(-1).nonzero()      # type: ignore[attr-defined]
    if not len(failed):
        return
    where, error, text = _CHECKED[name]
    number = int(failed[0])
    of_batch = f"(Batch element {number}): " if info.dim() else ""
    raise error(f"{where}: {of_batch}{text.format(i=int(info.reshape(-1)[number]))}")        # type: ignore[attr-defined]


def _checking(function: Callable) -> Callable:
    """Return the function with a ``check_errors`` parameter, which the op lacks."""
    @functools.wraps(function)
    def checked(*args: Any, check_errors: bool = False, **kw: Any) -> Any:
        made = function(*args, **kw)
        if check_errors:
            check_info(made[-1], function.__name__)
        return made
    return checked


def _with_old_tolerance(function: Callable, old: str) -> Callable:
    """Add the overload ``(input, tolerance, hermitian=False)`` to a function. ``old``: the name of its tolerance."""
    name = "rtol" if old == "rcond" else old

    @functools.wraps(function)
    def either(*args: Any, **kw: Any) -> Any:
        given = dict(zip((old, "hermitian"), args[1:], strict=False))
        if len(args) > 3 or given.keys() & kw.keys() or ((given or old in kw) and {"atol", "rtol"} & kw.keys()):
            got = ", ".join([*[type(a).__name__ for a in args], *[f"{k}={type(v).__name__}" for k, v in sorted(kw.items())]])
            raise TypeError(f"linalg_{function.__name__}() received an invalid combination of arguments - got ({got})")
        words = {**kw, **given}
        if old in words:
            words[name] = words.pop(old)
        return function(*args[:1], **words)
    return either


def slogdet(input: Tensor, *, out: Any = None) -> Any:
    """Return the determinant's sign and the logarithm of its magnitude. See torch.slogdet."""
    return return_type("slogdet", ("sign", "logabsdet"))(functions.linalg.slogdet(input, out=out))


def bind(linalg: ModuleType) -> None:
    """Replace functions made from op records by functions of this module."""
    put(functions, {"slogdet": slogdet}, replaces=True)
    put(Tensor, {"slogdet": slogdet}, replaces=True)
    put(linalg, {name: _checking(vars(linalg)[name]) for name in _CHECKED}, replaces=True)
    put(linalg, {"matrix_rank": _with_old_tolerance(linalg.matrix_rank, "tol"),
                 "pinv": _with_old_tolerance(linalg.pinv, "rcond")}, replaces=True)
