"""Recurrent layers and packed sequences against PyTorch."""
from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from bodies import written

NETWORKS = [
    ("nn.LSTM(4, 6)", {}), ("nn.LSTM(4, 6, 2, batch_first=True, bidirectional=True)", {"hx": True}),
    ("nn.LSTM(4, 6, bias=False)", {"packed": True}), ("nn.LSTM(4, 6, 2, bidirectional=True)", {"packed": True, "hx": True}),
    ("nn.LSTM(4, 6, 3, dropout=0.5, batch_first=True)", {}), ("nn.LSTM(4, 6, 2, dropout=0.5)", {"packed": True}),
    ("nn.LSTM(4, 6, 2, proj_size=3, bidirectional=True)", {"hx": True}), ("nn.LSTM(4, 6, proj_size=3)", {"packed": True}),
    ("nn.GRU(4, 6)", {}), ("nn.GRU(4, 6, 2, bidirectional=True)", {"packed": True, "hx": True}),
    ("nn.GRU(4, 6, bias=False, batch_first=True)", {"hx": True}), ("nn.RNN(4, 6, 2, bidirectional=True)", {"packed": True}),
    ("nn.RNN(4, 6, nonlinearity='relu')", {"hx": True}),
]


def numbers(*shape, seed=0):
    return np.random.RandomState(seed).randn(*shape).astype("float32")


def first_state(xp, net):
    layers = net.num_layers * (2 if net.bidirectional else 1)
    h = xp.tensor(numbers(layers, 3, net.proj_size or 6, seed=1), requires_grad=True)
    if net.mode != "LSTM":
        return h, [h]
    c = xp.tensor(numbers(layers, 3, 6, seed=2), requires_grad=True)
    return (h, c), [h, c]


def observed(xp, source, packed=False, hx=False, second=False):
    """Return a network's text, initial parameters, output, states, gradients, second gradients and next random numbers."""
    xp.manual_seed(0)
    net = eval(source, {"nn": xp.nn})
    start = [p.detach().clone() for p in net.parameters()]
    x = xp.tensor(numbers(*(3, 7, 4) if net.batch_first else (7, 3, 4)), requires_grad=True)
    h, leaves = first_state(xp, net) if hx else (None, [])
    given = x
    if packed:
        given = xp.nn.utils.rnn.pack_padded_sequence(x, [3, 7, 5], batch_first=net.batch_first, enforce_sorted=False)
    xp.manual_seed(3)
    out, last = net(given, h)
    drawn = xp.rand(2)
    out, last = out.data if packed else out, last if isinstance(last, tuple) else (last,)
    loss = (out * out).sum() + sum((s * s * s).sum() for s in last)
    leaves = [x, *net.parameters(), *leaves]
    grads = xp.autograd.grad(loss, leaves, create_graph=second)
    again = xp.autograd.grad(sum((g * g).sum() for g in grads), leaves) if second else []
    arrays = [*start, out, *last, *grads, drawn, *again]
    return (repr(net), list(net.state_dict())), [a.detach().numpy() for a in arrays]


def assert_same(found, wanted):
    assert found[0] == wanted[0]
    for a, b in zip(found[1], wanted[1], strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=2e-4, atol=5e-5 * max(1, np.abs(b).max(initial=0)))


@pytest.mark.conformance
@pytest.mark.filterwarnings("ignore:LSTM with projections")
@pytest.mark.parametrize(("source", "how"), NETWORKS)
def test_network(torch, source, how):
    import jtorch
    assert_same(observed(jtorch, source, **how), observed(torch, source, **how))


@pytest.mark.conformance
@pytest.mark.parametrize("source", ["nn.LSTM(4, 6, 2, bidirectional=True)", "nn.GRU(4, 6)", "nn.RNN(4, 6, 2)"])
def test_second_gradients(torch, source):
    import jtorch
    assert_same(observed(jtorch, source, hx=True, second=True), observed(torch, source, hx=True, second=True))


