"""Builds the extension of ``jtorch/speedups`` where there is a C compiler; without one jtorch is installed without it."""
from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FOLDER = Path("jtorch", "speedups")


def build(root: Path) -> Path | None:
    """Compiles the extension beside its sources; None where that does not work."""
    from setuptools import Distribution, Extension
    from setuptools.command.build_ext import build_ext
    before = Path.cwd()
    os.chdir(root)
    try:
        sources = sorted(map(str, FOLDER.glob("*.c")))
        extension = Extension("jtorch.speedups._speedups", sources, depends=[str(FOLDER / "speedups.h")], optional=True)
        command = build_ext(Distribution({"name": "jtorch", "ext_modules": [extension]}))
        command.inplace = command.force = True
        with tempfile.TemporaryDirectory() as objects:
            command.build_temp = command.build_lib = objects        # or what an earlier build left would be taken
            command.ensure_finalized()
            built = root / command.get_ext_fullpath(extension.name)
            built.unlink(missing_ok=True)
            command.run()
        return built if built.exists() else None
    finally:
        os.chdir(before)


class CustomBuildHook(BuildHookInterface):
    """Puts the extension into wheels, which are for this Python and machine then."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """See BuildHookInterface.initialize."""
        if self.target_name != "wheel" or os.environ.get("JTORCH_SPEEDUPS") == "0":
            return
        try:
            built = build(Path(self.root))
        except Exception as error:
            self.app.display_warning(f"jtorch is built without its extension: {error!r}")
            return
        if built is not None:
            build_data["pure_python"], build_data["infer_tag"] = False, True
            build_data["artifacts"].append(str(built.relative_to(self.root)))
