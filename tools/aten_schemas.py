"""Writes the schemas of PyTorch's operators: ``python -m tools.aten_schemas``. Needs PyTorch; ``--check`` compares."""
from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import torch

import jtorch
from jtorch._library.aten import function_of
from jtorch._library.schema import parse_schema

HERE = Path(jtorch.__file__).parent
FILE = HERE / "_base" / "aten_schemas.txt"
COMPOSITES = HERE / "_library" / "aten_composites.txt"
_TYPES = set("Tensor int SymInt float bool str Scalar ScalarType Device Layout MemoryFormat Generator complex".split())


def _is_plain(schema) -> bool:
    """Return whether a schema is free of TorchScript's containers and type variables."""
    return all(v.type.base() in _TYPES for v in (*schema.arguments, *schema.returns)) and not schema.is_vararg


def _is_of_tensors(name: str, given: Any) -> bool:
    """Return whether an operator is more than a TorchScript builtin for strings, lists and numbers."""
    if name[0].isupper() or name.startswith("__"):
        return False
    return name.startswith(("_assert", "sym_")) or "Tensor" in str(given)


def written() -> str:
    """Return the text of ``aten_schemas.txt``: the schemas, one a line, sorted by operator."""
    lines = []
    for given in torch._C._jit_get_all_schemas():
        name = given.name.removeprefix("aten::")
        if given.name == name or (function_of(name) is None and not _is_of_tensors(name, given)):
            continue
        if not any("Tensor" in str(a.type) for a in given.arguments) and given.overload_name in (
                "int", "float", "complex", "str", "int_float", "float_int", "int_complex", "complex_int", "float_complex",
                "complex_float", "bool", "t", "Scalar") and not given.arguments[-1].kwarg_only:
            continue
        if given.overload_name.startswith("list_"):     # These are overloads of Python's lists.
            continue
        text = str(given).strip().replace("b|a", "a|b")
        try:
            if _is_plain(parse_schema(text)):
                lines.append(text.removeprefix("aten::"))
        except RuntimeError:
            continue
    order = {line: i for i, line in enumerate(lines)}
    return "".join(f"{line}\n" for line in sorted(order, key=lambda line: (line.split("(")[0].split(".")[0], order[line])))


def composites() -> str:
    """Return the names of the composite operators, one a line."""
    names = [line.partition("(")[0] for line in written().splitlines()]
    return "".join(f"{name}\n" for name in names if _is_composite(name))


def _is_composite(name: str) -> bool:
    try:
        return torch._C._dispatch_has_kernel_for_dispatch_key(f"aten::{name}", "CompositeImplicitAutograd")
    except RuntimeError:        # This is an operator of TorchScript.
        return False


def main() -> int:
    """Write the files, or with --check compare them; return the exit status."""
    texts = {FILE: written(), COMPOSITES: composites()}
    if "--check" in sys.argv:
        return int(any(file.read_text() != text for file, text in texts.items()))
    for file, text in texts.items():
        file.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
