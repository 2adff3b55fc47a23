"""DTensors on a mesh that XLA's programs span: sharded ``jax.Array``s, whose ops XLA's partitioner splits.

The mesh has this process's devices, or in a job with the backend "xla" those of all processes.
"""
