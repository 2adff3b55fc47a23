"""torch._logging: log settings of PyTorch's compiler, which is absent, so most have no effect.

``jtorch.engine.report()`` tells what has been compiled.
"""
from __future__ import annotations

import functools
import logging
from typing import Any

_LEVELS = (logging.CRITICAL, logging.ERROR, logging.WARNING, logging.INFO, logging.DEBUG, logging.NOTSET)
LOGS = {"all": "torch", "dynamo": "torch._dynamo", "aot": "torch._functorch.aot_autograd", "autograd": "torch.autograd",
        "dynamic": "torch.fx.experimental.symbolic_shapes", "inductor": "torch._inductor", "distributed": "torch.distributed",
        "c10d": "torch.distributed.distributed_c10d", "ddp": "torch.nn.parallel.distributed", "fsdp": "torch.distributed.fsdp",
        "dtensor": "torch.distributed.tensor", "onnx": "torch.onnx", "export": "torch.export"}
ARTIFACTS = frozenset(
    "bytecode aot_graphs aot_joint_graph ddp_graphs graph graph_code graph_code_verbose graph_breaks side_effects graph_sizes "
    "guards recompiles recompiles_verbose trace_source trace_call trace_bytecode output_code kernel_code schedule perf_hints "
    "pre_grad_graphs post_grad_graphs ir_pre_fusion ir_post_fusion onnx_diagnostics fusion overlap cudagraphs sym_node "
    "compiled_autograd compiled_autograd_verbose cudagraph_static_inputs benchmarking autotuning incremental "
    "graph_region_expansion inductor_metrics hierarchical_compile compute_dependencies caching".split())


def trace_structured(name: str, metadata_fn: Any = dict, *, payload_fn: Any = None, **options: Any) -> None:
    """Do nothing: no compiler trace is written."""


def trace_structured_artifact(name: str, encoding: str, payload_fn: Any = None, compile_id: Any = None) -> None:
    """Do nothing: no compiler trace is written."""


def set_logs(*, modules: dict[str, int | bool] | None = None, **logs: Any) -> None:
    """Set the levels of Python's loggers of these names; artifacts are accepted and have no effect.

    Without arguments all levels are reset. See torch._logging.set_logs.

    Raises:
        ValueError: an unknown name or level, or an artifact's value that is no bool.

    """
    wanted = {}
    for name, value in {**logs, **(modules or {})}.items():
        if name in ARTIFACTS:
            if not isinstance(value, bool):
                raise ValueError(f"Expected bool to enable artifact {name}, received {value}")
        else:
            wanted[_logger_of(name)] = _level(name, value)
    for logger in LOGS.values():
        logging.getLogger(logger).setLevel(wanted.pop(logger, logging.NOTSET))
    for logger, level in wanted.items():
        logging.getLogger(logger).setLevel(level)


def _logger_of(name: str) -> str:
    if name not in LOGS and not name.startswith("torch."):
        raise ValueError(f"Unrecognized log or artifact name passed to set_logs: {name}")
    return LOGS.get(name, name)


def _level(name: str, value: Any) -> int:
    if isinstance(value, bool) or value not in _LEVELS:
        raise ValueError(f"Unrecognized log level for log {LOGS.get(name, name) if name == 'all' else name}: {value}, "
                         f"valid level values are: {','.join(map(str, _LEVELS))}")
    return value


def getArtifactLogger(module_qname: str, artifact_name: str) -> logging.Logger:
    """Return the logger of a module's artifact. See torch._logging.getArtifactLogger."""
    if artifact_name not in ARTIFACTS:
        raise ValueError(f"Artifact name: {artifact_name!r} not registered,"
                         f"please call register_artifact({artifact_name!r}) in torch._logging.registrations.")
    return logging.getLogger(f"{module_qname}.__{artifact_name}")


@functools.cache
def warning_once(logger_obj: logging.Logger, *args: Any, **kwargs: Any) -> None:
    """Log a warning the first time that these arguments are given. See torch._logging.warning_once."""
    logger_obj.warning(*args, **kwargs)
