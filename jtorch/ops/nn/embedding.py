"""Embeddings. See https://docs.pytorch.org/docs/stable/nn.functional.html#sparse-functions."""
from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jtorch.ops import check
from jtorch.ops.elementwise import widen
from jtorch.ops.nn._common import functional, size_text
from jtorch.ops.nn.distance import vector_norm
from jtorch.ops.registry import Tensor, op


def _bad_index(indices: jax.Array, rows: int) -> tuple[jax.Array, jax.Array]:
    flat = indices.reshape(-1).astype(jnp.int64)
    if flat.size == 0:
        return jnp.zeros((), bool), jnp.zeros((), jnp.int64)
    wrong = (flat < 0) | (flat >= rows)
    return jnp.any(wrong), flat[jnp.argmax(wrong)]


def _flag(input, weight, *_):
    return _bad_index(input, weight.shape[0])


def _error(detail: int, *_) -> Exception:
    return IndexError("index out of range in self")


def _wrapped_padding(padding_idx: int | None, rows: int) -> int | None:
    if padding_idx is None:
        return None
    check.require(-rows <= padding_idx < rows, "Padding_idx must be within num_embeddings", AssertionError)
    return padding_idx % rows


def _renormalized(weight: jax.Array, indices: jax.Array, max_norm: float, norm_type: float) -> jax.Array:
    """Return ``weight`` with the rows at ``indices`` scaled down to ``max_norm``. The gradient ignores the scaling."""
    norm = vector_norm(weight, norm_type, 1, keepdims=True)
    used = jnp.zeros((weight.shape[0], 1), bool).at[indices.reshape(-1)].set(True, mode="drop")
    scaled = jnp.where(used & (norm > max_norm), weight * (max_norm / (norm + 1e-7)).astype(weight.dtype), weight)
    return weight + lax.stop_gradient(scaled - weight)


def _only_value(x: jax.Array, hidden: jax.Array) -> jax.Array:
    """Return ``x`` without gradient where ``hidden``."""
    return jnp.where(hidden, lax.stop_gradient(x), x)


def _check_indices(input: jax.Array, name: str) -> None:
    check.require(input.dtype in (jnp.int32, jnp.int64), "Expected tensor for argument #1 'indices' to have one of the "
                  f"following scalar types: Long, Int; but got {check.type_name(input.dtype)} instead (while checking "
                  f"arguments for {name})")


@functional(writes="weight", value_check=(_flag, _error))
def embedding(input: Tensor, weight: Tensor, padding_idx: int | None = None, max_norm: float | None = None,
              norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False):
    """Return the rows of ``weight`` at ``input``. See torch.nn.functional.embedding. Gradients are never sparse.

    With ``max_norm`` it also returns the weight with the named rows scaled down.
    """
    check.require(weight.ndim == 2, "'weight' must be 2-D")
    _check_indices(input, "embedding")
    pad = _wrapped_padding(padding_idx, weight.shape[0])
    if max_norm is not None:
        weight = _renormalized(weight, input, max_norm, norm_type)
    rows = jnp.take(weight, input, axis=0, mode="clip")
    if scale_grad_by_freq:
        count = jnp.zeros(weight.shape[0], weight.dtype).at[input.reshape(-1)].add(1, mode="drop")
        share = (1 / jnp.take(count, input, axis=0, mode="clip"))[..., None]
        rows = rows * share + lax.stop_gradient(rows * (1 - share))
    if pad is not None:
        rows = _only_value(rows, (input == pad)[..., None])
    return rows if max_norm is None else (rows, lax.stop_gradient(weight))


def _bag_of(input: jax.Array, offsets: jax.Array | None, include_last_offset: bool) -> tuple[jax.Array, int]:
    """Return (the bag of each flat index, the number of bags)."""
    if input.ndim == 2:
        check.require(offsets is None, "if input is 2D, then offsets has to be None, as input is treated is a "
                      "mini-batch of fixed length sequences. However, found offsets of type <class "
                      "'torch.Tensor'>", ValueError)
        return jnp.broadcast_to(jnp.arange(input.shape[0])[:, None], input.shape).reshape(-1), input.shape[0]
    check.require(input.ndim == 1, "input has to be 1D or 2D Tensor, but got Tensor of dimension "
                  f"{input.ndim}", ValueError)
    if offsets is None:
        raise ValueError("offsets has to be a 1D Tensor but got None")
    check.require(offsets.ndim == 1, "offsets has to be a 1D Tensor", ValueError)
    bags = offsets.shape[0] - include_last_offset
    begun = jnp.zeros(input.shape[0], jnp.int64).at[offsets[:bags]].add(1, mode="drop")     # searchsorted would be a loop
    return jnp.cumsum(begun) - 1, bags


