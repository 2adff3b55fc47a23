"""FlopCounterMode counts as PyTorch's does."""
from __future__ import annotations

import importlib
import json
from pathlib import Path

import pytest

# Maps a model's or a function's name to PyTorch 2.13's counts by operator: of forward, of forward and backward, and of a
# backward alone.
COUNTS = json.loads(Path(__file__).with_name("flop_counts.json").read_text())


class Attention:
    """Attention of a tensor to itself."""

    def __init__(self, xp, **options):
        self.attend, self.options = xp.nn.functional.scaled_dot_product_attention, options

    def __call__(self, q):
        return self.attend(q, q, q, **self.options)


MODELS = {
    "mlp": lambda n: (n.Sequential(n.Linear(4, 8), n.ReLU(), n.Linear(8, 2)), [(3, 4)]),
    "mlp3d": lambda n: (n.Sequential(n.Linear(4, 8), n.GELU(), n.Linear(8, 2, bias=False)), [(3, 5, 4)]),
    "cnn": lambda n: (n.Sequential(n.Conv2d(3, 4, 3, padding=1), n.BatchNorm2d(4), n.ReLU(), n.MaxPool2d(2),
                                   n.Conv2d(4, 6, 3, stride=2, groups=2), n.Flatten(), n.Linear(54, 2)), [(2, 3, 16, 16)]),
    "convt": lambda n: (n.Sequential(n.ConvTranspose2d(3, 4, 3, stride=2, output_padding=1), n.Conv2d(4, 2, 1)), [(2, 3, 8, 8)]),
    "conv1d": lambda n: (n.Conv1d(3, 4, 5), [(2, 3, 20)]),
    "conv3d": lambda n: (n.Conv3d(3, 4, 2), [(2, 3, 5, 6, 7)]),
    "mha": lambda n: (n.MultiheadAttention(8, 2, batch_first=True), [(2, 5, 8)] * 3),
    "enc": lambda n: (n.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True), [(2, 5, 8)]),
    "dec": lambda n: (n.TransformerDecoderLayer(8, 2, 16, 0.1, batch_first=True), [(2, 5, 8), (2, 7, 8)]),
    "lstm": lambda n: (n.LSTM(4, 3, num_layers=2), [(5, 2, 4)]),
    "gru": lambda n: (n.GRU(4, 3, num_layers=2), [(5, 2, 4)]),
    "rnn": lambda n: (n.RNN(4, 3, bidirectional=True), [(5, 2, 4)]),
    "lstmcell": lambda n: (n.LSTMCell(4, 3), [(5, 4)]),
}
FUNCTIONS = {
    "mm": (lambda xp, a, b: a @ b, (3, 4), (4, 5)),
    "bmm": (lambda xp, a, b: xp.bmm(a, b), (2, 3, 4), (2, 4, 5)),
    "addmm": (lambda xp, a, b, c: xp.addmm(a, b, c), (5,), (3, 4), (4, 5)),
    "baddbmm": (lambda xp, a, b, c: xp.baddbmm(a, b, c), (2, 3, 5), (2, 3, 4), (2, 4, 5)),
    "mv": (lambda xp, a, b: a @ b, (3, 4), (4,)),
    "matmul4": (lambda xp, a, b: a @ b, (2, 3, 4, 5), (2, 3, 5, 6)),
    "matmulb": (lambda xp, a, b: a @ b, (2, 3, 4, 5), (5, 6)),
    "bc": (lambda xp, a, b: a @ b, (3, 4, 5), (2, 1, 5, 6)),
    "ein": (lambda xp, a, b: xp.einsum("bij,bjk->bik", a, b), (2, 3, 4), (2, 4, 5)),
    "tdot": (lambda xp, a, b: xp.tensordot(a, b, dims=([1, 2], [1, 0])), (2, 3, 4), (4, 3, 5)),
    "sdpa": (lambda xp, q: xp.nn.functional.scaled_dot_product_attention(q, q, q), (2, 4, 6, 8)),
    "sdpa3": (lambda xp, q, k, v: xp.nn.functional.scaled_dot_product_attention(q, k, v), (4, 6, 8), (4, 6, 8), (4, 6, 8)),
    "sdpa_drop": (lambda xp, q, k, v: xp.nn.functional.scaled_dot_product_attention(q, k, v, dropout_p=0.1),
                  *[(2, 4, 6, 8)] * 3),
    "multi_dot": (lambda xp, a, b, c: xp.linalg.multi_dot([a, b, c]), (3, 4), (4, 5), (5, 2)),
    "power": (lambda xp, a: xp.linalg.matrix_power(a, 5), (3, 3)),
    "inv": (lambda xp, a: xp.linalg.inv(a), (3, 3)),
    "cdist": (lambda xp, a, b: xp.cdist(a, b * 2), (10, 4), (30, 4)),
    "cdist_broadcast": (lambda xp, a, b: xp.cdist(a, b * 2), (2, 10, 4), (1, 30, 4)),
    "cdist_few": (lambda xp, a, b: xp.cdist(a, b * 2), (10, 4), (20, 4)),
    "unfold": (lambda xp, x: xp.nn.functional.unfold(x, 3), (1, 3, 8, 8)),
}


