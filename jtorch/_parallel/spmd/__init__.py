"""DTensors on a mesh of this process's own devices: sharded ``jax.Array``s, whose ops XLA's partitioner splits."""
