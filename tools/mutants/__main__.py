"""Measure which mutants each lane of the tests kills: ``python -m tools.mutants WORK``.

The tool draws mutants by a fixed seed and copies the tree into the folder WORK. Lane after lane, it runs the lane once to record
which tests reach which mutant. On each mutant that is alive it then runs the tests that reach it, until one fails. WORK keeps all
results, so a run that was stopped goes on from there.
"""
from __future__ import annotations

import argparse
import functools
import json
import os
import queue
import random
import re
import resource
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterable
from pathlib import Path

from tools.mutants import hits
from tools.mutants.lanes import LANES, Lane
from tools.mutants.sites import Mutant, draw

ROOT = Path(__file__).resolve().parent.parent.parent
AREAS = ["jtorch/tape.py", "jtorch/storage.py", "jtorch/dispatch", "jtorch/_backward", "jtorch/engine", "jtorch/ops",
         "jtorch/_optimizers", "jtorch/nn"]
RESULTS = "results.jsonl"
FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)


class Tree:
    """A copy of the project with an environment of its own, in which files may change."""

    def __init__(self, path: Path):
        self.path = path
        if not path.exists():
            ignored = shutil.ignore_patterns(".git", ".venv", "__pycache__", "site", "dist")
            shutil.copytree(ROOT, path, ignore=ignored, symlinks=True)
            shutil.copytree(ROOT / ".venv", path / ".venv", symlinks=True, copy_function=os.link)
            for editable in self.site_packages.glob("_editable_impl_*.pth"):
                editable.unlink()       # A hard link to the original environment's file, which must not change.
                editable.write_text(f"{path}\n")

    @property
    def site_packages(self) -> Path:
        """Return the folder of the environment's packages."""
        return next((self.path / ".venv" / "lib").glob("python3*")) / "site-packages"

    def pytest(self, lane: Lane, more: Iterable[str], env: dict[str, str], timeout: int | None = None) -> tuple[int, str]:
        """Run pytest in this tree as the lane does; return its status and what it printed.

        ``timeout`` is in seconds of CPU time, so that other work on the machine does not matter, and in 6 times as many of real
        time.
        """
        programs = self.path / ".venv" / "bin"
        path = f"{programs}:{os.environ['PATH']}"
        environment = {**os.environ, "PYTHONPATH": str(self.path), "PATH": path, "MPLBACKEND": "Agg",
                       "PYTHONDONTWRITEBYTECODE": "", **lane.env, **env}
        command = [str(programs / "python"), "-m", "pytest", "-q", "-p", "tools.mutants.plugin", "-p", "no:cacheprovider", *more]
        limit = None if timeout is None else functools.partial(resource.setrlimit, resource.RLIMIT_CPU, (timeout, timeout))
        done = subprocess.run(command, cwd=self.path, env=environment, text=True, timeout=timeout and 6 * timeout, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, preexec_fn=limit)
        return done.returncode, done.stdout


def record(work: Path, mutants: list[Mutant], lane: Lane) -> None:
    """Run a lane once on an instrumented tree, unless its log exists. Keep which tests reach which mutant, and the log."""
    folder, log = work / "hits" / lane.name, work / f"{lane.name}.log"
    if log.exists():
        return
    tree = Tree(work / "instrumented")
    if not (tree.site_packages / "mutant_hits.pth").exists():
        hits.instrument(tree.path, tree.site_packages, mutants)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    start = time.monotonic()
    _, printed = tree.pytest(lane, [*lane.arguments, "-n", str(os.cpu_count())], {"MUTANT_HITS": str(folder)})
    log.write_text(printed)
    print(f"{lane.name}: recorded in {time.monotonic() - start:.0f} s", flush=True)