def counter(xp, **options):
    return importlib.import_module(f"{xp.__name__}.utils.flop_counter").FlopCounterMode(**{"display": False, **options})


def counted(xp, body):
    with counter(xp) as found:
        body()
    return {name: {str(op): n for op, n in c.items()} for name, c in found.get_flop_counts().items()}


def first(made):
    return made if not isinstance(made, tuple) else made[0]


def case(xp, name):
    """Return a function without arguments that computes."""
    if name in MODELS:
        model, shapes = MODELS[name](xp.nn)
        inputs = [xp.ones(shape, requires_grad=name not in ("mlp", "cnn")) for shape in shapes]
        if name == "mha":
            inputs = inputs[:1] * 3
        return lambda: first(model(*inputs))
    fn, *shapes = FUNCTIONS[name]
    inputs = [(xp.ones(shape) + xp.eye(shape[-1])[:shape[-2] if len(shape) > 1 else None].max(0)[0]
               if name != "inv" else xp.eye(3) * 2).requires_grad_() for shape in shapes]
    return lambda: fn(xp, *inputs)


@pytest.mark.parametrize("name", [*MODELS, *FUNCTIONS])
def test_counts_are_pytorchs(xp, name):
    xp.manual_seed(0)
    work = case(xp, name)
    forward, both = counted(xp, work), counted(xp, lambda: work().sum().backward())
    made = work().sum()
    with counter(xp) as backward:
        made.backward()
    assert [forward, both, backward.get_total_flops()] == COUNTS[name]


def test_formulas_of_ones_own(xp):
    with counter(xp, custom_mapping={xp.ops.aten.sin: lambda x, out_shape=None: 7 * x.numel()}) as found:
        xp.ones(3).sin()
    assert found.get_total_flops() == 21
    flops = importlib.import_module(f"{xp.__name__}.utils.flop_counter")
    with pytest.raises(RuntimeError, match="duplicate registrations for aten.mm"):
        flops.register_flop_formula(xp.ops.aten.mm)(lambda *shapes: 0)
    with pytest.raises(ValueError, match="expected each target to be OpOverloadPacket"):
        flops.register_flop_formula(xp.mm)(lambda *shapes: 0)


def test_the_table():
    from libraries import library
    xp = library("jtorch")
    model = xp.nn.Sequential(xp.nn.Linear(400, 800), xp.nn.Linear(800, 200))
    with counter(xp) as found:
        model(xp.ones(3, 400)).sum().backward()
    assert found.get_table().splitlines() == [      # PyTorch prints the same with tabulate 0.9.
        "Module               FLOP    % Total",
        "--------------  ---------  ---------",
        "Sequential      6720.000K    100.00%",
        " - aten.addmm   2880.000K     42.86%",
        " - aten.mm      3840.000K     57.14%",
        " Sequential.0   3840.000K     57.14%",
        "  - aten.addmm  1920.000K     28.57%",
        "  - aten.mm     1920.000K     28.57%",
        " Sequential.1   2880.000K     42.86%",
        "  - aten.addmm   960.000K     14.29%",
        "  - aten.mm     1920.000K     28.57%",
    ]
    assert len(found.get_table(1).splitlines()) == 5


def test_the_table_is_printed(capsys):
    from libraries import library
    xp = library("jtorch")
    with counter(xp, display=True):
        xp.ones(2)
    assert capsys.readouterr().out.splitlines()[-1].split() == ["Global", "0", "0%"]
