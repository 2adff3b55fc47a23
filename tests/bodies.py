"""Make bodies for ``same``: a decorator collects programs, and a program runs with each entry of a table."""
from __future__ import annotations

import ast
import functools
import hashlib
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import CodeType, FunctionType
from typing import Any


class Programs(list[Callable]):
    """Collect the functions that an instance decorates, for ``pytest.mark.parametrize(…, ids=words)``."""

    def __call__(self, program: Callable) -> Callable:
        self.append(program)
        return program


def bodies(program: Callable, table: Mapping[str, Any] | Iterable[Any], *more: Any) -> list[Callable]:
    """Make a body for each entry of a table: ``program(xp, entry, *more)``.

    A dict names its entries; other entries have their source as name. A body's label ends with a hash of all the code it
    runs, so a recorded outcome of another program is never used for it.
    """
    named = table.items() if isinstance(table, Mapping) else ((written(entry), entry) for entry in table)
    ending = "".join(f", {written(value)}" for value in more)
    return [body(program, name + ending, entry, *more) for name, entry in named]


def body(program: Callable, name: str, *given: Any) -> Callable:
    """Make the body ``program(xp, *given)``. Its ``name`` is unique among the bodies of the program."""
    def run(xp: Any) -> Any:
        return program(xp, *given)
    run.label = f"{words(program)} of {name} #{digest(program, *given)}"
    return run


def words(program: Callable) -> str:
    """Read a function's name as words."""
    return program.__name__.strip("_").replace("_", " ")


def written(entry: Any) -> str:
    """Return an entry as it stands in its table: what a lambda returns, a function's name, or the value."""
    if not isinstance(entry, FunctionType):
        return entry if isinstance(entry, str) else getattr(entry, "__name__", repr(entry))
    return _returned(source(entry)) if entry.__name__ == "<lambda>" else words(entry)


@functools.cache
def _returned(text: str) -> str:
    """Return the result expression of the first lambda of a text. The lambda is the longest part from there on that
    parses as one.
    """
    text = text[text.index("lambda"):]
    for end in (len(text), *(k for k in reversed(range(len(text))) if text[k] in ",)]}")):
        try:
            found = ast.parse(text[:end], mode="eval").body
        except SyntaxError:
            continue
        if isinstance(found, ast.Lambda):
            return " ".join((ast.get_source_segment(text, found.body) or "").split())
    raise ValueError(f"no lambda begins there: {text}")


def digest(*parts: Any) -> str:
    """Hash the sources of functions, the functions of their files that they call, and other values as they print."""
    texts: dict[Any, str] = {}
    for part in parts:
        _add(texts, part)
    return hashlib.sha256("\0".join(texts.values()).encode()).hexdigest()[:8]


def _add(texts: dict[Any, str], part: Any) -> None:
    if isinstance(part, (tuple, list)):
        for item in part:
            _add(texts, item)
    elif not isinstance(part, FunctionType):
        texts[len(texts)] = repr(part)
    elif part not in texts:
        texts[part] = source(part)
        cells = [cell.cell_contents for cell in part.__closure__ or ()]
        called = [part.__globals__.get(name) for name in sorted(set(_names(part.__code__)))]
        for helper in (*cells, *called):
            if isinstance(helper, FunctionType) and helper.__module__ == part.__module__:
                _add(texts, helper)


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def source(function: Callable) -> str:
    """Return a function's source without indentation."""
    code = inspect.unwrap(function).__code__
    return _source_of(code, code.co_filename)


# The file is part of the cache's key, since code objects of several files may be equal.
@functools.cache
def _source_of(code: CodeType, filename: str) -> str:
    return "\n".join(line.strip() for line in inspect.getsource(code).splitlines())
