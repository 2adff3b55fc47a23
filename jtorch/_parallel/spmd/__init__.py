"""DTensors on a mesh of this process's devices: sharded ``jax.Array``s, whose ops XLA's partitioner splits."""
