"""Meshes of this process's devices, for programs without a job of several processes."""
from __future__ import annotations

import os

import jax
import numpy as np

from jtorch.device import jax_devices
from jtorch.distributed import membership


def are_meant() -> bool:
    """Return whether a mesh consists of this process's devices: there is no job, and no launcher started the process for one."""
    return not membership.is_initialized() and not {"WORLD_SIZE", "RANK"} & os.environ.keys()


def named(device_type: str, ranks: np.ndarray) -> jax.sharding.Mesh:
    """Return JAX's mesh of the devices with these numbers; RuntimeError if this process has fewer devices."""
    there = jax_devices(device_type)
    if not ranks.size or ranks.min() < 0 or ranks.max() >= len(there):
        raise RuntimeError(f"A mesh of {ranks.size} {device_type} devices needs as many, and this process has {len(there)}. "
                           + _advice(device_type, int(ranks.max(initial=0)) + 1))
    return jax.sharding.Mesh(np.array(there)[ranks], tuple([f"d{i}" for i in range(ranks.ndim)]))


def _advice(device_type: str, count: int) -> str:
    processes = f"start {count} processes (torchrun --nproc-per-node {count}), or call init_process_group() first"
    if device_type != "cpu":
        return f"To have one in each process: {processes}."
    return ("For virtual devices set XLA_FLAGS=--xla_force_host_platform_device_count="
            f"{count} in the environment before Python starts. To have one in each process: {processes}.")
