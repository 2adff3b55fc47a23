"""Patterns of names with wildcards."""
from __future__ import annotations

import re
from collections.abc import Iterable

GlobPattern = str | Iterable[str]


class GlobGroup:
    """A set of patterns. A name matches if some ``include`` pattern fits, and no ``exclude`` pattern.

    Names and patterns consist of parts with separators between them. ``*`` stands for any characters within a part, ``**`` for
    any number of parts. So ``torch.**`` matches ``torch`` and all its modules, and ``torch.*`` only the modules directly below.
    A pattern with ``**`` inside a part raises ValueError.

    Args:
        include: a pattern, or several
        exclude: a pattern, or several
        separator: the character between parts, ``"."`` for modules and ``"/"`` for files

    >>> from jtorch.package import GlobGroup
    >>> group = GlobGroup("torch.**", exclude="torch.nn.*")
    >>> group.matches("torch.nn"), group.matches("torch.nn.functional")
    (True, False)

    """

    def __init__(self, include: GlobPattern, *, exclude: GlobPattern = (), separator: str = "."):
        self._dbg = f"GlobGroup(include={include}, exclude={exclude})"
        self.include = self._glob_list(include, separator)
        self.exclude = self._glob_list(exclude, separator)
        self.separator = separator

    def __str__(self) -> str:
        return self._dbg

    __repr__ = __str__

    def matches(self, candidate: str) -> bool:
        """Return whether a name matches."""
        candidate = self.separator + candidate
        return any(p.fullmatch(candidate) for p in self.include) and not any(p.fullmatch(candidate) for p in self.exclude)

    @staticmethod
    def _glob_list(elems: GlobPattern, separator: str = ".") -> list[re.Pattern[str]]:
        return [GlobGroup._glob_to_re(e, separator) for e in ([elems] if isinstance(elems, str) else elems)]

    @staticmethod
    def _glob_to_re(pattern: str, separator: str = ".") -> re.Pattern[str]:
        """Return a pattern as a regular expression for a name with a separator before each part, the first one too."""
        return re.compile("".join(_part(part, separator) for part in pattern.split(separator)))


def _part(part: str, separator: str) -> str:
    within = f"[^{separator}]"
    if part == "**":
        return f"({re.escape(separator)}{within}+)*"
    if "**" in part:
        raise ValueError("** can only appear as an entire path segment")
    return re.escape(separator) + f"{within}*".join(map(re.escape, part.split("*")))
