"""Quantized tensors: how they are made, what reads and writes them, against PyTorch's on the CPU."""
from __future__ import annotations

import copy
import io
import pickle
import warnings

import pytest
from bodies import bodies

pytestmark = pytest.mark.filterwarnings("ignore:torch.quantize_per", "ignore:TypedStorage is deprecated",
                                        "ignore:Please use quant_min")


def numbers(xp):
    return (xp.arange(12.0) * 7 % 11 - 4).reshape(3, 4) / 3


def facts(t):
    """Return all that a quantized tensor says of itself."""
    scales = (t.q_scale(), t.q_zero_point()) if "tensor" in str(t.qscheme()) else (
        t.q_per_channel_scales(), t.q_per_channel_zero_points(), t.q_per_channel_axis())
    return str(t.dtype), str(t.qscheme()), tuple(t.shape), t.stride(), t.int_repr(), scales, t.is_quantized, t.requires_grad


def _made(xp, program):
    found = program(xp, numbers(xp))
    return [facts(t) for t in found] if isinstance(found, tuple) else facts(found)


def channels(xp, x, dtype="qint8", axis=0):
    n = x.shape[axis]
    return xp.quantize_per_channel(x, xp.arange(1.0, n + 1) / 10, xp.arange(n), axis, getattr(xp, dtype))


MADE = [
    lambda xp, x: xp.quantize_per_tensor(x, 0.1, 3, xp.quint8),
    lambda xp, x: xp.quantize_per_tensor(input=x, scale=0.1, zero_point=3, dtype=xp.qint8),
    lambda xp, x: xp.quantize_per_tensor(x * 1e6, 1e-3, -7, xp.qint32),
    lambda xp, x: xp.quantize_per_tensor(x, xp.tensor(0.1), xp.tensor(3), xp.quint8),
    lambda xp, x: xp.quantize_per_tensor([x, x[0]], xp.tensor([0.1, 0.2]), xp.tensor([3, 4]), xp.quint8),
    lambda xp, x: xp.quantize_per_tensor(x.t(), 0.1, 3, xp.quint8),
    lambda xp, x: xp.quantize_per_tensor(x[:0], 0.1, 3, xp.quint8),
    lambda xp, x: xp.quantize_per_tensor(xp.tensor([float("nan"), float("inf"), -float("inf")]), 0.1, 3, xp.quint8),
    lambda xp, x: xp.quantize_per_tensor(x.requires_grad_(), 0.1, 3, xp.quint8),
    lambda xp, x: channels(xp, x),
    lambda xp, x: channels(xp, x, "quint8", 1),
    lambda xp, x: xp.quantize_per_tensor_dynamic(x, xp.quint8, False),
    lambda xp, x: xp.quantize_per_tensor_dynamic(x, xp.qint8, True),
    lambda xp, x: xp.quantize_per_tensor_dynamic(x, xp.quint8, True),
    lambda xp, x: xp.quantize_per_tensor_dynamic(x.abs(), xp.quint8, False),
    lambda xp, x: xp.quantize_per_tensor_dynamic(-x.abs(), xp.qint8, False),
    lambda xp, x: xp.quantize_per_tensor_dynamic(x * 0, xp.quint8, False),
    lambda xp, x: xp.quantize_per_tensor_dynamic(x * 1e-30, xp.quint8, False),
    lambda xp, x: xp._make_per_tensor_quantized_tensor(xp.tensor([1, 2], dtype=xp.uint8), 0.5, 1),
    lambda xp, x: xp._make_per_channel_quantized_tensor(xp.tensor([1, 2], dtype=xp.int8), xp.ones(2), xp.zeros(2, dtype=xp.int), 0),
]


@pytest.mark.parametrize("body", bodies(_made, MADE), ids=lambda b: b.label)
def test_making(same, body):
    same(body)


def _read(xp, program):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = program(xp, xp.quantize_per_tensor(numbers(xp), 0.1, 3, xp.quint8))
    if isinstance(found, (tuple, list)):
        return [facts(t) if getattr(t, "is_quantized", False) else t for t in found]
    return facts(found) if getattr(found, "is_quantized", False) else found


