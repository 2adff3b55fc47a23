"""The type stubs match the op records and the functions."""
from __future__ import annotations

import inspect
import typing
from pathlib import Path

import pytest

import jtorch
from tools import annotations, stub_functions


def test_a_users_script_runs(run_python):
    assert run_python((ROOT / "tests" / "typing" / "user_script.py").read_text()) == ""


@pytest.mark.parametrize(("annotation", "type_"), [
    ("Tensor | Number", "Tensor | _Number"),
    ("int | tuple[int, ...] | None", "builtins.int | Sequence[builtins.int] | None"),
    ("list[Tensor | None]", "Sequence[Tensor | None]"),
    ("dtypes.dtype | None", "_dtype | None"),
    ("Size", "Sequence[builtins.int]"),
    ("Unheard | None", "Any"),
    ("Callable[[int], str]", "Callable[..., Any]"),
])
def test_argument_types(annotation, type_):
    assert annotations.argument_type(annotation) == type_


def test_every_public_name_is_there():
    text = (ROOT / "jtorch" / "__init__.pyi").read_text()
    missing = [n for n, v in vars(jtorch).items() if n[0] != "_" and n != "annotations" and not inspect.ismodule(v)
               and f"def {n}(" not in text and f"as {n}\n" not in text and f"\n{n}: " not in text
               and f"\n{n} = " not in text]
    assert not missing


ROOT = Path(__file__).resolve().parents[2]
SAMPLES = [lambda t: (t(2, 2),), lambda t: (t(2, 2), t(2, 2)), lambda t: (t(2, 2), 1), lambda t: ([t(2, 2), t(2, 2)],),
           lambda t: (t(2),), lambda t: (t(2), t(2)), lambda t: (2,)]


@pytest.mark.nightly
@pytest.mark.filterwarnings("ignore")
def test_results_are_of_the_type_the_stub_says():
    """Each function called with simple arguments, if it takes any of them, returns what its stub says."""
    results = {name: fn for name, fn in vars(jtorch).items() if stub_functions.is_made(fn) and not name.endswith("_")}
    wrong, tried = [], 0
    for name, fn in results.items():
        kinds = {result for _, result in stub_functions.of_op(name, fn).signatures}
        for made in _results(fn):
            tried += 1
            if not any(_is_a(made, kind) for kind in kinds):
                wrong.append(f"{name}: {type(made).__name__}, not {' or '.join(kinds)}")
    assert tried > 200
    assert not wrong


def _results(fn: typing.Callable) -> typing.Iterator:
    for sample in SAMPLES:
        try:
            yield fn(*sample(lambda *s: jtorch.ones(*s) * 0.5))
        except Exception:   # The function does not accept this argument.
            continue


def _is_a(value: object, kind: str) -> bool:
    if kind == "Tensor":
        return isinstance(value, jtorch.Tensor)
    if kind.endswith("_result"):
        return isinstance(value, tuple) and hasattr(value, "_fields")
    if kind.startswith("builtins.tuple"):
        return isinstance(value, tuple) and not hasattr(value, "_fields")
    return kind == "Any"
