"""Measures of the project's English: comments, pages and commit subjects. See CONTRIBUTING.md.

- ``python -m tools.prose`` prints each measure with its limit; ``--worst 5`` adds the longest sentences and the fragments.
- ``--check`` compares with ``tools/prose_exceptions.json``, which lists each measure that is over its limit.
- ``--record`` writes that list anew.
- ``--commits v0.1..HEAD`` prints the measures of commit subjects. ``--check`` ignores commits.

The limits are the range of well-written projects of the field. A sentence that meets them may still be unclear.
"""
from __future__ import annotations

import argparse
import io
import json
import re
import statistics
import subprocess
import sys
import tokenize
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
EXCEPTIONS = Path(__file__).parent / "prose_exceptions.json"
GENERATED = {"coverage.md", "differences.md", "ecosystem.md", "messages.md"}
SOURCES = ("jtorch", "jtorch/engine")
SHORTEST_PAGE = 150     # words; a shorter page has too few sentences to measure

DIRECTIVE = re.compile(r"(noqa|type:|pragma|pylint|fmt|-+$|-+ )")
BEGINS_FRAGMENT = "of by in on for behind from with as what whether which those that where how who whose and"
FRAGMENT = re.compile(rf"({BEGINS_FRAGMENT.replace(' ', '|')})\b", re.IGNORECASE)
FIGURE = re.compile(r"\d+(\.\d+)?\s*(µs|us|ms|s\b|MB|MiB|GB|%)")
RELATIVE = re.compile(r"\b(that|which|what|whose|where|who|whoever|whatever)\b", re.IGNORECASE)
NUMBER = re.compile(r"(?<![\w.])\d[\d,.]*")
VERBS = (
    "accept add allow avoid bound build bump cache call change check choose clean compile compute correct count "
    "cut delete derive describe disable document draw drop enable ensure explain export extract find fix free "
    "generate give handle hold implement improve inline introduce keep let limit list load loosen lower make mark "
    "measure merge move name note pass pick prevent print put raise read record reduce refactor refuse reject "
    "release remove rename replace report restore return reuse revert rewrite run save say set share shorten show "
    "simplify skip speed split start state stop store support take test tighten time turn unify update use warn "
    "work write")
IMPERATIVE = re.compile(rf"\W*(\[?\w+\]?:?\s*)?({VERBS.replace(' ', '|')})\b", re.IGNORECASE)


class Measure(NamedTuple):
    """A number measured on a page, on a folder's comments or on the commits."""

    of: str
    name: str
    value: float
    limit: float
    least: bool = False     # True if ``limit`` is a lower limit

    @property
    def key(self) -> str:
        """Return the name of the measure in the list of exceptions."""
        return f"{self.of}: {self.name}"

    @property
    def short(self) -> bool:
        """Return whether the measure is out of its limit."""
        return self.value < self.limit if self.least else self.value > self.limit

    def line(self) -> str:
        """Return the measure as a line of the report."""
        bound = f"{'at least' if self.least else 'at most'} {self.limit:g}"
        return f"  {self.key:70s} {self.value:6.1f}  ({bound}){'  FALLS SHORT' if self.short else ''}"


class Comment(NamedTuple):
    """A comment of a source file."""

    place: str
    text: str


def rate(part: float, whole: int, per: int = 100) -> float:
    """Return how often something occurs, per hundred or per ``per`` things, to one decimal."""
    return round(per * part / whole, 1) if whole else 0.0


def comments_of(source: str, name: str) -> list[Comment]:
    """Return the comments of a Python source, without directives to tools."""
    found = [(t.start[0], t.string.lstrip("#").strip()) for t in tokenize.generate_tokens(io.StringIO(source).readline)
             if t.type == tokenize.COMMENT]
    return [Comment(f"{name}:{line}", text) for line, text in found if len(text) >= 3 and not DIRECTIVE.match(text)]


def comments_in(folder: Path) -> list[Comment]:
    """Return the comments of all sources under a folder."""
    return [c for f in sorted(folder.rglob("*.py")) for c in comments_of(f.read_text(encoding="utf-8"), str(f.relative_to(ROOT)))]


def measure_comments(name: str, comments: list[Comment]) -> list[Measure]:
    """Measure comments: fragments, measured figures, and "behind" for time."""
    of, n = f"comments in {name}", len(comments)
    behind = sum(bool(re.search(r"\bbehind\b", c.text)) for c in comments)
    return [Measure(of, "fragments, %", rate(sum(bool(FRAGMENT.match(c.text)) for c in comments), n), 7),
            Measure(of, "with a measured figure, %", rate(sum(bool(FIGURE.search(c.text)) for c in comments), n), 1),
            Measure(of, "'behind' per 1,000", rate(behind, n, per=1000), 2)]


