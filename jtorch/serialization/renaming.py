"""Renaming in pickles that a Pickler in C wrote: the names of jtorch's classes and functions become PyTorch's."""
from __future__ import annotations

import pickletools
import sys
from collections.abc import Iterator
from pickle import POP, SHORT_BINUNICODE, STACK_GLOBAL
from typing import Any

from jtorch.serialization.names import torch_name


def renamed(data: bytes) -> bytes:
    """Return the pickle with PyTorch's names. Drop its frames if it has names of jtorch, since their lengths would change."""
    return b"".join(_renamed_parts(data)) if b"jtorch" in data else data


def _renamed_parts(data: bytes) -> Iterator[bytes]:
    parts = list(pickletools.genops(data))
    texts = _Texts()
    for (code, given, at), following in zip(parts, [*parts[1:], None], strict=True):
        written = data[at:len(data) if following is None else following[2]]     # type: ignore[index]
        texts.note(code.name, given)
        if code.name == "GLOBAL":
            path = _path(*str(given).split(" ", 1))
            yield written if path is None else "c{}\n{}\n".format(*path).encode()
        elif code.name == "STACK_GLOBAL":
            path = _path(*texts.last)
            yield written if path is None else POP + POP + b"".join(map(_text, path)) + STACK_GLOBAL
        elif code.name != "FRAME":
            yield written


def globals_of(data: bytes) -> Iterator[tuple[str, str]]:
    """Yield the (module, name) pairs of classes and functions that a pickle names."""
    texts = _Texts()
    for code, given, _ in pickletools.genops(data):
        texts.note(code.name, given)
        if code.name == "GLOBAL":
            module, name = str(given).split(" ", 1)
            yield module, name
        elif code.name == "STACK_GLOBAL":
            yield texts.last


class _Texts:
    """The last two strings that the pickle has pushed, as literals or from its memo."""

    def __init__(self) -> None:
        self.last: tuple[Any, Any] = (None, None)
        self.top: Any = None
        self.memo: dict[int, Any] = {}

    def note(self, code: str, given: Any) -> None:
        """Update the state for one opcode."""
        if code == "MEMOIZE":
            self.memo[len(self.memo)] = self.top
        elif code in ("BINPUT", "LONG_BINPUT", "PUT"):
            self.memo[int(given)] = self.top
        elif code != "FRAME":
            self.top = self.memo.get(int(given)) if code in ("BINGET", "LONG_BINGET", "GET") else given
            if isinstance(self.top, str):
                self.last = self.last[1], self.top


def _path(module: Any, name: Any) -> tuple[str, str] | None:
    if not isinstance(module, str) or module.split(".")[0] != "jtorch":
        return None
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return torch_name(found)


def _text(text: str) -> bytes:
    coded = text.encode()
    return SHORT_BINUNICODE + bytes([len(coded)]) + coded
