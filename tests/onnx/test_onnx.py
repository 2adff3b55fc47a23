"""torch.onnx.export: onnxruntime gives the model's numbers."""
import io

import jax.numpy as jnp
import pytest

import jtorch as torch
from jtorch import nn
from jtorch.nn import functional as F

pytest.importorskip("jax2onnx")
ort = pytest.importorskip("onnxruntime")
pytestmark = pytest.mark.filterwarnings("ignore")       # The ONNX libraries cause warnings.


class Cnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm, self.fc = nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.Linear(128, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.norm(self.conv(x))), 2)
        return self.fc(x.view(x.size(0), -1))


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Conv2d(3, 4, 3, 2, 1, bias=False), nn.BatchNorm2d(4), nn.Conv2d(3, 4, 1, 2)

    def forward(self, x):
        return F.relu(self.b(self.a(x)) + self.c(x)).mean((2, 3))


class Lstm(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn, self.fc = nn.LSTM(5, 7, batch_first=True), nn.Linear(7, 2)

    def forward(self, x):
        return self.fc(self.rnn(x)[0][:, -1])


class Tokens(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.position = nn.Embedding(10, 8), nn.Embedding(32, 8)
        self.block = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)

    def forward(self, x):
        return self.block(self.embedding(x) + self.position(torch.arange(x.size(1)))).mean(1)


class Several(nn.Module):
    def forward(self, x):
        return x.reshape(x.shape[0] * x.shape[1], -1).std(0), x.sum(), x.mean()


B, IMAGE = ("b", None), ("b", None, None, None)
MODELS = {
    "linear": (lambda: nn.Linear(8, 3), (4, 8), B),
    "mlp": (lambda: nn.Sequential(nn.Linear(8, 3), nn.GELU(), nn.LayerNorm(3)), (4, 8), B),
    "cnn": (Cnn, (2, 3, 8, 8), IMAGE),
    "residual": (Residual, (2, 3, 8, 8), IMAGE),
    "softmax": (lambda: nn.Sequential(nn.Flatten(), nn.Softmax(-1)), (2, 3, 8, 8), IMAGE),
    "lstm": (Lstm, (3, 6, 5), ("b", None, None)),
    "lstm of fixed sizes": (Lstm, (3, 6, 5), (None, None, None)),
    "gru": (lambda: nn.GRU(5, 7), (6, 3, 5), (None, "b", None)),
    "transformer": (lambda: nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), (3, 6, 8), ("b", "s", None)),
    "transformer, normed first": (lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(
        8, 2, 16, batch_first=True, norm_first=True), 2, enable_nested_tensor=False), (2, 6, 8), ("b", None, None)),
    "tokens": (Tokens, "tokens", ("b", "s")),
    "several outputs": (Several, (2, 3, 4), ("b", "s", None)),
    "strided convolution": (lambda: nn.Conv2d(3, 4, 3, stride=2, padding=1), (1, 3, 8, 8), ("b", None, "h", "h")),
    "convolution in one dim": (lambda: nn.Sequential(nn.Conv1d(3, 6, 3, groups=3, dilation=2), nn.BatchNorm1d(6), nn.PReLU(6)),
                               (2, 3, 12), ("b", None, None)),
    "transposed convolution": (lambda: nn.ConvTranspose2d(3, 4, 2, stride=2), (2, 3, 8, 8), IMAGE),
    "average pooling": (lambda: nn.Sequential(nn.AvgPool2d(2), nn.AdaptiveAvgPool2d(1)), (2, 3, 8, 8), IMAGE),
    "padded pooling": (lambda: nn.MaxPool2d(3, 2, 1), (2, 3, 8, 8), IMAGE),
    "group norm": (lambda: nn.GroupNorm(2, 4), (2, 4, 5, 5), IMAGE),
    "rms norm": (lambda: nn.RMSNorm(8), (4, 8), B),
    "activations": (lambda: nn.Sequential(nn.SiLU(), nn.Hardswish(), nn.ELU(), nn.Softplus(), nn.Tanh(), nn.LogSoftmax(-1)),
                    (4, 8), B),
    "upsampling": (lambda: nn.Upsample(scale_factor=2, mode="bilinear"), (2, 3, 4, 4), IMAGE),
    "pixel shuffle": (lambda: nn.PixelShuffle(2), (2, 8, 3, 3), IMAGE),
}


@pytest.mark.parametrize("name", MODELS)
def test_numbers(name):
    make, shape, sizes = MODELS[name]
    torch.manual_seed(0)
    model = make()
    x = torch.randint(0, 10, (2, 6)) if shape == "tokens" else torch.randn(shape)
    file = io.BytesIO()
    torch.onnx.export(model, (x,), file, input_names=["in"], dynamic_axes={"in": {i: n for i, n in enumerate(sizes) if n}})
    assert model.training
    session = ort.InferenceSession(file.getvalue())
    other = [{"b": 5, "s": 9, "h": 16}.get(n, k) for n, k in zip(sizes, x.shape, strict=True)]
    x = torch.randint(0, 10, other) if shape == "tokens" else torch.randn(other)
    wanted = model.eval()(x)
    for got, want in zip(session.run(None, {"in": x.numpy()}), wanted if isinstance(wanted, tuple) else (wanted,), strict=True):
        torch.testing.assert_close(torch.from_numpy(got), want.detach(), atol=1e-5, rtol=1e-5)


def test_names_and_files(tmp_path):
    program = torch.onnx.export(nn.Linear(3, 2), torch.ones(4, 3), tmp_path / "m.onnx", input_names=["x"], output_names=["y"],
                                dynamic_shapes=({0: torch.export.Dim("batch")},), opset_version=18)
    session = ort.InferenceSession(str(tmp_path / "m.onnx"))
    assert [(i.name, i.shape) for i in session.get_inputs()] == [("x", ["batch", 3])]
    assert [o.name for o in session.get_outputs()] == ["y"]
    assert program.model_proto.opset_import[0].version == 18
    assert program(torch.ones(7, 3))[0].shape == (7, 2)


def test_what_can_not_be_written():
    class Odd(nn.Module):
        def forward(self, x):
            return torch.cat([x, x[:1]]) * torch.ones(x.size(0) + 1, 1)
    with pytest.raises(torch.onnx.OnnxExporterError, match="can't be written as ONNX"):
        torch.onnx.export(Odd(), (torch.ones(3, 1),), input_names=["x"], dynamic_axes={"x": [0]})
    with pytest.raises(NotImplementedError, match="ONNX operators only"):
        torch.onnx.export(Odd(), (torch.ones(3, 1),), export_params=False)


def test_models_know_that_they_are_exported():
    seen = []

    class Asking(nn.Module):
        def forward(self, x):
            seen.append((torch.onnx.is_in_onnx_export(), self.training))
            return x + 1
    torch.onnx.export(Asking(), (torch.ones(2),))
    assert set(seen) == {(True, False)}
    assert not torch.onnx.is_in_onnx_export()


def test_an_export_leaves_jax_as_it_was():
    torch.onnx.export(nn.Linear(2, 2), (torch.ones(1, 2),))
    assert jnp.cumsum(jnp.ones(2), 0)[1] == 2
    assert torch.segment_reduce(torch.ones(3), "sum", lengths=torch.tensor([1, 2])).tolist() == [1, 2]
