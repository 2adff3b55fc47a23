"""The Python files of a package: of a folder, a wheel or a source distribution."""
from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input")


def files(place: Path) -> Iterator[str]:
    """Yield the text of each Python file. Skip files that are not text."""
    for content in _contents(place):
        try:
            yield content.decode()
        except UnicodeDecodeError:
            continue


def _contents(place: Path) -> Iterator[bytes]:
    if place.is_dir():
        yield from (path.read_bytes() for path in sorted(place.rglob("*.py")))
    elif place.suffix == ".py":
        yield place.read_bytes()
    elif zipfile.is_zipfile(place):
        with zipfile.ZipFile(place) as archive:
            yield from (archive.read(name) for name in sorted(archive.namelist()) if name.endswith(".py"))
    else:
        yield from _of_tar(place)


def _of_tar(place: Path) -> Iterator[bytes]:
    with tarfile.open(place) as archive:
        for member in archive:
            found = archive.extractfile(member) if member.name.endswith(".py") else None
            if found is not None:
                yield found.read()


def name_of(place: Path) -> str:
    """Return the package's name: ``einops-0.8.0-py3-none-any.whl`` is einops."""
    stem = place.name.partition("-")[0] if place.suffix in (".whl", ".gz") else place.stem
    return stem.lower().replace("_", "-")


def download(package: str, folder: Path, only_wheels: bool = True) -> Path | None:
    """Download a package with pip, without its dependencies. Return None if pip finds no file.

    Without a wheel pip runs the ``setup.py`` of a source distribution, for its metadata.
    """
    before = set(folder.iterdir())
    wheels = ["--only-binary=:all:"] if only_wheels else ["--prefer-binary"]
    done = subprocess.run([*PIP, "download", "--quiet", "--no-deps", *wheels, "-d", str(folder), package],
                          capture_output=True, check=False)
    return next(iter(sorted(set(folder.iterdir()) - before)), None) if done.returncode == 0 else None
