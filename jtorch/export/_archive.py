"""Program files: a zip archive of the StableHLO, the state and a description. See torch.export.save."""
from __future__ import annotations

import io
import json
import zipfile
from dataclasses import asdict, fields
from typing import Any

from jtorch.engine import stablehlo
from jtorch.export._program_module import Description
from jtorch.export.exported_program import ExportedProgram
from jtorch.serialization import load as load_tensors
from jtorch.serialization import save as save_tensors
from jtorch.utils._pytree import treespec_dumps, treespec_loads

VERSION = 1


def write(program: ExportedProgram, f: Any, extra_files: dict[str, Any] | None = None) -> None:
    """Write a program to a path or a file."""
    described = asdict(program._description)
    for name in ("in_form", "out_form"):
        described[name] = treespec_dumps(getattr(program._description, name))
    with zipfile.ZipFile(f, "w") as z:
        z.writestr("version", str(VERSION))
        z.writestr("program.stablehlo", stablehlo.serialized(program._program))
        z.writestr("state.pt", _bytes({n: t.detach() for n, t in program._state.items()}))
        z.writestr("description.json", json.dumps(described))
        for name, content in (extra_files or {}).items():
            z.writestr(f"extra_files/{name}", content)


def read(f: Any, extra_files: dict[str, Any] | None = None, map_location: Any = None) -> ExportedProgram:
    """Return the program in a file; ``extra_files`` gets the content of the files that it names."""
    with zipfile.ZipFile(f) as z:
        if "program.stablehlo" not in z.namelist():
            raise NotImplementedError("this file holds no StableHLO program. What PyTorch itself has exported can't be read: "
                                      "export the model here")
        if int(z.read("version")) > VERSION:
            raise RuntimeError(f"the file is of version {int(z.read('version'))}, which is newer than this library reads")
        described = json.loads(z.read("description.json"))
        state = load_tensors(io.BytesIO(z.read("state.pt")), map_location=map_location)
        program = stablehlo.deserialized(z.read("program.stablehlo"))
        for name in extra_files or ():
            extra_files[name] = z.read(f"extra_files/{name}").decode()      # type: ignore[index]
    for name in ("in_form", "out_form"):
        described[name] = treespec_loads(described[name])
    return ExportedProgram(program, state, Description(**{k.name: described[k.name] for k in fields(Description)}))


def _bytes(tree: Any) -> bytes:
    held = io.BytesIO()
    save_tensors(tree, held)
    return held.getvalue()
