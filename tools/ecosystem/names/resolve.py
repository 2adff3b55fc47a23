"""Look up names of standard input in ``torch``. A program of its own, run with PyTorch and by ``python -m jtorch``."""
from __future__ import annotations

import contextlib
import importlib
import io
import json
import sys
import warnings
from types import ModuleType
from typing import Any


def _step(owner: Any, before: str, name: str) -> Any:
    """Return an attribute or the module of that name. Raise AttributeError if there is neither."""
    try:
        return getattr(owner, name)
    except AttributeError as error:
        if isinstance(error, NotImplementedError) or not isinstance(owner, ModuleType):
            raise
    try:
        return importlib.import_module(f"{before}.{name}")
    except ImportError as error:
        raise AttributeError(name) from error


def follow(path: str) -> tuple[str, str]:
    """Return the existing part of a path, and the reason for the end: "", "lacks" or "refuses".

    A name is refused if it raises NotImplementedError, when it is read or (jtorch's NotBuiltMeta) when it is used.
    """
    done, *rest = path.split(".")
    owner: Any = importlib.import_module(done)
    for name in rest:
        if not isinstance(owner, (ModuleType, type)):
            break
        done += f".{name}"
        try:
            owner = _step(owner, done.rpartition(".")[0], name)
        except NotImplementedError:
            return done, "refuses"
        except Exception:  # noqa: BLE001 (imports of any kind)
            return done, "lacks"
        if type(owner).__name__ == "NotBuiltMeta":
            return done, "refuses"
    return done, ""


def main() -> None:
    """Write the results of ``follow`` as JSON, for the names of standard input."""
    warnings.simplefilter("ignore")
    asked = json.load(sys.stdin)
    with contextlib.redirect_stdout(io.StringIO()):         # Some modules print at import.
        found = {path: follow(path) for path in asked}
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
