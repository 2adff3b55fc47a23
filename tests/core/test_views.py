"""Views: geometry, shared memory, writes through views of views, and refused views."""
from __future__ import annotations

import pytest
from bodies import Programs, bodies, words

pytestmark = pytest.mark.core

# The views are of a tensor of shape (4, 3, 5).
VIEWS = {
    "itself": lambda t: t,
    "first row": lambda t: t[0],
    "second column": lambda t: t[:, 1],
    "every second number": lambda t: t[..., ::2],
    "third numbers of later rows": lambda t: t[1:, :, 2],
    "one more dim by None": lambda t: t[None],
    "view as 12, 5": lambda t: t.view(12, 5),
    "view as a vector": lambda t: t.view(-1),
    "view as 2, 2, 15": lambda t: t.view(2, 2, 15),
    "reshape to 60": lambda t: t.reshape(60),
    "reshape to 12, 5": lambda t: t.reshape(12, 5),
    "t() of a matrix, transpose of more": lambda t: t.t() if t.dim() < 3 else t.transpose(0, 1),
    "transpose": lambda t: t.transpose(0, 2),
    "permute": lambda t: t.permute(2, 0, 1),
    "mT": lambda t: t.mT,
    "movedim": lambda t: t.movedim(0, -1),
    "swapaxes": lambda t: t.swapaxes(0, 1),
    "unsqueeze first": lambda t: t.unsqueeze(0),
    "unsqueeze last": lambda t: t.unsqueeze(-1),
    "squeeze of unsqueeze": lambda t: t.unsqueeze(1).squeeze(1),
    "squeeze": lambda t: t.squeeze(),
    "flatten": lambda t: t.flatten(),
    "flatten from 1": lambda t: t.flatten(1),
    "unflatten": lambda t: t.unflatten(0, (2, 2)),
    "narrow": lambda t: t.narrow(1, 1, 2),
    "select": lambda t: t.select(0, 1),
    "select of the last dim": lambda t: t.select(-1, 2),
    "diagonal": lambda t: t.diagonal(),
    "diagonal beside, of dims 0 and 2": lambda t: t.diagonal(1, 0, 2),
    "expand by a dim": lambda t: t.expand(2, 4, 3, 5),
    "expand of a column": lambda t: t[:, :1].expand(4, 6, 5),
    "expand_as": lambda t: t.expand_as(t),
    "unfold": lambda t: t.unfold(2, 2, 2),
    "unfold that overlaps": lambda t: t.unfold(0, 3, 1),
    "as_strided": lambda t: t.as_strided((2, 2), (1, 2)),
    "as_strided from 3": lambda t: t.as_strided((2, 2), (1, 2), 3),
    "detach": lambda t: t.detach(),
    "data": lambda t: t.data,
    "view_as": lambda t: t.view_as(t.reshape(5, 12).view(4, 3, 5)),
    "chunk": lambda t: t.chunk(2)[1],
    "split": lambda t: t.split(3, 2)[1],
    "unbind": lambda t: t.unbind(1)[2],
    "tensor_split": lambda t: t.tensor_split(3)[1],
    "hsplit": lambda t: t.hsplit(3)[0],
    "vsplit": lambda t: t.vsplit(2)[1],
    "T of a matrix, mT of more": lambda t: t.T if t.dim() < 3 else t.mT,
    "steps of t() of a row": lambda t: t.transpose(0, 1)[1].t()[::2],
    "transpose of slices of permute": lambda t: t.permute(2, 1, 0)[1:, 1:].transpose(0, 1),
    "slices of slices": lambda t: t[1:3][:, 0:2][..., 1],
    "contiguous": lambda t: t.contiguous(),
    "real": lambda t: t.real,
    "broadcast_to": lambda t: t.broadcast_to((2, 4, 3, 5)),
    "swapdims": lambda t: t.swapdims(0, 2),
    "adjoint": lambda t: t.adjoint(),
    "ravel": lambda t: t.ravel(),
    "no rows": lambda t: t[2:2],
    "reshape of transpose": lambda t: t.transpose(0, 1).reshape(60),
    "flatten of transpose": lambda t: t.transpose(0, 1).flatten(1),
    "squeeze of a dim of 4": lambda t: t.squeeze(0),
}


