"""Meshes of the devices that XLA's programs span: this process's, or those of all processes of a job."""
from __future__ import annotations

import os
from collections.abc import Sequence

import jax
import numpy as np

from jtorch.device import jax_devices
from jtorch.distributed import membership


def are_meant() -> bool:
    """Return whether a mesh consists of devices that XLA's programs span.

    These are the devices of all processes of a job with the backend "xla". They are this process's devices if there is no job,
    and no launcher started the process for one.
    """
    if membership.is_initialized():
        return membership._world().runtime is not None
    return not {"WORLD_SIZE", "RANK"} & os.environ.keys()


def spanned(device_type: str) -> Sequence[jax.Device]:
    """Return the devices that a program may span: those of all processes of a job, or this process's if there is no job."""
    if membership.is_initialized():
        return jax.devices({"cuda": "gpu"}.get(device_type, device_type))
    return jax_devices(device_type)


def named(device_type: str, ranks: np.ndarray) -> jax.sharding.Mesh:
    """Return JAX's mesh of the devices with these numbers; RuntimeError if there are fewer devices."""
    return _named_in_job(device_type, ranks) if membership.is_initialized() else _named_here(device_type, ranks)


def _named_in_job(device_type: str, ranks: np.ndarray) -> jax.sharding.Mesh:
    there = spanned(device_type)
    if sorted(ranks.reshape(-1).tolist()) != list(range(len(there))):
        raise NotImplementedError(f"A mesh of a job with the backend \"xla\" has all {len(there)} {device_type} devices of the "
                                  f"job; got {ranks.size} of them")
    made = jax.sharding.Mesh(np.array(there)[ranks], tuple([f"d{i}" for i in range(ranks.ndim)]))
    runtime = membership._world().runtime
    assert runtime is not None
    runtime.agree_on(made, "making a mesh")
    return made


def _named_here(device_type: str, ranks: np.ndarray) -> jax.sharding.Mesh:
    there = spanned(device_type)
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
