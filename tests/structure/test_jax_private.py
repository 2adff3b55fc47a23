"""The private names of JAX are in one file, and the installed JAX has them."""
from __future__ import annotations

import re
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "jtorch"
FILES = {path.relative_to(PACKAGE).as_posix(): path.read_text() for path in sorted(PACKAGE.rglob("*.py"))}
PRIVATE = re.compile(r"^\s*(?:from|import) (?:jax\._src|jaxlib\.|jaxlib import)", re.MULTILINE)
# These two files run as processes without jtorch, so they use JAX's private names themselves.
ALONE = {"distributed/coordinator.py", "engine/compile_server.py"}


def test_one_file_has_the_private_names_of_jax():
    assert {path for path, text in FILES.items() if PRIVATE.search(text)} - ALONE == {"_base/jax_private.py"}


@pytest.mark.parametrize("path", ["jaxlib.xla_client.batched_device_put", "jaxlib.xla_client.HostBufferSemantics",
                                  "jaxlib.xla_client.make_cpu_client", "jaxlib._jax.make_gloo_tcp_collectives",
                                  "jaxlib._jax.get_distributed_runtime_client", "jaxlib.lapack._lapack.initialize",
                                  "jax._src.config.trace_context", "jax._src.config.traceback_filtering",
                                  "jax._src.core.trace_state_clean", "jax._src.distributed.global_state",
                                  "jax._src.interpreters.mlir.module_to_bytecode", "jax._src.xla_bridge.backends_are_initialized",
                                  "jax._src.xla_bridge.make_cpu_client", "jax._src.xla_bridge.register_backend_factory"])
def test_the_installed_jax_has_the_names(path):
    import pkgutil
    assert pkgutil.resolve_name(path) is not None


def test_the_settings_of_a_thread_are_found():
    from jtorch._base import jax_private
    assert len(jax_private.thread_settings()) > 10
