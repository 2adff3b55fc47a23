"""Compile programs for another process: ``python -P compile_server.py ALIVE TARGET...``, started by ``background``.

The server reads pickled requests (an MLIR module as bytecode, serialized options, device ids) from standard input. It writes the
serialized executable to standard output, or None if XLA raised. It ends when its input ends, or when the
pipe with the file descriptor ``ALIVE`` is closed. A target is the name of one of the parent's custom calls. The server never
runs a program, so it registers any function for the target, one of LAPACK.
"""
from __future__ import annotations

import os
import pickle
import signal
import sys
import threading
from typing import Any, BinaryIO

import jaxlib.lapack
from jax._src.interpreters import mlir
from jaxlib import xla_client
from jaxlib.mlir import ir


def _register(targets: list[str]) -> None:
    """Register LAPACK's custom calls and these targets with XLA."""
    known = jaxlib.lapack.registrations()["cpu"]
    for name, capsule, version in [*known, *[(target, *known[0][1:]) for target in targets]]:
        xla_client.register_custom_call_target(name, capsule, platform="cpu", api_version=version)


def _compiled(client: Any, module: bytes, options: bytes, devices: list[int]) -> bytes | None:
    places = tuple([d for d in client.devices() if d.id in devices])
    with mlir.make_ir_context():
        try:
            made = client.compile_and_load(ir.Module.parse(module), executable_devices=xla_client.DeviceList(places),
                                           compile_options=xla_client.CompileOptions.ParseFromString(options))
            return client.serialize_executable(made)
        except Exception:       # The parent compiles the module itself, and raises the error.
            return None


def _end_with(parent: int) -> None:
    """End the process when the parent ends, even during a compilation."""
    os.read(parent, 1)
    os._exit(0)


def main() -> None:
    """Serve until the input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)        # The parent handles Ctrl-C.
    alive, *targets = sys.argv[1:]
    threading.Thread(target=_end_with, args=(int(alive),), daemon=True).start()
    given: BinaryIO = sys.stdin.buffer
    answers: BinaryIO = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)       # XLA's prints must not mix with the answers.
    _register(targets)
    client = xla_client.make_cpu_client()
    while True:
        try:
            request = pickle.load(given)
        except EOFError:
            return
        pickle.dump(_compiled(client, *request), answers)
        answers.flush()


if __name__ == "__main__":
    main()
