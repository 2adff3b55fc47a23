"""The threads on which compiled code runs on the CPU.

JAX's CPU client runs a program in a thread of its own, which spreads large operations over a pool of threads. Both pay if the
program has much work, or if the caller has other work meanwhile. If the caller waits for a small program, the threads cost more
than the work, and the time varies from process to process if threads outnumber cores.

The client runs a program in the calling thread if the program has a host callback. So programs that the caller waits for get a
callback that nothing calls. JAX has no public name for this. If JAX is not as expected, programs are compiled as usual.
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
    """The threads of a program. ``inline`` means the calling thread, which waits.

    ``pool`` means that large operations are spread over the processor's cores. ``beside`` means that the calling thread usually
    goes on meanwhile.
    """

    inline: bool = False
    pool: bool = True
    beside: bool = False

    @property
    def options(self) -> dict[str, bool]:
        """The options of XLA for these threads."""
        return {} if self.pool else {"xla_cpu_multi_thread_eigen": False}


ELSEWHERE = Threads()
_allowed = [0]      # Number of threads that an op may use; 0 means all.


def use(n: int) -> None:
    """Set the number of threads that an op may use on the CPU."""
    _allowed[0] = n
    blas.set_threads(n)
    _onednn.use_threads(n)


def pool_for(seconds: float) -> bool:
    """Return whether a program or kernel with this many seconds of work uses the thread pool."""
    return seconds > policy.POOL and _allowed[0] != 1


def lowered(traced: Any, on: Threads) -> Any:
    """Return ``traced.lower()`` for the CPU and these threads."""
    return _onednn.lowered(traced, spreads=on.pool, beside=on.beside)


def compiled(lowered: Any, on: Threads, options: dict[str, Any]) -> Any:
    """Return ``lowered.compile()`` for these threads with XLA's ``options``. Drop the options if this XLA does not know one."""
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
    """Return the program with JAX's fast call, which JAX does not use for programs with callbacks."""
    if on.inline:
        with _private():
            made._executable.unsafe_call.has_host_callbacks = False
    return made


def compile_by(wrap: Callable[[Any], Any], lowered: Any) -> Any:
    """Let the client ``wrap(client)`` compile the lowered module, and return that client; None if JAX is not as expected."""
    with _private():
        arguments = lowered._lowering.compile_args
        arguments["backend"] = made = wrap(arguments["backend"])
        return made
    return None


def client(backend: Any, on: Threads) -> Any:
    """Return the client that loads programs for these threads: JAX's own or a proxy."""
    return _InlineClient(backend) if on.inline else backend


_works = True       # False once JAX's private names were not as expected.


def are_awaited(on: Threads) -> bool:
    """Return whether a program on these threads is done when its call returns."""
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
    """A proxy of JAX's client. Subclasses replace some methods."""

    def __init__(self, client: Any):
        self._client = client

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def __eq__(self, other: object) -> bool:        # JAX compares the clients of devices with this one.
        return other is self._client or other is self

    __hash__ = object.__hash__


class _InlineClient(ClientProxy):
    """A client that loads programs for the calling thread."""

    def deserialize_executable(self, serialized: bytes, **options: Any) -> Any:
        """Return the loaded executable, which runs in the calling thread because it gets a callback."""
        with _private():
            return self._client.deserialize_executable(serialized, host_callbacks=[_never_called], **options)
        return self._client.deserialize_executable(serialized, **options)
