"""torch.ao.quantization.quantize_dynamic: weights of 8 and 16 bits, against PyTorch's on the CPU."""
from __future__ import annotations

import copy
import importlib
import io
import pickle
import warnings

import pytest
from bodies import bodies
from libraries import library

NEEDS_TORCH = pytest.mark.conformance
pytestmark = pytest.mark.filterwarnings("ignore:torch.quantize_per_tensor", "ignore:TypedStorage is deprecated")


def quantized(xp, net, *args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return importlib.import_module(f"{xp.__name__}.ao.quantization").quantize_dynamic(net, *args, **kwargs)


def at(xp, path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return importlib.import_module(f"{xp.__name__}.{path}")


def filled(xp, module):
    """Fill a module with numbers that do not depend on a generator."""
    with xp.no_grad():
        for k, p in enumerate(module.parameters()):
            p.copy_((xp.arange(float(p.numel())) * (7 + 4 * k) % 31 - 15).reshape(p.shape) / 40)
    return module


def inputs(xp, *shape):
    n = 1
    for size in shape:
        n *= size
    return ((xp.arange(float(n)) * 17 % 53 - 20) / 16).reshape(shape)


def _linear(xp, program):
    return program(xp, filled(xp, xp.nn.Sequential(xp.nn.Linear(12, 8), xp.nn.ReLU(), xp.nn.Linear(8, 5))), inputs(xp, 3, 12))


def per_channel(xp):
    return {xp.nn.Linear: at(xp, "ao.quantization").per_channel_dynamic_qconfig}


LINEAR = [
    lambda xp, net, x: quantized(xp, net, {xp.nn.Linear}, dtype=xp.qint8)(x),
    lambda xp, net, x: quantized(xp, net)(x),
    lambda xp, net, x: quantized(xp, net, {"2"})(x),
    lambda xp, net, x: quantized(xp, net, per_channel(xp))(x),
    lambda xp, net, x: quantized(xp, net, {xp.nn.Linear}, dtype=xp.float16)(x),
    lambda xp, net, x: quantized(xp, net)(x.reshape(1, 3, 12)),
    lambda xp, net, x: quantized(xp, net)(x[0]),
    lambda xp, net, x: quantized(xp, net)(x[:0]),
    lambda xp, net, x: quantized(xp, net)(x * 0),
    lambda xp, net, x: quantized(xp, net)(x.abs()),
    lambda xp, net, x: quantized(xp, net)(-x.abs()),
    lambda xp, net, x: quantized(xp, net)(x * 1e-4),
    lambda xp, net, x: quantized(xp, net)(x.abs() * 1e-4),
    lambda xp, net, x: quantized(xp, net)(x * 1e6),
    lambda xp, net, x: quantized(xp, xp.nn.Sequential(filled(xp, xp.nn.Linear(600, 4, bias=False))))(inputs(xp, 2, 600)),
    lambda xp, net, x: quantized(xp, net)(x.requires_grad_()).requires_grad,
    lambda xp, net, x: [w.int_repr() for w in (m.weight() for m in list(quantized(xp, net))[::2])],
    lambda xp, net, x: [(w.q_scale(), w.q_zero_point(), w.dequantize(), w.is_quantized, str(w.dtype))
                        for w in (m.weight() for m in list(quantized(xp, net))[::2])],
    lambda xp, net, x: [(w.q_per_channel_scales(), w.q_per_channel_zero_points(), w.q_per_channel_axis(), str(w.qscheme()), w.int_repr())
                        for w in (m.weight() for m in list(quantized(xp, net, per_channel(xp)))[::2])],
]


@pytest.mark.parametrize("body", bodies(_linear, LINEAR), ids=lambda b: b.label)
def test_linear(same, body):
    same(body, rtol=1e-5)


SHOWN = [
    lambda xp, net, x: repr(quantized(xp, net)),
    lambda xp, net, x: repr(quantized(xp, net, {xp.nn.Linear}, dtype=xp.float16)),
    lambda xp, net, x: repr(quantized(xp, net, per_channel(xp))),
    lambda xp, net, x: repr(quantized(xp, net)[2].weight()),
    lambda xp, net, x: repr(quantized(xp, net, per_channel(xp))[2].weight()),
    lambda xp, net, x: list(quantized(xp, net).state_dict()),
    lambda xp, net, x: repr(list(quantized(xp, net).state_dict().values())[4:]),
    lambda xp, net, x: repr(list(quantized(xp, net, {xp.nn.Linear}, dtype=xp.float16).state_dict().values())[4:]),
    lambda xp, net, x: repr(quantized(xp, xp.nn.ModuleList([xp.nn.LSTM(2, 3, 2, batch_first=True), xp.nn.GRU(2, 3, bidirectional=True),
                                                            xp.nn.RNNCell(2, 3, nonlinearity="relu"), xp.nn.LSTMCell(2, 3),
                                                            xp.nn.GRUCell(2, 3)]))),
    lambda xp, net, x: list(quantized(xp, xp.nn.ModuleList([xp.nn.LSTM(2, 3, 2), xp.nn.GRUCell(2, 3)])).state_dict()),
    lambda xp, net, x: (list(quantized(xp, xp.nn.ModuleList([xp.nn.LSTM(2, 3, 2)]))[0].get_weight()), net[0].weight.requires_grad),
]


@pytest.mark.parametrize("body", bodies(_linear, SHOWN), ids=lambda b: b.label)
def test_text_and_names(same, body):
    same(body)


def _recurrent(xp, program):
    return program(xp, inputs(xp, 5, 3, 4))


def network(xp, net, **kwargs):
    return quantized(xp, xp.nn.ModuleList([filled(xp, net)]), **kwargs)[0]


def packed(xp, x):
    return xp.nn.utils.rnn.pack_padded_sequence(x, xp.tensor([5, 3, 2]))


RECURRENT = [
    lambda xp, x: network(xp, xp.nn.LSTM(4, 6))(x),
    lambda xp, x: network(xp, xp.nn.LSTM(4, 6, 2, batch_first=True, bidirectional=True))(x),
    lambda xp, x: network(xp, xp.nn.LSTM(4, 6))(x, (inputs(xp, 1, 3, 6), inputs(xp, 1, 3, 6))),
    lambda xp, x: network(xp, xp.nn.GRU(4, 6, 2))(x),
    lambda xp, x: network(xp, xp.nn.GRU(4, 6, bidirectional=True))(x, inputs(xp, 2, 3, 6)),
    lambda xp, x: (lambda out, h: (out.data, h))(*network(xp, xp.nn.GRU(4, 6, bidirectional=True))(packed(xp, x))),
    lambda xp, x: (lambda out, h: (out.data, h))(*network(xp, xp.nn.LSTM(4, 6, 2))(packed(xp, x))),
    lambda xp, x: network(xp, xp.nn.LSTM(4, 6), dtype=xp.float16)(x),
    lambda xp, x: network(xp, xp.nn.GRU(4, 6, 2), dtype=xp.float16)(x),
    lambda xp, x: network(xp, xp.nn.LSTMCell(4, 6))(x[0]),
    lambda xp, x: network(xp, xp.nn.GRUCell(4, 6))(x[0], inputs(xp, 3, 6)),
    lambda xp, x: network(xp, xp.nn.RNNCell(4, 6))(x[0]),
    lambda xp, x: network(xp, xp.nn.RNNCell(4, 6, nonlinearity="relu"))(x[0], inputs(xp, 3, 6)),
]


@pytest.mark.parametrize("body", bodies(_recurrent, RECURRENT), ids=lambda b: b.label)
def test_recurrent(same, body):
    same(body, rtol=1e-4)


ERRORS = [
    lambda xp, net, x: quantized(xp, net, dtype=xp.int8),
    lambda xp, net, x: quantized(xp, net, {xp.nn.Linear}, dtype=xp.int8),
    lambda xp, net, x: at(xp, "ao.quantization").QConfig(xp.nn.ReLU(), None),
    lambda xp, net, x: quantized(xp, net)[0].weight().q_per_channel_axis(),
    lambda xp, net, x: network(xp, xp.nn.LSTM(4, 6))(x),
    lambda xp, net, x: network(xp, xp.nn.LSTM(4, 6))(inputs(xp, 5, 3, 5)),
    lambda xp, net, x: network(xp, xp.nn.LSTMCell(4, 6))(inputs(xp, 3, 5)),
    lambda xp, net, x: network(xp, xp.nn.LSTM(4, 6, bias=False)),
    lambda xp, net, x: at(xp, "ao.nn.quantized.dynamic").Linear.from_float(xp.nn.Linear(2, 1)),
    lambda xp, net, x: at(xp, "ao.quantization").MinMaxObserver(qscheme=xp.per_channel_affine),
]


@pytest.mark.parametrize("body", bodies(_linear, ERRORS), ids=lambda b: b.label)
def test_errors(same, body):
    same(body)


def _observed(xp, program):
    return program(xp, at(xp, "ao.quantization"), inputs(xp, 3, 4))


def seen(observer, *tensors):
    for x in tensors:
        observer(x)
    return (*observer.calculate_qparams(), repr(observer), list(observer.state_dict()))


OBSERVERS = [
    lambda xp, q, x: seen(q.MinMaxObserver(), x, x * 2),
    lambda xp, q, x: seen(q.MinMaxObserver(dtype=xp.qint8, qscheme=xp.per_tensor_symmetric), x),
    lambda xp, q, x: seen(q.MinMaxObserver(dtype=xp.quint8, qscheme=xp.per_tensor_symmetric), x),
    lambda xp, q, x: seen(q.MinMaxObserver(dtype=xp.qint8, quant_min=-64, quant_max=63), x),
    lambda xp, q, x: seen(q.MinMaxObserver(dtype=xp.qint32), x),
    lambda xp, q, x: seen(q.MinMaxObserver(), x[:0], x.abs()),
    lambda xp, q, x: seen(q.PerChannelMinMaxObserver(), x, -x),
    lambda xp, q, x: seen(q.PerChannelMinMaxObserver(ch_axis=1, dtype=xp.qint8, qscheme=xp.per_channel_symmetric), x),
    lambda xp, q, x: (repr(q.PlaceholderObserver(dtype=xp.float16)), q.default_dynamic_qconfig.weight().dtype == xp.qint8),
    lambda xp, q, x: seen(q.default_weight_observer.with_args(quant_min=-127, quant_max=127)(), x),
]


@pytest.mark.parametrize("body", bodies(_observed, OBSERVERS), ids=lambda b: b.label)
def test_observers(same, body):
    same(body, rtol=1e-6)


def test_it_is_deprecated(xp):
    at(xp, "ao.quantization")
    with pytest.warns(DeprecationWarning, match="torch.ao.quantization is deprecated"):
        xp.ao.quantization.quantize_dynamic(xp.nn.Sequential(xp.nn.Linear(2, 1)))


def saved(xp, thing):
    file = io.BytesIO()
    xp.save(thing, file)
    file.seek(0)
    return file


@pytest.mark.parametrize("spec", ["all", "channels", "float16"])
def test_checkpoints(xp, spec):
    """A state dict restores the results, also with ``weights_only``, the default."""
    chosen = {"all": {}, "channels": {"qconfig_spec": per_channel(xp)}, "float16": {"dtype": xp.float16}}[spec]
    net, x = quantized(xp, filled(xp, xp.nn.Sequential(xp.nn.Linear(12, 8))), **chosen), inputs(xp, 3, 12)
    other = quantized(xp, xp.nn.Sequential(xp.nn.Linear(12, 8)), **chosen)
    other.load_state_dict(xp.load(saved(xp, net.state_dict())))
    assert xp.equal(other(x), net(x))
    assert xp.equal(copy.deepcopy(net)(x), net(x))


@NEEDS_TORCH
@pytest.mark.parametrize("spec", ["all", "channels", "float16"])
@pytest.mark.parametrize("names", [("torch", "jtorch"), ("jtorch", "torch")])
def test_checkpoints_of_the_other_library(names, spec):
    made = []
    ours, theirs = (library(name) for name in names)
    for xp in (ours, theirs):
        chosen = {"all": {}, "channels": {"qconfig_spec": per_channel(xp)}, "float16": {"dtype": xp.float16}}[spec]
        made.append(quantized(xp, filled(xp, xp.nn.Sequential(xp.nn.Linear(12, 8))), **chosen))
    with theirs.no_grad():
        blank = quantized(theirs, theirs.nn.Sequential(theirs.nn.Linear(12, 8)), **chosen)
    blank.load_state_dict(theirs.load(saved(ours, made[0].state_dict())))
    assert theirs.equal(blank(inputs(theirs, 3, 12)), made[1](inputs(theirs, 3, 12)))


def test_pickles():
    jtorch = library("jtorch")
    net = quantized(jtorch, filled(jtorch, jtorch.nn.ModuleList([jtorch.nn.Linear(4, 3), jtorch.nn.LSTM(4, 3)])))
    x = inputs(jtorch, 2, 3, 4)
    for other in (pickle.loads(pickle.dumps(net)), jtorch.load(saved(jtorch, net), weights_only=False)):
        assert jtorch.equal(other[0](x), net[0](x)) and jtorch.equal(other[1](x)[0], net[1](x)[0])


def test_functions_without_a_rule():
    jtorch = library("jtorch")
    weight = quantized(jtorch, jtorch.nn.Sequential(jtorch.nn.Linear(4, 3)))[0].weight()
    with pytest.raises(NotImplementedError, match=r"functions of quantized tensors are not built; x.dequantize\(\)"):
        weight + 1
    assert weight.shape == (3, 4) and weight.clone().equal(weight)


@pytest.mark.parametrize("use", ["quantize_dynamic(net, dtype=torch.quint8)", "quantize_dynamic(net, {torch.nn.Embedding})",
                                 "prepare(net)", "FakeQuantize()"])
def test_what_is_not_built(use):
    jtorch = library("jtorch")
    names = {"torch": jtorch, "net": jtorch.nn.Sequential(jtorch.nn.Embedding(2, 1))}
    warnings.simplefilter("ignore")
    with pytest.raises(NotImplementedError, match="not built"):
        eval(f"torch.ao.quantization.{use}", names)


@pytest.mark.parametrize("parameters", [(), ("scheme", 0.1), ("scheme", "a", 0), ("channels", 0.1, 0, 0), [1, 2, 3]])
def test_damaged_checkpoints(parameters):
    jtorch = library("jtorch")
    schemes = {"scheme": jtorch.per_tensor_affine, "channels": jtorch.per_channel_affine}
    given = tuple(schemes.get(p, p) if k == 0 else p for k, p in enumerate(parameters)) if isinstance(parameters, tuple) else parameters
    storage = jtorch.zeros(2, dtype=jtorch.int8).untyped_storage()._storage
    with pytest.raises((NotImplementedError, RuntimeError), match="in the checkpoint|The checkpoint holds"):
        jtorch._utils._rebuild_qtensor(storage, 0, (2,), (1,), given, False, None)
