"""``python -m tools.ecosystem.names``: print PyTorch's names that packages use and jtorch lacks, with the packages."""
from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from tools.ecosystem.names import reading, sources

RESOLVE = Path(__file__).with_name("resolve.py")
ROOT = Path(__file__).parents[3]


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def used(places: Iterable[Path]) -> dict[str, set[str]]:
    """Return the names that packages use, each with those packages."""
    found: dict[str, set[str]] = defaultdict(set)
    for place in places:
        for text in sources.files(place):
            for name in reading.names(text):
                found[name].add(sources.name_of(place))
    return dict(found)


def _ask(names: Iterable[str], *how: str) -> dict[str, tuple[str, str]]:
    """Return the answers of ``resolve.py`` for names, run by ``python *how``."""
    done = subprocess.run([sys.executable, *how, str(RESOLVE)], input=json.dumps(sorted(names)), capture_output=True, text=True,
                          check=False, cwd=ROOT)
    if done.returncode:
        raise RuntimeError(f"{RESOLVE.name}: {done.stderr[-2000:]}")
    return json.loads(done.stdout)


@dataclass
class Found:
    """A name that jtorch lacks or refuses, with the packages that use it and their longest paths."""

    packages: set[str] = field(default_factory=set)
    parts: set[str] = field(default_factory=set)


def lacking(uses: dict[str, set[str]]) -> dict[str, dict[str, Found]]:
    """Return PyTorch's names that jtorch "lacks" and those that it "refuses", most used first."""
    theirs: dict[str, set[str]] = defaultdict(set)
    for name, (path, problem) in _ask(uses).items():
        if not problem:
            theirs[path] |= uses[name]
    found: dict[str, dict[str, Found]] = {"lacks": defaultdict(Found), "refuses": defaultdict(Found)}
    for name, (path, problem) in _ask(theirs, "-m", "jtorch").items():
        if problem:
            one = found[problem][path]
            one.packages |= theirs[name]
            one.parts |= {name.removeprefix(path)[1:]} - {""}
    return {problem: dict(sorted(names.items(), key=_rank)) for problem, names in found.items()}


def _rank(item: tuple[str, Found]) -> tuple[int, str]:
    return -len(item[1].packages), item[0]


def _places(given: list[str], folder: Path) -> list[Path]:
    """Return the source folders of packages. Packages without a path are downloaded into ``folder``."""
    found = []
    for one in given:
        place = Path(one) if Path(one).exists() else sources.download(one, folder)
        if place is None:
            _say(f"{one}: pip found no wheel")
        else:
            found.append(place)
    return found


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m tools.ecosystem.names", description=__doc__)
    parser.add_argument("packages", nargs="+", help="a folder, a wheel, a source distribution, or a name that pip downloads")
    parser.add_argument("--keep", type=Path, help="the folder that wheels are downloaded into; a temporary one if none is given")
    parser.add_argument("--json", type=Path, help="write the names with their packages to this file too")
    return parser.parse_args()


def _report(found: dict[str, dict[str, Found]]) -> None:
    for problem, names in found.items():
        _say(f"jtorch {problem} {len(names)} of the names that PyTorch has")
        for name, one in names.items():
            parts = f" ({', '.join(sorted(one.parts))})" if one.parts else ""
            _say(f"  {name}{parts}: {', '.join(sorted(one.packages))}")


def _as_json(found: dict[str, dict[str, Found]]) -> str:
    plain = {problem: {name: {"packages": sorted(one.packages), "parts": sorted(one.parts)} for name, one in names.items()}
             for problem, names in found.items()}
    return json.dumps(plain, indent=1) + "\n"


def main() -> int:
    """Run the command. Return 0 if jtorch has all names."""
    given = _arguments()
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        places = _places(given.packages, folder)
        found = lacking(used(places))
    _report(found)
    if given.json is not None:
        given.json.write_text(_as_json(found))
    return int(bool(found["lacks"]))


if __name__ == "__main__":
    sys.exit(main())