def views_but(*names):
    """Return the views without some of them."""
    assert set(names) <= set(VIEWS)
    return {name: view for name, view in VIEWS.items() if name not in names}


def computed(xp):
    t = xp.arange(60.).reshape(4, 3, 5)
    return t + 0


def geometry(xp, view):
    t = computed(xp)
    v = view(t)
    return (tuple(v.shape), v.stride(), v.storage_offset(), v.is_contiguous(), v._is_view(), v._base is t,
            v.data_ptr() == t.data_ptr(), v.untyped_storage().data_ptr() == t.untyped_storage().data_ptr())


def test_geometry(same):
    same(*bodies(geometry, VIEWS))


def writes_to_both(xp, view):
    t = computed(xp)
    v = view(t)
    v.mul_(2)
    a = t + 0
    t.add_(1)
    return a, v.tolist(), t, v._version, t._version


def test_writes_show_on_both_sides(same):
    same(*bodies(writes_to_both, views_but("unfold that overlaps")),
         lambda xp: writes_to_both(xp, lambda t: t.view(xp.int32)))


def writes_to_a_view_of_it(xp, view):
    t = computed(xp)
    v = view(t)
    w = v[-1:]
    w.fill_(-5)
    u = w.unsqueeze(0)
    u += 1
    return t, v.tolist(), w.tolist(), u.tolist()


def test_writes_through_views_of_views(same):
    same(*bodies(writes_to_a_view_of_it, views_but("no rows")))


def gradient(xp, view):
    t = xp.arange(60.).reshape(4, 3, 5).requires_grad_()
    v = view(t)
    (v * v).sum().backward()
    return t.grad, type(v.grad_fn).__name__


def test_gradients_through_views(same):
    same(*bodies(gradient, views_but(
        "itself", "detach", "data", "contiguous", "real", "squeeze", "squeeze of a dim of 4", "mT", "adjoint", "vsplit",
        "hsplit", "ravel", "tensor_split", "chunk", "reshape of transpose", "flatten of transpose",
        "t() of a matrix, transpose of more", "T of a matrix, mT of more")))


def gradient_of_a_write(xp, view):
    s = xp.arange(60.).reshape(4, 3, 5).requires_grad_()
    t = s * 2
    v = view(t)
    v.mul_(3)
    (t * t).sum().backward()
    return s.grad, t, type(t.grad_fn).__name__, type(v.grad_fn).__name__


def test_gradients_through_writes_to_views(same):
    named = ("first row", "second column", "view as a vector", "transpose", "diagonal", "unsqueeze first")
    same(*bodies(gradient_of_a_write, {name: VIEWS[name] for name in named}),
         *bodies(gradient_of_a_write, {"first column of later rows": lambda t: t[1:][:, 0],
                                       "row of permute": lambda t: t.permute(2, 0, 1)[1]}))


refused = Programs()


@refused
def view_of_a_transposed_matrix(xp):
    return xp.ones(2, 3).t().view(6)


@refused
def view_of_another_size(xp):
    return xp.ones(2, 3).view(4, 2)


@refused
def view_of_dims_that_do_not_lie_together(xp):
    return xp.ones(2, 3, 4).transpose(0, 1).view(6, 4)


@refused
def write_to_an_expanded_tensor(xp):
    return xp.ones(3).expand(2, 3).add_(1)


@refused
def view_of_an_expanded_tensor(xp):
    return xp.ones(3).expand(2, 3).view(6)


@refused
def item_of_an_expanded_tensor(xp):
    t = xp.ones(1).expand(3)
    t[0] = 2
    return t


@refused
def slice_of_an_expanded_tensor(xp):
    t = xp.ones(1).expand(3)
    t[1:] += 2
    return t


@refused
def multiplying_an_expanded_tensor(xp):
    t = xp.ones(3).expand(2, 3)
    t.mul_(2)
    return t


