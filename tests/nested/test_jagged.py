"""torch.nested in the jagged layout: construction, functions, gradients, attention, files and errors."""
from __future__ import annotations

import copy
import io
import pickle
import re
import warnings

import pytest
from bodies import bodies


def numbers(xp, *size):
    """Return different numbers, positive and negative, that are exact in float32."""
    count = 1
    for n in size:
        count *= n
    return (((xp.arange(count, dtype=xp.float32) * 37) % 64 - 32) / 16).reshape(size)


def nested(xp, *sizes, requires_grad=True):
    tensors = [numbers(xp, *size) for size in sizes or [(2, 8), (4, 8)]]
    return xp.nested.nested_tensor(tensors, layout=xp.jagged, requires_grad=requires_grad)


def with_holes(xp):
    starts, lengths = xp.tensor([0, 1]), xp.tensor([3, 2])
    return xp.nested.narrow(numbers(xp, 2, 5, 4), 1, starts, lengths, layout=xp.jagged)


def heads(t):
    return t.unflatten(-1, (2, 4)).transpose(1, 2)


def shown(made):
    """Return results with nested tensors as what a program can read of them; nested ints are counted anew in each process."""
    if isinstance(made, (list, tuple)):
        return [shown(m) for m in made]
    if getattr(made, "is_nested", False):
        text = f"{made.size()} {made.stride()} {made.is_contiguous()} {made.layout} {made.requires_grad}"
        return [re.sub(r"j\d+", "j", text), made.offsets(), made.values().detach()]
    return re.sub(r"j\d+", "j", made) if isinstance(made, str) else made


def _value(xp, program):
    return shown(program(xp, nested(xp)))


VALUES = [
    lambda xp, t: (t + 1, 1 - t, t * t, t ** 2, -t, t == t, t < 1, t.sin(), xp.nn.functional.relu(t), t.clamp(min=0)),
    lambda xp, t: (t + numbers(xp, 8), t + numbers(xp, 2, 1, 8), t + numbers(xp, 1, 1, 8), xp.where(t > 0, t, t * 2)),
    lambda xp, t: (t.sum(), t.sum(1), t.sum(-1), t.sum(-1, keepdim=True), t.sum((0, 1)), t.sum((0, 1), keepdim=True)),
    lambda xp, t: (t.mean(), t.mean(1), t.mean(-1), t.mean(1, keepdim=True), t.amax(1), t.argmax(1), t.min(), t.prod(-1)),
    lambda xp, t: (*t.max(1), *t.max(-1), t.any(1), (t > 0).all(-1), t.long().amax(1), t.long().amin(1)),
    lambda xp, t: (t.softmax(-1), xp.softmax(t, 1), xp.log_softmax(t, -1)),
    lambda xp, t: (t.transpose(1, 2), t.mT, t.permute(0, 2, 1), t.unsqueeze(-1), t.unsqueeze(1), t.unsqueeze(-1).squeeze(-1)),
    lambda xp, t: (t.view(2, -1, 2, 4), t.reshape(2, t.size(1), 4, 2), t.unflatten(-1, (2, 4)).flatten(-2), t.expand(2, -1, 8)),
    lambda xp, t: (t.chunk(2, -1), t.chunk(2, 0), t.split(4, -1), t.narrow(-1, 0, 2), t[0], t[1, 2], t[..., 0], t.select(2, 1)),
    lambda xp, t: (list(t), len(t), t.unbind(), xp.cat([t, t], -1), xp.stack([t, t], -1)),
    lambda xp, t: (t @ numbers(xp, 8, 3), t @ numbers(xp, 2, 8, 3), xp.bmm(t, numbers(xp, 2, 8, 3)), t.transpose(1, 2) @ t),
    lambda xp, t: (t.double(), t.to(xp.int64), t.clone(), t.detach(), xp.zeros_like(t), xp.full_like(t, 2.0)),
    lambda xp, t: (t.detach().clone().add_(1), t.detach().clone().zero_(), t.detach().clone().fill_(3)),
    lambda xp, t: (t.to_padded_tensor(0.0), xp.nested.to_padded_tensor(t, -1.0, (2, 6, 8))),
    lambda xp, t: (t.numel(), t.dim(), t.is_nested, str(t.layout), isinstance(t, xp.Tensor), t.is_leaf, t.requires_grad),
    lambda xp, t: (t.size(1) == t.size(1), t.size(1) == 3, t.size(1) > 1, t.shape[0], t.size(-1)),
    lambda xp, t: (str(t), str(t.detach()), str((t * 2).values().shape)),
    lambda xp, t: [with_holes(xp), with_holes(xp).unbind(), with_holes(xp) + 1, with_holes(xp).numel(), with_holes(xp).sum(-1)],
    lambda xp, t: with_holes(xp).contiguous().unbind(),
    lambda xp, t: xp.nested.masked_select(numbers(xp, 2, 4), numbers(xp, 2, 4) > 0),
    lambda xp, t: xp.nested.as_nested_tensor(numbers(xp, 2, 3, 4), layout=xp.jagged),
    lambda xp, t: nested(xp, (2, 3), (2, 5)),
    lambda xp, t: xp.nested.nested_tensor([[1, 2], [3]], layout=xp.jagged),
    lambda xp, t: xp.nested.nested_tensor_from_jagged(numbers(xp, 6, 2), lengths=xp.tensor([2, 4])),
    lambda xp, t: xp.nested.nested_tensor_from_jagged(xp.arange(6.0), xp.tensor([0, 2, 6])).to_padded_tensor(0),
    lambda xp, t: copy.deepcopy(t.detach()),
    lambda xp, t: pickle.loads(pickle.dumps(t)),
]