class Trial:
    """The run of mutants through one lane.

    Args:
        work: the folder of the trees and the results.
        mutants: all mutants.
        lane: the lane, which is recorded.
        most: the largest number of tests to run for a mutant. If more tests reach it, a sample is drawn.

    """

    def __init__(self, work: Path, mutants: list[Mutant], lane: Lane, most: int):
        self.work, self.mutants, self.lane, self.most = work, mutants, lane, most
        self.everywhere = hits.at_import(ROOT, mutants)
        self.hits = hits.read(work / "hits" / lane.name)
        self.known = hits.read(work / "hits" / lane.after) if lane.after else {}
        # The tests that reach any mutant: those of this lane, and those of the lane that ``after`` names.
        self.all = set().union(*self.hits.values()), set().union(*self.known.values())
        self.failing = set(FAILED.findall((work / f"{lane.name}.log").read_text()))
        self.lock = threading.Lock()

    def tests(self, number: int) -> list[str]:
        """Return the tests that are run on a mutant."""
        found, known = self.hits.get(number, set()), self.known.get(number, set())
        if number in self.everywhere or "" in found:
            found, known = self.all
        left = sorted(found - known - self.failing - {""})
        return left if len(left) <= self.most else sorted(random.Random(number).sample(left, self.most))

    def try_mutant(self, number: int, tree: Tree) -> str | None:
        """Return the test that fails with the mutant, or "time-out"; None if all pass."""
        tests = self.tests(number)
        if not tests:
            return None
        mutant = self.mutants[number]
        original = (tree.path / mutant.path).read_bytes()
        chosen = self.work / f"only-{number}"
        chosen.write_text("\n".join(tests))
        options = [a for a in self.lane.arguments if a.startswith("-")]
        files = sorted({t.partition("::")[0] for t in tests})
        mutant.write(tree.path)
        try:
            status, printed = tree.pytest(self.lane, [*options, *files, "-x", "--tb=no"], {"MUTANT_ONLY": str(chosen)},
                                          self.lane.timeout)
        except subprocess.TimeoutExpired:
            return "time-out"
        finally:
            (tree.path / mutant.path).write_bytes(original)
        found = FAILED.search(printed)
        return None if status in (0, 5) else found.group(1) if found else f"exit {status}: {printed[-200:]}"

    def run(self, numbers: list[int], jobs: int) -> None:
        """Try these mutants, ``jobs`` at a time."""
        waiting: queue.Queue[int] = queue.Queue()
        for number in sorted(numbers, key=lambda n: len(self.tests(n))):
            waiting.put(number)
        workers = [threading.Thread(target=self._work, args=(waiting, self.work / f"job{n}")) for n in range(jobs)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()

    def _work(self, waiting: queue.Queue[int], path: Path) -> None:
        tree = Tree(path)
        while True:
            try:
                number = waiting.get_nowait()
            except queue.Empty:
                return
            start = time.monotonic()
            failed = self.try_mutant(number, tree)
            result = {"mutant": number, "lane": self.lane.name, "test": failed, "seconds": round(time.monotonic() - start)}
            with self.lock, open(self.work / RESULTS, "a") as file:
                file.write(json.dumps(result) + "\n")
            print(number, self.mutants[number], result, flush=True)


def results_in(work: Path) -> dict[str, dict[int, str | None]]:
    """Return, by lane and mutant, the test that failed."""
    found: dict[str, dict[int, str | None]] = {lane.name: {} for lane in LANES}
    if (work / RESULTS).exists():
        for line in (work / RESULTS).read_text().splitlines():
            result = json.loads(line)
            found[result["lane"]][result["mutant"]] = result["test"]
    return found


def table(mutants: list[Mutant], results: dict[str, dict[int, str | None]]) -> str:
    """Return the results as Markdown: killed by lane, then each survivor of all lanes that ran."""
    lines = ["| lane | mutants tried | killed | in all |", "|---|---|---|---|"]
    killed: set[int] = set()
    for lane, tried in results.items():
        if tried:
            now = {number for number, test in tried.items() if test is not None}
            killed |= now
            lines.append(f"| {lane} | {len(tried)} | {len(now)} | {len(killed)} of {len(mutants)} |")
    alive = [f"- `{mutant}`" for number, mutant in enumerate(mutants) if number not in killed]
    return "\n".join([*lines, "", "Survivors:", "", *alive])


def main() -> int:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(prog="python -m tools.mutants", description=__doc__)
    parser.add_argument("work", type=Path, help="a folder for the trees and the results")
    parser.add_argument("--seed", type=int, default=48)
    parser.add_argument("--count", type=int, default=150)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--last", choices=[lane.name for lane in LANES], default=LANES[-1].name, help="the last lane to run")
    parser.add_argument("--most", type=int, default=1000, help="the largest number of tests for a mutant in a lane")
    given = parser.parse_args()
    given.work.mkdir(parents=True, exist_ok=True)
    work = given.work.resolve()
    mutants = draw(ROOT, AREAS, given.count, given.seed)
    for lane in LANES:
        results = results_in(work)
        killed = {number for tried in results.values() for number, test in tried.items() if test is not None}
        left = [number for number in range(len(mutants)) if number not in killed and number not in results[lane.name]]
        record(work, mutants, lane)
        Trial(work, mutants, lane, given.most).run(left, given.jobs)
        if lane.name == given.last:
            break
    print(table(mutants, results_in(work)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
