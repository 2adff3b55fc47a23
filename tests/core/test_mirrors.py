"""The extension's functions and their Python versions, on the same random programs, in one process."""
from __future__ import annotations

import functools
import importlib
import re
import sys
from pathlib import Path

import mirror_programs
import pytest

import jtorch as torch
from jtorch import speedups
from jtorch._base import late_bindings
from jtorch.engine import interpreter
from jtorch.speedups import constants
from jtorch.speedups.mirrors import INSIDE, MIRRORS, PYTHON

pytestmark = [pytest.mark.core, pytest.mark.filterwarnings("ignore")]
needs_it = pytest.mark.skipif(speedups.native is None, reason="the extension was not built, or is turned off")
SEEDS = 5       # Programs for each mode. More run by night, and with all functions in Python.


def places_of(fn):
    """Return (namespace, name) of all places in the package with a binding of a function."""
    modules = [vars(m) for name, m in list(sys.modules.items()) if name.split(".")[0] == "jtorch" and m is not None]
    spaces = [*modules, torch.add.__globals__]      # All generated functions share one namespace.
    return [(space, name) for space in spaces for name, value in list(space.items()) if value is fn]


def put_in_place(monkeypatch, name: str) -> dict[str, int]:
    """Replace the extension's function by the Python function everywhere. Return a count of its calls."""
    python, count = PYTHON[name], {"calls": 0}

    @functools.wraps(python)
    def counted(*args, **kwargs):
        count["calls"] += 1
        return python(*args, **kwargs)

    if name == "restore_grad":
        for cls in (torch.no_grad, torch.set_grad_enabled):
            monkeypatch.setattr(cls, "__exit__", counted)
        return count
    places = places_of(getattr(speedups.native, name))
    for space, at in places:
        monkeypatch.setitem(space, at, counted)
    assert places
    if name in ("call", "wrap"):
        monkeypatch.setattr(late_bindings, name, counted)
    return count


@needs_it
@pytest.mark.one_mode
@pytest.mark.parametrize("held", [False, True], ids=["run at once", "held back"])
@pytest.mark.parametrize("names", [*[(name,) for name in MIRRORS], tuple(MIRRORS)], ids=[*MIRRORS, "all"])
def test_python_does_what_the_extension_does(monkeypatch, names, held, full):
    ran = dict.fromkeys(names, 0)
    for seed in range(SEEDS * (2 if full else 1) * (1 if len(names) == 1 else 5)):
        with monkeypatch.context() as patch:
            mirror_programs.begin_anew(patch, held)
            # The first run meets new calls, the second known ones.
            native = [mirror_programs.run(seed) for _ in range(2)]
            counts = {name: put_in_place(patch, name) for name in names}
            python = [mirror_programs.run(seed) for _ in range(2)]
            patch.undo()
        for name in names:
            ran[name] += counts[name]["calls"]
        for told in [native[1], *python]:
            assert told == native[0], f"the program of seed {seed}"
    # Known walks run without the steps of single nodes.
    others = {"hand_on"} if held else {"follow", "liveness_of", "run_held"}
    assert all([n > 0 for name, n in ran.items() if name not in others]), ran


@needs_it
@pytest.mark.one_mode
def test_held_back_calls_without_a_program_run_in_c(monkeypatch):
    """Such calls would otherwise take several times as long as calls that run at once."""
    ran_in_python = []
    run = interpreter._run
    monkeypatch.setattr(interpreter, "_run", lambda state, *rest: ran_in_python.append(state.call.op.name) or run(state, *rest))
    mirror_programs.begin_anew(monkeypatch, held=True)
    caught_up = torch.engine.stats.counters.caught_up
    for turn in range(3):
        if turn == 1:       # Python runs a kernel for the first time, and decides where it runs from then on.
            ran_in_python.clear()
        x = torch.arange(6.0).reshape(2, 3)
        y = (x * 2 + turn).sum(0).tolist()
        assert y == [6.0 + 2 * turn, 10.0 + 2 * turn, 14.0 + 2 * turn]      # The sum of two rows.
    assert torch.engine.stats.counters.caught_up > caught_up
    assert not ran_in_python


@pytest.mark.parametrize("place", [*MIRRORS.values(), *INSIDE.values()])
def test_the_python_of_the_list_is_there(place):
    module, name = place.split(":")
    found = functools.reduce(getattr, name.split("."), importlib.import_module(module))
    assert callable(found)


def test_the_python_stays_within_reach():
    assert set(PYTHON) == set(MIRRORS)
    for name, fn in PYTHON.items():
        assert MIRRORS[name] == f"{fn.__module__}:{fn.__qualname__}"
        assert hasattr(fn, "__code__")


@pytest.mark.parametrize("place", INSIDE)
def test_the_c_of_the_list_is_there(place):
    file, name = place.split(":")
    source = (Path(speedups.__file__).parent / file).read_text()
    assert re.search(rf"^[a-zA-Z].*\b{name}\(.*\n{{", source, re.MULTILINE)


@needs_it
def test_every_function_of_the_extension_is_in_the_list():
    ours = {name for name in dir(speedups.native) if not name.startswith(("__", "connect_"))}
    assert ours - {"set_constants", "set_detour", "draw_words", "fuse", "normals", "swap_places"} == set(MIRRORS)


@needs_it
@pytest.mark.parametrize("wrong", [
    {}, {**constants.FOR_C, "ANOTHER": 1}, {k: v for k, v in constants.FOR_C.items() if k != "LEAF"}, {**constants.FOR_C, "LEAF": "1"}])
def test_constants_come_all_or_not(wrong):
    try:
        with pytest.raises((KeyError, ValueError, TypeError)):
            speedups.native.set_constants(wrong)
    finally:
        speedups.native.set_constants(constants.FOR_C)