@refused
def item_of_a_leaf(xp):
    x = xp.ones(2, requires_grad=True)
    x[0] = 1
    return x


@refused
def write_to_a_view_of_a_leaf(xp):
    x = xp.ones(2, requires_grad=True)
    x.view(2).add_(1)
    return x


@refused
def write_to_one_of_unbind(xp):
    x = xp.ones(4, requires_grad=True) * 1
    x.unbind()[0].add_(1)
    return x


@refused
def write_to_one_of_chunk(xp):
    x = xp.ones(4, requires_grad=True) * 1
    x.chunk(2)[0].add_(1)
    return x


@refused
def write_to_one_of_split(xp):
    x = xp.ones(4, requires_grad=True) * 1
    x.split([1, 3])[1].zero_()
    return x


@refused
def write_to_one_of_iteration(xp):
    x = xp.ones(4, requires_grad=True) * 1
    next(iter(x)).add_(1)
    return x


@refused
def writes_to_one_of_several_without_gradients(xp):
    x = xp.ones(4)
    x.unbind()[0].add_(1)
    x.chunk(2)[1].zero_()
    return x


@refused
def as_strided_past_the_end(xp):
    return xp.ones(3).as_strided((2, 2), (2, 2))


@refused
def detach_of_a_view_in_place(xp):
    return xp.ones(3).detach_()[0:1].detach_()


@refused
def transpose_of_a_leaf_in_place(xp):
    x = xp.ones(3, requires_grad=True)
    return x.t_()


@pytest.mark.parametrize("program", refused, ids=words)
def test_refused(same, program):
    same(program)


changes = Programs()


@changes
def t_(xp):
    t = xp.arange(6).reshape(2, 3)
    u = t.t_()
    return t, u is t, t.stride(), t._version


@changes
def transpose_(xp):
    t = xp.arange(6).reshape(2, 3)
    t.transpose_(0, 1)
    return t, t.stride()


@changes
def squeeze_(xp):
    t = xp.arange(6).reshape(1, 2, 3)
    t.squeeze_()
    return t


@changes
def squeeze_and_unsqueeze_(xp):
    t = xp.arange(6).reshape(1, 2, 3)
    t.squeeze_(0).unsqueeze_(-1)
    return t, t._version


@changes
def t_of_the_base_of_a_view(xp):
    t = xp.arange(6).reshape(2, 3)
    v = t[0]
    t.t_()
    t.zero_()
    return v, t


@changes
def resize_to_fewer(xp):
    t = xp.arange(6)
    t.resize_(2, 2)
    return t, t._version


@changes
def resize_of_the_base_of_a_view(xp):
    t = xp.arange(6)
    v = t[1:]
    t.resize_(3)
    t.zero_()
    return t, v


@changes
def resize_to_more(xp):
    t = xp.arange(2)
    t.resize_(2, 3)
    return t.shape, t.reshape(-1)[:2]


@changes
def resize_as_(xp):
    t = xp.arange(2)
    t.resize_as_(xp.ones(1, 2))
    return t


@changes
def set_(xp):
    t = xp.arange(6)
    u = xp.zeros(2, dtype=xp.int64)
    u.set_(t)
    u[0] = 9
    return t, u


@changes
def set_to_a_part(xp):
    t = xp.arange(6)
    u = xp.zeros(2, dtype=xp.int64)
    u.set_(t, 1, (2, 2), (2, 1))
    return u


@changes
def set_to_nothing(xp):
    t = xp.arange(6)
    t.set_()
    return t


@changes
def as_strided_(xp):
    t = xp.arange(6).reshape(2, 3)
    t.as_strided_((2, 2), (3, 1), 1)
    return t


@changes
def swapaxes_and_swapdims_(xp):
    t = xp.arange(6).reshape(2, 3)
    t.swapaxes_(0, 1).swapdims_(0, 1)
    return t


@changes
def write_to_detach(xp):
    a = xp.arange(3)
    b = a.detach()
    b.add_(1)
    return a, a._version, b._version


