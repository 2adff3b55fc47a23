"""Measure which mutants each lane of the tests kills: ``python -m tools.mutants WORK``.

The tool draws mutants by a fixed seed and copies the tree into the folder WORK. It runs each lane once to record which
tests reach which mutant. For each mutant it then runs the tests that reach it, lane after lane, until one fails. WORK keeps
all results, so a run that was stopped goes on from there.
"""
from __future__ import annotations

import argparse
import json
import os
import queue
import re
import shutil
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from tools.mutants import hits
from tools.mutants.lanes import LANES, Lane
from tools.mutants.sites import Mutant, draw

ROOT = Path(__file__).resolve().parent.parent.parent
AREAS = ["jtorch/tape.py", "jtorch/storage.py", "jtorch/dispatch", "jtorch/_backward", "jtorch/engine", "jtorch/ops",
         "jtorch/_optimizers", "jtorch/nn"]
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
                editable.unlink()       # This file is a link to the original environment.
                editable.write_text(f"{path}\n")

    @property
    def site_packages(self) -> Path:
        """Return the folder of the environment's packages."""
        return next((self.path / ".venv" / "lib").glob("python3*")) / "site-packages"

    def pytest(self, lane: Lane, more: Iterable[str], env: dict[str, str], timeout: float | None = None) -> tuple[int, str]:
        """Run pytest in this tree as the lane does; return its status and what it printed."""
        programs = self.path / ".venv" / "bin"
        path = f"{programs}:{os.environ['PATH']}"
        environment = {**os.environ, "PYTHONPATH": str(self.path), "PATH": path, "MPLBACKEND": "Agg",
                       "PYTHONDONTWRITEBYTECODE": "", **lane.env, **env}
        command = [str(programs / "python"), "-m", "pytest", "-q", "-p", "tools.mutants.plugin", "-p", "no:cacheprovider", *more]
        done = subprocess.run(command, cwd=self.path, env=environment, text=True, timeout=timeout, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return done.returncode, done.stdout


def record(work: Path, mutants: list[Mutant]) -> None:
    """Run each lane once on an instrumented tree; keep who reached what, and which tests failed."""
    tree = Tree(work / "instrumented")
    if not (tree.site_packages / "mutant_hits.pth").exists():
        hits.instrument(tree.path, tree.site_packages, mutants)
    for lane in LANES:
        folder, log = work / "hits" / lane.name, work / f"{lane.name}.log"
        if log.exists():
            continue
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        start = time.monotonic()
        _, printed = tree.pytest(lane, [*lane.arguments, "-n", str(os.cpu_count())], {"MUTANT_HITS": str(folder)})
        log.write_text(printed)
        print(f"{lane.name}: recorded in {time.monotonic() - start:.0f} s", flush=True)


class Trial:
    """The run of all mutants through all lanes."""

    def __init__(self, work: Path, mutants: list[Mutant]):
        self.work, self.mutants, self.results = work, mutants, work / "results.jsonl"
        self.everywhere = hits.at_import(ROOT, mutants)
        self.hits = {lane.name: hits.read(work / "hits" / lane.name) for lane in LANES}
        self.failing = {lane.name: set(FAILED.findall((work / f"{lane.name}.log").read_text())) for lane in LANES}
        self.lock = threading.Lock()

    def tests(self, number: int, lane: Lane) -> list[str] | None:
        """Return the tests of a lane that reach a mutant; None stands for all of them."""
        found = self.hits[lane.name][number]
        if number in self.everywhere or "" in found:
            return None
        known = self.hits[lane.after][number] if lane.after else set()
        return sorted(found - known - self.failing[lane.name])

    def try_mutant(self, number: int, tree: Tree) -> dict:
        """Return the first lane whose tests fail with the mutant, and the test that failed."""
        mutant, start = self.mutants[number], time.monotonic()
        original = (tree.path / mutant.path).read_bytes()
        mutant.write(tree.path)
        try:
            for lane in LANES:
                failed = self._fails(number, lane, tree)
                if failed:
                    return {"mutant": number, "lane": lane.name, "test": failed, "seconds": round(time.monotonic() - start)}
            return {"mutant": number, "lane": None, "test": None, "seconds": round(time.monotonic() - start)}
        finally:
            (tree.path / mutant.path).write_bytes(original)

    def _fails(self, number: int, lane: Lane, tree: Tree) -> str | None:
        tests = self.tests(number, lane)
        if tests == []:
            return None
        where, env = list(lane.arguments), {}
        if tests is not None:
            chosen = self.work / f"only-{number}"
            chosen.write_text("\n".join(tests))
            env["MUTANT_ONLY"] = str(chosen)
            where = [a for a in where if a.startswith("-")] + sorted({t.partition("::")[0] for t in tests})
        else:
            where = [self._near(number), *where, *[f"--deselect={test}" for test in self.failing[lane.name]]]
        try:
            status, printed = tree.pytest(lane, [*where, "-x", "--tb=no"], env, timeout=lane.timeout)
        except subprocess.TimeoutExpired:
            return "time-out"
        if status in (0, 5):
            return None
        found = FAILED.search(printed)
        return found.group(1) if found else f"exit {status}: {printed[-200:]}"

    def _near(self, number: int) -> str:
        """Return the folder of tests that most likely kills a mutant that all tests reach."""
        folder = self.mutants[number].path.split("/")[1].strip("_")
        folders = {"optimizers": "tests/optim", "nn": "tests/nn", "ops": "tests/ops", "engine": "tests/engine"}
        return folders.get(folder, "tests/core")

    def run(self, jobs: int) -> None:
        """Try the mutants that have no result yet, ``jobs`` at a time."""
        known = {r["mutant"] for r in self.read()}
        waiting: queue.Queue[int] = queue.Queue()
        for number in sorted(range(len(self.mutants)), key=lambda n: n in self.everywhere):
            if number not in known:
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
            result = self.try_mutant(number, tree)
            with self.lock, open(self.results, "a") as file:
                file.write(json.dumps(result) + "\n")
            print(number, self.mutants[number], result, flush=True)

    def read(self) -> list[dict]:
        """Return the results so far."""
        return [json.loads(line) for line in self.results.read_text().splitlines()] if self.results.exists() else []


def table(trial: Trial) -> str:
    """Return the results as Markdown: killed by lane, then each survivor."""
    results = trial.read()
    killed = Counter(r["lane"] for r in results)
    lines = ["| lane | mutants killed | in all |", "|---|---|---|"]
    total = 0
    for lane in LANES:
        total += killed[lane.name]
        lines.append(f"| {lane.name} | {killed[lane.name]} | {total} of {len(results)} |")
    alive = [f"- `{trial.mutants[r['mutant']]}`" for r in sorted(results, key=lambda r: r["mutant"]) if r["lane"] is None]
    return "\n".join([*lines, "", "Survivors:", "", *alive])


def main() -> int:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(prog="python -m tools.mutants", description=__doc__)
    parser.add_argument("work", type=Path, help="a folder for the trees and the results")
    parser.add_argument("--seed", type=int, default=48)
    parser.add_argument("--count", type=int, default=150)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    given = parser.parse_args()
    given.work.mkdir(parents=True, exist_ok=True)
    work = given.work.resolve()
    mutants = draw(ROOT, AREAS, given.count, given.seed)
    record(work, mutants)
    trial = Trial(work, mutants)
    trial.run(given.jobs)
    print(table(trial))
    return 0


if __name__ == "__main__":
    sys.exit(main())
