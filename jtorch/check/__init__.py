"""``python -m jtorch check``: the PyTorch names that a project uses, and what jtorch lacks. The package imports no JAX."""
from __future__ import annotations

import os
import sys


def is_command(script: str) -> bool:
    """Return whether ``python -m jtorch <script>`` means the command, and not a file of this name."""
    return script == "check" and not os.path.isfile("check")


def run_if_asked() -> None:
    """End the process with the command's status if Python was started as ``python -m jtorch check``.

    Python imports a package before its ``__main__``; ``sys.argv`` begins with ``-m`` until then.
    """
    started = sys.orig_argv[len(sys.orig_argv) - len(sys.argv)]      # the module's name: `jtorch` or `-mjtorch`
    if started in ("jtorch", "-mjtorch") and is_command(sys.argv[1]):
        from jtorch.check.command import main
        sys.exit(main(sys.argv[2:]))
