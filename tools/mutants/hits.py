"""Record which tests reach which mutant, so that a mutant is tried on those tests alone.

``instrument`` adds a call of ``__mutant_hit__`` before each statement that a mutant changes. The module ``RECORDER`` defines the
call. A ``.pth`` file imports it in every process of the environment, also in those that a test starts.
"""
from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

from tools.mutants.sites import Mutant, line_starts

RECORDER = '''
import builtins, os
seen, file = set(), None
def hit(number):
    global file
    test = os.environ.get("MUTANT_TEST", "")        # A process may be forked from one that an earlier test has started.
    if "MUTANT_HITS" in os.environ and (number, test) not in seen:
        seen.add((number, test))
        if file is None or file[0] != os.getpid():
            file = os.getpid(), open(os.path.join(os.environ["MUTANT_HITS"], str(os.getpid())), "a", buffering=1)
        file[1].write(f"{number}\\t{test}\\n")
builtins.__mutant_hit__ = hit
'''


def instrument(root: Path, site_packages: Path, mutants: list[Mutant]) -> None:
    """Change the tree at ``root``, and the environment that runs it, so that tests record the mutants they reach."""
    (site_packages / "mutant_hits.py").write_text(RECORDER)
    (site_packages / "mutant_hits.pth").write_text("import mutant_hits\n")
    by_path = defaultdict(list)
    for number, mutant in enumerate(mutants):
        by_path[mutant.path].append((number, mutant))
    for path, those in by_path.items():
        file = root / path
        source = file.read_bytes()
        tree = ast.parse(source)
        places = [(number, place) for number, m in those if (place := _statement(tree, source, m)) is not None]
        for number, (body, statement) in places:
            call = ast.parse(f"__mutant_hit__({number})").body[0]
            body.insert(body.index(statement), call)
        file.write_text(ast.unparse(ast.fix_missing_locations(tree)))


def at_import(root: Path, mutants: list[Mutant]) -> set[int]:
    """Return the numbers of the mutants that lie outside functions: every test reaches these."""
    found = set()
    for number, m in enumerate(mutants):
        source = (root / m.path).read_bytes()
        if _statement(ast.parse(source), source, m) is None:
            found.add(number)
    return found


def _statement(tree: ast.Module, source: bytes, mutant: Mutant) -> tuple[list, ast.stmt] | None:
    """Return the innermost statement of a function around a mutant, with the list that holds it."""
    starts = line_starts(source)
    found = None

    def visit(node: ast.AST, in_function: bool) -> None:
        nonlocal found
        for name, value in ast.iter_fields(node):
            inside = in_function or (isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and name == "body")
            for child in value if isinstance(value, list) else [value]:
                if not isinstance(child, ast.AST):
                    continue
                if isinstance(child, ast.stmt):
                    begin = starts[child.lineno - 1] + child.col_offset
                    end = starts[child.end_lineno - 1] + child.end_col_offset    # type: ignore[operator]
                    if inside and begin <= mutant.start and mutant.end <= end:
                        found = value, child
                visit(child, inside)
    visit(tree, False)
    return found


def read(folder: Path) -> dict[int, set[str]]:
    """Return, by number of mutant, the tests that reached it; the empty name stands for imports and collection."""
    found: dict[int, set[str]] = defaultdict(set)
    for file in folder.iterdir():
        for line in file.read_text().splitlines():
            number, _, test = line.partition("\t")
            if number.isdigit():
                found[int(number)].add(test)
    return found
