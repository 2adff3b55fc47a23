"""Run the uses of packages in both environments, and compare them."""
from __future__ import annotations

import pickle
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from tools.ecosystem import recorded
from tools.ecosystem.compare import difference
from tools.ecosystem.environments import Environment, variables

HERE = Path(__file__).resolve().parent
LIMIT = 600     # Seconds for the uses of one package.


def uses_in(environment: Environment, package: str, uses: tuple[str, ...] = ()) -> dict[str, dict]:
    """Return the results of a package's uses in an environment. The key ``*`` has the reason for a missing result.

    A crash or a hang of a use is recorded as its error. The results of the uses after it are missing.
    """
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder) / "results"
        command = [environment.python, "-P", HERE / "worker.py", HERE / "uses" / f"{package}.py", results, *uses]
        try:
            done = subprocess.run(list(map(str, command)), cwd=folder, env=variables(Path(folder)), capture_output=True,
                                  text=True, check=False, timeout=LIMIT)
            said = done.stderr[-3000:]
            why = f"the process ended with status {done.returncode}"
        except subprocess.TimeoutExpired:
            said, why = "", f"not done after {LIMIT} s"
        if not results.exists():
            return {"*": {"error": f"{why}: {said[-300:]}", "traceback": said}}
        found = pickle.loads(results.read_bytes())
    at = found.pop("at", None)
    if at is not None:
        found[at] = {"error": why, "traceback": said}
    return found


def _judge(expected: dict, actual: dict | None) -> tuple[str, str]:
    """Return the outcome of a use, and the details."""
    if "error" in expected:
        return "not with PyTorch", expected["error"]
    if actual is None or "error" in actual:
        return "fails", "was not run" if actual is None else actual["error"]
    given = actual["values"] if "seconds" in expected else recorded.digest(actual["values"])
    differs = difference(expected["values"], given)
    return ("differs", differs) if differs else ("same", "")


def _expected(package: str, uses: tuple[str, ...], pytorch: Environment | None) -> dict[str, dict]:
    """Run the uses with PyTorch and record what it gives. Without an environment return what was recorded."""
    if pytorch is None:
        kept = recorded.read(package)
        return {use: kept[use] for use in uses or kept if use in kept}
    gave = uses_in(pytorch, package, uses)
    recorded.write(package, gave)
    return gave


def compare(package: str, uses: tuple[str, ...], pytorch: Environment | None, jtorch: Environment,
            write: Callable[[str], object], verbose: bool = False) -> dict[str, dict[str, str]]:
    """Run a package's uses with both libraries. Return for each its outcome and the first line of its error.

    ``pytorch`` is None to compare with what was recorded.
    """
    expected = _expected(package, uses, pytorch)
    actual = uses_in(jtorch, package, uses)
    judged = {}
    for use, gave in expected.items():
        mine = actual.get(use) or actual.get("*")
        result, said = _judge(gave, mine)
        seconds = "" if result != "same" else f" ({gave.get('seconds', 0):.1f} s, {(mine or {}).get('seconds', 0):.1f} s)"
        write(f"{package} {use}: {result}{seconds} {said[:300]}")
        if verbose and result == "fails":
            write((mine or {}).get("traceback", ""))
        if verbose and result == "not with PyTorch":
            write(gave.get("traceback", ""))
        judged[use] = {"result": result, "said": (said.strip().splitlines() or [""])[0][:200]}
    return judged
