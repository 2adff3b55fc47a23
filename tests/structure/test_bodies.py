"""Test the labels of bodies: a readable name, and a hash of all the code that a body runs."""
from __future__ import annotations

import importlib.util

import pytest
from bodies import Programs, bodies, body, words, written

SOURCE = """
from bodies import bodies

def helper(x):
    return x + 1

def double(xp, make, *more):
    return helper(make(xp))

TABLE = {
    "two": lambda xp: 2,
    "three": lambda xp: 3,
}
MADE = bodies(double, TABLE)
"""


@pytest.fixture
def labels(tmp_path):
    """Return a function that gives the labels of the bodies made by a file with a given text."""
    def labels(text: str) -> list[str]:
        path = tmp_path / f"made{len(list(tmp_path.iterdir()))}.py"
        path.write_text(text)
        spec = importlib.util.spec_from_file_location("made", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return [made.label for made in module.MADE]
    return labels


def test_labels_are_names_and_a_hash(labels):
    two, three = labels(SOURCE)
    assert two.startswith("double of two #") and three.startswith("double of three #")
    assert labels(SOURCE) == [two, three]


@pytest.mark.parametrize(("old", "new", "kept"), [
    ("xp: 2", "xp: 4", [False, True]), ("make(xp)", "make(xp) * 1", [False, False]), ("x + 1", "x + 2", [False, False]),
    ("TABLE)", "TABLE, 5)", [False, False]), ('"two"', '"2"', [False, True])])
def test_a_label_changes_with_what_it_runs(labels, old, new, kept):
    assert [a == b for a, b in zip(labels(SOURCE), labels(SOURCE.replace(old, new)), strict=True)] == kept


def test_bodies_run_the_program_with_the_entry():
    made = bodies(lambda xp, entry, more: (xp, entry, more), [1, (2, 3)], "more")
    assert [run("xp") for run in made] == [("xp", 1, "more"), ("xp", (2, 3), "more")]
    assert body(lambda xp: xp, "a name")("xp") == "xp"


def test_entries_without_names_are_called_as_they_are_written():
    entries = [
        lambda xp: xp.zeros(2)[1:, None],
        (1, 2),     # lambda xp: a comment
        lambda xp: (xp.ones(1),
                    "two lines"),   # a comment
        *[call for call, _ in [
            (lambda x: x[0], "another value"),
            (lambda x: (lambda y: y)(x), 2)]],
        test_labels_are_names_and_a_hash,
    ]
    assert [written(entry) for entry in entries] == [
        "xp.zeros(2)[1:, None]", "(1, 2)", '(xp.ones(1), "two lines")', "x[0]", "(lambda y: y)(x)",
        "test labels are names and a hash"]


def test_a_decorator_collects_programs():
    programs = Programs()

    @programs
    def first_one(xp):
        return xp
    assert programs == [first_one] and words(first_one) == "first one"
