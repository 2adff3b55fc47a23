"""JAX's coordination service in a process of its own, which ends when the last rank has.

A rank whose service goes away is ended by JAX, whatever it is doing. So the service does not live in rank 0, which may be done
first, or die: it lives here. Started as a file, with jaxlib and nothing of this package: ``coordinator.py HOST RANKS SECONDS``.
It prints two addresses, JAX's and the one that each rank holds a connection to for as long as it lives.
"""
from __future__ import annotations

import contextlib
import selectors
import signal
import socket
import sys
import time

_NEVER = 10**6      # seconds: that a process has ended is heard from its connection, not from heartbeats
_TOKEN = 32         # bytes that a rank sends first


def serve(host: str, world_size: int) -> tuple[object, str]:
    """The service, and its address."""
    from jaxlib import _jax
    for _ in range(20):     # another process may take the free port first
        with socket.create_server((host, 0)) as free:
            address = f"{host}:{free.getsockname()[1]}"
        with contextlib.suppress(RuntimeError):
            return _jax.get_distributed_runtime_service(address, world_size, heartbeat_timeout=_NEVER), address
    raise OSError(f"no port of {host} is free")


def wait_for_all_to_end(listener: socket.socket, token: bytes, world_size: int, seconds: float) -> None:
    """Returns when so many have connected, said the token, and closed; or if they do not come in so many seconds."""
    chosen = selectors.DefaultSelector()
    chosen.register(listener, selectors.EVENT_READ)
    come, here, until = 0, 0, time.monotonic() + seconds
    while here or (come < world_size and time.monotonic() < until):
        for key, _ in chosen.select(1.0):
            if key.fileobj is listener:
                made, _ = listener.accept()
                made.settimeout(5.0)
                with contextlib.suppress(OSError):
                    if made.recv(_TOKEN, socket.MSG_WAITALL) == token:
                        chosen.register(made, selectors.EVENT_READ)
                        come, here = come + 1, here + 1
                        continue
                made.close()
            else:
                ended: socket.socket = key.fileobj      # type: ignore[assignment]
                chosen.unregister(ended)
                ended.close()
                here -= 1


def main() -> None:
    """The process."""
    host, world_size, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    signal.signal(signal.SIGINT, signal.SIG_IGN)        # Ctrl-C is for the ranks
    token = sys.stdin.buffer.read(_TOKEN)
    service, address = serve(host, world_size)
    with socket.create_server((host, 0)) as listener:
        sys.stdout.write(f"{address} {host}:{listener.getsockname()[1]}\n")
        sys.stdout.flush()
        wait_for_all_to_end(listener, token, world_size, seconds)
    del service


if __name__ == "__main__":
    main()
