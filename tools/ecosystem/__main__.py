"""``python -m tools.ecosystem``: run packages with PyTorch and with jtorch, compare, and write docs/ecosystem.md."""
from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

from tools.ecosystem import environments, page, running
from tools.ecosystem.packages import PACKAGES, SHORT

RESULTS = Path(__file__).with_name("results.json")


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def _read() -> dict[str, dict]:
    return json.loads(RESULTS.read_text()) if RESULTS.exists() else {}


def _requirements(names: list[str], pinned: bool, known: dict[str, dict]) -> list[str]:
    """Return pip's arguments: the newest versions, or the versions of the table."""
    wanted = dict.fromkeys(requirement for name in names for requirement in PACKAGES[name])
    versions = {PACKAGES[name][0]: known[name]["version"] for name in names if name in known} if pinned else {}
    return [f"{one}=={versions[one]}" if one in versions else one for one in wanted]


def _version(environment: environments.Environment, requirement: str) -> str:
    found = [d for d in _distributions(environment) if d.name.lower().replace("_", "-") == requirement.lower().replace("_", "-")]
    return found[0].version if found else ""


def _distributions(environment: environments.Environment) -> list:
    from importlib.metadata import distributions  # These read the packages' names from their metadata.
    paths = [str(environment.site), *(environment.site / "ecosystem.pth").read_text().split()]
    return list(distributions(path=paths))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m tools.ecosystem", description=__doc__)
    parser.add_argument("packages", nargs="*", help="those to run; all, if none are named. package:use is one use")
    parser.add_argument("--short", action="store_true", help="five packages, at the versions of the table; writes nothing")
    parser.add_argument("--folder", type=Path, default=Path(sys.prefix) / "ecosystem", help="where environments are made")
    parser.add_argument("--no-install", action="store_true", help="run with what is installed there")
    parser.add_argument("--recorded", action="store_true", help="do not run PyTorch: compare with what it gave when it was run")
    parser.add_argument("--check", action="store_true", help="only say whether docs/ecosystem.md fits the results")
    parser.add_argument("--page", action="store_true", help="only write docs/ecosystem.md")
    parser.add_argument("--verbose", action="store_true", help="tracebacks of what fails")
    return parser.parse_args()


def _run(given: argparse.Namespace, names: list[str], known: dict[str, dict]) -> dict[str, dict]:
    """Run the named packages, and return their results with their versions."""
    uses: dict[str, list[str]] = {}
    for name in names:
        package, _, use = name.partition(":")
        uses.setdefault(package, []).extend([use] if use else [])
    here = environments.site_here()
    jtorch = environments.with_jtorch(given.folder, here)
    if not given.no_install:
        environments.install(jtorch, _requirements(list(uses), given.short, known), _say)
    pytorch = None if given.recorded else environments.with_pytorch(given.folder, here, jtorch, linked=given.short)
    found = {}
    for package, some in uses.items():
        judged = running.compare(package, tuple(some), pytorch, jtorch, _say, given.verbose)
        before = known.get(package, {"uses": {}})["uses"] if some else {}
        found[package] = {"version": _version(jtorch, PACKAGES[package][0]), "uses": {**before, **judged}}
    return found


def _count(found: dict[str, dict]) -> tuple[int, int]:
    results = [use["result"] for package in found.values() for use in package["uses"].values()]
    return results.count("same"), len(results) - results.count("not with PyTorch")


def main() -> int:
    """Run the command. Return 0 if jtorch gave PyTorch's numbers in all uses, or if the page is right."""
    given = _arguments()
    known = _read()
    if given.check or given.page:
        return page.write(known, _say)
    names = list(SHORT) if given.short else given.packages or list(PACKAGES)
    os.environ.setdefault("PIP_DISABLE_PIP_VERSION_CHECK", "1")
    found = _run(given, names, known)
    same, comparable = _count(found)
    _say(f"{same} of {comparable} uses that work with PyTorch give its numbers")
    if not given.short and found:
        known = {name: result for name, result in {**_read(), **found}.items() if name in PACKAGES}
        RESULTS.write_text(json.dumps(dict(sorted(known.items())), indent=1) + "\n")
        page.write(known, _say)
    return int(same < comparable)


if __name__ == "__main__":
    sys.exit(main())
