"""torch.nn.attention.flex_attention: the numbers, masks and errors of PyTorch's eager form, and gradients."""
import importlib

import numpy as np
import pytest

WINDOW = 3


@pytest.fixture
def same(torch):
    """Return ``same(run)``, which compares the results of ``run(xp)`` with PyTorch's."""
    import jtorch

    def check(run):
        for ours, theirs in zip(run(jtorch), run(torch), strict=True):
            if isinstance(theirs, list):
                np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-6)
            else:
                assert ours == theirs
    return check


def module(xp):
    found = importlib.import_module(f"{xp.__name__}.nn.attention.flex_attention")
    if xp.__name__ == "torch":
        found._FLEX_ATTENTION_DISABLE_COMPILE_DEBUG = True      # This selects PyTorch's own eager form.
    return found


def causal(b, h, q, kv):
    return q >= kv


def near(b, h, q, kv):
    return (q - kv).abs() < WINDOW


def inputs(xp, heads=4, of_keys=4, q_len=6, kv_len=6):
    xp.manual_seed(3)
    return [xp.randn(2, n, size, 8) for n, size in ((heads, q_len), (of_keys, kv_len), (of_keys, kv_len))]


def listed(*tensors):
    return [t.detach().tolist() for t in tensors]


MODS = {
    "none": None,
    "relative": lambda score, b, h, q, kv: score + 0.1 * (q - kv),
    "softcap": lambda score, b, h, q, kv: 5 * (score / 5).tanh(),
    "causal": lambda score, b, h, q, kv: score.where(q >= kv, -float("inf")),
}


@pytest.mark.parametrize("name", MODS)
@pytest.mark.parametrize("of_keys", [4, 2])
def test_values(same, name, of_keys):
    def run(xp):
        flex = module(xp)
        out, aux = flex.flex_attention(*inputs(xp, of_keys=of_keys), score_mod=MODS[name], enable_gqa=of_keys != 4,
                                       return_aux=flex.AuxRequest(lse=True))
        return [*listed(out, aux.lse), aux.max_scores is None]
    same(run)


def test_masks(same):
    def run(xp):
        flex = module(xp)
        mask = flex.create_block_mask(flex.and_masks(causal, near), 2, None, 10, 12, device="cpu", BLOCK_SIZE=4)
        out = flex.flex_attention(*inputs(xp, q_len=10, kv_len=12), block_mask=mask)
        part, cropped = mask[1, 0], mask._adjust(6, 6)
        return [*listed(out, mask.to_dense(), mask.q_indices, mask.full_kv_num_blocks, part.kv_indices, cropped.to_dense()),
                str(mask), repr(mask), mask.shape, cropped.shape, mask.sparsity(), mask.numel(), len(mask.as_tuple()),
                len(mask.as_tuple(flatten=False)), str(part), mask.to_string(2)]
    same(run)


def test_rows_without_a_key_are_zero(same):
    def run(xp):
        flex = module(xp)
        mask = flex.create_block_mask(lambda b, h, q, kv: q > kv + 2, None, None, 6, 6, device="cpu")
        out, aux = flex.flex_attention(*inputs(xp), block_mask=mask, return_aux=flex.AuxRequest(lse=True))
        return listed(out, aux.lse)
    same(run)


def test_tensors_that_masks_use(same):
    def run(xp):
        flex = module(xp)
        documents, table = xp.tensor([0, 0, 1, 1, 1, 2]), xp.arange(4.0)
        mask = flex.create_mask(lambda b, h, q, kv: documents[q] == documents[kv], 1, 1, 6, 6, device="cpu")
        both = flex.create_mask(flex.or_masks(causal, near), None, None, 6, 6, device="cpu")
        out = flex.flex_attention(*inputs(xp), score_mod=lambda score, b, h, q, kv: score - table[h] * (q - kv).abs())
        return listed(mask, both, out)
    same(run)


@pytest.mark.parametrize("wrong", ["embedding", "heads", "smaller", "larger", "sliced", "both"])
def test_errors(same, wrong):
    def run(xp):
        flex = module(xp)
        q, k, v = inputs(xp)
        mask = flex.create_block_mask(causal, None, None, {"smaller": 4, "larger": 9}.get(wrong, 6), 6, device="cpu")
        calls = {"embedding": lambda: flex.flex_attention(q, k[..., :4], v), "heads": lambda: flex.flex_attention(q, k[:, :2], v[:, :2]),
                 "sliced": lambda: flex.flex_attention(q, k, v, block_mask=mask[0]),
                 "both": lambda: flex.flex_attention(q, k, v, return_lse=True, return_aux=flex.AuxRequest())}
        with pytest.raises((ValueError, RuntimeError)) as error:
            calls.get(wrong, lambda: flex.flex_attention(q, k, v, block_mask=mask))()
        return type(error.value).__name__, str(error.value)
    same(run)


def attention_by_hand(torch, q, k, v, bias):
    scores = q @ k.transpose(-2, -1) / 8 ** 0.5
    allowed = torch.arange(6)[:, None] >= torch.arange(6)
    return torch.softmax((5 * torch.tanh(scores / 5) + bias).masked_fill(~allowed, -float("inf")), -1) @ v


def test_gradients():
    import jtorch as torch
    flex = module(torch)
    given = [t.requires_grad_() for t in inputs(torch)]
    mask = flex.create_block_mask(causal, None, None, 6, 6, device="cpu")
    found = flex.flex_attention(*given, score_mod=MODS["softcap"], block_mask=mask)
    expected = attention_by_hand(torch, *given, 0.0)
    for ours, by_hand in zip(torch.autograd.grad(found.sin().sum(), given), torch.autograd.grad(expected.sin().sum(), given),
                             strict=True):
        torch.testing.assert_close(ours, by_hand)


def test_gradients_of_what_score_mod_uses():
    import jtorch as torch
    flex = module(torch)
    q, k, v = inputs(torch)
    bias = torch.randn(4, 6, requires_grad=True)
    mask = flex.create_block_mask(causal, None, None, 6, 6, device="cpu")
    found = flex.flex_attention(q, k, v, score_mod=lambda s, b, h, q, kv: 5 * torch.tanh(s / 5) + bias[h, q - kv], block_mask=mask)
    by_hand = attention_by_hand(torch, q, k, v, bias[:, torch.arange(6)[:, None] - torch.arange(6)])
    torch.testing.assert_close(torch.autograd.grad(found.sin().sum(), bias), torch.autograd.grad(by_hand.sin().sum(), bias))
    with pytest.raises(NotImplementedError, match="element by element"):
        flex.flex_attention(q, k, v, score_mod=lambda s, b, h, q, kv: s + bias[h].sum())