def test_gradients_are_those_of_the_steps():
    """The op's gradients have formulas. They equal the gradients of cells called one after another."""
    import jtorch
    net, cell = jtorch.nn.LSTM(4, 6), jtorch.nn.LSTMCell(4, 6)
    cell.load_state_dict({k.removesuffix("_l0"): v for k, v in net.state_dict().items()})
    x = jtorch.tensor(numbers(5, 3, 4))
    out, state, steps = net(x)[0], None, []
    for t in range(5):
        state = cell(x[t], state)
        steps.append(state[0])
    for y in (out, jtorch.stack(steps)):
        (y * y).sum().backward()
    for a, b in zip(net.parameters(), cell.parameters(), strict=True):
        np.testing.assert_allclose(a.grad.numpy(), b.grad.numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.conformance
@pytest.mark.parametrize("source", ["nn.LSTMCell(4, 6)", "nn.GRUCell(4, 6, bias=False)", "nn.RNNCell(4, 6, nonlinearity='relu')"])
def test_cell(torch, source):
    import jtorch

    def run(xp):
        xp.manual_seed(0)
        cell = eval(source, {"nn": xp.nn})
        x = xp.tensor(numbers(3, 4), requires_grad=True)
        state = cell(x, cell(x))
        alone = cell(x[0])
        made = [s for y in (state, alone) for s in (y if isinstance(y, tuple) else (y,))]
        grads = xp.autograd.grad(sum((s * s).sum() for s in made), [x, *cell.parameters()])
        return (repr(cell), list(cell.state_dict())), [a.detach().numpy() for a in [*made, *grads]]
    assert_same(run(jtorch), run(torch))


def test_functions(xp):
    net, x = xp.nn.LSTM(4, 6, batch_first=True), xp.tensor(numbers(3, 7, 4))
    h = xp.zeros(1, 3, 6)
    out, hn, cn = xp.lstm(x, (h, h), net._flat_weights, True, 1, 0.0, False, False, True)
    again, (hm, cm) = net(x)
    assert xp.equal(out, again)
    assert xp.equal(hn, hm)
    assert xp.equal(cn, cm)
    packed = xp.nn.utils.rnn.pack_sequence([x[0], x[1, :4]])
    out, hn, cn = xp.lstm(packed.data, packed.batch_sizes, (h[:, :2], h[:, :2]), net._flat_weights, True, 1, 0.0, False, False)
    assert xp.equal(out, net(packed)[0].data)


def test_lengths_in_between_need_no_new_kernel():
    import jtorch
    net = jtorch.nn.GRU(4, 6)
    seen = set()
    for longest in (25, 26, 27, 28):
        packed = jtorch.nn.utils.rnn.pack_sequence([jtorch.ones(longest, 4), jtorch.ones(3, 4)])
        out, h = net(packed)
        seen.add(tuple(h.grad_fn.saved[0].aval.shape))
        assert out.data.shape == (longest + 3, 6)
    assert seen == {(28, 2, 4)}


ERRORS = [
    (lambda xp, nn, rnn: nn.LSTM(3, 4)(xp.zeros(2, 3, 5)),
     "input.size(-1) must be equal to input_size. Expected 3, got 5"),
    (lambda xp, nn, rnn: nn.GRU(3, 4)(xp.zeros(2)), "GRU: Expected input to be 2D or 3D, got 1D instead"),
    (lambda xp, nn, rnn: nn.RNN(3, 4)(xp.zeros(2)), "RNN: Expected input to be 2D or 3D, got 1D tensor instead"),
    (lambda xp, nn, rnn: nn.RNN(3, 4)(xp.zeros(5, 2, 3), xp.zeros(1, 3, 4)),
     "Expected hidden size (1, 2, 4), got [1, 3, 4]"),
    (lambda xp, nn, rnn: nn.LSTM(3, 4)(xp.zeros(5, 2, 3), (xp.zeros(1, 2, 4), xp.zeros(1, 2, 3))),
     "Expected hidden[1] size (1, 2, 4), got [1, 2, 3]"),
    (lambda xp, nn, rnn: nn.GRU(3, 4)(xp.zeros(5, 2, 3), xp.zeros(2, 4)),
     "For batched 3-D input, hx should also be 3-D but got 2-D tensor"),
    (lambda xp, nn, rnn: nn.LSTM(3, 4)(xp.zeros(5, 2, 3).double()),
     "RNN input dtype (torch.float64) does not match weight dtype (torch.float32)."),
    (lambda xp, nn, rnn: nn.LSTM(3, 4)(xp.zeros(0, 2, 3)), "Expected sequence length to be larger than 0 in RNN"),
    (lambda xp, nn, rnn: nn.LSTM(3, 4, proj_size=5), "proj_size has to be smaller than hidden_size"),
    (lambda xp, nn, rnn: nn.GRU(3, 4, proj_size=2), "proj_size argument is only supported for LSTM, not RNN or GRU"),
    (lambda xp, nn, rnn: nn.RNN(3, 4, nonlinearity='x'), "Unknown nonlinearity 'x'. Select from 'tanh' or 'relu'."),
    (lambda xp, nn, rnn: nn.LSTM(3.0, 4), "input_size should be of type int, got: float"),
    (lambda xp, nn, rnn: nn.LSTM(3, 0), "hidden_size must be greater than zero"),
    (lambda xp, nn, rnn: nn.LSTMCell(3, 4)(xp.zeros(2, 5)), "input has inconsistent input_size: got 5 expected 3"),
    (lambda xp, nn, rnn: nn.GRUCell(3, 4)(xp.zeros(2, 3), xp.zeros(3, 4)),
     "Input batch size 2 doesn't match hidden0 batch size 3"),
    (lambda xp, nn, rnn: rnn.pack_padded_sequence(xp.zeros(4, 2, 3), [2, 3]),
     "`lengths` array must be sorted in decreasing order"),
    (lambda xp, nn, rnn: rnn.pack_padded_sequence(xp.zeros(4, 2, 3), [3, 0]),
     "Length of all samples has to be greater than 0"),
    (lambda xp, nn, rnn: rnn.pack_padded_sequence(xp.zeros(4, 2, 3), [3]),
     "Expected `len(lengths)` to be equal to batch_size, but got 1"),
    (lambda xp, nn, rnn: rnn.pad_sequence(3), "pad_sequence: Expected iterable for input sequences"),
    (lambda xp, nn, rnn: rnn.pad_packed_sequence(rnn.pack_sequence([xp.zeros(3)]), total_length=1),
     "Expected total_length to be at least the length"),
]


@pytest.mark.parametrize(("call", "message"), ERRORS, ids=written)
def test_errors(xp, call, message):
    with pytest.raises((RuntimeError, ValueError, TypeError)) as e:
        call(xp, xp.nn, xp.nn.utils.rnn)
    assert message in str(e.value)


def test_pack_and_pad(xp):
    rnn = xp.nn.utils.rnn
    a, b, c = xp.tensor([1, 2]), xp.tensor([3]), xp.tensor([4, 5, 6])
    packed = rnn.pack_sequence([a, b, c], enforce_sorted=False)
    assert repr(packed) == ("PackedSequence(data=tensor([4, 1, 3, 5, 2, 6]), batch_sizes=tensor([3, 2, 1]), "
                            "sorted_indices=tensor([2, 0, 1]), unsorted_indices=tensor([1, 2, 0]))")
    padded, lengths = rnn.pad_packed_sequence(packed, batch_first=True, padding_value=7, total_length=4)
    assert padded.tolist() == [[1, 2, 7, 7], [3, 7, 7, 7], [4, 5, 6, 7]]
    assert lengths.tolist() == [2, 1, 3]
    assert [s.tolist() for s in rnn.unpack_sequence(packed)] == [[1, 2], [3], [4, 5, 6]]
    assert rnn.pad_sequence([a, c], padding_value=-1, padding_side="left").tolist() == [[-1, 4], [1, 5], [2, 6]]
    assert packed.to(xp.float64).data.dtype is xp.float64
    assert packed.to(xp.int64) is packed


def test_gradient_of_packing(xp):
    x = xp.ones(3, 2, 2, requires_grad=True)
    packed = xp.nn.utils.rnn.pack_padded_sequence(x, [3, 1])
    padded, _ = xp.nn.utils.rnn.pad_packed_sequence(packed)
    (padded * padded * xp.arange(12.0).view(3, 2, 2)).sum().backward()
    assert x.grad.tolist() == [[[0, 2], [4, 6]], [[8, 10], [0, 0]], [[16, 18], [0, 0]]]


def test_weights_can_be_replaced(xp):
    net, x = xp.nn.GRU(3, 4), xp.ones(2, 1, 3)
    before = net(x)[0]
    for other in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert xp.equal(other(x)[0], before)
        other.weight_hh_l0.data.zero_()
        assert not xp.equal(other(x)[0], before)
    net.weight_ih_l0 = xp.nn.Parameter(xp.zeros(12, 3))
    assert net._flat_weights[0] is net.weight_ih_l0
    assert net.all_weights[0][0] is net.weight_ih_l0
    assert not xp.equal(net(x)[0], before)
    assert net.double()(x.double())[0].dtype is xp.float64


def test_writing_to_what_backward_needs(xp):
    net = xp.nn.LSTM(3, 4)
    out, _ = net(xp.ones(2, 1, 3))
    with xp.no_grad():
        net.weight_hh_l0.mul_(2)
    with pytest.raises(RuntimeError, match="has been modified by an inplace operation"):
        out.sum().backward()


@pytest.mark.conformance
@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_a_batch_that_comes_first_lies_in_memory_behind_time(torch, kind):
    import jtorch

    def ran(xp):
        xp.manual_seed(0)
        layer = getattr(xp.nn, kind)(4, 3, 2, batch_first=True, bidirectional=True, dropout=0.3)
        out = layer(xp.randn(2, 5, 4))[0]
        dropped = xp.nn.functional.dropout(out, 0.5)        # Dropout draws random numbers in the order of memory.
        return out.stride(), dropped.stride(), (dropped == 0).tolist()
    assert ran(jtorch) == ran(torch)
