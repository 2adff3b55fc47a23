"""torch.distributed.elastic.utils.distributed: free ports of this machine."""
from __future__ import annotations

import socket


def get_socket_with_port() -> socket.socket:
    """Return a socket that holds a free port while it is open."""
    for family, kind, proto, _, _ in socket.getaddrinfo("localhost", None, type=socket.SOCK_STREAM):
        made = socket.socket(family, kind, proto)
        try:
            made.bind(("localhost", 0))
            made.listen(0)
            return made
        except OSError:
            made.close()
    raise RuntimeError("Failed to create a socket")


def get_free_port() -> int:
    """Return a port of this machine that is free now."""
    with get_socket_with_port() as made:
        return made.getsockname()[1]
