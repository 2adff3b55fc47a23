"""Build the extensions in C and C++. Without a compiler jtorch is installed without them.

One extension is in ``jtorch/speedups``. The other one, in ``jtorch/ops/_onednn``, calls oneDNN. It needs the headers that
``build-system`` in pyproject.toml requires.
"""
from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SPEEDUPS, ONEDNN = Path("jtorch", "speedups"), Path("jtorch", "ops", "_onednn")


def build(root: Path) -> Path | None:
    """Compile the extension of ``jtorch/speedups`` beside its sources. Return its file, or None if that fails."""
    sources = [str(path.relative_to(root)) for path in sorted((root / SPEEDUPS).glob("*.c"))]
    return _built(root, "jtorch.speedups._speedups", sources, depends=[str(SPEEDUPS / "speedups.h")],
                  extra_compile_args=["-ffp-contract=off", "-fno-math-errno"])      # normals.c explains these options.


def build_onednn(root: Path) -> Path | None:
    """Compile the extension that calls oneDNN. Return its file, or None if that fails or headers are missing."""
    headers = [folder for folder in (_headers_of_oneDNN(), _headers_of_jaxlib()) if folder is not None]
    if len(headers) < 2:
        return None
    sources = [str(path.relative_to(root)) for path in sorted((root / ONEDNN).glob("*.cc"))]
    return _built(root, "jtorch.ops._onednn._handlers", sources, depends=[str(ONEDNN / "onednn.h")], include_dirs=headers,
                  extra_compile_args=["-std=c++17", "-O3", "-fno-math-errno", "-fno-trapping-math", "-Wno-return-type",
                                      "-Wno-sign-compare"])


def _headers_of_oneDNN() -> str | None:
    try:
        files = importlib.metadata.files("onednn-devel-cpu-gomp") or []
    except importlib.metadata.PackageNotFoundError:
        return None
    found = [Path(str(f.locate())).resolve().parents[2] for f in files if f.match("oneapi/dnnl/dnnl.h")]
    return str(found[0]) if found else None


def _headers_of_jaxlib() -> str | None:
    found = importlib.util.find_spec("jaxlib")
    return str(Path(found.origin).parent / "include") if found is not None and found.origin else None


def _built(root: Path, name: str, sources: list[str], **how: Any) -> Path | None:
    from setuptools import Distribution, Extension
    from setuptools.command.build_ext import build_ext
    before = Path.cwd()
    os.chdir(root)
    try:
        extension = Extension(name, sources, optional=True, **how)
        command: Any = build_ext(Distribution({"name": "jtorch", "ext_modules": [extension]}))
        command.build_extensions = partial(_build_extensions, command)
        command.inplace = command.force = True
        with tempfile.TemporaryDirectory() as objects:
            # The folder is empty, so nothing of an earlier build is used.
            command.build_temp = command.build_lib = objects
            command.ensure_finalized()
            built = root / command.get_ext_fullpath(extension.name)
            built.unlink(missing_ok=True)
            command.run()
        return built if built.exists() else None
    finally:
        os.chdir(before)


def _build_extensions(command: Any) -> None:
    """Build extensions as setuptools does, with as many sources at once as there are cores."""
    compile_some = command.compiler.compile

    def compile_all(sources: list[str], **how: Any) -> list[str]:
        made = compile_some(sources[:1], **how)     # The first call finds and prepares the compiler.
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            later = list(pool.map(lambda source: compile_some([source], **how), sources[1:]))
        return [*made, *(path for paths in later for path in paths)]
    command.compiler.compile = compile_all
    type(command).build_extensions(command)


class CustomBuildHook(BuildHookInterface):
    """Put the extensions into a wheel, which then fits only this Python and machine."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the extensions, and add those that could be built to the wheel."""
        if self.target_name != "wheel" or os.environ.get("JTORCH_SPEEDUPS") == "0":
            return
        for what, make in (("its extension", build), ("oneDNN", build_onednn)):
            try:
                built = make(Path(self.root))
            except Exception as error:
                self.app.display_warning(f"jtorch is built without {what}: {error!r}")
                continue
            if built is not None:
                build_data["pure_python"], build_data["infer_tag"] = False, True
                build_data["artifacts"].append(str(built.relative_to(self.root)))
