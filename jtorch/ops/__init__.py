"""The ops: pure functions on ``jax.Array``, one file per heading of PyTorch's documentation. See docs/adding_an_op.md."""
