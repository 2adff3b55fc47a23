"""Check a source distribution for missing files: ``python tools/sdist.py dist/jtorch_jax-….tar.gz``."""
from __future__ import annotations

import subprocess
import sys
import tarfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
# hatchling adds .gitignore itself; the others belong to the repository only.
LEFT_OUT = (".gitignore", ".github/", ".ci/")


def missing(archive: str) -> list[str]:
    """Return the tracked files missing in the archive."""
    with tarfile.open(archive) as tar:
        there = {name.partition("/")[2] for name in tar.getnames()}
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\0")
    return sorted(f for f in tracked if f and f not in there and not f.startswith(LEFT_OUT) and (ROOT / f).exists())


if __name__ == "__main__":
    lost = [f"{archive} lacks {name}" for archive in sys.argv[1:] for name in missing(archive)]
    print("\n".join(lost) or "The source distribution is complete.")
    sys.exit(bool(lost))
