"""Two environments with the same packages: in one ``import torch`` is jtorch, in the other it is PyTorch.

What the environment that runs this has already (JAX, NumPy, PyTorch) is not installed again: folders of links to it, without
PyTorch and with nothing but PyTorch, are put on the paths by ``.pth`` files. Packages are installed once, where jtorch is
torch, and the other environment has links to the same files.
"""
from __future__ import annotations

import os
import re
import subprocess
import sysconfig
import venv
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PYTORCH = re.compile(r"(torch|functorch|torchgen)(-[^-]*\.dist-info)?$")
VERSION = "2.13.0"      # of PyTorch
CONSTRAINTS = "constraints.txt"
PIP = ("-m", "pip", "--disable-pip-version-check", "--no-input")


@dataclass(frozen=True)
class Environment:
    """A virtual environment."""

    folder: Path

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.folder / "bin" / "python"

    @property
    def site(self) -> Path:
        """Where its packages are."""
        return Path(sysconfig.get_path("purelib", "venv", {"base": str(self.folder)}))

    def run(self, *arguments: str) -> None:
        """Runs its interpreter, quietly; what it said is in the error, if there is one."""
        done = subprocess.run([str(self.python), *arguments], capture_output=True, text=True, check=False, cwd=self.folder)
        if done.returncode:
            raise RuntimeError(f"{' '.join(arguments)}:\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}")


def _links(source: Path, target: Path, wanted: Callable[[str], object]) -> Path:
    """A folder of links to what is in ``source``, as far as its name is wanted."""
    target.mkdir(parents=True, exist_ok=True)
    names = {item.name for item in source.iterdir() if wanted(item.name)}
    for link in target.iterdir():
        if link.is_symlink() and (link.name not in names or not link.exists()):
            link.unlink()
    for name in sorted(names):
        if not (target / name).exists():
            (target / name).symlink_to(source / name)
    return target


def _make(folder: Path, paths: Iterable[Path]) -> Environment:
    made = Environment(folder)
    if not made.python.exists():
        venv.create(folder, with_pip=False, symlinks=True)
    (made.site / "ecosystem.pth").write_text("".join(f"{path}\n" for path in paths))
    return made


def _is_shared(name: str) -> bool:
    """What of the running environment is for both: all but PyTorch, and but the links to jtorch that an install made."""
    return not PYTORCH.match(name) and not name.endswith(".pth") and name != "__pycache__"


def with_jtorch(folder: Path, here: Path) -> Environment:
    """The environment in which jtorch is torch; ``here`` is where the running environment's packages are."""
    shared = _links(here, folder / "links" / "shared", _is_shared)
    made = _make(folder / "jtorch", [ROOT, shared])
    made.run("-m", "jtorch.install")
    (folder / CONSTRAINTS).write_text(f"torch=={VERSION}\n")       # not a newer PyTorch, which a newer torchvision needs
    return made


def with_pytorch(folder: Path, here: Path, jtorch: Environment, linked: bool) -> Environment:
    """The environment with PyTorch and the packages of the other one.

    ``linked``: with the PyTorch of the running environment. Otherwise, or if it has none, with that of the index, which has
    what compiled parts of packages of the index link to; one built for CPUs only does not.
    """
    shared = folder / "links" / "shared"
    pytorch = _links(here, folder / "links" / "pytorch", PYTORCH.match if linked else lambda name: False)
    packages = _links(jtorch.site, folder / "links" / "packages", _is_shared)
    made = _make(folder / "pytorch", [pytorch, packages, shared])
    if not any(pytorch.iterdir()) and not any(made.site.glob("torch-*")):
        made.run(*PIP, "install", "--quiet", f"torch==={VERSION}")      # and no build of it with a name of its own
    return made


def install(environment: Environment, requirements: Sequence[str], write: Callable[[str], object]) -> set[str]:
    """Installs packages: together, or one by one where that fails. Gives those that could not be installed."""
    try:
        environment.run(*PIP, "install", "--quiet", "-c", str(environment.folder.parent / CONSTRAINTS), *requirements)
        return set()
    except RuntimeError as error:
        if len(requirements) == 1:
            write(f"cannot install {requirements[0]}: {str(error)[-600:]}")
            return set(requirements)
    return {bad for one in requirements for bad in install(environment, [one], write)}


def site_here() -> Path:
    """Where the packages of the interpreter that runs this are."""
    return Path(sysconfig.get_path("purelib"))


def variables(folder: Path) -> dict[str, str]:
    """What uses are run with: no network, no settings of the person who runs them."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR", "JTORCH_CACHE") if name in os.environ}
    return {**kept, "HOME": str(folder), "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false", "MPLBACKEND": "Agg",
            "PYTHONWARNINGS": "ignore", "OMP_NUM_THREADS": "2", "WANDB_MODE": "disabled"}
