"""torch.masked.MaskedTensor: construction, operators, reductions, layouts, gradients, text and errors."""
from __future__ import annotations

import warnings

import pytest
from bodies import bodies

DATA, MASK = [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]], [[True, False, True], [False, False, True]]


def masked(xp, requires_grad=False):
    return xp.masked.masked_tensor(xp.tensor(DATA), xp.tensor(MASK), requires_grad)


def sparse(xp):
    return xp.masked.masked_tensor(xp.tensor(DATA).to_sparse(), (xp.tensor(DATA) != 0).to_sparse())


def _value(xp, program):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")     # PyTorch warns of sparse tensors once in a process.
        return shown(program(xp, masked(xp)))


def shown(made):
    """Return results with masked tensors as text."""
    if isinstance(made, (list, tuple)):
        return type(made)([shown(m) for m in made])
    return str(made) if type(made).__name__ == "MaskedTensor" else made


VALUES = [
    lambda xp, t: t,
    lambda xp, t: (t + 1, t * t, 1 / t, t ** 2, -t, t.sin(), t == t, t < 3, xp.sqrt(t)),
    lambda xp, t: (t[0], t[:, 1:], t.t(), t.view(3, 2), t.transpose(0, 1), t.unsqueeze(0), t.split(1), t.expand(2, 2, 3)),
    lambda xp, t: (xp.cat([t, t]), xp.stack([t, t]), len(t)),
    lambda xp, t: (t.sum(), t.mean(1), t.prod(0), t.amax(-1, keepdim=True), t.amin(), t.argmax(), t.var(), t.std(1), t.bool().all()),
    lambda xp, t: (xp.masked.sum(t), xp.masked.softmax(t, 1), xp.masked.median(t, 1), xp.masked.logsumexp(t, 0)),
    lambda xp, t: (t.get_data(), t.get_mask(), t.to_tensor(9.0), t.sum().item(), bool(t.sum() > 0)),
    lambda xp, t: (t.to_sparse(), t.to_sparse().layout == xp.sparse_coo, t.to_sparse_csr(), t.to_sparse_csr().to_dense()),
    lambda xp, t: (t.layout == xp.strided, t.is_sparse, tuple(t.shape), t.is_contiguous(), t.t().is_contiguous(), t.contiguous()),
    lambda xp, t: (xp.softmax(t, -1), xp.where(t.get_mask(), t, t * 2), t.double().dtype == xp.float64, t.to(xp.int64)),
    lambda xp, t: (t.add_(1), t.sin_(), t.clone(), t.detach()),
    lambda xp, t: (xp.masked.is_masked_tensor(t), xp.masked.is_masked_tensor(t.get_data()), isinstance(t, xp.Tensor)),
    lambda xp, t: xp.masked.masked_tensor(xp.tensor(2.5), xp.tensor(False)),
    lambda xp, t: (sparse(xp), sparse(xp).sum(), sparse(xp).sin(), sparse(xp) + sparse(xp), sparse(xp).argmax(), sparse(xp).to_dense()),
]


@pytest.mark.parametrize("body", bodies(_value, VALUES), ids=lambda b: b.label)
def test_values(same, body):
    same(body, rtol=1e-6)


def _gradient(xp, program):
    t = masked(xp, True)
    program(xp, t).backward()
    return t.grad


GRADIENTS = [
    lambda xp, t: t.sum(),
    lambda xp, t: t.mean(1).sum(),
    lambda xp, t: (t * t).exp().sum(),
    lambda xp, t: t.amax(),
    lambda xp, t: (xp.softmax(t, -1) * t).sum(),
    lambda xp, t: xp.where(t.get_mask(), t, t * 2).sum(),
    lambda xp, t: t.t()[1:].prod(),
    lambda xp, t: t.unfold(1, 2, 1).sum(),
    lambda xp, t: t.get_data().sum(),
    lambda xp, t: t.to_tensor(3.0).sum(),
]


@pytest.mark.parametrize("body", bodies(_gradient, GRADIENTS), ids=lambda b: b.label)
def test_gradients(same, body):
    same(body, rtol=1e-6)


def test_the_constructor_with_history(same):
    def body(xp):
        x = xp.ones(2, 3, requires_grad=True)
        t = xp.masked.as_masked_tensor(x, xp.tensor(MASK))
        (t * 2).sum().backward()
        return x.grad, t.requires_grad, type(t.grad_fn).__name__
    same(body)


def test_gradients_in_other_layouts(same):
    def body(xp):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            t = masked(xp, True)
            (t.to_sparse().to_dense().sum() + t.to_sparse_csr().to_dense().exp().sum()).backward()
            return t.grad
    same(body, rtol=1e-6)


def test_anomalies_are_looked_for(same):
    def body(xp):
        with xp.autograd.detect_anomaly():
            t = masked(xp, True)
            t.sum().backward()
        return t.grad
    same(body)


def _error(xp, program):
    return program(xp, masked(xp))


ERRORS = [
    lambda xp, t: xp.masked.masked_tensor([1.0], xp.tensor([True])),
    lambda xp, t: xp.masked.masked_tensor(xp.tensor(DATA), xp.tensor(DATA)),
    lambda xp, t: xp.masked.masked_tensor(xp.tensor(DATA), xp.tensor(MASK[0])),
    lambda xp, t: xp.masked.masked_tensor(xp.tensor(DATA), xp.tensor(MASK)[:1]),
    lambda xp, t: xp.masked.masked_tensor(xp.tensor(DATA, dtype=xp.bfloat16), xp.tensor(MASK)),
    lambda xp, t: xp.masked.masked_tensor(xp.tensor(DATA), xp.tensor(DATA).to_sparse()),
    lambda xp, t: xp.masked.masked_tensor(xp.tensor(DATA, requires_grad=True), xp.tensor(MASK)),
    lambda xp, t: xp.masked.masked_tensor(xp.tensor(MASK), xp.tensor(MASK), True),
    lambda xp, t: t + xp.masked.masked_tensor(xp.tensor(DATA), ~xp.tensor(MASK)),
    lambda xp, t: t.add(1, alpha=2),
    lambda xp, t: t.numpy(),
    lambda xp, t: t.tolist(),
    lambda xp, t: sparse(xp).is_contiguous(),
    lambda xp, t: t.unsqueeze(0).to_sparse_csr(),
    lambda xp, t: masked(xp, True).add_(1),
    lambda xp, t: t._is_any_true(),
]


@pytest.mark.parametrize("body", bodies(_error, ERRORS), ids=lambda b: b.label)
def test_errors(same, body):
    same(body)


@pytest.mark.filterwarnings("ignore:max is not", "ignore:The PyTorch API of MaskedTensors")
def test_an_operator_without_rule_is_refused(xp):
    with pytest.raises(TypeError, match="aten.max.default"):
        masked(xp).max()


@pytest.mark.filterwarnings("ignore:The PyTorch API of MaskedTensors")
def test_sparse_tensors_inside_other_classes_work():
    from libraries import library
    xp = library("jtorch")
    with xp._C.DisableTorchFunctionSubclass():
        t = xp.tensor(DATA).to_sparse().clone()
    assert t.coalesce().values().tolist() == [1, 2, 3, 4, 5]
