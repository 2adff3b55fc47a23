"""Random numbers under ``vmap``, drawn as in PyTorch's ATen/functorch/BatchRulesRandomness.cpp.

``randomness="different"`` draws the numbers of all samples in one call. ``"same"`` draws one sample's numbers.
"""
from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Iterator
from typing import Any, TypeVar, cast

from jtorch.dispatch.samples import sample_of, whole_of
from jtorch.engine.batched import CAPTURED, ESCAPED, Level
from jtorch.tensor import Tensor

Drawing = TypeVar("Drawing", bound=Callable)

ERROR = ("vmap: called random operation while in randomness error mode. Please either use the 'same' or 'different' randomness "
         "flags on vmap or perform the randomness operation out of vmap")
_BATCHED = ("Vmap does not currently support same randomness with a batched tensor input. Please file an issue with functorch")
_UNBATCHED = ("vmap: Cannot ask for different inplace randomness on an unbatched tensor. This will appear like same randomness. "
              "If this is necessary for your usage, please file an issue with functorch.")
_OUT = ("vmap: We do not support calling out variants of random operations inside of vmap. Please use non-out variants as a "
        "workaround")


class _Running(threading.local):
    levels: tuple[tuple[Level | None, int, str], ...] = ()      # (level, number of samples, randomness), the innermost last


_running = _Running()


@contextlib.contextmanager
def _inside_of(levels: tuple[tuple[Level | None, int, str], ...]) -> Iterator[None]:
    """Draw random numbers in the block as if only the ``vmap`` of these levels were running."""
    before, _running.levels = _running.levels, levels
    try:
        yield
    finally:
        _running.levels = before


@contextlib.contextmanager
def restricted(randomness: str, level: Level | None = None, size: int = 0) -> Iterator[None]:
    """Draw random numbers in the block as ``randomness`` says. Without a ``level`` the samples run one by one."""
    with _inside_of((*_running.levels, (level, size, randomness))):
        yield


@contextlib.contextmanager
def _outside() -> Iterator[tuple[Level | None, int, str]]:
    """Draw random numbers in the block as outside of the innermost ``vmap``. Raise RuntimeError if that forbids them."""
    refuse()
    *others, innermost = _running.levels
    with _inside_of(tuple(others)):
        yield innermost


@contextlib.contextmanager
def outside_of(level: Level) -> Iterator[tuple[int, str]]:
    """Run the block outside of a running ``vmap``. Yield its number of samples and its randomness."""
    levels = _running.levels
    at = next((i for i, (found, _, _) in enumerate(levels) if found is level), None)
    if at is None:
        raise RuntimeError(ESCAPED)
    with _inside_of(levels[:at]):
        yield levels[at][1:]


def refuse() -> None:
    """Raise RuntimeError under a ``vmap`` that forbids random numbers."""
    if _running.levels and _running.levels[-1][2] == "error":
        raise RuntimeError(ERROR)


def refuse_all(name: str) -> None:
    """Raise RuntimeError under any ``vmap``, for a function that PyTorch does not batch."""
    if _running.levels:
        raise RuntimeError(f"vmap: we do not yet support aten::{name}. Please file an issue")


def for_samples(draw: Callable[[tuple[int, ...]], Tensor]) -> Tensor:
    """Return a new tensor of random numbers. ``draw`` gets the dims in front that the samples need."""
    if not _running.levels:
        return draw(())
    with _outside() as (level, size, randomness):
        if level is None or randomness == "same":
            return for_samples(draw)
        return sample_of(for_samples(lambda lead: draw((*lead, size))), 0, level)


def for_each_sample(draw: Callable[[], Tensor], stack: Callable[[list], Tensor]) -> Tensor:
    """Return a new tensor of random numbers that ``draw`` returns, called for each sample."""
    if not _running.levels:
        return draw()
    with _outside() as (level, size, randomness):
        if level is None or randomness == "same":
            return for_each_sample(draw, stack)
        return sample_of(stack([for_each_sample(draw, stack) for _ in range(size)]), 0, level)


