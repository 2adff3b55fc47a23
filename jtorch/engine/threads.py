"""Which threads compiled code runs on, on the CPU.

JAX's CPU client hands a program to a thread of its own, and that one spreads large operations over a pool of threads. Both
pay where there is much to do, or the caller has something else to do meanwhile. For small programs that are waited for they
cost more than the work: `(a @ b).sum()` of 64x64, called every 100 µs, took 79 µs until its result was there, 51 without the
pool, 17 in the calling thread, 16 with neither (medians, 2 cores); and where threads outnumber cores, the same training step
took 160 µs in one process and 350 in the next.

The client runs a program in the calling thread if there is a host callback in it; so programs that are waited for get one
that nothing calls. JAX has no public name for this: where what is used here is not as expected, the program is compiled as ever.
"""
from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import jax

from jtorch.engine import policy
from jtorch.engine.host import blas
from jtorch.ops import _onednn


class Threads(NamedTuple):
    """``inline``: in the calling thread, which waits. ``pool``: with large operations spread over the processor's cores.

    ``beside``: while the calling thread goes on, most of the time.
    """

    inline: bool = False
    pool: bool = True
    beside: bool = False

    @property
    def options(self) -> dict[str, bool]:
        """Those of XLA."""
        return {} if self.pool else {"xla_cpu_multi_thread_eigen": False}


ELSEWHERE = Threads()
_allowed = [0]      # the number of threads that an op may use; 0: as many as there are


def use(n: int) -> None:
    """How many threads an op may use on the CPU from now on."""
    _allowed[0] = n
    blas.set_threads(n)
    _onednn.use_threads(n)


def pool_for(seconds: float) -> bool:
    """Whether a program or kernel whose work takes so long spreads over the pool."""
    return seconds > policy.POOL and _allowed[0] != 1


def lowered(traced: Any, on: Threads) -> Any:
    """``traced.lower()`` for the CPU and these threads."""
    return _onednn.lowered(traced, spreads=on.pool, beside=on.beside)


def compiled(lowered: Any, on: Threads, options: dict[str, Any]) -> Any:
    """``lowered.compile()`` for these threads with XLA's ``options``, but those that this XLA does not know."""
    try:
        return _compiled(lowered, on, options)
    except jax.errors.JaxRuntimeError as e:
        if "No such compile option" not in str(e):
            raise
        return _compiled(lowered, on, on.options)


def _compiled(lowered: Any, on: Threads, options: dict[str, Any]) -> Any:
    if not on.inline:
        return lowered.compile(options)
    with _private():
        lowered._lowering.compile_args["host_callbacks"] = [_never_called]
    return quick(lowered.compile(options), on)


def quick(made: Any, on: Threads) -> Any:
    """The program, called in JAX's quick way, which JAX gives up for callbacks (650 µs instead of 50 for 58 arrays)."""
    if on.inline:
        with _private():
            made._executable.unsafe_call.has_host_callbacks = False
    return made


def compile_by(wrap: Callable[[Any], Any], lowered: Any) -> Any:
    """Have ``wrap(client)`` compile what was lowered, and return it; None where JAX does not let itself be told."""
    with _private():
        arguments = lowered._lowering.compile_args
        arguments["backend"] = made = wrap(arguments["backend"])
        return made
    return None


def client(backend: Any, on: Threads) -> Any:
    """What loads programs for these threads: JAX's client, or one like it."""
    return _InlineClient(backend) if on.inline else backend


_works = True       # whether JAX has let itself be told so far


def are_awaited(on: Threads) -> bool:
    """Whether what runs on these threads is done when the call returns."""
    return on.inline and _works


def _never_called(*_: Any) -> None:
    raise AssertionError


@contextlib.contextmanager
def _private() -> Iterator[None]:
    global _works
    try:
        yield
    except (AttributeError, KeyError, TypeError):
        _works = False


class ClientProxy:
    """Stand for JAX's client; subclasses replace some of its methods."""

    def __init__(self, client: Any):
        self._client = client

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def __eq__(self, other: object) -> bool:        # JAX asks whether devices are this client's
        return other is self._client or other is self

    __hash__ = object.__hash__


class _InlineClient(ClientProxy):
    """Load programs that run in the calling thread."""

    def deserialize_executable(self, serialized: bytes, **options: Any) -> Any:
        """See ``jaxlib``'s Client."""
        with _private():
            return self._client.deserialize_executable(serialized, host_callbacks=[_never_called], **options)
        return self._client.deserialize_executable(serialized, **options)
