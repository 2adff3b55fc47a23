"""``python -m jtorch.install``: make ``import torch`` give jtorch in all programs of this environment.

It puts packages ``torch`` and ``functorch`` that import jtorch into the environment's site-packages, and metadata by which
pip and ``importlib.metadata`` see the requirement ``torch>=2`` as met. Scripts, pytest, notebooks and their child processes
then get jtorch. ``--remove`` removes exactly these files. The command refuses if PyTorch is installed.
"""
from __future__ import annotations

import argparse
import base64
import hashlib
import importlib.metadata
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

from jtorch._import_hook import FOLDER, INSTALLER, is_ours
from jtorch.version import __version__

TEMPLATE = Path(FOLDER)
PACKAGES = ("torch", "functorch")


class InstallError(RuntimeError):
    """The reason why an environment was not changed."""


def site_packages() -> Path:
    """Return the folder of this interpreter's packages."""
    return Path(sysconfig.get_path("purelib"))


def _installed(site: Path) -> importlib.metadata.Distribution | None:
    """Return the distribution called torch in ``site``, PyTorch's or ours; None if there is none."""
    return next(iter(importlib.metadata.distributions(name="torch", path=[str(site)])), None)


def _check_free(site: Path) -> None:
    found = _installed(site)
    if found is not None and not is_ours(found):
        raise InstallError(f"PyTorch {found.version} is installed in {site}: `pip uninstall torch` first, or use another "
                           "environment")
    if found is None:
        taken = [name for name in PACKAGES if (site / name).exists()]
        if taken:
            raise InstallError(f"{site / taken[0]} exists already, and is not of jtorch")


def _check_importable() -> None:
    """Check that any process finds jtorch: ``-I`` ignores the working directory and PYTHONPATH."""
    look = "import importlib.util, sys; sys.exit(importlib.util.find_spec('jtorch') is None)"
    asked = subprocess.run([sys.executable, "-I", "-c", look], check=False)
    if asked.returncode:
        raise InstallError("jtorch itself is not installed in this environment: `pip install` it first")


def _places(site: Path | None, scripts: Path | None) -> tuple[Path, Path]:
    return (site_packages() if site is None else Path(site),
            Path(sysconfig.get_path("scripts")) if scripts is None else Path(scripts))


_TORCHRUN = "# Made by python -m jtorch.install.\nimport sys\n\nfrom torch.distributed.run import main\n\nsys.exit(main())\n"


def _write_torchrun(scripts: Path) -> Path:
    scripts.mkdir(parents=True, exist_ok=True)
    made = scripts / "torchrun"
    made.write_text(f"#!{sys.executable}\n{_TORCHRUN}")
    made.chmod(0o755)
    return made


def _is_our_torchrun(file: Path) -> bool:
    return file.is_file() and file.read_text(errors="replace").endswith(_TORCHRUN)


def _record_line(site: Path, file: Path) -> str:
    content = file.read_bytes()
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    return f"{Path(os.path.relpath(file, site)).as_posix()},sha256={digest},{len(content)}\n"


def _copy(site: Path) -> list[Path]:
    """Copy the packages and their metadata, and return the files."""
    info = f"torch-{__version__}.dist-info"
    for name, place in [*((p, p) for p in PACKAGES), ("torch.dist-info", info)]:
        shutil.copytree(TEMPLATE / name, site / place, ignore=shutil.ignore_patterns("__pycache__"))
    (site / info / "INSTALLER").write_text(INSTALLER + "\n")
    return sorted(f for place in (*PACKAGES, info) for f in (site / place).rglob("*") if f.is_file())


def install(site: Path | None = None, scripts: Path | None = None) -> Path:
    """Make ``import torch`` give jtorch for the packages in ``site``, and install the command ``torchrun``.

    Args:
        site: the folder of packages; this environment's site-packages, if None.
        scripts: the folder of commands; this environment's, if None.

    Returns:
        The folder of the metadata.

    Raises:
        InstallError: PyTorch or another package called torch is installed, or jtorch is not installed in this environment.

    """
    site, scripts = _places(site, scripts)
    _check_free(site)
    _check_importable()
    remove(site, scripts)
    files = [*_copy(site), _write_torchrun(scripts)]
    info = site / f"torch-{__version__}.dist-info"
    record = "".join(_record_line(site, f) for f in files) + f"{info.name}/RECORD,,\n"
    (info / "RECORD").write_text(record)
    return info


def remove(site: Path | None = None, scripts: Path | None = None) -> bool:
    """Remove what ``install`` put into ``site`` and ``scripts``; return whether there was anything.

    Raises:
        InstallError: the installed package is PyTorch.

    """
    site, scripts = _places(site, scripts)
    found = _installed(site)
    if found is None:
        return False
    if not is_ours(found):
        raise InstallError(f"PyTorch {found.version} in {site} was not installed by jtorch, which leaves it alone")
    for place in (*PACKAGES, f"torch-{found.version}.dist-info"):
        shutil.rmtree(site / place, ignore_errors=True)
    if _is_our_torchrun(scripts / "torchrun"):
        (scripts / "torchrun").unlink()
    return True


def main(argv: list[str] | None = None) -> int:
    """Run the command, and return its exit status."""
    parser = argparse.ArgumentParser("python -m jtorch.install", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--remove", action="store_true", help="take it away again")
    given = parser.parse_args(argv)
    try:
        if given.remove:
            said = f"{'removed' if remove() else 'nothing to remove'} in {site_packages()}"
        else:
            said = f"`import torch` is jtorch now, in {install().parent}; `python -m jtorch.install --remove` undoes it"
    except InstallError as error:
        sys.stderr.write(f"python -m jtorch.install: {error}\n")
        return 1
    sys.stdout.write(said + "\n")
    return 0