def sentences(markdown: str) -> list[str]:
    """Return the sentences of a page's prose, without code, tables and headings. Bullets begin sentences."""
    text = re.sub(r"```.*?```", "", markdown, flags=re.DOTALL)
    lines = ["" if line.startswith(("|", "#", "    ", "![")) else re.sub(r"^[-*] ", "\n\n", line) for line in text.split("\n")]
    text = re.sub(r"\n(?!\n)", " ", "\n".join(lines))
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", re.sub(r"`[^`]*`", "CODE", text))
    return [s.strip() for s in re.split(r"(?<=[.!?])\s+|\n\n", text) if len(s.split()) > 3]


def measure_page(name: str, markdown: str) -> list[Measure]:
    """Measure a page: the length of its sentences, relative words and numbers. A short page has no measures."""
    found = sentences(markdown)
    text, words = " ".join(found), sum(len(s.split()) for s in found)
    if words < SHORTEST_PAGE:
        return []
    return [Measure(name, "words a sentence", round(words / len(found), 1), 18.5),
            Measure(name, "relative words per 100 words", rate(len(RELATIVE.findall(text)), words), 2.2),
            Measure(name, "numbers per 100 words", rate(len(NUMBER.findall(text)), words), 8 if "measurements/" in name else 1.5)]


def pages() -> dict[str, str]:
    """Return the texts of the pages written by hand, by name."""
    top = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
    files = [*top, *(f for f in sorted((ROOT / "docs").rglob("*.md")) if f.name not in GENERATED)]
    return {str(f.relative_to(ROOT)): f.read_text(encoding="utf-8") for f in files}


def measure_commits(subjects: list[str]) -> list[Measure]:
    """Measure commit subjects: length, imperatives, and subjects with two parts."""
    of, n = "commits", len(subjects)
    return [Measure(of, "median length", statistics.median(map(len, subjects)), 60),
            Measure(of, "over 72 characters, %", rate(sum(len(s) > 72 for s in subjects), n), 10),
            Measure(of, "that begin with a verb, %", rate(sum(bool(IMPERATIVE.match(s)) for s in subjects), n), 50, least=True),
            Measure(of, "with a semicolon, %", rate(sum(";" in s for s in subjects), n), 5)]


def subjects_of(revisions: str) -> list[str]:
    """Return the subjects of a range of commits, merges left out."""
    command = ["git", "log", "--no-merges", "--format=%s", revisions]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()


def measure_all() -> list[Measure]:
    """Measure the comments of the package and all pages."""
    found = [m for name in SOURCES for m in measure_comments(name, comments_in(ROOT / name))]
    return found + [m for name, text in pages().items() for m in measure_page(name, text)]


def complaints(measures: Iterable[Measure], exceptions: dict[str, float]) -> list[str]:
    """Compare measures with the recorded exceptions.

    A measure over its limit may not exceed its recorded value. An exception may not stay listed once its measure is good.
    """
    short = {m.key: m.value for m in measures if m.short}
    worse = [f"{key}: {value:g}" + (f", was {exceptions[key]:g}" if key in exceptions else " is over its limit")
             for key, value in short.items() if value > exceptions.get(key, 0)]
    good = [f"{key} is good now: run `python -m tools.prose --record`" for key in exceptions if key not in short]
    return worse + good


def worst(count: int) -> list[str]:
    """Return the longest sentences of each page and the first fragments among the comments."""
    fragments = [f"  {c.place}: {c.text}" for c in comments_in(ROOT / SOURCES[0]) if FRAGMENT.match(c.text)]
    longest = {name: sorted(sentences(text), key=lambda s: -len(s.split()))[:count] for name, text in pages().items()}
    return fragments[:count] + [f"  {name}: {s}" for name, found in longest.items() for s in found]


def record(measures: Iterable[Measure]) -> None:
    """Write the measures over their limits to the list of exceptions."""
    short = {m.key: m.value for m in measures if m.short}
    EXCEPTIONS.write_text(json.dumps(short, indent=4, ensure_ascii=False) + "\n", encoding="utf-8")


def options(arguments: list[str] | None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="python -m tools.prose", description="Measures of the project's English.")
    parser.add_argument("--check", action="store_true", help="fail where a measure is worse than recorded, or recorded and good")
    parser.add_argument("--record", action="store_true", help="write the list of exceptions")
    parser.add_argument("--worst", type=int, default=0, metavar="N", help="print the N longest sentences of each page")
    parser.add_argument("--commits", metavar="REVISIONS", help="measure the subjects of these commits")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None, write: Callable[[str], object] = print) -> int:
    """Print the measures, record them, or compare them with the record; return 1 if the comparison fails."""
    parsed = options(arguments)
    measures = measure_commits(subjects_of(parsed.commits)) if parsed.commits else measure_all()
    if parsed.record:
        record(measures)
    if parsed.check:
        wrong = complaints(measures, json.loads(EXCEPTIONS.read_text(encoding="utf-8")))
        write("\n".join(wrong) or "The prose is as recorded, or better.")
        return int(bool(wrong))
    write("\n".join([m.line() for m in measures] + (worst(parsed.worst) if parsed.worst else [])))
    return 0


if __name__ == "__main__":
    sys.exit(main())