def _bag_maximum(rows: jax.Array, bag: jax.Array, bags: int, kept: jax.Array) -> jax.Array:
    low = jnp.where(kept[:, None], rows, -jnp.inf)
    top = jax.ops.segment_max(lax.stop_gradient(low), bag, bags)
    # the first of the equal maxima gets the gradient, and empty bags are 0
    order = jnp.arange(rows.shape[0])[:, None]
    first = jax.ops.segment_min(jnp.where((low == top[bag]) & kept[:, None], order, rows.shape[0]), bag, bags)
    return jax.ops.segment_sum(jnp.where(order == first[bag], rows, 0), bag, bags)


def _check_bag(input, weight, mode: str, per_sample_weights, scale_grad_by_freq: bool, sparse: bool) -> None:
    check.require(mode in ("sum", "mean", "max"), "mode has to be one of sum, mean or max", ValueError)
    check.require(per_sample_weights is None or input.shape == per_sample_weights.shape, "embedding_bag: If "
                  f"per_sample_weights ({size_text(per_sample_weights.shape) if per_sample_weights is not None else ''}) is "
                  f"not None, then it must have the same shape as the input ({size_text(input.shape)})", ValueError)
    check.require(per_sample_weights is None or mode == "sum", "embedding_bag: per_sample_weights was not None. "
                  f"per_sample_weights is only supported for mode='sum' (got mode='{mode}'). Please open a feature "
                  "request on GitHub.", NotImplementedError)
    check.require(not (scale_grad_by_freq and mode == "max"), "max mode does not support scaling the gradient by the "
                  "frequency", ValueError)
    check.require(not (sparse and mode == "max"), "max mode does not support sparse weights", ValueError)
    _check_indices(input, "embedding_bag")
    if per_sample_weights is not None and per_sample_weights.dtype != weight.dtype:
        kinds = [check.type_name(x.dtype) for x in (weight, per_sample_weights)]
        raise RuntimeError("Expected tensor for argument #1 'weight' to have the same type as tensor for argument #1 "
                           f"'per_sample_weights'; but type {kinds[0]} does not equal {kinds[1]} (while checking arguments for "
                           "embedding_bag)")


def _bag_flag(input, weight, offsets=None, *_):
    """Return (is something wrong, detail) for ``value_check``: wrong offsets have negative details and precede wrong indices."""
    wrong, found = _bad_index(input, weight.shape[0])
    found = jnp.argmax(input.reshape(-1) == found) << 32 | found & 0xFFFFFFFF if input.size else found
    if offsets is None or offsets.ndim != 1 or offsets.size == 0 or input.ndim != 1:
        return wrong, found
    first, last = offsets[0].astype(jnp.int64), offsets[-1].astype(jnp.int64)
    bad_first, bad_last = first != 0, last > input.shape[0]
    detail = jnp.where(bad_first, -2 * jnp.abs(first) - 2, jnp.where(bad_last, -2 * last - 1, found))
    return wrong | bad_first | bad_last, detail


def _bag_error(detail: int, input, weight, *others) -> Exception:
    mode, padding_idx = others[4], others[8]
    if detail < 0 and detail % 2 == 0:
        return RuntimeError("offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position "
                            f"0. However, got {-detail // 2 - 1}")
    if detail < 0:
        return RuntimeError(f"offsets[-1] can not be greater than input's length {input.shape[0]} but got offsets[-1] of "
                            f"{-detail // 2}")
    value = (detail & 0xFFFFFFFF) - (1 << 32 if detail & 0x80000000 else 0)
    if mode == "max" or padding_idx is not None:
        return RuntimeError(f"embedding_bag: Expected idx >= 0 && idx < num_embeddings but found idx to be {value}")
    return RuntimeError(f"Index {detail >> 32} of input takes value {value} which is not in the valid range [0, "
                        f"{weight.shape[0]})")


