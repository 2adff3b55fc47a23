"""Attention, multi-head and plain, and bags of embeddings, against PyTorch."""
from __future__ import annotations

import numpy as np
import pytest
from bodies import written

TARGET, SOURCE, BATCH = 5, 6, 3
FUTURE = np.triu(np.ones((TARGET, SOURCE)), 1) > 0
MASKS = {"bool": FUTURE, "float": np.where(FUTURE, -np.inf, 0).astype("float32"),
         "heads": np.random.RandomState(5).randn(2 * BATCH, TARGET, SOURCE).astype("float32")}
PADDING = {"bool": np.arange(SOURCE) >= np.array([[6], [3], [4]]),
           "float": np.random.RandomState(6).randn(BATCH, SOURCE).astype("float32")}


def numbers(*shape, seed=0):
    return np.random.RandomState(seed).randn(*shape).astype("float32")


def attended(xp, options, mask=None, padding=None, self_attention=False, train=True, batched=True, **call):
    """Return the text, initial parameters, output, weights and gradients of nn.MultiheadAttention(8, 2)."""
    xp.manual_seed(0)
    layer = eval(f"nn.MultiheadAttention(8, 2{options})", {"nn": xp.nn}).train(train)
    start = [p.detach().clone() for p in layer.parameters()]

    def given(time, size, seed):
        x = numbers(BATCH, time, size, seed=seed) if layer.batch_first else numbers(time, BATCH, size, seed=seed)
        return xp.tensor(x if batched else x[:, 0], requires_grad=True)
    q = given(SOURCE if self_attention else TARGET, 8, 0)
    k, v = (q, q) if self_attention else (given(SOURCE, layer.kdim, 1), given(SOURCE, layer.vdim, 2))
    out, weights = layer(q, k, v, attn_mask=None if mask is None else xp.tensor(MASKS[mask]),
                         key_padding_mask=None if padding is None else xp.tensor(PADDING[padding]), **call)
    loss = (out * out).sum() if weights is None else (out * out).sum() + (weights ** 3).sum()
    inputs = [q, *([] if self_attention else [k, v]), *layer.parameters()]
    arrays = [*start, out, *([] if weights is None else [weights]), *xp.autograd.grad(loss, inputs)]
    return (repr(layer), list(layer.state_dict())), [a.detach().numpy() for a in arrays]


@pytest.mark.conformance
@pytest.mark.filterwarnings("ignore:Support for mismatched")
@pytest.mark.parametrize(("options", "call"), [
    ("", {"self_attention": True}), (", batch_first=True", {"mask": "bool", "need_weights": False}),
    ("", {"mask": "float", "is_causal": True, "need_weights": False}), ("", {"padding": "bool", "mask": "float"}),
    (", kdim=4, vdim=6", {}), (", kdim=4, vdim=6, bias=False", {"mask": "heads"}),
    (", add_bias_kv=True, add_zero_attn=True", {"mask": "bool", "padding": "bool"}),
    (", add_zero_attn=True", {"mask": "heads", "padding": "float", "need_weights": False}),
    (", add_bias_kv=True", {"mask": "float", "is_causal": True, "need_weights": False}),
    ("", {"average_attn_weights": False}), ("", {"batched": False, "mask": "float"}), (", dropout=0.5", {}),
    (", dropout=0.5, batch_first=True", {"need_weights": False, "mask": "float", "self_attention": False}),
    (", dropout=0.5", {"train": False, "self_attention": True, "padding": "bool"}),
])
def test_multihead(torch, options, call):
    import jtorch
    found, wanted = attended(jtorch, options, **call), attended(torch, options, **call)
    assert found[0] == wanted[0]
    for a, b in zip(found[1], wanted[1], strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-4, atol=5e-5 * max(1, np.abs(b).max()))


