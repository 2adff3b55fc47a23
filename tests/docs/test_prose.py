"""Tests of ``tools/prose.py``: its measures, and the comparison with the recorded exceptions."""
from __future__ import annotations

import json

import pytest

from tools import prose
from tools.prose import Measure, comments_of, complaints, measure_comments, measure_commits, measure_page, sentences

SHORT = "A page says one thing after another. "
LONG = "This is the sentence which says what happens where a writer " + "goes on and on " * 8 + "until nobody reads it. "


def values(measures):
    return {m.name: m.value for m in measures}


def test_comments_leave_out_directives():
    source = "x = 1  # The answer.\ny = 2  # noqa: E501\n# type: ignore\n# ---\ns = '# a string'\n"
    assert comments_of(source, "a.py") == [("a.py:1", "The answer.")]


def test_fragments_figures_and_behind_are_counted():
    source = "# Which of them is taken\n# It takes 3 ms.\n# This runs behind the step.\n# Return it.\n"
    assert values(measure_comments("a", comments_of(source, "a.py"))) == {
        "fragments, %": 25.0, "with a measured figure, %": 25.0, "'behind' per 1,000": 250.0}


def test_sentences_are_those_of_prose():
    page = ("# A heading of four words\n\nSee [the page](page.md) for `x = 1. y = 2`.\n| a | row of the table |\n\n"
            "- The first of two bullets\n- The second of two bullets\n\n```python\nprint('this is not prose at all')\n```\n")
    assert sentences(page) == ["See the page for CODE.", "The first of two bullets", "The second of two bullets"]


def test_a_page_is_measured():
    found = {m.name: m for m in measure_page("docs/a.md", SHORT * 30)}
    assert {name: m.value for name, m in found.items()} == {
        "words a sentence": 7.0, "relative words per 100 words": 0.0, "numbers per 100 words": 0.0}
    assert not any(m.short for m in found.values())
    assert [m.name for m in measure_page("docs/a.md", LONG * 5) if m.short] == ["words a sentence", "relative words per 100 words"]


def test_a_short_page_is_not_measured():
    assert measure_page("docs/a.md", LONG) == []


def test_measurements_may_have_numbers():
    page = "One run of it takes 3 seconds here. " * 30
    assert [m.short for m in measure_page("docs/a.md", page)] == [False, False, True]
    assert [m.short for m in measure_page("docs/measurements/a.md", page.replace("One", "1"))] == [False, False, True]
    assert not any(m.short for m in measure_page("docs/measurements/a.md", ("One run of it takes 3 seconds here. " + SHORT) * 15))


def test_commits_are_measured():
    found = values(measure_commits(["Add a test", "The thing; and another one"]))
    assert found["that begin with a verb, %"] == 50.0
    assert found["with a semicolon, %"] == 50.0


@pytest.mark.parametrize(("value", "exceptions", "expected"), [
    (18.0, {}, []),
    (20.0, {"a.md: words": 20.0}, []),
    (19.0, {"a.md: words": 20.0}, []),
    (20.0, {}, ["a.md: words: 20 is over its limit"]),
    (21.0, {"a.md: words": 20.0}, ["a.md: words: 21, was 20"]),
    (18.0, {"a.md: words": 20.0}, ["a.md: words is good now: run `python -m tools.prose --record`"]),
])
def test_the_comparison(value, exceptions, expected):
    assert complaints([Measure("a.md", "words", value, 18.5)], exceptions) == expected


def test_an_exception_of_a_page_that_is_gone_is_named():
    assert len(complaints([], {"gone.md: words": 20.0})) == 1


def test_record_and_check(tmp_path, monkeypatch):
    monkeypatch.setattr(prose, "EXCEPTIONS", tmp_path / "exceptions.json")
    monkeypatch.setattr(prose, "measure_all", lambda: [Measure("a.md", "words", 20.0, 18.5), Measure("b.md", "words", 9.0, 18.5)])
    said: list[str] = []
    assert prose.main(["--record"], said.append) == 0
    assert json.loads((tmp_path / "exceptions.json").read_text()) == {"a.md: words": 20.0}
    assert prose.main(["--check"], said.append) == 0
    monkeypatch.setattr(prose, "measure_all", lambda: [Measure("a.md", "words", 22.0, 18.5)])
    assert prose.main(["--check"], said.append) == 1
    assert said[-1] == "a.md: words: 22, was 20"
