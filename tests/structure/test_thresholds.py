"""Numbers that decide something are in ``engine/policy.py``, and estimated costs in ``engine/cost.py``."""
from __future__ import annotations

import ast
from pathlib import Path

import jtorch

ENGINE = Path(jtorch.__file__).parent / "engine"
MOST = 33       # Upper limit for the thresholds in policy.py. A new threshold needs a reason that holds for a kind of programs.
# These numbers decide nothing about compiling or running.
OTHER = {
    "ALIGNMENT": "XLA's", "MAPPED": "glibc's", "_TRIM_THRESHOLD": "glibc's", "_MMAP_THRESHOLD": "glibc's", "_MOST": "OpenBLAS's",
    "NOWHERE": "no slot", "UNKNOWN": "no number yet", "CALLS_SHOWN": "a text's length", "IDLE": "a process's end",
    "MAX_BYTES": "the disk cache's size",
}


def numbers_of(path):
    """Yield the constants of a module that stand for numbers."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if not isinstance(node, ast.Assign):
            continue
        target, value = node.targets[0], node.value
        names = target.elts if isinstance(target, ast.Tuple) else [target]
        values = value.elts if isinstance(value, ast.Tuple) and isinstance(target, ast.Tuple) else [value] * len(names)
        for name, given in zip(names, values, strict=False):
            inside = [n for n in ast.walk(given) if not isinstance(n, (ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop))]
            if all(isinstance(n, ast.Constant) and isinstance(n.value, (int, float)) and not isinstance(n.value, bool) for n in inside):
                yield from [name.id] if name.id.isupper() else []


def test_thresholds_are_in_one_file_and_few():
    found = {path.relative_to(ENGINE).as_posix(): [*numbers_of(path)] for path in sorted(ENGINE.rglob("*.py"))}
    assert len(found.pop("policy.py")) <= MOST
    found.pop("cost.py")
    assert [(path, n) for path, names in found.items() for n in names if n not in OTHER] == []
    assert OTHER.keys() <= {n for names in found.values() for n in names}
