"""List the lanes of the tests in the order in which the mutants run through them, the quickest first."""
from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Lane:
    """One call of pytest."""

    name: str
    arguments: tuple[str, ...]
    env: dict[str, str] = field(default_factory=dict)
    timeout: int = 900            # seconds of CPU time; a mutant with a hang counts as killed
    after: str = ""             # the name of an earlier lane, whose tests are left out


CORE = "tests/core"
SEED = "--matrix-seed=1"
PYTHON = "@.ci/without_extension"
BY_PYTHON = {"JTORCH_SPEEDUPS": "0", "JTORCH_ONEDNN": "0"}
# The structure tests read sources, and sources are instrumented while hits are recorded.
WITHOUT_STRUCTURE = "--ignore=tests/structure"

LANES = [
    Lane("fast", ("--lane=fast", SEED, WITHOUT_STRUCTURE, "tests"), {"MUTANT_WITHOUT_TORCH": "1"}),
    Lane("with PyTorch", ("--lane=all", SEED, WITHOUT_STRUCTURE, "tests"), after="fast"),
    Lane("hot", ("--lane=fast", "--every=10", CORE), {"JTORCH_ENGINE": "hot"}),
    Lane("eager", ("--lane=fast", "--every=5", CORE), {"JTORCH_ENGINE": "eager"}),
    Lane("python", ("--lane=fast", "--every=3", PYTHON), BY_PYTHON),
    Lane("nightly", ("--lane=nightly", "-mnightly", SEED, WITHOUT_STRUCTURE, "tests")),
    Lane("nightly hot", ("--lane=nightly", "-mslow or nightly or one_mode", CORE), {"JTORCH_ENGINE": "hot"}),
    Lane("nightly eager", ("--lane=nightly", "-mslow or nightly or one_mode", CORE), {"JTORCH_ENGINE": "eager"}),
]
