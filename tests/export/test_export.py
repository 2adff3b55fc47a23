"""torch.export: programs give the model's numbers for all accepted sizes, and are saved without its Python."""
import copy
import io

import pytest

import jtorch as torch
from jtorch import nn
from jtorch.export import Dim, export
from jtorch.nn import functional as F
from jtorch.utils import _pytree as pytree


class Cnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm, self.fc = nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.Linear(64, 5)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.norm(self.conv(x))), 2)
        return self.fc(x.view(x.size(0), -1))


class Sequence(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.position = nn.Embedding(10, 8), nn.Embedding(32, 8)
        self.block = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)

    def forward(self, x):
        h = self.embedding(x) + self.position(torch.arange(x.size(1)))
        return self.block(h).mean(1), x.size(1) * 0 + 1


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn, self.fc = nn.LSTM(5, 7, batch_first=True), nn.Linear(7, 2)

    def forward(self, x):
        return self.fc(self.rnn(x)[0][:, -1])


class Statistics(nn.Module):
    def forward(self, x):
        flat = x.reshape(x.shape[0] * x.shape[1], -1)
        return {"std": flat.std(0), "sum": (x.sum(), x.mean()), "more": torch.cat([x, x.new_zeros(x.size(0), 1, 4)], 1)}


B, S = Dim("b", max=100), Dim("s", max=30)
MODELS = {
    "linear": (lambda: nn.Linear(8, 3), (4, 8), {0: B}, (7, 8)),
    "cnn": (Cnn, (2, 3, 8, 8), {0: B}, (5, 3, 8, 8)),
    "from one": (Cnn, (1, 3, 8, 8), {0: B}, (3, 3, 8, 8)),
    "sequence": (Sequence, "tokens", {0: B, 1: S}, None),
    "recurrent": (Recurrent, (3, 6, 5), {0: B}, (2, 6, 5)),
    "statistics": (Statistics, (2, 3, 4), {0: B, 1: S}, (5, 7, 4)),
    "strided": (lambda: nn.Conv2d(3, 4, 3, stride=2, padding=1), (1, 3, 8, 8), {0: B, 2: S, 3: Dim("w")}, (2, 3, 16, 12)),
}


def leaves(tree):
    return pytree.tree_leaves(tree)


def inputs(shape):
    return torch.randint(0, 10, (2, 6)) if shape == "tokens" else torch.randint(0, 10, (3, 9)) if shape is None else torch.randn(shape)


@pytest.mark.parametrize("name", MODELS)
def test_all_sizes(name):
    make, shape, sizes, other = MODELS[name]
    torch.manual_seed(0)
    model = make().eval()
    program = export(model, (inputs(shape),), dynamic_shapes=(sizes,)).module()
    for x in (inputs(shape), inputs(other)):
        for got, want in zip(leaves(program(x)), leaves(model(x)), strict=True):
            torch.testing.assert_close(got, want.detach() if isinstance(want, torch.Tensor) else want, atol=1e-5, rtol=1e-5)


def test_other_sizes_are_refused():
    program = export(nn.Linear(3, 2), (torch.ones(4, 3),), dynamic_shapes=({0: Dim("b", min=2, max=10)},)).module()
    assert program(torch.ones(10, 3)).shape == (10, 2)
    for shape, text in (((11, 3), r"Guard failed: input.size\(\)\[0\] <= 10"), ((1, 3), r"input.size\(\)\[0\] >= 2"),
                        ((4, 2), r"Guard failed: input.size\(\)\[1\] == 3")):
        with pytest.raises(AssertionError, match=text):
            program(torch.ones(shape))
    with pytest.raises(ValueError, match="Trying to flatten user inputs with exported input tree spec"):
        program()


def test_one_size_of_two_inputs():
    class Both(nn.Module):
        def forward(self, x, y):
            return x + y
    b = Dim("b")
    program = export(Both(), (torch.ones(2, 3), torch.ones(2, 3)), dynamic_shapes={"x": {0: b}, "y": {0: b}}).module()
    assert program(torch.ones(5, 3), torch.ones(5, 3)).shape == (5, 3)
    with pytest.raises(AssertionError, match="Guard failed"):
        program(torch.ones(5, 3), torch.ones(4, 3))


def test_a_size_that_the_model_fixes():
    with pytest.raises(RuntimeError, match=r"Constraints violated \(c\)!.*does not run with c = 6"):
        export(nn.Linear(3, 2), (torch.ones(4, 3),), dynamic_shapes=({1: Dim("c")},))

    class Odd(nn.Module):
        def forward(self, x):
            return x * (x.size(0) ** 2)
    with pytest.raises(RuntimeError, match=r"Constraints violated \(c\)!.*in a way that is not built"):
        export(Odd(), (torch.ones(4, 3),), dynamic_shapes=({0: Dim("c")},))


