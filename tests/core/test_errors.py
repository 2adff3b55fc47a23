"""Errors have PyTorch's exception type and first sentence."""
from __future__ import annotations

import pytest
from bodies import Programs, bodies, words

pytestmark = pytest.mark.core

ERRORS = [
    lambda xp: xp.ones(2, 3) + xp.ones(2, 4),
    lambda xp: xp.ones(2, 3) @ xp.ones(2, 3),
    lambda xp: xp.mm(xp.ones(2, 3), xp.ones(2, 3)),
    lambda xp: xp.mm(xp.ones(2), xp.ones(2)),
    lambda xp: xp.bmm(xp.ones(2, 3), xp.ones(2, 3)),
    lambda xp: xp.dot(xp.ones(2), xp.ones(3)),
    lambda xp: xp.dot(xp.ones(2, 2), xp.ones(2)),
    lambda xp: xp.mv(xp.ones(2, 3), xp.ones(2)),
    lambda xp: xp.matmul(xp.ones(()), xp.ones(2)),
    lambda xp: xp.addmm(xp.ones(2), xp.ones(2, 3), xp.ones(2, 3)),
    lambda xp: xp.cat([xp.ones(2, 3), xp.ones(2, 4)]),
    lambda xp: xp.cat([]),
    lambda xp: xp.cat(xp.ones(2)),
    lambda xp: xp.cat([xp.ones(2), xp.ones(2)], dim=1),
    lambda xp: xp.stack([xp.ones(2), xp.ones(3)]),
    lambda xp: xp.stack([]),
    lambda xp: xp.ones(2, 3).view(7),
    lambda xp: xp.ones(2, 3).view(-1, -1),
    lambda xp: xp.ones(2, 3).view(-1, 4),
    lambda xp: xp.ones(2, 3).reshape(7),
    lambda xp: xp.ones(2, 3).reshape(-2, 3),
    lambda xp: xp.ones(0).view(-1),
    lambda xp: xp.ones(0).view(-1, 0),
    lambda xp: xp.ones(2, 3).t().view(6),
    lambda xp: xp.ones(2, 3).transpose(0, 2),
    lambda xp: xp.ones(2, 3).permute(0),
    lambda xp: xp.ones(2, 3).permute(0, 0),
    lambda xp: xp.ones(2, 3).permute(0, 2),
    lambda xp: xp.ones(2, 3, 4).t(),
    lambda xp: xp.ones(2, 3).expand(3, 3),
    lambda xp: xp.ones(2, 3).expand(3),
    lambda xp: xp.ones(2, 3).expand(-1, -1, 3),
    lambda xp: xp.ones(1, 3).expand(-1, 3),
    lambda xp: xp.ones(3).expand(-1, 3),
    lambda xp: xp.ones(2, 3).squeeze(2),
    lambda xp: xp.ones(2, 3).squeeze(0),
    lambda xp: xp.ones(2, 3).unsqueeze(4),
    lambda xp: xp.ones(2, 3).sum(2),
    lambda xp: xp.ones(2, 3).sum((0, 0)),
    lambda xp: xp.ones(2, 3).sum(dim=-3),
    lambda xp: xp.ones(2, 3).max(2),
    lambda xp: xp.ones(0).max(),
    lambda xp: xp.ones(0, 3).max(0),
    lambda xp: xp.ones(0).argmax(),
    lambda xp: xp.ones(0).mean(),
    lambda xp: xp.ones(0).sum(),
    lambda xp: xp.ones(0).min(),
    lambda xp: xp.ones(2, 3).narrow(0, 1, 2),
    lambda xp: xp.ones(2, 3).narrow(0, -1, 1),
    lambda xp: xp.ones(2, 3).narrow(0, 0, -1),
    lambda xp: xp.ones(2, 3).select(0, 2),
    lambda xp: xp.ones(2, 3).select(2, 0),
    lambda xp: xp.tensor(1).select(0, 0),
    lambda xp: xp.ones(3).chunk(0),
    lambda xp: xp.ones(3).chunk(2, 1),
    lambda xp: xp.ones(3).split(0),
    lambda xp: xp.ones(3).split(-1),
    lambda xp: xp.ones(3).split([1, 1]),
    lambda xp: xp.ones(3).split([1, -1, 3]),
    lambda xp: xp.ones(3).unbind(1),
    lambda xp: xp.tensor(1).unbind(),
    lambda xp: xp.ones(3).unfold(0, 4, 1),
    lambda xp: xp.ones(3).unfold(0, 2, 0),
    lambda xp: xp.ones(3).as_strided((2, 2), (2, 2)),
    lambda xp: xp.ones(3).as_strided((2,), (-1,)),
    lambda xp: xp.ones(3).as_strided((2,), (1, 1)),
    lambda xp: xp.ones(3).as_strided((2,), (1,), -1),
    lambda xp: xp.ones(2, 3).diagonal(0, 0, 0),
    lambda xp: xp.ones(3).flip(1),
    lambda xp: xp.ones(3).flip(0, 0),
    lambda xp: xp.ones(3).roll(1, 1),
    lambda xp: xp.ones(2, 3).repeat(2),
    lambda xp: xp.ones(3).repeat(-1),
    lambda xp: xp.ones(3).tile(2),
    lambda xp: xp.ones(2, 3).flatten(1, 0),
    lambda xp: xp.ones(2, 3).flatten(3),
    lambda xp: xp.ones(6).unflatten(0, (2, 4)),
    lambda xp: xp.ones(3).gather(0, xp.tensor([3])),
    lambda xp: xp.ones(3).gather(0, xp.tensor([0.])),
    lambda xp: xp.ones(3).gather(0, xp.tensor([[0]])),
    lambda xp: xp.ones(3).index_select(0, xp.tensor([3])),
    lambda xp: xp.ones(3).index_select(0, xp.tensor([[0]])),
    lambda xp: xp.ones(3).index_select(0, xp.tensor([0.])),
    lambda xp: xp.ones(3).index_select(1, xp.tensor([0])),
    lambda xp: xp.zeros(3).scatter(0, xp.tensor([3]), 1.),
    lambda xp: xp.zeros(3).scatter_(0, xp.tensor([0, 1]), xp.ones(1)),
    lambda xp: xp.zeros(3).index_add(0, xp.tensor([0]), xp.ones(2)),
    lambda xp: xp.zeros(3).index_fill_(0, xp.tensor([5]), 1),
    lambda xp: xp.ones(3).masked_fill(xp.tensor([1, 0, 1]), 1),
    lambda xp: xp.take(xp.ones(3), xp.tensor([5])),
    lambda xp: xp.ones(3).topk(4),
    lambda xp: xp.ones(3).kthvalue(0),
    lambda xp: xp.ones(3).sort(1),
    lambda xp: xp.ones(3).cumsum(1),
    lambda xp: xp.ones(3).cumsum(),
    lambda xp: xp.ones(3).norm(p="x"),
    lambda xp: xp.ones(3).clamp(),
    lambda xp: xp.ones(3).clamp(1, 0),
    lambda xp: xp.ones(3).add(),
    lambda xp: xp.ones(3).add("a"),
    lambda xp: xp.ones(3).add(1, 2, 3),
    lambda xp: xp.ones(3).add(1, alpha=2),
    lambda xp: xp.ones(3, dtype=xp.int64).add(1, alpha=2.5),
    lambda xp: xp.tensor([True]).add(True, alpha=2),
    lambda xp: xp.add(1, 2),
    lambda xp: xp.add(xp.ones(2), foo=1),
    lambda xp: xp.sin(1),
    lambda xp: xp.sin("a"),
    lambda xp: xp.sin(),
    lambda xp: xp.sin(xp.ones(2), 1),
    lambda xp: xp.sin([1.]),
    lambda xp: xp.exp(None),
    lambda xp: xp.ones(2).sin(1),
    lambda xp: xp.relu(xp.tensor([True])),
    lambda xp: xp.ones(3).add_(xp.ones(2, 3)),
    lambda xp: xp.ones(2, 3).add_(xp.ones(4)),
    lambda xp: xp.exp(xp.ones(2), out=1),
    lambda xp: xp.exp(xp.ones(2), out=xp.ones(2, dtype=xp.int64)),
    lambda xp: xp.exp(xp.ones(2), out=xp.ones(3)),
    lambda xp: xp.exp(xp.ones(2), out=xp.ones(0)),
    lambda xp: xp.exp(xp.ones(2), out=xp.ones(2, requires_grad=True)),
    lambda xp: xp.exp(xp.ones(2, requires_grad=True), out=xp.ones(2)),
    lambda xp: xp.exp(xp.ones(2), out=xp.ones(1).expand(2)),
    lambda xp: xp.max(xp.ones(2, 3), 0, out=(xp.ones(3), xp.ones(3, dtype=xp.int64))),
    lambda xp: xp.ones(3).expand(2, 3).add_(1),
    lambda xp: xp.ones(3).expand(2, 3).zero_(),
    lambda xp: xp.ones(3).expand(2, 3).fill_(1),
    lambda xp: xp.ones(3).expand(2, 3).copy_(xp.zeros(2, 3)),
    lambda xp: xp.ones(2).copy_(xp.ones(3)),
    lambda xp: xp.ones(2).copy_(1),
    lambda xp: xp.ones(2).copy_([1, 2]),
    lambda xp: xp.ones(2).fill_(xp.ones(2)),
    lambda xp: xp.ones(2).fill_(xp.tensor(3)),
    lambda xp: xp.ones(2).fill_("a"),
    lambda xp: xp.ones(2).fill_(None),
    lambda xp: xp.ones(2, requires_grad=True).add_(1),
    lambda xp: xp.ones(2).requires_grad_("a"),
    lambda xp: xp.ones(2).device,
    lambda xp: xp.ones(2).to("cuda"),
    lambda xp: xp.ones(2).cuda(),
    lambda xp: xp.ones(2, device="cuda"),
    lambda xp: xp.ones(2, device="cuda:1"),
    lambda xp: xp.device("cuda", -2),
    lambda xp: xp.device("foo"),
    lambda xp: xp.zeros(2).to("meta"),
    lambda xp: xp.ones(2).backward,
    lambda xp: xp.ones(2).stride(2),
    lambda xp: xp.ones(2, 3).size(2),
    lambda xp: xp.tensor(1).size(0),
    lambda xp: xp.ones(2, 3).size(-3),
    lambda xp: xp.ones(2, 3).size("a"),
    lambda xp: xp.ones(2).register_hook(lambda g: g),
    lambda xp: xp.ones(2).retain_grad(),
    lambda xp: xp.ones(2, requires_grad=True).sum().detach_(),
    lambda xp: xp.ones(2, requires_grad=True)[0:1].detach_(),
    lambda xp: xp.ones(2, requires_grad=True).resize_(3),
    lambda xp: xp.set_grad_enabled(),
    lambda xp: xp.manual_seed("a"),
    lambda xp: xp.Size(["a"]),
    lambda xp: xp.Size([1.5]),
    lambda xp: xp.broadcast_tensors(xp.ones(2), xp.ones(3)),
    lambda xp: xp.broadcast_shapes((2,), (3,)),
    lambda xp: xp.broadcast_to(xp.ones(2), (3,)),
    lambda xp: xp.einsum("ij,jk->ik", xp.ones(2, 3), xp.ones(2, 3)),
    lambda xp: xp.einsum("ij", xp.ones(2)),
    lambda xp: xp.nn.functional.relu(1),
    lambda xp: xp.tensordot(xp.ones(2), xp.ones(3), 1),
    lambda xp: xp.outer(xp.ones(2, 2), xp.ones(2)),
    lambda xp: xp.diag(xp.ones(2, 2, 2)),
    lambda xp: xp.tril(xp.ones(2)),
    lambda xp: xp.multinomial(xp.ones(2), 3),
    lambda xp: xp.randint(3, 3, (2,)),
    lambda xp: xp.randint(5, 3, (2,)),
    lambda xp: xp.randperm(-1),
    lambda xp: xp.rand(2, dtype=xp.int64),
    lambda xp: xp.randn(-1),
    lambda xp: xp.normal(0., -1., (2,)),
    lambda xp: xp.bernoulli(xp.tensor([2.])),
    lambda xp: xp.linalg.inv(xp.zeros(2, 3)),
    lambda xp: xp.nn.functional.linear(xp.ones(2, 3), xp.ones(4, 5)),
    lambda xp: xp.nn.functional.cross_entropy(xp.ones(2, 3), xp.tensor([0, 5])),
    lambda xp: xp.nn.functional.nll_loss(xp.ones(2, 3), xp.tensor([0])),
    lambda xp: xp.nn.functional.embedding(xp.tensor([5]), xp.ones(2, 3)),
    lambda xp: xp.nn.functional.one_hot(xp.tensor([-1])),
    lambda xp: xp.repeat_interleave(xp.ones(2), xp.tensor([1])),
    lambda xp: xp.bincount(xp.tensor([-1])),
    lambda xp: xp.histc(xp.tensor([1, 2])),
    lambda xp: xp.searchsorted(xp.ones(2, 2), xp.ones(3)),
    lambda xp: xp.nonzero(xp.tensor(1), as_tuple=True),
    lambda xp: xp.meshgrid(xp.ones(2), indexing="zz"),
    lambda xp: xp.meshgrid(xp.ones(2)),
    lambda xp: xp.ones(4).copy_(xp.ones(3, 4)),
    lambda xp: xp.ones(1, 3, dtype=xp.int64).copy_(xp.ones(3, 3)),
    lambda xp: xp.ones(2).copy_(xp.ones(3)),
    lambda xp: xp.ones(2, 2, 2).t_(),
    lambda xp: xp.ones(3, 3).cfloat().expand(3),
    lambda xp: xp.ones(3, 3).bool().expand(3),
    lambda xp: xp.ones(3, 3).bfloat16().expand(3),
    lambda xp: xp.ones(3, 3, dtype=xp.complex128).__setitem__(0, xp.ones(3, 3)),
    lambda xp: xp.tensor(1.)[0],
    lambda xp: xp.tensor(1.)[0,],
    lambda xp: xp.tensor(1.)[[0]],
    lambda xp: xp.tensor(1.)[:],
    lambda xp: xp.tensor(1.)[:,],
    lambda xp: xp.tensor(1.)[xp.tensor(0)],
    lambda xp: xp.tensor(1.)[[True]],
    lambda xp: xp.ones(1)[:0][..., 0],
    lambda xp: xp.ones(2, 3)[..., 3, :],
    lambda xp: xp.ones(2, 3, 4)[0, ..., 4],
    lambda xp: xp.ones(2, 3)[None, 2],
    lambda xp: xp.ones(2, 3)[..., None, 3],
    lambda xp: xp.ones(2, 3)[True, 2],
    lambda xp: xp.autograd.grad(xp.ones(2).sum(), xp.ones(2)),
    lambda xp: xp.autograd.grad(xp.ones(2, requires_grad=True).sum(), xp.ones(2)),
    lambda xp: xp.clamp_min(xp.ones(2, dtype=xp.int32), 0.5, out=xp.ones(2, dtype=xp.int32)),
]


