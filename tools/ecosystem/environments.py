"""Two environments with the same packages: in one ``import torch`` is jtorch, in the other it is PyTorch.

Packages of the running environment (JAX, NumPy, PyTorch) are not installed again. Two folders have links to them: one without
PyTorch, one with PyTorch only. ``.pth`` files add the folders to the paths. Other packages are installed once, in the
environment with jtorch, and the other environment has links to the same files.
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
VERSION = "2.13.0"      # The version of PyTorch.
CONSTRAINTS = "constraints.txt"
PIP = ("-m", "pip", "--disable-pip-version-check", "--no-input")


@dataclass(frozen=True)
class Environment:
    """A virtual environment."""

    folder: Path

    @property
    def python(self) -> Path:
        """Return the path of its interpreter."""
        return self.folder / "bin" / "python"

    @property
    def site(self) -> Path:
        """Return the folder of its packages."""
        return Path(sysconfig.get_path("purelib", "venv", {"base": str(self.folder)}))

    def run(self, *arguments: str) -> None:
        """Run its interpreter without output. An error has the output of the run."""
        done = subprocess.run([str(self.python), *arguments], capture_output=True, text=True, check=False, cwd=self.folder)
        if done.returncode:
            raise RuntimeError(f"{' '.join(arguments)}:\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}")


def _links(source: Path, target: Path, wanted: Callable[[str], object]) -> Path:
    """Make a folder of links to the wanted entries of ``source``."""
    target.mkdir(parents=True, exist_ok=True)
    names = {item.name for item in source.iterdir() if wanted(item.name)}
    for link in target.iterdir():
        if link.is_symlink() and (link.name not in names or not link.exists()):
            link.unlink()
    for name in sorted(names):
        if not (target / name).exists():
            (target / name).symlink_to(source / name)
    return target


def _place(folder: Path, name: str) -> Path:
    """Return where links are made. Packages such as dill tell a library's modules by ``site-packages`` in their paths."""
    return folder / "links" / name / "site-packages"


def _make(folder: Path, paths: Iterable[Path]) -> Environment:
    made = Environment(folder)
    if not made.python.exists():
        venv.create(folder, with_pip=False, symlinks=True)
    (made.site / "ecosystem.pth").write_text("".join(f"{path}\n" for path in paths))
    return made


def _is_shared(name: str) -> bool:
    """Return whether both environments share an entry: all but PyTorch and the links of an installed jtorch."""
    return not PYTORCH.match(name) and not name.endswith(".pth") and name != "__pycache__"


def with_jtorch(folder: Path, here: Path) -> Environment:
    """Make the environment with jtorch as torch. ``here`` is the package folder of the running environment."""
    shared = _links(here, _place(folder, "shared"), _is_shared)
    own = _links(ROOT, _place(folder, "own"), lambda name: name == "jtorch")
    made = _make(folder / "jtorch", [own, shared])
    made.run("-m", "jtorch.install")
    (folder / CONSTRAINTS).write_text(f"torch=={VERSION}\n")       # A newer torchvision would need a newer PyTorch.
    return made


def with_pytorch(folder: Path, here: Path, jtorch: Environment, linked: bool) -> Environment:
    """Make the environment with PyTorch and the packages of the other environment.

    With ``linked`` it has the PyTorch of the running environment. Otherwise, or if there is none, it has the PyTorch of the
    index. Compiled parts of other packages link to that build; a build for CPUs only lacks some of its symbols.
    """
    shared = _place(folder, "shared")
    pytorch = _links(here, _place(folder, "pytorch"), PYTORCH.match if linked else lambda name: False)
    packages = _links(jtorch.site, _place(folder, "packages"), _is_shared)
    made = _make(folder / "pytorch", [pytorch, packages, shared])
    if not any(pytorch.iterdir()) and not any(made.site.glob("torch-*")):
        # The operator === excludes builds with a local version.
        made.run(*PIP, "install", "--quiet", f"torch==={VERSION}")
    return made


def install(environment: Environment, requirements: Sequence[str], write: Callable[[str], object]) -> set[str]:
    """Install packages together, or one by one if that fails. Return the packages that could not be installed."""
    try:
        environment.run(*PIP, "install", "--quiet", "-c", str(environment.folder.parent / CONSTRAINTS), *requirements)
        return set()
    except RuntimeError as error:
        if len(requirements) == 1:
            write(f"cannot install {requirements[0]}: {str(error)[-600:]}")
            return set(requirements)
    return {bad for one in requirements for bad in install(environment, [one], write)}


def site_here() -> Path:
    """Return the package folder of the running interpreter."""
    return Path(sysconfig.get_path("purelib"))


def variables(folder: Path) -> dict[str, str]:
    """Return the environment variables for the scripts in ``uses``: no network, and none of the user's settings."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR", "JTORCH_CACHE") if name in os.environ}
    return {**kept, "HOME": str(folder), "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false", "MPLBACKEND": "Agg",
            "PYTHONWARNINGS": "ignore", "OMP_NUM_THREADS": "2", "WANDB_MODE": "disabled"}
