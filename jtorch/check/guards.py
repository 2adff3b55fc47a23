"""The guards of a file for names that may be missing: ``try``, ``hasattr``, ``TYPE_CHECKING``."""
from __future__ import annotations

import ast
from dataclasses import dataclass

_OF_NAMES = {"ImportError", "ModuleNotFoundError", "AttributeError", "NotImplementedError"}
_OF_ANYTHING = {"Exception", "BaseException"}
MAX_STATEMENTS = 3      # statements in a `try` with `except Exception`; a longer `try` is not a guard


@dataclass(frozen=True, slots=True)
class Guard:
    """Why a name may be missing without harm.

    ``why`` is "caught" (an error is caught), "types" (only type checkers read the code) or "instead" (the code runs only if one
    of ``paths`` is missing).
    """

    why: str
    paths: tuple[str, ...] = ()


def _names(node: ast.expr | None) -> set[str]:
    if node is None:
        return {"BaseException"}
    listed = node.elts if isinstance(node, ast.Tuple) else [node]
    return {n.attr if isinstance(n, ast.Attribute) else getattr(n, "id", "") for n in listed}


def of_handlers(node: ast.Try) -> bool:
    """Return whether a handler catches the error of a missing name. ``except Exception`` counts only for a short ``try``."""
    wanted = _OF_NAMES | (_OF_ANYTHING if len(node.body) <= MAX_STATEMENTS else set())
    return any(_names(h.type) & wanted and not isinstance(h.body[-1], ast.Raise) for h in node.handlers)


def suppresses(node: ast.expr) -> bool:
    """Return whether a context manager is ``contextlib.suppress`` of an error that a missing name raises."""
    if not isinstance(node, ast.Call) or not _names(node.func) & {"suppress"}:
        return False
    return any(_names(a) & (_OF_NAMES | _OF_ANYTHING) for a in node.args)


def is_for_types(test: ast.expr) -> bool:
    """Return whether a test is ``TYPE_CHECKING``."""
    return bool(_names(test) & {"TYPE_CHECKING"})


def asked(test: ast.expr) -> tuple[list[tuple[ast.expr, str]], list[tuple[ast.expr, str]]]:
    """Return the names that exist if a test is true, and those that are missing then. Only ``hasattr`` tells any."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        present, absent = asked(test.operand)
        return absent, present
    if isinstance(test, ast.Call) and _names(test.func) == {"hasattr"} and len(test.args) == 2:
        name = getattr(test.args[1], "value", None)
        return ([(test.args[0], name)], []) if isinstance(name, str) else ([], [])
    return [], []