def test_errors(same):
    same(*ERRORS)


wrong_writes = Programs()


@wrong_writes
def row_of_an_expanded_tensor(xp):
    t = xp.ones(3).expand(2, 3)
    t[0] = 5
    return t


@wrong_writes
def column_of_an_expanded_tensor(xp):
    t = xp.ones(3).expand(2, 3)
    t[:, 0] = 5
    return t


@wrong_writes
def adding_to_an_expanded_tensor(xp):
    t = xp.ones(3).expand(2, 3)
    t += 1
    return t


@wrong_writes
def item_of_a_leaf(xp):
    x = xp.ones(2, requires_grad=True)
    x[0] = 1
    return x


@wrong_writes
def slice_of_a_leaf(xp):
    x = xp.ones(2, requires_grad=True)
    x[0:1].add_(1)
    return x


@wrong_writes
def adding_to_a_leaf(xp):
    x = xp.ones(2, requires_grad=True)
    x += 1
    return x


@wrong_writes
def write_to_one_of_unbind(xp):
    x = xp.ones(2, requires_grad=True) * 1
    a, b = x.unbind()
    a.add_(1)
    return x


@wrong_writes
def write_to_one_of_chunk(xp):
    x = xp.ones(2, requires_grad=True) * 1
    a, b = x.chunk(2)
    a.add_(1)
    return x


