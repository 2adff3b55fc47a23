"""Attention whose scores are modified and masked by the user's functions. See torch.nn.attention.flex_attention.

``torch.vmap`` maps the functions over all positions, and all scores are computed, as PyTorch does without
``torch.compile``. Gradients work on any device.
"""
from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any, Literal, NamedTuple, TypedDict

import jtorch._api.functions as functions
import jtorch._api.nn_functions as nn_functions
from jtorch._base import warned
from jtorch.dtype import named
from jtorch.nn.attention import _mapped
from jtorch.nn.attention._block_mask import DEFAULT_BLOCK_SIZE as _DEFAULT_SPARSE_BLOCK_SIZE
from jtorch.nn.attention._block_mask import LARGE_BLOCK_SIZE as _LARGE_SPARSE_BLOCK_SIZE
from jtorch.nn.attention._block_mask import BlockMask as BlockMask
from jtorch.nn.attention._block_mask import noop_mask as noop_mask
from jtorch.nn.attention._block_mask import sliced_mask as _sliced_mask_mod_error
from jtorch.nn.attention._block_mask import to_ordered as _dense_to_ordered
from jtorch.no_grad import is_grad_enabled, no_grad
from jtorch.tensor import Tensor

__all__ = ["AuxOutput", "AuxRequest", "BlockMask", "FlexKernelOptions", "and_masks", "create_block_mask", "create_mask",
           "flex_attention", "noop_mask", "or_masks"]

_score_mod_signature = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], Tensor]
_mask_mod_signature = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]
_FLEX_ATTENTION_DISABLE_COMPILE_DEBUG = False       # Packages set this; it has no effect.
_INFINITE = -float("inf")
_NOT_ELEMENTWISE = ("flex_attention: score_mod uses a tensor that requires a gradient, and is not a function of broadcast "
                    "positions: write it with operations that are done element by element (table[h, q_idx], not table[h][q_idx])")


class FlexKernelOptions(TypedDict, total=False):
    """Options of PyTorch's kernels, which jtorch accepts without effect."""

    num_warps: int
    num_stages: int
    BLOCK_M: int
    BLOCK_N: int
    BLOCK_M1: int
    BLOCK_N1: int
    BLOCK_M2: int
    BLOCK_N2: int
    PRESCALE_QK: bool
    ROWS_GUARANTEED_SAFE: bool
    BLOCKS_ARE_CONTIGUOUS: bool
    WRITE_DQ: bool
    FORCE_USE_FLEX_ATTENTION: bool
    USE_TMA: bool
    kpack: int
    matrix_instr_nonkdim: int
    waves_per_eu: int
    BACKEND: Literal["AUTO", "TRITON", "FLASH", "TRITON_DECODE"]


class AuxRequest(NamedTuple):
    """The auxiliary results that flex_attention returns."""

    lse: bool = False
    max_scores: bool = False


class AuxOutput(NamedTuple):
    """The requested auxiliary results; None for others."""

    lse: Tensor | None = None
    max_scores: Tensor | None = None


# ---------------------------------------------------------------- score_mod and mask_mod

def _identity(score: Tensor, batch: Tensor, head: Tensor, token_q: Tensor, token_kv: Tensor) -> Tensor:
    return score


def _takes_score(mod: Callable) -> bool:
    """Return whether ``mod`` is a score_mod (five arguments) rather than a mask_mod (four)."""
    parameters = inspect.signature(mod).parameters.values()
    count = len([p for p in parameters if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)])
    if count not in (4, 5):
        raise AssertionError(f"Expected 4 or 5 positional args, got {count}")
    return count == 5


def _vmap_for_bhqkv(fn: Callable, prefix: tuple, suffix: tuple = (), out_dims: Any = 0, group_dim: bool = False) -> Callable:
    """Map ``fn`` over all batches, heads, queries and keys. The name is PyTorch's, which packages import."""
    from jtorch.func import vmap
    heads = [(None, 0, None, None)] * (2 if group_dim else 1)
    for dims in [(None, None, None, 0), (None, None, 0, None), *heads, (0, None, None, None)]:
        fn = vmap(fn, in_dims=prefix + dims + suffix, out_dims=out_dims)
    return fn


def _positions(sizes: Any, device: Any) -> list[Tensor]:
    return [functions.arange(n, device=device) for n in sizes]