@pytest.mark.conformance
@pytest.mark.parametrize("options", [{}, {"bias": False}, {"kdim": 8, "vdim": 8}, {"add_bias_kv": True, "add_zero_attn": True}])
@pytest.mark.parametrize("same", ["aaa", "aab", "aba", "abb"])
def test_one_tensor_in_several_places(torch, same, options):
    import jtorch

    def results(xp, need_weights, batched):
        xp.manual_seed(0)
        layer = xp.nn.MultiheadAttention(8, 2, **options)
        given = {c: xp.tensor(numbers(*(4, 3, 8) if batched else (4, 8), seed=ord(c)), requires_grad=True) for c in set(same)}
        out, weights = layer(*[given[c] for c in same], need_weights=need_weights)
        loss = (out * out).sum() if weights is None else (out * out).sum() + (weights ** 3).sum()
        return [out.detach(), *xp.autograd.grad(loss, [given[c] for c in sorted(given)] + list(layer.parameters()))]
    for arguments in ((True, True), (False, True), (True, False)):
        for a, b in zip(results(jtorch, *arguments), results(torch, *arguments), strict=True):
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=2e-4, atol=5e-5 * max(1, b.abs().max().item()))


ERRORS = [
    (lambda xp, layer, x: xp.nn.MultiheadAttention(8, 3), "embed_dim must be divisible by num_heads"),
    (lambda xp, layer, x: xp.nn.MultiheadAttention(0, 3),
     "embed_dim and num_heads must be greater than 0, got embed_dim=0 and num_heads=3 instead"),
    (lambda xp, layer, x: layer(*[xp.zeros(4, 3, 6)] * 3), "was expecting embedding dimension of 8, but got 6"),
    (lambda xp, layer, x: layer(xp.zeros(4), xp.zeros(4), xp.zeros(4)),
     "query should be unbatched 2D or batched 3D tensor but received 1-D"),
    (lambda xp, layer, x: layer(xp.zeros(4, 2, 8), xp.zeros(4, 8), x),
     "For batched (3-D) `query`, expected `key` and `value` to be 3-D but found 2-D"),
    (lambda xp, layer, x: layer(x, x, x, attn_mask=xp.zeros(3, 3)),
     "The shape of the 2D attn_mask is torch.Size([3, 3]), but should be (4, 4)."),
    (lambda xp, layer, x: layer(x, x, x, attn_mask=xp.zeros(4, 4, dtype=xp.int64)),
     "only bool and floating types of attn_mask are supported"),
    (lambda xp, layer, x: layer(x, x, x, key_padding_mask=xp.zeros(3, 5)),
     "Expected key_padded_mask.shape[1] to be 4, but got 5"),
    (lambda xp, layer, x: layer(x, x, x, is_causal=True), "Need attn_mask if specifying the is_causal hint."),
]


@pytest.mark.parametrize(("call", "message"), ERRORS, ids=written)
def test_errors(xp, call, message):
    with pytest.raises((AssertionError, RuntimeError, ValueError)) as e:
        call(xp, xp.nn.MultiheadAttention(8, 2), xp.zeros(4, 3, 8))
    assert message in str(e.value)


