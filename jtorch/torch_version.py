"""torch.torch_version: version strings that compare as versions."""
from __future__ import annotations

import operator
import re
from collections.abc import Iterable

from jtorch.version import __version__ as internal_version

__all__ = ["TorchVersion"]

_VERSION = re.compile(r"\s*v?(\d+(?:\.\d+)*)(?:[-_.]?(a|b|c|rc|alpha|beta|pre|preview)[-_.]?(\d*))?"
                      r"(?:[-_.]?post(\d*))?(?:[-_.]?dev(\d*))?(?:\+([a-z0-9]+(?:[-_.][a-z0-9]+)*))?\s*", re.IGNORECASE)
_PHASES = {"a": 1, "alpha": 1, "b": 2, "beta": 2, "c": 3, "rc": 3, "pre": 3, "preview": 3}


def _local_key(local: str | None) -> tuple:
    """Return the sort key of a local version such as ``cu121``. Numbers sort after words, and any part after no part."""
    parts = re.split(r"[-_.]", local.lower()) if local else ()
    return tuple((1, int(part), "") if part.isdigit() else (0, 0, part) for part in parts)


def _key(text: str) -> tuple:
    """Return the sort key of Python's packaging standard; raise ValueError if ``text`` is no version."""
    match = _VERSION.fullmatch(text)
    if match is None:
        raise ValueError(text)
    release, phase, phase_number, post, dev, local = match.groups()
    numbers = [int(part) for part in release.split(".")]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    unfinished = 0 if dev is not None and phase is None and post is None else 4  # 1.0.dev1 comes before 1.0a1
    pre = (_PHASES[phase.lower()] if phase else unfinished, int(phase_number or 0))
    return (tuple(numbers), pre, -1 if post is None else int(post or 0),
            float("inf") if dev is None else int(dev or 0), _local_key(local))


class TorchVersion(str):
    """A version string that compares as a version with strings and with tuples of numbers: ``>= (2, 1)``."""

    __slots__ = ()

    def _compare(self, other, operation) -> bool:
        if not isinstance(other, str) and isinstance(other, Iterable):
            other = ".".join(str(part) for part in other)
        try:
            return operation(_key(self), _key(other))
        except ValueError:  # One side is no version: compare the strings.
            return operation(str(self), other)

    def __lt__(self, other):
        return self._compare(other, operator.lt)

    def __le__(self, other):
        return self._compare(other, operator.le)

    def __gt__(self, other):
        return self._compare(other, operator.gt)

    def __ge__(self, other):
        return self._compare(other, operator.ge)

    def __eq__(self, other):
        return self._compare(other, operator.eq)

    def __ne__(self, other):
        return not self == other

    __hash__ = str.__hash__


__version__ = TorchVersion(internal_version)
