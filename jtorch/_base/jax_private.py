"""All private names of JAX and jaxlib that jtorch uses, apart from two programs that run without jtorch.

The two are ``engine/compile_server.py`` and ``distributed/coordinator.py``. Another JAX may lack a name. Some functions say
what they return then, and the others raise ImportError or AttributeError. The names were checked with JAX 0.10.
``tests/structure/test_jax_private.py`` looks for each name in the JAX that is installed.
"""
from __future__ import annotations

import contextlib
import sys
from typing import Any

from jaxlib import xla_client

batched_device_put: Any = getattr(xla_client, "batched_device_put", None)
HostBufferSemantics: Any = getattr(xla_client, "HostBufferSemantics", None)
# The name of an attribute of settings that only users set, never JAX itself.
_SET_BY_USERS = "_update_thread_local_hook"


# ---------------------------------------------------------------- the state of JAX

def backends_are_initialized() -> bool | None:
    """Return whether JAX has started XLA, or None if this version of JAX does not tell. This does not import JAX."""
    asked = getattr(sys.modules.get("jax._src.xla_bridge"), "backends_are_initialized", None)
    return None if asked is None else asked()


def thread_settings() -> tuple:
    """Return the thread-local settings that JAX itself sets, with ``get_local`` and ``set_local``; () if this JAX has none."""
    try:
        from jax._src import config, core, mesh
        kind = config.config_ext.Config
        found = [*config.config_states.values(), *[x for module in (config, core, mesh) for x in vars(module).values()]]
    except (ImportError, AttributeError):
        return ()
    return tuple({id(x): x for x in found if isinstance(x, kind) and getattr(x, _SET_BY_USERS, None) is None}.values())


def trace_context() -> tuple:
    """Return the settings of this thread that a JAX trace depends on."""
    from jax._src import config
    return config.trace_context()      # type: ignore[attr-defined]


def is_tracing() -> bool:
    """Return whether JAX traces a function in this thread."""
    from jax._src.core import trace_state_clean
    return not trace_state_clean()


def whole_tracebacks() -> contextlib.AbstractContextManager:
    """Return a context in which JAX keeps its frames in tracebacks; an empty context if this JAX has none."""
    from jax._src import config
    filtering = getattr(config, "traceback_filtering", None)
    return contextlib.nullcontext() if filtering is None else filtering("off")


# ---------------------------------------------------------------- programs

def module_to_bytecode(module: Any) -> bytes:
    """Return an MLIR module as bytes."""
    from jax._src.interpreters import mlir
    return mlir.module_to_bytecode(module)


def initialize_lapack() -> None:
    """Load LAPACK's functions, as JAX does when it lowers a call of LAPACK."""
    from jaxlib import lapack
    lapack._lapack.initialize()


# ---------------------------------------------------------------- several processes

def make_cpu_client(**options: Any) -> Any:
    """Return a client of XLA for the CPUs of a job. See ``xla_client.make_cpu_client``."""
    return xla_client.make_cpu_client(**options)


def make_gloo_collectives(client: Any, host: str) -> Any:
    """Return Gloo's collectives for a CPU client. ``client`` is that of the job's coordinator."""
    from jaxlib import _jax
    return _jax.make_gloo_tcp_collectives(distributed_client=client, hostname=host, interface=None)


def coordinator_client(address: str, rank: int, **options: Any) -> Any:
    """Return a client of the job's coordinator at this address."""
    from jaxlib import _jax
    return _jax.get_distributed_runtime_client(address, rank, **options)


def join_job(client: Any, rank: int, size: int, address: str, collectives: Any) -> None:
    """Make this process a part of a job. JAX must not have started XLA."""
    from jax._src import distributed, xla_bridge
    state: Any = distributed.global_state
    state.client, state.process_id, state.num_processes, state.coordinator_address = client, rank, size, address

    def make() -> Any:
        return xla_bridge.make_cpu_client(collectives)
    xla_bridge.register_backend_factory("cpu", make, priority=0, fail_quietly=False)