@pytest.mark.conformance
@pytest.mark.parametrize(("mask", "options"), [
    (None, {}), (None, {"is_causal": True}), ("bool", {}), ("float", {"scale": 0.3}), (None, {"enable_gqa": True}),
    (None, {"dropout_p": 0.4, "is_causal": True}), ("bool", {"dropout_p": 0.3, "enable_gqa": True}),
])
def test_scaled_dot_product(torch, mask, options):
    import jtorch

    def run(xp):
        xp.manual_seed(0)
        heads = 2 if options.get("enable_gqa") else 4
        q, k, v = (xp.tensor(numbers(2, h, n, 8, seed=n), requires_grad=True) for h, n in ((4, 5), (heads, 6), (heads, 6)))
        given = None if mask is None else xp.tensor(MASKS[mask])
        out = xp.nn.functional.scaled_dot_product_attention(q, k, v, given, **options)
        return [a.detach().numpy() for a in [out, *xp.autograd.grad((out * out).sum(), [q, k, v])]]
    for a, b in zip(run(jtorch), run(torch), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def test_kernels_can_be_chosen(xp):
    from importlib import import_module
    attention = import_module(f"{xp.__name__}.nn.attention")
    x = xp.ones(1, 1, 2, 2)
    with attention.sdpa_kernel([attention.SDPBackend.MATH]):
        assert not xp.backends.cuda.flash_sdp_enabled()
        assert xp.nn.functional.scaled_dot_product_attention(x, x, x).tolist() == x.tolist()
    assert xp.backends.cuda.flash_sdp_enabled()
    with pytest.raises(AssertionError, match="Backend must be an instance of SDPBackend"), attention.sdpa_kernel("math"):
        pass


@pytest.mark.parametrize("corner", ["upper_left", "lower_right"])
def test_causal_bias(xp, corner):
    from importlib import import_module
    make = getattr(import_module(f"{xp.__name__}.nn.attention.bias"), f"causal_{corner}")
    q, k = xp.tensor(numbers(1, 1, 3, 4)), xp.tensor(numbers(1, 1, 5, 4, seed=1))
    allowed = np.tril(np.ones((3, 5), bool), 0 if corner == "upper_left" else 2)
    attend = xp.nn.functional.scaled_dot_product_attention
    np.testing.assert_allclose(attend(q, k, k, make(3, 5)).numpy(), attend(q, k, k, xp.tensor(allowed)).numpy(), atol=1e-6)


# ---------------------------------------------------------------- bags of embeddings

@pytest.mark.conformance
@pytest.mark.parametrize(("options", "weighted", "flat"), [
    ("mode='sum'", False, True), ("mode='mean'", False, False), ("mode='max'", False, True),
    ("mode='sum', padding_idx=2", True, False), ("mode='sum', include_last_offset=True", True, True),
    ("mode='mean', max_norm=1.0, padding_idx=-6", False, True), ("mode='max', max_norm=1.0", False, False),
])
def test_embedding_bag(torch, options, weighted, flat):
    import jtorch

    def run(xp):
        xp.manual_seed(0)
        layer = eval(f"nn.EmbeddingBag(10, 3, {options})", {"nn": xp.nn})
        index = xp.tensor([1, 2, 4, 5, 4, 3, 2, 9])
        offsets = xp.tensor([0, 3, 3, 6, 8][:4 + layer.include_last_offset]) if flat else None
        index = index if flat else index.view(2, 4)
        weights = xp.tensor(numbers(*index.shape), requires_grad=True) if weighted else None
        out = layer(index, offsets, weights)
        (out * out).sum().backward()
        made = [out, layer.weight, layer.weight.grad, *([weights.grad] if weighted else [])]
        return (repr(layer), list(layer.state_dict())), [a.detach().numpy() for a in made]
    found, wanted = run(jtorch), run(torch)
    assert found[0] == wanted[0]
    for a, b in zip(found[1], wanted[1], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)


BAG_ERRORS = [
    (lambda xp, bag: bag(xp.tensor([[3]])), "Index 0 of input takes value 3 which is not in the valid range [0, 3)"),
    (lambda xp, bag: bag(xp.tensor([1, 2]), xp.tensor([1])),
     "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start"),
    (lambda xp, bag: bag(xp.tensor([1, 2]), xp.tensor([0, 3])),
     "offsets[-1] can not be greater than input's length 2 but got offsets[-1] of 3"),
    (lambda xp, bag: bag(xp.tensor([1])), "offsets has to be a 1D Tensor but got None"),
    (lambda xp, bag: bag(xp.tensor([[1]]), None, xp.ones(1, 1)), "embedding_bag: per_sample_weights was not None."),
    (lambda xp, bag: xp.nn.EmbeddingBag(3, 4, padding_idx=3), "padding_idx must be within num_embeddings"),
    (lambda xp, bag: xp.nn.Embedding(3, 4)(xp.tensor([7])), "index out of range in self"),
]


@pytest.mark.parametrize(("call", "message"), BAG_ERRORS, ids=written)
def test_bag_errors(xp, call, message):
    with pytest.raises((RuntimeError, ValueError, AssertionError, NotImplementedError, IndexError)) as e:
        str(call(xp, xp.nn.EmbeddingBag(3, 4)))
    assert message in str(e.value)


def test_embeddings_of_a_given_table(xp):
    table = xp.arange(6.0).view(3, 2)
    assert xp.nn.Embedding.from_pretrained(table)(xp.tensor([2, 0])).tolist() == [[4, 5], [0, 1]]
    bag = xp.nn.EmbeddingBag.from_pretrained(table, mode="sum")
    assert bag(xp.tensor([[2, 0]])).tolist() == [[4, 6]]
    assert not bag.weight.requires_grad
    assert xp.embedding(table, xp.tensor([1])).tolist() == [[2, 3]]


def test_self_attention_in_inference_gives_a_contiguous_output(xp):
    layer, x = xp.nn.MultiheadAttention(8, 2, batch_first=True).eval(), xp.ones(2, 3, 8)
    with xp.no_grad():
        outs = [layer(x, x, x)[0], layer(x, x.clone(), x)[0], layer.train()(x, x, x)[0]]
    assert [out.is_contiguous() for out in outs] == [True, False, False]


@pytest.mark.conformance
@pytest.mark.parametrize("mask", [None, "bool", "float"])
@pytest.mark.parametrize("options", ["", ", batch_first=True", ", batch_first=True, bias=False", ", batch_first=True, add_zero_attn=True"])
def test_how_the_output_lies_in_memory(torch, options, mask):
    import jtorch

    def strides(xp):
        layer = eval(f"nn.MultiheadAttention(8, 2{options})", {"nn": xp.nn})
        x = xp.tensor(numbers(SOURCE, SOURCE, 8))
        masks = {} if mask is None else {"key_padding_mask": xp.zeros(SOURCE, SOURCE, dtype=getattr(xp, mask))}
        found = []
        for train, grad in ((True, True), (True, False), (False, True), (False, False)):
            with xp.set_grad_enabled(grad):
                found.append(layer.train(train)(x, x, x, **masks)[0].stride())
                found.append(layer(x, x.clone(), x, **masks)[0].stride())
        return found
    assert strides(jtorch) == strides(torch)


@pytest.mark.conformance
@pytest.mark.parametrize("build", [
    lambda nn: nn.TransformerEncoderLayer(8, 2, 16, dropout=0.3, batch_first=True),
    lambda nn: nn.TransformerEncoderLayer(8, 2, 16, dropout=0.3, batch_first=True, norm_first=True),
    lambda nn: nn.Transformer(8, 2, 1, 1, 16, dropout=0.3, batch_first=True),
], ids=written)
def test_dropout_of_what_attention_gives_comes_in_the_order_of_its_memory(torch, build):
    import jtorch

    def trained(xp):
        xp.manual_seed(0)
        layer, x = build(xp.nn), xp.tensor(numbers(BATCH, SOURCE, 8))
        out = layer(x, x) if isinstance(layer, xp.nn.Transformer) else layer(x)
        out.square().cumsum(1).sum().backward()
        return [out.detach().numpy(), *[p.grad.numpy() for p in layer.parameters()]]
    for a, b in zip(trained(jtorch), trained(torch), strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-3, atol=2e-4 * max(1, np.abs(b).max()))


@pytest.mark.conformance
@pytest.mark.parametrize("mask", [None, (SOURCE,), (5, SOURCE), (2, 1, 5, SOURCE), (3, 5, SOURCE)])
def test_attention_of_transposed_heads_lies_in_memory_as_the_query(torch, mask):
    import jtorch

    def strides(xp):
        def heads(time, n=3, size=4):
            return xp.tensor(numbers(2, time, n, size)).transpose(1, 2)
        given = [(heads(5), heads(SOURCE), heads(SOURCE)), (heads(5), heads(SOURCE, 1), heads(SOURCE, 1)),
                 (heads(5).contiguous(), heads(SOURCE), heads(SOURCE)), (heads(5), heads(SOURCE), heads(SOURCE, size=2)),
                 (heads(5), xp.ones(2, 3, 4, SOURCE).transpose(2, 3), heads(SOURCE)), (heads(5)[0], heads(SOURCE)[0], heads(SOURCE)[0])]
        given = given[:-1] if mask is not None and len(mask) > 3 else given
        bias = None if mask is None else xp.zeros(mask)
        attend = xp.nn.functional.scaled_dot_product_attention
        grouped = attend(heads(5, 6), heads(SOURCE), heads(SOURCE), enable_gqa=True).stride()
        empty = attend(heads(5), heads(0), heads(0), None if mask is None else bias[..., :0]).tolist()
        return [attend(*each, bias).stride() if bias is None or len(bias.shape) > 1 else None for each in given], grouped, empty
    assert strides(jtorch) == strides(torch)