def or_masks(*mask_mods: Callable) -> Callable:
    """Return a mask_mod that is True where one of several is. See torch.nn.attention.flex_attention.or_masks."""
    _check_callable(mask_mods)

    def or_mask(b: Tensor, h: Tensor, q_idx: Tensor, kv_idx: Tensor) -> Tensor:
        result = b.new_zeros((), dtype=named("bool"))
        for mask in mask_mods:
            result = result | mask(b, h, q_idx, kv_idx)
        return result

    return or_mask


def and_masks(*mask_mods: Callable) -> Callable:
    """Return a mask_mod that is True where all of several are. See torch.nn.attention.flex_attention.and_masks."""
    _check_callable(mask_mods)

    def and_mask(b: Tensor, h: Tensor, q_idx: Tensor, kv_idx: Tensor) -> Tensor:
        result = b.new_ones((), dtype=named("bool"))
        for mask in mask_mods:
            result = result & mask(b, h, q_idx, kv_idx)
        return result

    return and_mask


def _check_callable(mask_mods: tuple) -> None:
    if not all([callable(mod) for mod in mask_mods]):
        raise RuntimeError(f"All inputs should be callable mask_mods: {mask_mods}")


def create_mask(mod_fn: Callable, B: int | None, H: int | None, Q_LEN: int, KV_LEN: int, device: Any = None) -> Tensor:
    """Return the mask of ``mod_fn`` as a tensor (B, H, Q_LEN, KV_LEN).

    See torch.nn.attention.flex_attention.create_mask.
    """
    sizes = (1 if B is None else B, 1 if H is None else H, Q_LEN, KV_LEN)
    where = _device(device)
    if not _takes_score(mod_fn):
        return _vmap_for_bhqkv(mod_fn, prefix=())(*_positions(sizes, where))
    scores = functions.zeros(sizes, device=where)
    return ~functions.isneginf(_vmap_for_bhqkv(mod_fn, prefix=(0,))(scores, *_positions(sizes, where)))


def _device(device: Any) -> Any:
    from jtorch.accelerator import current_accelerator
    return device if device is not None else current_accelerator() or "cpu"


