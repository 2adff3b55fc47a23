"""Conversion of nested state dicts to flat ones, whose keys are paths."""
from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from jtorch.tensor import Tensor

Path = tuple[Any, ...]


def paths_of(state_dict: Mapping) -> Iterator[tuple[Path, Any]]:
    """Yield (path, value) for all values of a state dict; lists are entered if they contain tensors or dicts."""
    def visit(path: Path, value: Any) -> Iterator[tuple[Path, Any]]:
        if isinstance(value, Mapping):
            for k, v in value.items():
                yield from visit((*path, str(k)), v)
        elif _is_one(value):
            yield path, value
        else:
            for i, v in enumerate(value):
                yield from visit((*path, i), v)
    for key, value in state_dict.items():
        yield from visit((str(key),), value)


def _is_one(value: Any) -> bool:
    if isinstance(value, Mapping):
        return False
    return not isinstance(value, list) or not any(
        isinstance(v, Tensor) or (isinstance(v, (Mapping, list)) and not _is_one(v)) for v in value)


def flattened(state_dict: Mapping) -> tuple[dict[str, Any], dict[str, Path]]:
    """Return a flat dict of values, and the path of each key."""
    values: dict[str, Any] = {}
    paths: dict[str, Path] = {}
    for path, value in paths_of(state_dict):
        key = ".".join(map(str, path))
        if key in values:
            raise ValueError(f"duplicated flatten key {key}")
        values[key], paths[key] = value, path
    return values, paths


def set_at(root: Any, path: Path, value: Any) -> None:
    """Set the value at a path, and create the containers on the way that are missing."""
    at = root
    for key, following in zip(path, path[1:], strict=False):
        new: Any = [] if isinstance(following, int) else {}
        if isinstance(at, list):
            at += [None] * (key + 1 - len(at))
            at[key] = new if at[key] is None else at[key]
            at = at[key]
        else:
            at = at.setdefault(_own_key(at, key), new)
    if isinstance(at, list):
        at += [None] * (path[-1] + 1 - len(at))
        at[path[-1]] = value
    else:
        at[_own_key(at, path[-1])] = value


def _own_key(at: Mapping, key: Any) -> Any:
    """Return the key of a dict whose text is ``key``, since keys may be numbers."""
    return key if key in at else next((k for k in at if str(k) == key), key)
