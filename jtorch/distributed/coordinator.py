"""JAX's coordination service in a process of its own, which ends after the last rank.

JAX aborts a rank whose coordination service goes away. Rank 0 may finish first or die, so the service does not run in it.
Rank 0 starts this file as a program that needs jaxlib only: ``coordinator.py HOST RANKS SECONDS``. The process prints two
addresses: that of JAX's service, and the one to which each rank holds a connection while the rank lives.
"""
from __future__ import annotations

import contextlib
import selectors
import signal
import socket
import sys
import time

_NEVER = 10**6      # Seconds: ended processes are detected by their connections, so the heartbeat timeout is never reached.
_TOKEN = 32         # Bytes of the secret that a rank sends first.


def serve(host: str, world_size: int) -> tuple[object, str]:
    """Return JAX's coordination service and its address."""
    from jaxlib import _jax
    for _ in range(20):     # Another process may take the free port first.
        with socket.create_server((host, 0)) as free:
            address = f"{host}:{free.getsockname()[1]}"
        with contextlib.suppress(RuntimeError):
            return _jax.get_distributed_runtime_service(address, world_size, heartbeat_timeout=_NEVER), address
    raise OSError(f"no port of {host} is free")


def wait_for_all_to_end(listener: socket.socket, token: bytes, world_size: int, seconds: float) -> None:
    """Wait until ``world_size`` ranks have connected with the token and closed their connections again.

    Return earlier if fewer ranks connect within ``seconds`` and all of these have closed.
    """
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
    """Run the coordination service; the main function of the process."""
    host, world_size, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    signal.signal(signal.SIGINT, signal.SIG_IGN)        # Ctrl-C is meant for the ranks.
    token = sys.stdin.buffer.read(_TOKEN)
    service, address = serve(host, world_size)
    with socket.create_server((host, 0)) as listener:
        sys.stdout.write(f"{address} {host}:{listener.getsockname()[1]}\n")
        sys.stdout.flush()
        wait_for_all_to_end(listener, token, world_size, seconds)
    del service


if __name__ == "__main__":
    main()