@wrong_writes
def write_to_one_of_split(xp):
    x = xp.ones(4, requires_grad=True) * 1
    a, b = x.split(2)
    a.add_(1)
    return x


@wrong_writes
def write_to_one_of_unbind_without_a_gradient(xp):
    x = xp.ones(2)
    a, b = x.unbind()
    a.add_(1)
    return x


@wrong_writes
def write_to_one_of_iteration(xp):
    x = xp.ones(2, requires_grad=True) * 1
    a = next(iter(x))
    a.add_(1)
    return x


@wrong_writes
def write_to_a_number_of_a_result(xp):
    x = xp.ones(2, requires_grad=True) * 1
    a = x[0]
    a.add_(1)
    x.sum().backward()
    return x


@wrong_writes
def view_of_a_leaf_under_no_grad(xp):
    with xp.no_grad():
        leaf = xp.ones(2, requires_grad=True)
        y = leaf[0:1]
        return y.requires_grad, y.is_leaf


@pytest.mark.parametrize("program", wrong_writes, ids=words)
def test_errors_of_writes(same, program):
    same(program)


# The calls take functions that make a vector and a matrix of one dtype, and the number.
OF_ALL = {
    "add": lambda xp, x, m, number: xp.add(x(), x(), alpha=number),
}
OF_NUMBERS = {
    **OF_ALL,
    "sub": lambda xp, x, m, number: xp.sub(x(), x(), alpha=number),
    "addmm by alpha": lambda xp, x, m, number: xp.addmm(m(), m(), m(), alpha=number),
    "addmm by beta": lambda xp, x, m, number: xp.addmm(m(), m(), m(), beta=number),
    "index_add": lambda xp, x, m, number: xp.index_add(x(), 0, xp.tensor([0, 1]), x(), alpha=number),
    "scatter": lambda xp, x, m, number: x().scatter(0, xp.tensor([0]), number),
}
OF_FLOATS_AND_COMPLEX = {
    **OF_NUMBERS,
    "addcmul": lambda xp, x, m, number: xp.addcmul(x(), x(), x(), value=number),
    "addcdiv": lambda xp, x, m, number: xp.addcdiv(x(), x(), x(), value=number),
    "lerp": lambda xp, x, m, number: xp.lerp(x(), x(), number),
    "addr": lambda xp, x, m, number: xp.addr(m(), x(), x(), beta=number),
    "power": lambda xp, x, m, number: x() ** number,
    "product": lambda xp, x, m, number: x() * number,
}
OF_FLOATS = {
    **OF_FLOATS_AND_COMPLEX,
    "elu": lambda xp, x, m, number: xp.nn.functional.elu(x(), number),
    "leaky_relu": lambda xp, x, m, number: xp.nn.functional.leaky_relu(x(), number),
    "softplus": lambda xp, x, m, number: xp.nn.functional.softplus(x(), number),
}
OF_COMPLEX = {
    **OF_FLOATS_AND_COMPLEX,
    "addcmul to reals": lambda xp, x, m, number: xp.addcmul(xp.ones(2), x(), x(), value=number),
    "addr to reals": lambda xp, x, m, number: xp.addr(xp.ones(2, 2), x(), x(), beta=number),
    "add to reals": lambda xp, x, m, number: xp.add(xp.ones(2), x(), alpha=number),
}
CALLS = {"int64": OF_NUMBERS, "float32": OF_FLOATS, "bool": OF_ALL, "complex64": OF_COMPLEX}
NOT_OF_COMPLEX_NUMBERS = {"add", "sub", "index_add", "scatter", "lerp", "add to reals"}