def test_numbers_and_names():
    class Options(nn.Module):
        def forward(self, x, n=1, *, scale=None):
            return {"y": x * n if scale is None else x * scale, "n": n, "none": None}
    ep = export(Options(), (torch.ones(2), 3), {"scale": torch.tensor(2.0)})
    assert ep.module()(torch.ones(2), 3, scale=torch.tensor(5.0))["y"].tolist() == [5.0, 5.0]
    assert ep.module()(torch.ones(2), 3, scale=torch.tensor(5.0))["n"] == 3
    with pytest.raises(AssertionError, match="Guard failed: n == 3"):
        ep.module()(torch.ones(2), 4, scale=torch.tensor(5.0))
    assert ep.graph_signature.user_inputs == ("x", 3, "scale")


def test_training_writes_buffers():
    model = nn.BatchNorm1d(3)
    program = export(copy.deepcopy(model), (torch.randn(4, 3),), dynamic_shapes=({0: Dim("b")},)).module()
    x = torch.randn(6, 3)
    torch.testing.assert_close(program(x), model(x).detach())
    torch.testing.assert_close(program.running_var, model.running_var)
    assert program.num_batches_tracked == 1
    assert program.train() is program
    with pytest.raises(NotImplementedError, match=r"Calling eval\(\) is not supported yet"):
        program.eval()


def test_random_numbers_are_refused():
    with pytest.raises(RuntimeError, match=r"draws random numbers.*model.eval\(\)"):
        export(nn.Dropout(), (torch.ones(3),))


def test_what_it_knows():
    ep = export(Cnn().eval(), (torch.ones(1, 3, 8, 8),), dynamic_shapes=({0: B},))
    assert list(ep.state_dict) == ["conv.weight", "conv.bias", "norm.weight", "norm.bias", "fc.weight", "fc.bias",
                                   "norm.running_mean", "norm.running_var", "norm.num_batches_tracked"]
    assert "stablehlo.convolution" in ep.stablehlo()
    assert ep.range_constraints == {"b": (0, 100)}
    assert ep.graph_signature.parameters[0] == "conv.weight"
    with pytest.raises(RuntimeError, match=r"Unable to call ExportedProgram directly. You should use `exported_program.module\(\)`"):
        ep(torch.ones(1))
    with pytest.raises(NotImplementedError, match="has no FX graph"):
        ep.graph_module


def test_arguments():
    with pytest.raises(ValueError, match="Expected `mod` to be an instance of `torch.nn.Module`"):
        export(len, (1,))
    with pytest.raises(RuntimeError, match="Expecting `args` to be a tuple"):
        export(nn.ReLU(), torch.ones(1))
    with pytest.raises(RuntimeError, match=r"its top-level keys must be the arg names \['input'\] of `inputs`, but here"):
        export(nn.ReLU(), (torch.ones(1),), dynamic_shapes={"x": None})


SAVED = """
import io, sys, jtorch as torch
data = open(sys.argv[1], "rb").read()
extra = {"note": ""}
program = torch.export.load(io.BytesIO(data), extra_files=extra)
print(program.module()(torch.ones(3, 2)).tolist(), extra["note"], list(program.state_dict))
"""


def test_files(tmp_path, run_forked):
    pytest.importorskip("flatbuffers")

    class Mine(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.full((2,), 2.0))

        def forward(self, x):
            return x @ self.weight
    ep = export(Mine(), (torch.ones(4, 2),), dynamic_shapes=({0: Dim("b")},))
    torch.export.save(ep, tmp_path / "model.pt2", extra_files={"note": "hello"})
    again = torch.export.load(tmp_path / "model.pt2")
    assert torch.equal(again.module()(torch.ones(3, 2)), ep.module()(torch.ones(3, 2)))
    (tmp_path / "run.py").write_text(SAVED)
    assert run_forked((tmp_path / "run.py").read_text().replace("sys.argv[1]", repr(str(tmp_path / "model.pt2")))).strip() == \
        "[4.0, 4.0, 4.0] hello ['weight']"


def test_jit_saves_what_was_traced():
    pytest.importorskip("flatbuffers")
    model = nn.Sequential(nn.Linear(3, 4), nn.Dropout(), nn.ReLU()).eval()
    traced = torch.jit.trace(model, torch.ones(2, 3))
    assert traced is model
    buffer = io.BytesIO()
    traced.save(buffer)
    buffer.seek(0)
    loaded = torch.jit.load(buffer).eval()
    torch.testing.assert_close(loaded(torch.ones(7, 3)), model(torch.ones(7, 3)).detach())
    buffer = io.BytesIO()
    torch.jit.save(torch.jit.trace_module(nn.Linear(3, 1), {"forward": torch.ones(2, 3)}), buffer)
    assert torch.jit.load(io.BytesIO(buffer.getvalue()))(torch.ones(5, 3)).shape == (5, 1)
    function = torch.jit.trace(lambda a, b: a @ b, (torch.ones(2, 3), torch.ones(3, 2)))
    buffer = io.BytesIO()
    torch.jit.save(function, buffer)
    buffer.seek(0)
    assert torch.jit.load(buffer)(torch.ones(2, 3), torch.ones(3, 2)).tolist() == [[3.0, 3.0], [3.0, 3.0]]
