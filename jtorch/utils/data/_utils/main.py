"""Access of workers to classes and functions of the user's ``__main__``: they import it again if that is safe."""
from __future__ import annotations

import ast
import contextlib
import sys
import threading
from multiprocessing import spawn
from types import FrameType
from typing import Any


def where_main_is() -> dict[str, Any] | None:
    """Return what a worker needs to import ``__main__`` again; None if it cannot, or would run the program again."""
    main = sys.modules["__main__"]
    spec = getattr(main, "__spec__", None)
    path = getattr(main, "__file__", None)
    if (spec is None and path is None) or not _is_guarded(path or (spec.origin if spec is not None else None)):
        return None
    sys.modules["__mp_main__"] = main       # A worker's results refer to classes of the user as __mp_main__.Name.
    as_torch = getattr(sys.modules.get("torch"), "__name__", "") == "jtorch"
    return {"name": spec.name if spec is not None else None, "path": path, "as_torch": as_torch}


def import_main(place: dict[str, Any] | None) -> None:
    """Import ``__main__`` as ``__mp_main__`` in a worker, so that code under the guard does not run."""
    if place is None:
        return
    if place["as_torch"]:
        from jtorch._import_hook import install
        install()
    if place["name"] is not None:
        spawn._fixup_main_from_name(place["name"])      # type: ignore[attr-defined]
    else:
        spawn._fixup_main_from_path(place["path"])      # type: ignore[attr-defined]


def _is_guarded(path: str | None) -> bool:
    """Return whether the running code is under ``if __name__ == "__main__":``, so that importing the file does not run it."""
    line = _line_of_main()
    if line is None:
        return True
    with contextlib.suppress(OSError, SyntaxError, TypeError, UnicodeDecodeError), open(path or "", encoding="utf-8") as file:
        tree = ast.parse(file.read())
        return any(isinstance(node, ast.If) and node.lineno <= line <= (node.end_lineno or 0) and "__name__" in
                   {n.id for n in ast.walk(node.test) if isinstance(n, ast.Name)} for node in ast.walk(tree))
    return False


def _line_of_main() -> int | None:
    """Return the line of ``__main__`` that the main thread runs; None if it runs none."""
    scope = vars(sys.modules["__main__"])
    frame: FrameType | None = sys._current_frames().get(threading.main_thread().ident or 0)
    while frame is not None:
        if frame.f_globals is scope and frame.f_code.co_name == "<module>":
            return frame.f_lineno
        frame = frame.f_back
    return None
