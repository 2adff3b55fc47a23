"""Transformers against PyTorch: weights, results, gradients, and a language model's training."""
from __future__ import annotations

import numpy as np
import pytest
from bodies import written

pytestmark = pytest.mark.filterwarnings("ignore:enable_nested_tensor is True")
SOURCES = {
    "layer": "nn.TransformerEncoderLayer(8, 2, 12{})", "decoder": "nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2, 12{}), 2)",
    "encoder": "nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 12{}), 2, norm=nn.LayerNorm(8))",
    "both": "nn.Transformer(8, 2, 1, 2, 12{})",
}


def made(xp, kind, options):
    xp.manual_seed(0)
    model = eval(SOURCES[kind].format(options), {"nn": xp.nn, "F": xp.nn.functional})
    draw, batch_first = np.random.RandomState(0), "batch_first" in options

    def given(time):
        return xp.tensor(draw.randn(*(3, time, 8) if batch_first else (time, 3, 8)).astype("float32"), requires_grad=True)
    return model, given(5), given(4)


def run(xp, kind, options, masks):
    """Return a model's text, initial parameters, output, gradients and next random numbers."""
    model, src, tgt = made(xp, kind, options)
    start = [p.detach().clone() for p in model.parameters()]
    causal = xp.nn.Transformer.generate_square_subsequent_mask
    padding = xp.tensor(np.where(np.arange(5) >= np.array([[5], [3], [4]]), -np.inf, 0).astype("float32"))
    if kind in ("layer", "encoder"):
        out = model(src, causal(5), padding) if masks else model(src)
    elif kind == "decoder":
        out = model(tgt, src, tgt_mask=causal(4), memory_key_padding_mask=padding) if masks else model(tgt, src)
    else:
        out = model(src, tgt, src_mask=causal(5), tgt_mask=causal(4), memory_key_padding_mask=padding) if masks else model(src, tgt)
    (out ** 3).sum().backward()
    arrays = [*start, out, src.grad, *(p.grad for p in model.parameters()), xp.rand(2)]
    return (repr(model), list(model.state_dict())), [a.detach().numpy() for a in arrays]


@pytest.mark.conformance
@pytest.mark.parametrize(("options", "masks"), [("", False), (", dropout=0.0, batch_first=True", True),
                                                (", norm_first=True, activation='gelu', bias=False", False),
                                                (", activation=F.silu", True)])
@pytest.mark.parametrize("kind", SOURCES)
def test_module(torch, kind, options, masks):
    import jtorch
    found, wanted = run(jtorch, kind, options, masks), run(torch, kind, options, masks)
    assert found[0][1] == wanted[0][1]
    assert found[0][0] == wanted[0][0]
    for a, b in zip(found[1], wanted[1], strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-4, atol=1e-4 * max(1, np.abs(b).max()))


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
def test_padding_in_inference(xp):
    """In PyTorch's fast path, the padded places are zero before the last norm."""
    model, src, _ = made(xp, "encoder", ", batch_first=True")
    padding = xp.tensor(np.arange(5) >= np.array([[5], [3], [4]]))
    with xp.no_grad():
        out = model.eval()(src, src_key_padding_mask=padding)
        again = model(src[1:2, :3])
    assert out[1, 3:].tolist() == [[0.0] * 8] * 2
    np.testing.assert_allclose(out[1, :3].numpy(), again[0].numpy(), atol=1e-5)


def test_mask(xp):
    assert xp.nn.Transformer.generate_square_subsequent_mask(2).tolist() == [[0, -np.inf], [0, 0]]


@pytest.mark.parametrize(("call", "message"), [
    (lambda xp: xp.nn.TransformerEncoderLayer(8, 2, activation='x'), "activation should be relu/gelu, not x"),
    (lambda xp: xp.nn.Transformer(8, 2, 1, 1, 8)(xp.zeros(4, 3, 8), xp.zeros(4, 2, 8)),
     "the batch number of src and tgt must be equal"),
    (lambda xp: xp.nn.Transformer(8, 2, 1, 1, 8)(xp.zeros(4, 3, 7), xp.zeros(4, 3, 8)),
     "the feature number of src and tgt must be equal"),
], ids=written)
def test_errors(xp, call, message):
    with pytest.raises(RuntimeError, match=message):
        call(xp)


def losses(xp, steps):
    """Return the losses of a small language model, trained on one text with the same seed in each library."""
    nn, text = xp.nn, "the quick brown fox jumps over the lazy dog; " * 30
    letters = sorted(set(text))
    data = xp.tensor([letters.index(c) for c in text])
    xp.manual_seed(0)

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.place = nn.Embedding(len(letters), 32), nn.Embedding(16, 32)
            self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True), 2)
            self.head = nn.Linear(32, len(letters))

        def forward(self, x):
            mask = nn.Transformer.generate_square_subsequent_mask(x.size(1))
            return self.head(self.encoder(self.embed(x) + self.place(xp.arange(x.size(1))), mask=mask, is_causal=True))
    model = Model()
    optimizer, seen = xp.optim.Adam(model.parameters(), lr=1e-3), []
    for _ in range(steps):
        starts = xp.randint(0, len(data) - 17, (8,))
        x = xp.stack([data[i:i + 16] for i in starts.tolist()])
        y = xp.stack([data[i + 1:i + 17] for i in starts.tolist()])
        loss = nn.functional.cross_entropy(model(x).flatten(0, 1), y.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        seen.append(loss.item())
    return seen


@pytest.mark.conformance
def test_language_model(torch):
    import jtorch
    found, wanted = losses(jtorch, 100), losses(torch, 100)
    assert found[-1] < 2 < 3 < found[0]
    np.testing.assert_allclose(found, wanted, atol=1e-3)
