"""The examples on a machine with a GPU. ``train_digits.py`` uses the GPU, the others name no device."""
from __future__ import annotations

import runpy
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tools.gpu.child import ROOT, run
from tools.gpu.line import LATE, SKIPPED, Line
from tools.gpu.stand_in import jtorch_with

# Each entry has a file, its arguments, and its arguments for a quick run.
EXAMPLES: tuple[tuple[str, list[str], list[str]], ...] = (
    ("train_digits.py", ["--epochs", "30", "--device", "cuda"], ["--epochs", "15", "--device", "cuda"]),
    ("vae_digits.py", ["--epochs", "20"], ["--epochs", "1"]),
    ("char_lm.py", ["--steps", "300", "--write", "60"], ["--steps", "2", "--batch", "2", "--write", "2"]),
    ("compare_with_jax_grad.py", [], []), ("engine_report.py", [], []),
)
LIMIT = 60.0        # Limit of each example in seconds.
ONLY_FULL = "engine_report.py"      # This example needs all of its hundreds of steps.


def run_all(seconds: float, tiny: bool) -> Iterator[Line]:
    """Run the examples one after another within this many seconds. Yield a line for each."""
    with tempfile.TemporaryDirectory() as folder:
        for name, full, quick in EXAMPLES:
            if tiny and name == ONLY_FULL:
                yield Line("examples", name, SKIPPED, detail="only in full size")
                continue
            limit = min(LIMIT, seconds)
            if limit < 1:
                yield Line("examples", name, LATE, detail="the part's time was up")
                continue
            arguments = ["-m", "tools.gpu.examples", "stand-in" if tiny else "gpu", name, *(quick if tiny else full)]
            ended = run(arguments, limit, tiny, Path(folder))
            seconds -= ended.seconds
            yield ended.line("examples", name)


def main() -> None:
    """Run one example in this process."""
    where, name, *arguments = sys.argv[1:]
    jtorch_with(where == "stand-in")
    sys.argv = [name, *arguments]
    runpy.run_path(str(ROOT / "examples" / name), run_name="__main__")


if __name__ == "__main__":
    main()
