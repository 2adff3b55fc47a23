"""What of PyTorch's ops differs in jtorch, and why. Read by the op matrix, printed as docs/differences.md."""
from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Difference:
    """One difference: of an op (``linalg.eigh``, or with PyTorch's name for its samples, ``norm.nuc``), and why."""

    op: str
    reason: str
    checks: tuple[str, ...] = ("value",)    # of: value, gradient, second gradient, method, in-place, out, view
    dtypes: tuple[str, ...] = ()            # none: all
    says: str = ""                          # what the failure's text holds
    always: bool = False                    # shows on every sample, so that a run without it means that it is mended

    def covers(self, op: str, dtype: str, check: str, text: str) -> bool:
        """Whether a failure is this difference."""
        return self.op == op and check in self.checks and dtype in (self.dtypes or (dtype,)) and self.says in text


DIFFERENCES: tuple[Difference, ...] = ()
