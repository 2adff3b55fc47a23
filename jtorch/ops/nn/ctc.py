"""Connectionist temporal classification. See torch.nn.functional.ctc_loss."""
from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

from jtorch.ops import check
from jtorch.ops.nn._common import functional, reduction_of
from jtorch.ops.registry import Tensor

_NEVER = -1e30      # the log of probability 0, finite so that gradients stay finite


def _padded_targets(targets: jax.Array, target_lengths: jax.Array, batch: int) -> jax.Array:
    """Return a matrix with a row of labels for each sample, from a padded matrix or from concatenated labels.

    Columns from a sample's target length on have no meaning.
    """
    if targets.ndim == 2:
        return targets.astype(jnp.int64)
    starts = jnp.cumsum(target_lengths) - target_lengths
    at = starts[:, None] + jnp.arange(max(targets.shape[0], 1))[None]
    if targets.shape[0] == 0:
        return jnp.zeros((batch, 1), jnp.int64)
    return jnp.take(targets.astype(jnp.int64), at, axis=0, mode="clip")


def _log_likelihood(log_probs, targets, input_lengths, target_lengths, blank: int) -> jax.Array:
    """Return each sample's log of the summed probability of all alignments."""
    steps, batch, _ = log_probs.shape
    labels = jnp.full((batch, 2 * targets.shape[1] + 1), blank, jnp.int64).at[:, 1::2].set(targets)
    places = labels.shape[1]
    wanted = jnp.broadcast_to(labels[None], (steps, batch, places))
    emitted = jnp.take_along_axis(log_probs, wanted, axis=2, mode="clip")
    emitted = jnp.maximum(emitted, _NEVER)
    place = jnp.arange(places)[None]
    skip = (labels != jnp.roll(labels, 2, axis=1)) & (place >= 2)     # A target may hold the blank; PyTorch treats it as a label.
    start = jnp.where((place < 2) & (place <= 2 * target_lengths[:, None]), emitted[0], _NEVER)

    def step(alpha, now):
        t, emission = now
        one = jnp.pad(alpha, ((0, 0), (1, 0)), constant_values=_NEVER)[:, :-1]
        two = jnp.where(skip, jnp.pad(alpha, ((0, 0), (2, 0)), constant_values=_NEVER)[:, :-2], _NEVER)
        total = jax.nn.logsumexp(jnp.stack([alpha, one, two]), axis=0) + emission
        return jnp.where((t < input_lengths)[:, None], jnp.maximum(total, _NEVER), alpha), None

    alpha, _ = lax.scan(step, start, (jnp.arange(1, steps), emitted[1:]))
    last = jnp.take_along_axis(alpha, 2 * target_lengths[:, None], axis=1, mode="clip")[:, 0]
    before = jnp.take_along_axis(alpha, jnp.maximum(2 * target_lengths - 1, 0)[:, None], axis=1, mode="clip")[:, 0]
    both = jnp.where(target_lengths > 0, jnp.logaddexp(last, before), last)
    return jnp.where(input_lengths > 0, both, jnp.where(target_lengths > 0, _NEVER, 0))


def _lengths(lengths, name: str, batch: int) -> jax.Array:
    array = jnp.asarray(lengths)
    check.require(jnp.issubdtype(array.dtype, jnp.integer), f"{name} must be integral")
    array = array.astype(jnp.int64).reshape(-1)
    check.require(array.shape[0] == batch, f"{name} must be of size batch_size")
    return array


_WHERE = "(while checking arguments for ctc_loss_allocate_outputs)"
_SHIFT = 1 << 32        # a detail is the error's number times _SHIFT, plus the value found, plus half of _SHIFT


def _wrong_lengths(log_probs, targets, input_lengths, target_lengths) -> list[tuple]:
    """Return (is it wrong, the value found) for each error that depends on lengths."""
    given, wanted = (jnp.asarray(x).astype(jnp.int64).reshape(-1) for x in (input_lengths, target_lengths))
    least, most = (jnp.min(given, initial=0), jnp.max(given, initial=0))
    least_wanted, most_wanted = jnp.min(wanted, initial=0), jnp.max(wanted, initial=0)
    if targets.ndim == 2 or log_probs.ndim == 2:
        targets_wrong = most_wanted > targets.shape[-1], most_wanted
    else:
        targets_wrong = jnp.sum(wanted) != targets.shape[0], jnp.sum(wanted)
    return [(least_wanted < 0, least_wanted), targets_wrong, (least < 0, least), (most > log_probs.shape[0], most)]


