"""``python -m tools.ecosystem.checked``: read packages' sources with ``python -m jtorch check``, and write checked.json.

pip downloads each package without its dependencies, into ``--folder`` or a temporary one. The sources are only read.
"""
from __future__ import annotations

import argparse
import json
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path
from typing import Any

from jtorch.check.command import checked
from jtorch.check.project import Report
from tools.ecosystem.names import sources
from tools.ecosystem.packages import ONLY_READ, PACKAGES

RESULTS, RUN = Path(__file__).with_name("checked.json"), Path(__file__).with_name("results.json")
TESTS = {"test", "tests"}       # folders that are not read


def unpack(archive: Path, folder: Path) -> None:
    """Write the Python files of a wheel or a source distribution into a folder, without tests."""
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as wheel:
            wheel.extractall(folder, [name for name in wheel.namelist() if _is_source(name)])
    else:
        with tarfile.open(archive) as source:
            source.extractall(folder, [m for m in source.getmembers() if m.isfile() and _is_source(m.name)], filter="data")


def _is_source(name: str) -> bool:
    return name.endswith(".py") and TESTS.isdisjoint(Path(name).parts[:-1])


def summary(report: Report) -> dict[str, Any]:
    """Return how many of PyTorch's names a package uses, and which of them jtorch lacks or refuses, by kind."""
    absent = {kind: sorted({f.name for f in report.of(kind)} & report.absent) for kind in ("missing", "refused", "guarded")}
    absent["guarded"] = [name for name in absent["guarded"] if name not in absent["missing"] + absent["refused"]]
    return {"names": len(report.names), **{kind: names for kind, names in absent.items() if names}}


def read(archive: Path) -> dict[str, Any]:
    """Return a package's version and its summary."""
    with tempfile.TemporaryDirectory() as folder:
        unpack(archive, Path(folder))
        return {"version": version_of(archive), **summary(checked([Path(folder)]))}


def version_of(archive: Path) -> str:
    """Return the version in a file's name: ``einops-0.8.0-py3-none-any.whl`` is of 0.8.0."""
    return archive.name.removesuffix(".tar.gz").removesuffix(".zip").split("-")[1 if archive.suffix == ".whl" else -1]


def requirements() -> dict[str, str]:
    """Return pip's requirement for each distribution: the version that was run, or the newest."""
    run = json.loads(RUN.read_text())
    ran = {PACKAGES[name][0]: f"{PACKAGES[name][0]}=={one['version']}" for name, one in run.items()}
    return {**ran, **{name: name for name in ONLY_READ}}


def _archive(name: str, requirement: str, folder: Path) -> Path | None:
    place = folder / name
    place.mkdir(parents=True, exist_ok=True)
    return next(iter(sorted(place.iterdir())), None) or sources.download(requirement, place, only_wheels=False)


def main() -> int:
    """Read the packages, and write the file. Return 1 if pip finds no file of one."""
    parser = argparse.ArgumentParser("python -m tools.ecosystem.checked", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("packages", nargs="*", help="distributions; all, if none are named")
    parser.add_argument("--folder", type=Path, help="where archives are kept")
    given = parser.parse_args()
    known = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    wanted = requirements()
    lost = []
    with tempfile.TemporaryDirectory() as temporary:
        for name in given.packages or wanted:
            archive = _archive(name, wanted[name], given.folder or Path(temporary))
            if archive is None:
                lost.append(name)
                continue
            known[name] = read(archive)
    known = {name: known[name] for name in sorted(known, key=str.lower) if name in wanted}
    RESULTS.write_text(json.dumps(known, indent=1) + "\n")
    sys.stdout.write(f"{len(known)} packages are in {RESULTS.name}\n" + "".join(f"no file of {name}\n" for name in lost))
    return int(bool(lost))


if __name__ == "__main__":
    sys.exit(main())