@changes
def write_to_data(xp):
    a = xp.arange(3)
    b = a.data
    b.add_(1)
    return a, a._version, b._version


@changes
def data_set_with_a_view(xp):
    a = xp.arange(3.)
    b = a[1:]
    a.data = xp.zeros(3)
    return a, b


@changes
def data_set_to_another_tensor(xp):
    a = xp.arange(3.)
    b = xp.ones(3)
    a.data = b
    a[0] = 7
    return a, b


@changes
def unsqueeze_with_history(xp):
    a = xp.arange(6.).requires_grad_()
    b = a * 1
    b.unsqueeze_(0)
    b.sum().backward()
    return a.grad, b


@changes
def t_with_history(xp):
    a = xp.arange(4.).requires_grad_()
    b = (a * 1).reshape(2, 2)
    b.t_()
    (b * xp.arange(4.).reshape(2, 2)).sum().backward()
    return b, a.grad


@changes
def reshape_of_a_transpose_that_is_a_view(xp):
    a = xp.zeros(2, 3)
    b = a.t()
    c = b.reshape(2, 3)
    c.fill_(1)
    return a, c


@changes
def is_set_to(xp):
    a = xp.arange(3)
    return a.is_set_to(a.view(3)), a.is_set_to(a[1:])


@changes
def parts_of_complex_numbers(xp):
    a = xp.ones(2, dtype=xp.complex64)
    a.real.fill_(3)
    a.imag.copy_(xp.tensor([1., 2.]))
    return a


@changes
def view_as_real(xp):
    a = xp.ones(2, dtype=xp.complex64)
    v = xp.view_as_real(a)
    v[0, 1] = 5
    return a


@changes
def view_as_integers(xp):
    a = xp.ones(2)
    v = a.view(xp.int32)
    v[0] = 0
    return a, v


@pytest.mark.parametrize("program", changes, ids=words)
def test_inplace_changes_of_geometry(same, program):
    same(program)


def test_results_of_ops_are_no_views(xp):
    t = xp.arange(6.).reshape(2, 3)
    for made in (t + 0, t.clone(), t.t().contiguous(), t.t().reshape(6), t[[0]], t[t > 1], t.flip(0)):
        assert not made._is_view()
        made.zero_()
    assert t.tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]


versions = Programs()


@versions
def five_writes(xp):
    t = xp.zeros(3)
    t.add_(1)
    t[0] = 1
    t += 1
    t[1:].zero_()
    t.copy_(t + 1)
    return t._version


@versions
def writes_to_both_sides(xp):
    t = xp.zeros(3)
    v = t[1:]
    t.add_(1)
    v.add_(1)
    return t._version, v._version


@versions
def write_to_an_operand(xp):
    t = xp.zeros(3)
    u = t + 1
    t.add_(1)
    return u._version, t._version


@versions
def requires_grad_(xp):
    t = xp.zeros(3)
    t.requires_grad_()
    return t._version


@versions
def random_numbers_and_fills(xp):
    t = xp.zeros(2)
    t.uniform_()
    t.fill_(0)
    t.exp_()
    return t._version


@versions
def exp_into_itself(xp):
    t = xp.zeros(2)
    xp.exp(t, out=t)
    return t._version


@versions
def add_into_itself(xp):
    t = xp.zeros(2)
    xp.add(t, 1, out=t)
    return t, t._version


@pytest.mark.parametrize("program", versions, ids=words)
def test_versions(same, program):
    same(program)


@pytest.mark.parametrize("size", [(3, 3), (1, 3), (2, 2, 2), (1, 1)])
def test_results_of_what_lies_otherwise_lie_as_it_does(xp, size):
    """Also where the memory turned round has the shape that it had."""
    x = xp.arange(float(xp.Size(size).numel())).reshape(size).mT
    y = x * 1
    assert y.stride() == xp.ones_like(x).stride() == x.stride() and y.tolist() == x.tolist()
    assert (y + 1).mT.stride() == x.mT.stride() and y.contiguous().tolist() == x.tolist()