def _lengths_flag(log_probs, targets, input_lengths, target_lengths, *_):
    wrong, detail = jnp.zeros((), bool), jnp.zeros((), jnp.int64)
    for kind, (bad, found) in enumerate(_wrong_lengths(log_probs, targets, input_lengths, target_lengths)):
        detail = jnp.where(bad & ~wrong, kind * _SHIFT + found + _SHIFT // 2, detail)
        wrong = wrong | bad
    return wrong, detail


def _lengths_error(detail: int, log_probs, targets, *_) -> Exception:
    kind, found = divmod(detail, _SHIFT)
    found -= _SHIFT // 2
    steps = log_probs.shape[0]
    if kind == 1:
        matrix = targets.ndim == 2 or log_probs.ndim == 2
        return RuntimeError(f"Expected tensor to have size {'at least ' if matrix else ''}{found} at dimension {int(matrix)}, "
                            f"but got size {targets.shape[-1]} for argument #2 'targets' {_WHERE}")
    name = "target_lengths" if kind == 0 else "input_lengths"
    limit = f"most {steps}" if kind == 3 else "least 0"
    return RuntimeError(f"Expected {name} to have value at {limit}, but got value {found} {_WHERE}")


@jax.custom_jvp
def _infinite(total: jax.Array, impossible: jax.Array) -> jax.Array:
    """Return infinity. As in PyTorch, the gradient of an impossible sample is nan."""
    return jnp.full_like(total, jnp.inf)


@_infinite.defjvp
def _infinite_jvp(primals, tangents):
    return _infinite(*primals), tangents[0] * jnp.where(primals[1], jnp.nan, 0)


def _backward_name(template: tuple) -> str:
    unreduced = "WhereBackward0" if template[6] else "CtcLossBackward0"
    return {"mean": "MeanBackward0", "sum": "SumBackward0"}.get(template[5], unreduced)


def _check(log_probs: jax.Array, targets: jax.Array, blank: int) -> None:
    check.require(log_probs.ndim in (2, 3), f"Expected 3-dimensional tensor, but got {log_probs.ndim + 1}-dimensional tensor for "
                  f"argument #1 'log_probs' {_WHERE}")
    check.require(jnp.issubdtype(log_probs.dtype, jnp.floating), "\"ctc_loss_cpu\" not implemented for "
                  f"'{check.scalar_name(log_probs.dtype)}'", NotImplementedError)
    check.require(0 <= blank < log_probs.shape[-1], "blank must be in label range")
    check.require(targets.ndim in (1, 2), f"Expected 1 to 2 dimensions, but got {targets.ndim}-dimensional tensor for argument "
                  f"#2 'targets' {_WHERE}")
    batch = log_probs.shape[1]
    check.require(targets.ndim == 1 or log_probs.ndim == 2 or targets.shape[0] == batch, f"Expected tensor to have size {batch} "
                  f"at dimension 0, but got size {targets.shape[0]} for argument #2 'targets' {_WHERE}")


@functional(backward_name=_backward_name, value_check=(_lengths_flag, _lengths_error), loops=True)
def ctc_loss(log_probs: Tensor, targets: Tensor, input_lengths: Tensor | tuple[int, ...],
             target_lengths: Tensor | tuple[int, ...], blank: int = 0, reduction: str = "mean",
             zero_infinity: bool = False):
    """Return minus the log-probability of ``targets`` under all alignments. See torch.nn.functional.ctc_loss."""
    reduction, unbatched = reduction_of(None, None, reduction), log_probs.ndim == 2
    _check(log_probs, targets, blank)
    x = log_probs[:, None] if unbatched else log_probs
    batch = x.shape[1]
    lengths, wanted = _lengths(input_lengths, "input_lengths", batch), _lengths(target_lengths, "target_lengths", batch)
    labels = _padded_targets(targets[None] if unbatched and targets.ndim == 1 else targets, wanted, batch)
    loss = -_log_likelihood(x, labels, lengths, wanted, blank)
    # PyTorch returns the gradient by the logits of a preceding log_softmax. It has each probability as a further term.
    inside = (jnp.arange(x.shape[0])[:, None] < lengths[None])[..., None]
    total = jnp.sum(jnp.where(inside, jnp.exp(x), 0), axis=(0, 2))
    loss = loss + (total - lax.stop_gradient(total))
    impossible = loss >= -_NEVER / 2
    loss = jnp.where(impossible, 0 if zero_infinity else _infinite(total, impossible), loss)
    if reduction == "mean":
        return jnp.mean(loss / jnp.maximum(wanted, 1).astype(loss.dtype))
    return jnp.sum(loss) if reduction == "sum" else loss[0] if unbatched else loss
