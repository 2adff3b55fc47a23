"""Sequences of different lengths, padded and packed. See torch.nn.utils.rnn.

``flat`` has the index (time, batch) of each data row of the padded form, in packed order. ``place`` is its inverse: the
packed row for each (time, batch), or -1 for padding. Both are computed from lengths on the host.
"""
from __future__ import annotations

import jax
import jax.numpy as jnp

from jtorch.ops import check
from jtorch.ops.registry import Number, Tensor, op


@jax.custom_vjp
def _rows(x: jax.Array, index: jax.Array, inverse: jax.Array) -> jax.Array:
    """Return the rows of ``x`` at ``index``, 0 for index -1. The transpose takes the rows at ``inverse``."""
    if x.shape[0] == 0:
        return jnp.zeros((index.shape[0], *x.shape[1:]), x.dtype)
    taken = jnp.take(x, index, axis=0, mode="clip")
    missing = (index < 0).reshape(-1, *[1] * (x.ndim - 1))
    return jnp.where(jnp.broadcast_to(missing, taken.shape), jnp.zeros((), x.dtype), taken)


_rows.defvjp(lambda x, index, inverse: (_rows(x, index, inverse), (index, inverse)),
             lambda saved, d: (_rows(d, saved[1], saved[0]), None, None))


@op(name="_pack_rows", function=False, method=False, out=False, tested=False,
    backward_name="PackPaddedSequenceBackward0")
def pack_rows(input: Tensor, flat: Tensor, place: Tensor, batch_first: bool):
    """Pack the data rows of a padded batch, time by time."""
    x = jnp.swapaxes(input, 0, 1) if batch_first else input
    x = x[:place.shape[0]]
    return _rows(x.reshape(-1, *x.shape[2:]), flat, place.reshape(-1))


@op(name="_pad_rows", function=False, method=False, out=False, tested=False,
    backward_name="PadPackedSequenceBackward0")
def pad_rows(input: Tensor, flat: Tensor, place: Tensor, padding_value: Number, batch_first: bool):
    """Pad packed rows to a batch."""
    rows = _rows(input, place.reshape(-1), flat).reshape(*place.shape, *input.shape[1:])
    missing = jnp.broadcast_to((place < 0).reshape(*place.shape, *[1] * (input.ndim - 1)), rows.shape)
    out = jnp.where(missing, jnp.asarray(padding_value).astype(rows.dtype), rows)
    return jnp.swapaxes(out, 0, 1) if batch_first else out


@op(name="_pad_sequence", function=False, method=False, out=False, tested=False,
    backward_name="CopySlices")
def pad_sequence(sequences: list[Tensor], batch_first: bool, padding_value: Number, left: bool):
    """Stack sequences, padding each to the longest."""
    longest = max(s.shape[0] for s in sequences)
    value, made = jnp.asarray(padding_value).astype(sequences[0].dtype), []
    for s in sequences:
        check.require(s.shape[1:] == sequences[0].shape[1:], "The size of tensor a "
                      f"({sequences[0].shape[-1] if sequences[0].ndim else 0}) must match the size of tensor b "
                      f"({s.shape[-1] if s.ndim else 0}) at non-singleton dimension {s.ndim - 1}")
        fill = jnp.broadcast_to(value, (longest - s.shape[0], *s.shape[1:]))
        made.append(jnp.concatenate([fill, s] if left else [s, fill]))
    return jnp.stack(made, axis=0 if batch_first else 1)