def _convert_mask_to_block_mask(mask: Tensor, Q_BLOCK_SIZE: int = _DEFAULT_SPARSE_BLOCK_SIZE,
                                KV_BLOCK_SIZE: int = _DEFAULT_SPARSE_BLOCK_SIZE,
                                separate_full_blocks: bool = False) -> tuple[Tensor, Tensor | None]:
    """Return which blocks are nonempty (or partial), and which are full if ``separate_full_blocks``."""
    while mask.dim() < 4:
        mask = mask.unsqueeze(0)
    mask = nn_functions.pad(mask, (0, -mask.shape[-1] % KV_BLOCK_SIZE, 0, -mask.shape[-2] % Q_BLOCK_SIZE))
    b, h, q, kv = mask.shape
    blocks = mask.view(b, h, q // Q_BLOCK_SIZE, Q_BLOCK_SIZE, kv // KV_BLOCK_SIZE, KV_BLOCK_SIZE)
    counts, all_of_it = blocks.permute(0, 1, 2, 4, 3, 5).sum(dim=[-2, -1]), Q_BLOCK_SIZE * KV_BLOCK_SIZE
    if not separate_full_blocks:
        return (counts > 0).to(named("int8")), None
    return ((counts > 0) & (counts < all_of_it)).to(named("int8")), (counts == all_of_it).to(named("int8"))


def create_block_mask(mask_mod: Callable, B: int | None, H: int | None, Q_LEN: int, KV_LEN: int, device: Any = None,
                      BLOCK_SIZE: int | tuple[int, int] = _DEFAULT_SPARSE_BLOCK_SIZE, _compile: bool = False,
                      separate_full_blocks: bool = True, compute_dq_write_order: bool = False,
                      dq_kv_order: bool = True) -> BlockMask:
    """Return the BlockMask of a function of batch, head, query and key.

    See torch.nn.attention.flex_attention.create_block_mask.

    ``compute_dq_write_order`` raises NotImplementedError, since it configures a CUDA kernel.
    """
    if _takes_score(mask_mod):
        raise AssertionError(f"create-block_mask requires a mask_mod function! Got {mask_mod}")
    if compute_dq_write_order:
        raise NotImplementedError("compute_dq_write_order is for a kernel of CUDA, and is not built; leave it out")
    block = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else BLOCK_SIZE
    mask = create_mask(mask_mod, B, H, Q_LEN, KV_LEN, device)
    partial, full = _convert_mask_to_block_mask(mask, *block, separate_full_blocks)
    of_full: tuple[Any, Any] = (None, None) if full is None else _dense_to_ordered(full)
    return BlockMask.from_kv_blocks(*_dense_to_ordered(partial), *of_full, block, mask_mod, (Q_LEN, KV_LEN))


def _create_empty_block_mask(query: Tensor, key: Tensor) -> BlockMask:
    """Return a BlockMask that allows everything: one block for all queries and keys."""
    one = functions.ones([1, 1, 1], dtype=named("int32"), device=query.device)
    return BlockMask.from_kv_blocks(one, functions.zeros_like(one).unsqueeze(0), BLOCK_SIZE=_LARGE_SPARSE_BLOCK_SIZE,
                                    seq_lengths=(1, 1))


# ---------------------------------------------------------------- scores

def _modified(score_mod: Callable, scores: Tensor, positions: list[Tensor]) -> Tensor:
    """Return the scores modified by ``score_mod``."""
    if score_mod is _identity:
        return scores
    if not is_grad_enabled() or not scores.numel():
        return _vmap_for_bhqkv(score_mod, prefix=(0,))(scores, *positions)
    first = score_mod(scores.detach()[0, 0, 0, 0], *[p[0] for p in positions])
    if first.requires_grad:
        return _by_broadcasting(score_mod, scores, positions)
    return _mapped.apply(_vmap_for_bhqkv, scores, score_mod, positions)


def _by_broadcasting(score_mod: Callable, scores: Tensor, positions: list[Tensor]) -> Tensor:
    """Call ``score_mod`` once with broadcast positions, so that gradients reach tensors that it uses.

    Raises:
        NotImplementedError: if the result differs from that of mapping ``score_mod`` over the positions.

    """
    spread = [p.view([-1 if i == j else 1 for j in range(4)]) for i, p in enumerate(positions)]
    with no_grad():
        expected = _vmap_for_bhqkv(score_mod, prefix=(0,))(scores, *positions)
    try:
        found = functions.broadcast_to(score_mod(scores, *spread), scores.shape)
    except (RuntimeError, IndexError) as error:
        raise NotImplementedError(_NOT_ELEMENTWISE) from error
    if not functions.allclose(found.detach(), expected, rtol=1e-3, atol=1e-4, equal_nan=True):
        raise NotImplementedError(_NOT_ELEMENTWISE)
    return found


def _scores(query: Tensor, key: Tensor, score_mod: Callable, mask_mod: Callable, scale: float) -> Tensor:
    precise = named("float64" if query.dtype is named("float64") else "float32")
    scores = query.to(precise) @ key.to(precise).transpose(-2, -1)
    scores = (scores * scale).to(precise)
    positions = _positions(scores.shape, scores.device)
    made = _modified(score_mod, scores, positions).to(precise)
    if mask_mod is noop_mask:
        return made
    return functions.where(_vmap_for_bhqkv(mask_mod, prefix=())(*positions), made, _INFINITE)


def _attend(query: Tensor, key: Tensor, value: Tensor, scores: Tensor) -> tuple[Tensor, AuxOutput]:
    """Return the attention's output, and the rows' logsumexp and largest score. A fully masked row gives zeros."""
    empty = (scores == _INFINITE).all(dim=-1, keepdim=True)
    # A fully masked row's softmax has no derivative, so its scores are replaced.
    shown = functions.where(empty, 0.0, scores)
    weights = functions.where(empty, 0.0, functions.softmax(shown, dim=-1))
    sums = functions.where(empty.squeeze(-1), _INFINITE, shown.logsumexp(dim=-1))
    return weights.to(query.dtype) @ value.to(query.dtype), AuxOutput(sums, scores.amax(dim=-1))


def flex_attention(query: Tensor, key: Tensor, value: Tensor, score_mod: Callable | None = None,
                   block_mask: BlockMask | None = None, scale: float | None = None, enable_gqa: bool = False,
                   return_lse: bool = False, kernel_options: Any = None, *, return_aux: AuxRequest | None = None) -> Any:
    """Compute attention with scores modified by ``score_mod`` and masked by ``block_mask``.

    See torch.nn.attention.flex_attention.

    ``score_mod(score, b, h, q_idx, kv_idx)`` returns a position's score. All scores are computed, even masked ones.
    Tensors that ``score_mod`` uses get gradients if it consists of element-wise operations.

        >>> from torch.nn.attention.flex_attention import flex_attention
        >>> x = torch.ones(1, 1, 2, 4)
        >>> flex_attention(x, x, x, score_mod=lambda score, b, h, q, kv: score - (q - kv).abs()).shape
        torch.Size([1, 1, 2, 4])
    """
    _check(query, key, value, enable_gqa, block_mask)
    if return_lse and return_aux is not None:
        raise ValueError("Cannot specify both return_lse and return_aux. return_lse is deprecated, please use "
                         "return_aux=AuxRequest(lse=True) instead.")
    if return_lse:
        warned.warn("return_lse is deprecated and will be removed in v2.10. Please use return_aux=AuxRequest(lse=True) "
                    "instead.", FutureWarning)
    groups = query.size(1) // key.size(1)
    key, value = [functions.repeat_interleave(t, groups, dim=1).expand(query.size(0), -1, -1, -1) for t in (key, value)]
    scores = _scores(query, key, score_mod or _identity, block_mask.mask_mod if block_mask is not None else noop_mask,
                     scale if scale is not None else 1 / math.sqrt(query.size(-1)))
    out, found = _attend(query, key, value, scores)
    if return_aux is not None:
        return out, AuxOutput(found.lse if return_aux.lse else None, found.max_scores if return_aux.max_scores else None)
    return (out, found.lse) if return_lse else out


# ---------------------------------------------------------------- checks of arguments

def _check(query: Tensor, key: Tensor, value: Tensor, enable_gqa: bool, block_mask: BlockMask | None) -> None:
    if query.dim() != 4 or key.dim() != 4 or value.dim() != 4:
        raise NotImplementedError("NYI: query, key, and value must be 4D tensors")
    if query.size(-1) != key.size(-1):
        raise ValueError("Expect query and key/value to have the same embedding dimension but got "
                         f"E={query.size(-1)} and E={key.size(-1)}.")
    _check_heads(query.size(1), key.size(1), enable_gqa)
    if query.size(0) != key.size(0):
        _check_batch(query.size(0), key.size(0), block_mask)
    if block_mask is not None:
        _check_mask(query, key, block_mask)


def _check_heads(of_queries: int, of_keys: int, enable_gqa: bool) -> None:
    if not enable_gqa and of_queries != of_keys:
        raise ValueError("Expect query and key/value to have the same number of heads but got "
                         f"Hq={of_queries} and Hkv={of_keys}. Try setting enable_gqa=True for GQA.")
    if of_queries % of_keys:
        raise ValueError("Expect number of query heads to be a multiple of kv heads for GQA but got "
                         f"Hq={of_queries} and Hkv={of_keys}.")


def _check_batch(of_queries: int, of_keys: int, block_mask: BlockMask | None) -> None:
    if block_mask is None:
        raise ValueError("Expect query and key/value to have the same batch size, or non-none block_mask, but got "
                         f"block_mask=None, Bq={of_queries}, and Bkv={of_keys}.")
    if block_mask.kv_num_blocks.size(0) != of_queries:
        raise ValueError("Expect query and key/value to have the same batch size, or block_mask and query to have the same batch "
                         f"size, but got Bq={of_queries}, Bkv={of_keys}, B_block_mask={block_mask.kv_num_blocks.size(0)}.")
    if of_keys != 1:
        raise RuntimeError(f"Bq and Bkv must broadcast. Got Bq={of_queries} and Bkv={of_keys}")


def _check_mask(query: Tensor, key: Tensor, block_mask: BlockMask) -> None:
    if block_mask.mask_mod is _sliced_mask_mod_error:
        raise RuntimeError("Cannot use mask_mod from a sliced BlockMask")
    if tuple(block_mask.BLOCK_SIZE) != (_LARGE_SPARSE_BLOCK_SIZE,) * 2:
        _check_lengths(query.size(-2), key.size(-2), block_mask)
    if query.device != block_mask.kv_num_blocks.device:
        raise RuntimeError("Expect q/k/v and block_mask to be on the same device but got "
                           f"{query.device} and {block_mask.kv_num_blocks.device}.")


def _check_lengths(q_len: int, kv_len: int, block_mask: BlockMask) -> None:
    most_q, most_kv = block_mask.shape[-2:]
    says = f"block_mask was created for block_mask.shape={block_mask.shape} but got q_len={q_len} and kv_len={kv_len}. "
    if q_len > most_q or kv_len > most_kv:
        raise ValueError(says + "As the block mask was created for a smaller length than you're using it for, you likely need to "
                         "create a new block mask.")
    if q_len < most_q or kv_len < most_kv:
        raise ValueError(says + "As the block mask was created for a larger length than you're using it for, you can either 1. "
                         "create a new block mask with the correct length, or 2. 'adjust' the existing block mask to the correct "
                         "length by calling block_mask._adjust(q_len, kv_len). This essentially 'crops' the block mask to the "
                         "upper left corner, which does not work for all mask_mods!")
