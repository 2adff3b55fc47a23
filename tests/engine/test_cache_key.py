"""Names of programs: different computations have different names, and names do not depend on the process."""
from __future__ import annotations

import dataclasses
import os
from itertools import combinations

import jax
import numpy as np
import pytest

import jtorch as torch
from jtorch.engine import aval_of, cache_key, call_of
from jtorch.engine.cache_key import name_of
from jtorch.engine.values import CPU
from jtorch.ops.registry import NUMBERS, OPS, T, freeze

F32 = np.dtype(np.float32)
MUL = call_of(OPS["mul"], (T, T))
PAIR = aval_of((2, 3), F32, CPU)


def program(call=MUL, args=(0, 1), outs=(2,), avals=(PAIR, PAIR), donated=0):
    return ((call, args),), outs, avals, donated


DIFFERENT = {
    "the same": program(), "the op": program(call_of(OPS["atan2"], (T, T))),
    "arguments": program(args=(1, 0)), "one argument": program(args=(0, 0)),
    "dtype": program(avals=(PAIR, aval_of((2, 3), np.dtype(np.float64), CPU))), "shape": program(avals=(PAIR, aval_of((3,), F32, CPU))),
    "donated": program(donated=1), "results": program(outs=()),
    "a number": program(call_of(OPS["mul"], (T, NUMBERS[float]), None), (0, ("float", 0))),
    "another number": program(call_of(OPS["mul"], (T, NUMBERS[int]), None), (0, ("int", 0))),
    "dim": program(call_of(OPS["softmax"], (T, 1, None)), (0,)), "another dim": program(call_of(OPS["softmax"], (T, 0, None)), (0,)),
    "as a bool": program(call_of(OPS["softmax"], (T, freeze(True), None)), (0,)),
    "with a dtype": program(call_of(OPS["softmax"], (T, 1, torch.float32)), (0,)),
    "with another": program(call_of(OPS["softmax"], (T, 1, torch.float64)), (0,)),
}


def test_what_differs_has_another_name():
    made = {what: name_of(given) for what, given in DIFFERENT.items()}
    assert None not in made.values()
    assert [(a, b) for a, b in combinations(made, 2) if made[a] == made[b]] == []
    assert name_of(program()) == made["the same"]


def test_derivatives_are_named_by_what_they_are_derivatives_of():
    x = torch.ones(2, 3, requires_grad=True)
    (x * x + x.sin()).sum().backward()
    vjps = [vjp for op in ("mul", "sin") for c in OPS[op]._functions for vjp in call_of(OPS[op], c).vjps.values()]
    made = [name_of(program(vjp)) for vjp in vjps]
    assert len(vjps) >= 2
    assert None not in made
    assert len(set(made)) == len(made)


def test_settings_are_part_of_a_name():
    made = {name_of(program())}
    with jax.default_matmul_precision("float32"):
        made.add(name_of(program()))
    torch.set_default_dtype(torch.float64)
    try:
        made.add(name_of(program()))
    finally:
        torch.set_default_dtype(torch.float32)
    assert len(made) == 3


def test_what_others_have_made_has_no_name(monkeypatch):
    copied = dataclasses.replace(OPS["mul"], body=lambda x, y: x * y)
    assert name_of(program(call_of(copied, (T, T)))) is None
    monkeypatch.setitem(OPS, "mul", copied)
    assert name_of(program(call_of(copied, (T, T)))) is None
    assert name_of(program(call_of(OPS["atan2"], (T, object())))) is None


@pytest.fixture
def package(tmp_path, monkeypatch):
    (tmp_path / "ops").mkdir()
    for name in ("ops/a.py", "b.py"):
        (tmp_path / name).write_text("x = 1\n")
        os.utime(tmp_path / name, (1000, 1000))
    monkeypatch.setattr(cache_key, "PACKAGE", tmp_path)
    return tmp_path


def test_sources_are_part_of_a_name(package):
    whole = cache_key._sources.__wrapped__
    first = whole()
    assert whole() == first is not None
    (package / "ops" / "a.py").write_text("x = 2\n")
    os.utime(package / "ops" / "a.py", (1000, 1000))
    assert whole() not in (first, None)


def test_sources_that_changed_after_the_start_have_none(package):
    (package / "b.py").write_text("x = 1\n")
    later = cache_key._begun + 60
    os.utime(package / "b.py", (later, later))
    assert cache_key._sources.__wrapped__() is None


def test_a_package_without_sources_has_none(tmp_path, monkeypatch):
    monkeypatch.setattr(cache_key, "PACKAGE", tmp_path)
    assert cache_key._sources.__wrapped__() is None