def refuse_out(function: Drawing) -> Drawing:
    """Return the function with an error for ``out=`` under ``vmap``."""
    @functools.wraps(function)
    def drawing(*args: Any, **kw: Any) -> Any:
        if _running.levels and kw.get("out") is not None:
            raise RuntimeError(_OUT)
        return function(*args, **kw)
    return cast(Drawing, drawing)


def of_parameters(function: Drawing) -> Drawing:
    """Return ``function``, which draws numbers for tensors of parameters, in a form that works under ``vmap`` too.

    Under ``vmap`` the function gets the parameters of all samples at once.
    """
    @functools.wraps(function)
    def drawing(*args: Any, **kw: Any) -> Any:
        if not _running.levels:
            return function(*args, **kw)
        return _with_parameters(drawing, args, kw)
    return cast(Drawing, drawing)


def _with_parameters(drawing: Callable, args: tuple, kw: dict) -> Any:
    if kw.get("out") is not None:
        raise RuntimeError(_OUT)
    with _outside() as (level, size, randomness):
        if level is None:
            return drawing(*args, **kw)
        wholes = [_whole(a, level) for a in args]
        if randomness == "same":
            _refuse_batched(wholes)
            return drawing(*args, **kw)
        rank = max([a.dim() for a in args if isinstance(a, Tensor)], default=0)
        given = [a if w is None else _padded(w, rank) for a, w in zip(args, wholes, strict=True)]
        first = next((i for i, a in enumerate(args) if isinstance(a, Tensor)), None)
        if first is not None and wholes[first] is None:
            given[first] = args[first].expand(size, *args[first].shape)
        return sample_of(drawing(*given, **kw), 0, level)


def _whole(t: Any, level: Level) -> Tensor | None:
    return whole_of(t, level) if isinstance(t, Tensor) else None


def _refuse_batched(wholes: list) -> None:
    if any([w is not None for w in wholes]):
        raise RuntimeError(_BATCHED)


def _padded(whole: Tensor, rank: int) -> Tensor:
    """Insert dims of size 1 after the dim of the samples, so that samples broadcast like tensors of this rank."""
    size = tuple(whole.shape)
    return whole if len(size) > rank else whole.reshape((size[0], *[1] * (rank + 1 - len(size)), *size[1:]))  # type: ignore[attr-defined]


def like(function: Drawing) -> Drawing:
    """Return a function that draws numbers in the form of its first argument, also for samples."""
    @functools.wraps(function)
    def drawing(input: Tensor, *args: Any, **kw: Any) -> Any:
        if not _running.levels:
            return function(input, *args, **kw)
        with _outside() as (level, size, randomness):
            if level is None:
                return drawing(input, *args, **kw)
            whole = whole_of(input, level)
            if randomness == "same":
                return drawing(input if whole is None else whole.select(0, 0), *args, **kw)     # type: ignore[attr-defined]
            whole = input.expand(size, *input.shape) if whole is None else whole        # type: ignore[attr-defined]
            return sample_of(drawing(whole, *args, **kw), 0, level)
    return cast(Drawing, drawing)


def filling(function: Drawing) -> Drawing:
    """Return a method that fills a tensor with random numbers, also the tensors of samples."""
    @functools.wraps(function)
    def drawing(self: Tensor, *args: Any, **kw: Any) -> Any:
        if not _running.levels:
            return function(self, *args, **kw)
        with _outside() as (level, _, randomness):
            if level is None:
                return drawing(self, *args, **kw)
            whole, given = whole_of(self, level), [_whole(a, level) for a in args]
            if randomness == "same":
                _refuse_batched(given)
                if whole is None:
                    return drawing(self, *args, **kw)
                one = drawing(whole.select(0, 0).clone(), *args, **kw)      # type: ignore[attr-defined]
                whole.copy_(one)        # type: ignore[attr-defined]
                return self
            if whole is None:
                raise RuntimeError(CAPTURED if any([g is not None for g in given]) else _UNBATCHED)
            drawing(whole, *[a if g is None else _padded(g, self.dim()) for a, g in zip(args, given, strict=True)], **kw)
            return self
    return cast(Drawing, drawing)
