"""jtorch against PyTorch eager and hand-written ``jax.jit``, measured in the same run: ``python -m benchmarks``."""