@pytest.mark.parametrize("body", bodies(_value, VALUES), ids=lambda b: b.label)
def test_values(same, body):
    same(body, rtol=1e-5)


def _gradient(xp, program):
    t = nested(xp)
    program(xp, t).backward()
    return shown(t.grad)


GRADIENTS = [
    lambda xp, t: (t * t).values().sum(),
    lambda xp, t: (t.transpose(1, 2) @ t).pow(2).sum(),
    lambda xp, t: (xp.nn.functional.layer_norm(t, (8,)) * t).values().sum(),
    lambda xp, t: t.unbind()[1].exp().sum(),
    lambda xp, t: (t @ numbers(xp, 8, 3)).values().pow(2).mean(),
    lambda xp, t: t.unflatten(-1, (2, 4)).transpose(1, 2).sin().values().sum(),
]


@pytest.mark.parametrize("body", bodies(_gradient, GRADIENTS), ids=lambda b: b.label)
def test_gradients(same, body):
    same(body, rtol=1e-5)


def _model(xp, attend):
    """Return the output and gradients of a layer of attention over sentences of different lengths."""
    warnings.simplefilter("ignore")     # PyTorch warns of a prototype.
    F = xp.nn.functional
    xp.manual_seed(3)
    tokens = xp.nested.nested_tensor([xp.tensor([1, 2]), xp.tensor([3, 4, 5])], layout=xp.jagged)
    embedding, norm, linear = xp.nn.Embedding(10, 8), xp.nn.LayerNorm(8), xp.nn.Linear(8, 24)
    q, k, v = [heads(part.contiguous()) for part in linear(norm(embedding(tokens))).chunk(3, -1)]
    made = F.dropout(attend(F, q, k, v).transpose(1, 2).flatten(-2), 0.5, training=False)
    (made.values() ** 2).sum().backward()
    return [shown(made), *[p.grad.norm() for p in (embedding.weight, norm.weight, norm.bias, linear.weight, linear.bias)]]


ATTENTION = [
    lambda F, q, k, v: F.scaled_dot_product_attention(q, k, v),
    lambda F, q, k, v: F.scaled_dot_product_attention(q, k, v, scale=0.1),
]


@pytest.mark.parametrize("body", bodies(_model, ATTENTION), ids=lambda b: b.label)
def test_attention(same, body):
    same(body, rtol=1e-4)


def test_gradients_of_reductions_are_those_of_components():
    """PyTorch lacks some of these gradients in the jagged layout."""
    import jtorch as torch
    t = nested(torch)
    alone = [part.detach().requires_grad_() for part in t.unbind()]
    for reduce in (lambda x: x.sum(-1), lambda x: x.amax(-1), lambda x: x.mean(-1)):
        (reduce(t) ** 2).sum().backward()
        sum((reduce(x) ** 2).sum() for x in alone).backward()
    (t.sum(1) ** 2).sum().backward()
    sum((x.sum(0) ** 2).sum() for x in alone).backward()
    for part, x in zip(t.grad.unbind(), alone, strict=True):
        torch.testing.assert_close(part, x.grad)


def test_causal_attention_is_that_of_each_component():
    import jtorch as torch
    F = torch.nn.functional
    t = heads(nested(torch))
    for part, alone in zip(F.scaled_dot_product_attention(t, t, t, is_causal=True).transpose(1, 2).unbind(),
                           t.transpose(1, 2).unbind(), strict=True):
        x = alone.transpose(0, 1)
        torch.testing.assert_close(part.transpose(0, 1), F.scaled_dot_product_attention(x, x, x, is_causal=True))