def scaled(xp, call, dtype, number):
    kind = getattr(xp, dtype)
    return call(xp, lambda: xp.ones(2, dtype=kind), lambda: xp.ones(2, 2, dtype=kind), number)


@pytest.mark.parametrize("dtype", CALLS)
def test_numbers_that_scale(same, dtype):
    calls = CALLS[dtype]
    for number in (True, 2, 1.5, 2j):
        same(*bodies(scaled, calls, dtype, number))
    others = {name: call for name, call in calls.items() if name not in NOT_OF_COMPLEX_NUMBERS}
    same(*bodies(scaled, others, dtype, 2 + 0j))


LINALG = {
    "inverse": lambda xp: xp.inverse(xp.zeros(2, 2)),
    "inv": lambda xp: xp.linalg.inv(xp.zeros(2, 2)),
    "cholesky": lambda xp: xp.linalg.cholesky(-xp.eye(2)),
    "solve": lambda xp: xp.linalg.solve(xp.zeros(2, 2), xp.ones(2)),
}


@pytest.mark.parametrize("call", LINALG)
def test_singular_matrices(torch, call):
    import jtorch
    texts = []
    for xp in (torch, jtorch):
        with pytest.raises(xp.linalg.LinAlgError) as caught:
            LINALG[call](xp).tolist()
        texts.append(str(caught.value).partition(".")[0])
    assert texts[0] == texts[1]
