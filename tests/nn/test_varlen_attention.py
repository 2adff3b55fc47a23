"""Attention within consecutive sequences equals the attention of each sequence by itself."""
from __future__ import annotations

import math

import pytest

import jtorch as torch
from jtorch.nn.attention.varlen import AuxRequest, varlen_attn

LENGTHS_Q, LENGTHS_K, HEADS, SIZE = [3, 1, 4], [5, 1, 4], 4, 8


def cumulated(lengths):
    return torch.tensor([0, *torch.tensor(lengths).cumsum(0).tolist()], dtype=torch.int32)


def inputs(kv_heads=HEADS):
    torch.manual_seed(0)
    return (torch.randn(sum(LENGTHS_Q), HEADS, SIZE), torch.randn(sum(LENGTHS_K), kv_heads, SIZE),
            torch.randn(sum(LENGTHS_K), kv_heads, SIZE))


def attend(q, k, v, **options):
    return varlen_attn(q, k, v, cumulated(LENGTHS_Q), cumulated(LENGTHS_K), max(LENGTHS_Q), max(LENGTHS_K), **options)


def one_by_one(q, k, v, seen):
    """Attention of each sequence, by a function of (query, key, both lengths) that says what is seen."""
    out = []
    parts = zip(q.split(LENGTHS_Q), k.split(LENGTHS_K), v.split(LENGTHS_K), strict=True)
    for a, b, c in parts:
        n, m = len(a), len(b)
        mask = torch.tensor([[seen(i, j, n, m) for j in range(m)] for i in range(n)])
        out.append(torch.nn.functional.scaled_dot_product_attention(a.transpose(0, 1), b.transpose(0, 1), c.transpose(0, 1), mask))
    return torch.cat(out, 1).transpose(0, 1)


@pytest.mark.parametrize(("window", "seen"), [
    ((-1, -1), lambda i, j, n, m: True),
    ((-1, 0), lambda i, j, n, m: j <= i + m - n),
    ((1, 0), lambda i, j, n, m: -1 <= j - (i + m - n) <= 0),
    ((0, 2), lambda i, j, n, m: 0 <= j - (i + m - n) <= 2)])
def test_sequences_do_not_see_each_other(window, seen):
    q, k, v = inputs()
    assert torch.allclose(attend(q, k, v, window_size=window), one_by_one(q, k, v, seen), atol=1e-6)


def test_groups_of_heads_share_keys():
    q, k, v = inputs(kv_heads=2)
    whole = attend(q, k.repeat_interleave(2, 1), v.repeat_interleave(2, 1))
    assert torch.equal(attend(q, k, v, enable_gqa=True), whole)
    with pytest.raises(ValueError, match="the same number of heads but got Hq=4 and Hkv=2"):
        attend(q, k, v)
    with pytest.raises(ValueError, match="a multiple of kv heads for GQA"):
        attend(q, k[:, :1].expand(-1, 3, -1), v, enable_gqa=True)


def test_the_logarithm_of_sums_and_the_scale():
    q, k, v = inputs()
    _, sums = attend(q, k, v, return_aux=AuxRequest(lse=True), scale=0.5)
    assert sums.shape == (sum(LENGTHS_Q), HEADS)
    assert math.isclose(sums[3, 1].item(), 0.5 * (q[3, 1] @ k[5, 1]).item(), rel_tol=1e-5)


def test_a_query_without_keys_gives_zeros():
    q, k, v = inputs()
    out = varlen_attn(q[:2], k[:1], v[:1], torch.tensor([0, 1, 2]), torch.tensor([0, 1, 1]), 1, 1)
    assert torch.equal(out[1], torch.zeros(HEADS, SIZE)) and torch.allclose(out[0], v[0])


def test_gradients_stay_within_sequences():
    q, k, v = (t.requires_grad_() for t in inputs())
    attend(q, k, v)[:3].sum().backward()
    assert v.grad[:5].abs().sum() > 0 and v.grad[5:].abs().sum() == 0


def test_pages_of_keys_are_not_built():
    with pytest.raises(NotImplementedError, match="block_table"):
        attend(*inputs(), block_table=torch.zeros(1, 1))