def _error(xp, program):
    try:
        return shown(program(xp, nested(xp)))
    except Exception as error:
        return [type(error).__name__.replace("NotBuiltError", "NotImplementedError"), shown(str(error))]


ERRORS = [
    lambda xp, t: t + nested(xp),
    lambda xp, t: t + numbers(xp, 5, 8),
    lambda xp, t: t / numbers(xp, 3, 8),
    lambda xp, t: t + numbers(xp, 2, 2, 4, 8),
    lambda xp, t: t.sum(0),
    lambda xp, t: t.sum((1, 2)),
    lambda xp, t: with_holes(xp).sum(1),
    lambda xp, t: with_holes(xp).to_padded_tensor(0),
    lambda xp, t: t.softmax(0),
    lambda xp, t: xp.log_softmax(t, 1),
    lambda xp, t: t.transpose(0, 1),
    lambda xp, t: t.permute(1, 0, 2),
    lambda xp, t: t.view(6, 8),
    lambda xp, t: t.flatten(1, 2),
    lambda xp, t: t.split(2, 1),
    lambda xp, t: t[:, 0],
    lambda xp, t: t[:, :, :3],
    lambda xp, t: xp.cat([t, t], 1),
    lambda xp, t: xp.stack([t, t], 1),
    lambda xp, t: t @ t,
    lambda xp, t: xp.nn.functional.linear(t.transpose(1, 2), numbers(xp, 2, 3)),
    lambda xp, t: xp.nn.functional.scaled_dot_product_attention(t, t, numbers(xp, 2, 2, 8)),
    lambda xp, t: xp.nested.nested_tensor([], layout=xp.jagged),
    lambda xp, t: nested(xp, (2, 3), (3, 5)),
    lambda xp, t: nested(xp, (1,), (1, 2)),
    lambda xp, t: nested(xp, (), ()),
    lambda xp, t: xp.nested.nested_tensor_from_jagged(numbers(xp, 3)),
    lambda xp, t: xp.nested.nested_tensor_from_jagged(numbers(xp, 3), xp.tensor([0, 3]), jagged_dim=0),
    lambda xp, t: xp.nested.as_nested_tensor(3, layout=xp.jagged),
    lambda xp, t: xp.nested.as_nested_tensor(numbers(xp, 3), layout=xp.jagged),
    lambda xp, t: xp.nested.nested_tensor([numbers(xp, 2)], layout=xp.sparse_coo),
    lambda xp, t: xp.nested.narrow(numbers(xp, 2, 3), 0, 0, 1, layout=xp.jagged),
]


@pytest.mark.parametrize("body", bodies(_error, ERRORS), ids=lambda b: b.label)
def test_errors(same, body):
    same(body)


def test_gradients_reach_what_a_view_shows(xp):
    values = numbers(xp, 6, 2).requires_grad_()
    t = xp.nested.nested_tensor_from_jagged(values, xp.tensor([0, 2, 6]))
    assert not t.is_leaf and t.requires_grad
    (t * 2).values().sum().backward()
    assert xp.equal(values.grad, xp.full((6, 2), 2.0))


def test_gradients_reach_the_tensors_of_a_list(xp):
    a, b = numbers(xp, 2, 3).requires_grad_(), numbers(xp, 1, 3).requires_grad_()
    t = xp.nested.as_nested_tensor([a, b], layout=xp.jagged)
    t.backward(xp.ones_like(t.detach()))
    assert xp.equal(a.grad, xp.ones(2, 3)) and xp.equal(b.grad, xp.ones(1, 3))


def test_grad_and_hooks(xp):
    t, seen = nested(xp), []
    t.register_hook(lambda grad: seen.append(grad.is_nested))
    grad, = xp.autograd.grad((t * 3).values().sum(), t)
    assert grad.is_nested and grad.size() == t.size() and bool((grad.values() == 3).all()) and seen == [True]


def test_files(xp):
    file = io.BytesIO()
    xp.save({"t": nested(xp, requires_grad=False)}, file)
    file.seek(0)
    loaded = xp.load(file)["t"]
    assert loaded.is_nested and xp.equal(loaded.values(), nested(xp).values().detach())
    assert loaded.to_padded_tensor(0.0).shape == (2, 4, 8)


def test_what_is_not_built_says_so():
    import jtorch as torch
    with pytest.raises(NotImplementedError, match="pass layout=torch.jagged"):
        torch.nested.nested_tensor([torch.ones(2)])
    with pytest.raises(NotImplementedError):
        nested(torch).cumsum(1)