@functional(writes="weight", value_check=(_bag_flag, _bag_error))
def embedding_bag(input: Tensor, weight: Tensor, offsets: Tensor | None = None, max_norm: float | None = None,
                  norm_type: float = 2, scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False,
                  per_sample_weights: Tensor | None = None, include_last_offset: bool = False,
                  padding_idx: int | None = None):
    """Return sums, means or maxima of bags of rows. See torch.nn.functional.embedding_bag. Gradients are never sparse.

    With ``max_norm`` it also returns the weight with the named rows scaled down.
    """
    _check_bag(input, weight, mode, per_sample_weights, scale_grad_by_freq, sparse)
    pad = _wrapped_padding(padding_idx, weight.shape[0])
    bag, bags = _bag_of(input, offsets, include_last_offset)
    flat = input.reshape(-1)
    result = embedding(flat, weight, None, max_norm, norm_type, scale_grad_by_freq)
    rows, new_weight = result if max_norm is not None else (result, None)
    rows = widen(rows)
    kept = jnp.ones(flat.shape, bool) if pad is None else flat != pad
    if mode == "max":
        out = _bag_maximum(rows, bag, bags, kept)
    else:
        if per_sample_weights is not None:
            rows = rows * widen(per_sample_weights).reshape(-1, 1)
        out = jax.ops.segment_sum(jnp.where(kept[:, None], rows, 0), bag, bags)
    if mode == "mean":
        count = jax.ops.segment_sum(kept.astype(out.dtype), bag, bags)
        out = out / jnp.maximum(count, 1)[:, None]
    out = out.astype(weight.dtype)
    return out if new_weight is None else (out, new_weight)


@op(name="embedding", method=False, out=False, value_check=(lambda weight, indices, *_: _flag(indices, weight), _error),
    tested=False)
def torch_embedding(weight: Tensor, indices: Tensor, padding_idx: int = -1, scale_grad_by_freq: bool = False,
                    sparse: bool = False):
    """Return nn.functional.embedding for torch.embedding's arguments; ``padding_idx`` -1 means None."""
    outside = padding_idx == -1 or not -weight.shape[0] <= padding_idx < weight.shape[0]
    return embedding(indices, weight, None if outside else padding_idx, None, 2.0, scale_grad_by_freq, sparse)


def _check_one_hot(tensor, num_classes: int) -> int:
    """Check the values and return the number of classes."""
    check.require(tensor.dtype == np.int64, "one_hot is only applicable to index tensor of type LongTensor.")
    if tensor.size == 0:
        check.require(num_classes > 0, "Can not infer total number of classes from empty tensor.")
        return num_classes
    check.require(int(tensor.min()) >= 0, "Class values must be non-negative.")
    if num_classes == -1:
        return int(tensor.max()) + 1
    check.require(num_classes > int(tensor.max()), "Class values must be smaller than num_classes.")
    return num_classes


@functional(dynamic=True, differentiable=False, static_form=lambda template: "_one_hot_of" if template[1] > 0 else None)
def one_hot(tensor: Tensor, num_classes: int = -1):
    """Return 1 at each index along a new last dimension, 0 elsewhere. See torch.nn.functional.one_hot."""
    classes = _check_one_hot(tensor, num_classes)
    check.storable((*tensor.shape, classes), np.int64)
    return (np.asarray(tensor)[..., None] == np.arange(classes)).astype(np.int64)


def _one_hot_flag(tensor, num_classes: int):
    if tensor.size == 0:
        return jnp.zeros((), bool), jnp.zeros((), jnp.int64)
    negative = jnp.any(tensor < 0)
    return negative | jnp.any(tensor >= num_classes), negative.astype(jnp.int64)


def _one_hot_error(detail: int, *_) -> Exception:
    return RuntimeError("Class values must be non-negative." if detail else "Class values must be smaller than "
                        "num_classes.")


@op(name="_one_hot_of", function=False, method=False, out=False, differentiable=False, tested=False,
    value_check=(_one_hot_flag, _one_hot_error))
def one_hot_of(tensor: Tensor, num_classes: int):
    """Return one_hot for a known number of classes, without reading values."""
    check.require(tensor.dtype == jnp.int64, "one_hot is only applicable to index tensor of type LongTensor.")
    check.storable((*tensor.shape, num_classes), np.int64)
    return jax.nn.one_hot(tensor, num_classes, dtype=jnp.int64)