READ = [
    lambda xp, q: xp.dequantize(q),
    lambda xp, q: xp.dequantize([q, q])[1],
    lambda xp, q: xp.int_repr(q),
    lambda xp, q: (xp.q_scale(q), xp.q_zero_point(q)),
    lambda xp, q: q.view(2, 6),
    lambda xp, q: q.t(),
    lambda xp, q: q.T,
    lambda xp, q: q.t().contiguous(),
    lambda xp, q: q.permute(1, 0).reshape(-1),
    lambda xp, q: q.unsqueeze(1).expand(3, 2, 4),
    lambda xp, q: q[1],
    lambda xp, q: q[0, 1],
    lambda xp, q: q[:, ::2],
    lambda xp, q: q[q.int_repr() > 3],
    lambda xp, q: q[xp.tensor([2, 0])],
    lambda xp, q: q.chunk(2),
    lambda xp, q: q.unbind(1),
    lambda xp, q: list(q),
    lambda xp, q: q.index_select(0, xp.tensor([1])),
    lambda xp, q: xp.cat([q, q], 1),
    lambda xp, q: xp.stack([q, q]),
    lambda xp, q: q.flip(0),
    lambda xp, q: q.repeat(1, 2),
    lambda xp, q: q.max(),
    lambda xp, q: q.min(1)[0],
    lambda xp, q: q.sort()[0],
    lambda xp, q: q.topk(2)[0],
    lambda xp, q: xp.nn.functional.max_pool2d(q.view(1, 1, 3, 4), 2),
    lambda xp, q: q == q.flip(0),
    lambda xp, q: q > 0.1,
    lambda xp, q: xp.equal(q, q.clone()),
    lambda xp, q: q[0, 0].item(),
    lambda xp, q: xp.relu(q),
    lambda xp, q: xp.nn.functional.relu6(q),
    lambda xp, q: xp.clamp(q, -0.5, 0.5),
    lambda xp, q: q.clamp(max=0.2),
    lambda xp, q: xp.nn.functional.hardtanh(q, -0.5, 0.5),
    lambda xp, q: q.clone().copy_(numbers(xp) * 2),
    lambda xp, q: q.clone().copy_(xp.quantize_per_tensor(numbers(xp), 0.2, 1, xp.quint8)),
    lambda xp, q: q.clone().fill_(1.0),
    lambda xp, q: (q.view(-1).fill_(0.5), q)[1],
    lambda xp, q: (q.__setitem__(1, 0.3), q)[1],
    lambda xp, q: (q.__setitem__(1, q[0]), q)[1],
    lambda xp, q: q.to("cpu"),
    lambda xp, q: q.type(),
    lambda xp, q: repr(q),
    lambda xp, q: copy.deepcopy(q),
    lambda xp, q: pickle.loads(pickle.dumps(q)),
    lambda xp, q: channels(xp, numbers(xp)).dequantize(),
    lambda xp, q: facts(channels(xp, numbers(xp)).clone()),
    lambda xp, q: channels(xp, numbers(xp)).copy_(numbers(xp) * 2),
    lambda xp, q: channels(xp, numbers(xp)).fill_(1.0),
    lambda xp, q: xp.q_per_channel_scales(channels(xp, numbers(xp))),
    lambda xp, q: channels(xp, numbers(xp)) == 0.1,
]


@pytest.mark.parametrize("body", bodies(_read, READ), ids=lambda b: b.label)
def test_reading_and_writing(same, body):
    same(body)


REFUSED = [
    lambda xp, x: xp.quantize_per_tensor(x.double(), 0.1, 3, xp.quint8),
    lambda xp, x: xp.quantize_per_tensor(x, 0.1, 3, xp.float32),
    lambda xp, x: xp.quantize_per_tensor(x, 0.1, 300, xp.quint8),
    lambda xp, x: xp.quantize_per_tensor(x, 0.1, -3, xp.quint8),
    lambda xp, x: xp.quantize_per_channel(x, xp.ones(3), xp.zeros(3).long(), 1, xp.qint8),
    lambda xp, x: xp.quantize_per_channel(x, xp.ones(3), xp.zeros(2).long(), 0, xp.qint8),
    lambda xp, x: xp.quantize_per_channel(x, xp.ones(3), xp.zeros(3).long(), 5, xp.qint8),
    lambda xp, x: xp.quantize_per_channel(x.double(), xp.ones(3), xp.zeros(3).long(), 0, xp.qint8),
    lambda xp, x: xp.quantize_per_channel(x, xp.ones(3), xp.full((3,), 300), 0, xp.quint8),
    lambda xp, x: xp.quantize_per_tensor_dynamic(x, xp.qint32, False),
    lambda xp, x: xp.quantize_per_tensor(x, 0.1, 3, xp.quint8).float(),
    lambda xp, x: xp.quantize_per_tensor(x, 0.1, 3, xp.quint8).numpy(),
    lambda xp, x: xp.quantize_per_tensor(x, 0.1, 3, xp.quint8).tolist(),
    lambda xp, x: xp.quantize_per_tensor(x, 0.1, 3, xp.quint8).requires_grad_(),
    lambda xp, x: channels(xp, x).T,
]


def _refused(xp, program):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises((RuntimeError, TypeError, NotImplementedError)) as caught:
            program(xp, numbers(xp))
    return caught.type.__name__, str(caught.value).split("\n")[0]


@pytest.mark.parametrize("body", bodies(_refused, REFUSED), ids=lambda b: b.label)
def test_what_is_refused(same, body):
    same(body)


def test_questions_about_dense_tensors(xp):
    for name in ("int_repr", "q_scale", "q_per_channel_axis", "qscheme"):
        with pytest.raises(NotImplementedError, match=f"Could not run 'aten::{name}' with arguments from the 'CPU' backend"):
            getattr(xp.ones(2), name)()


def test_files(xp):
    q = xp.quantize_per_tensor(numbers(xp), 0.1, 3, xp.quint8)
    file = io.BytesIO()
    xp.save({"q": q, "view": q[1:]}, file)
    file.seek(0)
    read = xp.load(file)
    read["view"].fill_(0.5)
    assert read["q"].int_repr()[1:].tolist() == [[8] * 4, [8] * 4] and read["q"].q_scale() == 0.1
