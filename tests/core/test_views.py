"""Views: geometry, shared memory, writes through views of views, what views refuse."""
from __future__ import annotations

import pytest

pytestmark = pytest.mark.core

VIEWS = """t; t[0]; t[:, 1]; t[..., ::2]; t[1:, :, 2]; t[None]; t.view(12, 5); t.view(-1); t.view(2, 2, 15); t.reshape(60); t.reshape(12, 5);
t.t() if t.dim() < 3 else t.transpose(0, 1); t.transpose(0, 2); t.permute(2, 0, 1); t.mT; t.movedim(0, -1); t.swapaxes(0, 1);
t.unsqueeze(0); t.unsqueeze(-1); t.unsqueeze(1).squeeze(1); t.squeeze(); t.flatten(); t.flatten(1); t.unflatten(0, (2, 2)); t.narrow(1, 1, 2);
t.select(0, 1); t.select(-1, 2); t.diagonal(); t.diagonal(1, 0, 2); t.expand(2, 4, 3, 5); t[:, :1].expand(4, 6, 5); t.expand_as(t); t.unfold(2, 2, 2);
t.unfold(0, 3, 1); t.as_strided((2, 2), (1, 2)); t.as_strided((2, 2), (1, 2), 3); t.detach(); t.data; t.view_as(t.reshape(5, 12).view(4, 3, 5));
t.chunk(2)[1]; t.split(3, 2)[1]; t.unbind(1)[2]; t.tensor_split(3)[1]; t.hsplit(3)[0]; t.vsplit(2)[1]; t.T if t.dim() < 3 else t.mT;
t.transpose(0, 1)[1].t()[::2]; t.permute(2, 1, 0)[1:, 1:].transpose(0, 1); t[1:3][:, 0:2][..., 1]; t.contiguous(); t.real; t.broadcast_to((2, 4, 3, 5));
t.swapdims(0, 2); t.adjoint(); t.ravel(); t[2:2]; t.transpose(0, 1).reshape(60); t.transpose(0, 1).flatten(1); t.view(xp.int32); t.squeeze(0)"""


def _views() -> list[str]:
    return [v.strip() for v in VIEWS.split(";")]


START = "t = xp.arange(60.).reshape(4, 3, 5); t = t + 0; "
GEOMETRY = "(tuple(v.shape), v.stride(), v.storage_offset(), v.is_contiguous(), v._is_view(), v._base is t, v.data_ptr() == t.data_ptr(), \
v.untyped_storage().data_ptr() == t.untyped_storage().data_ptr())"


def test_geometry(same):
    same(*[f"{START}v = {v}; r = {GEOMETRY}" for v in _views() if "int32" not in v])


def test_writes_show_on_both_sides(same):
    same(*[f"{START}v = {v}; v.mul_(2); a = t + 0; t.add_(1); r = (a, v.tolist(), t, v._version, t._version)" for v in _views() if "unfold(0" not in v])


def test_writes_through_views_of_views(same):
    same(*[f"{START}v = {v}; w = v[-1:]; w.fill_(-5); u = w.unsqueeze(0); u += 1; r = (t, v.tolist(), w.tolist(), u.tolist())"
           for v in _views() if "int32" not in v and "[2:2]" not in v])


def test_gradients_through_views(same):
    same(*[f"t = xp.arange(60.).reshape(4, 3, 5).requires_grad_(); v = {v}; (v * v).sum().backward(); r = (t.grad, type(v.grad_fn).__name__)"
           for v in _views() if v not in ("t.detach()", "t.data", "t.contiguous()", "t.view(xp.int32)") and "if" not in v
           and v not in ("t", "t.real", "t.squeeze()", "t.squeeze(0)", "t.mT", "t.adjoint()", "t.vsplit(2)[1]", "t.hsplit(3)[0]", "t.ravel()", "t.tensor_split(3)[1]", "t.chunk(2)[1]",
                          "t.transpose(0, 1).reshape(60)", "t.transpose(0, 1).flatten(1)")])


def test_gradients_through_writes_to_views(same):
    same(*[f"s = xp.arange(60.).reshape(4, 3, 5).requires_grad_(); t = s * 2; v = {v}; v.mul_(3); (t * t).sum().backward(); "
           "r = (s.grad, t, type(t.grad_fn).__name__, type(v.grad_fn).__name__)"
           for v in ("t[0]", "t[:, 1]", "t.view(-1)", "t.transpose(0, 2)", "t.diagonal()", "t[1:][:, 0]", "t.permute(2, 0, 1)[1]", "t.unsqueeze(0)")])


REFUSED = [
    "t = xp.ones(2, 3).t().view(6); r = t",
    "r = xp.ones(2, 3).view(4, 2)",
    "r = xp.ones(2, 3, 4).transpose(0, 1).view(6, 4)",
    "r = xp.ones(3).expand(2, 3).add_(1)",
    "r = xp.ones(3).expand(2, 3).view(6)",
    "t = xp.ones(1).expand(3); t[0] = 2; r = t",
    "t = xp.ones(1).expand(3); t[1:] += 2; r = t",
    "t = xp.ones(3).expand(2, 3); t.mul_(2); r = t",
    "x = xp.ones(2, requires_grad=True); x[0] = 1; r = x",
    "x = xp.ones(2, requires_grad=True); x.view(2).add_(1); r = x",
    "x = xp.ones(4, requires_grad=True) * 1; x.unbind()[0].add_(1); r = x",
    "x = xp.ones(4, requires_grad=True) * 1; x.chunk(2)[0].add_(1); r = x",
    "x = xp.ones(4, requires_grad=True) * 1; x.split([1, 3])[1].zero_(); r = x",
    "x = xp.ones(4, requires_grad=True) * 1; next(iter(x)).add_(1); r = x",
    "x = xp.ones(4); x.unbind()[0].add_(1); x.chunk(2)[1].zero_(); r = x",
    "r = xp.ones(3).as_strided((2, 2), (2, 2))",
    "r = xp.ones(3).detach_()[0:1].detach_()",
    "x = xp.ones(3, requires_grad=True); r = x.t_()",
]


def test_refused(same):
    same(*REFUSED)


INPLACE_VIEWS = [
    "t = xp.arange(6).reshape(2, 3); u = t.t_(); r = (t, u is t, t.stride(), t._version)",
    "t = xp.arange(6).reshape(2, 3); t.transpose_(0, 1); r = (t, t.stride())",
    "t = xp.arange(6).reshape(1, 2, 3); t.squeeze_(); r = t",
    "t = xp.arange(6).reshape(1, 2, 3); t.squeeze_(0).unsqueeze_(-1); r = (t, t._version)",
    "t = xp.arange(6).reshape(2, 3); v = t[0]; t.t_(); t.zero_(); r = (v, t)",
    "t = xp.arange(6); t.resize_(2, 2); r = (t, t._version)",
    "t = xp.arange(6); v = t[1:]; t.resize_(3); t.zero_(); r = (t, v)",
    "t = xp.arange(2); t.resize_(2, 3); r = (t.shape, t.reshape(-1)[:2])",
    "t = xp.arange(2); t.resize_as_(xp.ones(1, 2)); r = t",
    "t = xp.arange(6); u = xp.zeros(2, dtype=xp.int64); u.set_(t); u[0] = 9; r = (t, u)",
    "t = xp.arange(6); u = xp.zeros(2, dtype=xp.int64); u.set_(t, 1, (2, 2), (2, 1)); r = u",
    "t = xp.arange(6); t.set_(); r = t",
    "t = xp.arange(6).reshape(2, 3); t.as_strided_((2, 2), (3, 1), 1); r = t",
    "t = xp.arange(6).reshape(2, 3); t.swapaxes_(0, 1).swapdims_(0, 1); r = t",
    "a = xp.arange(3); b = a.detach(); b.add_(1); r = (a, a._version, b._version)",
    "a = xp.arange(3); b = a.data; b.add_(1); r = (a, a._version, b._version)",
    "a = xp.arange(3.); b = a[1:]; a.data = xp.zeros(3); r = (a, b)",
    "a = xp.arange(3.); b = xp.ones(3); a.data = b; a[0] = 7; r = (a, b)",
    "a = xp.arange(6.).requires_grad_(); b = a * 1; b.unsqueeze_(0); b.sum().backward(); r = (a.grad, b)",
    "a = xp.arange(4.).requires_grad_(); b = (a * 1).reshape(2, 2); b.t_(); (b * xp.arange(4.).reshape(2, 2)).sum().backward(); r = (b, a.grad)",
    "a = xp.zeros(2, 3); b = a.t(); c = b.reshape(2, 3); c.fill_(1); r = (a, c)",
    "a = xp.arange(3); r = a.is_set_to(a.view(3)), a.is_set_to(a[1:])",
    "a = xp.ones(2, dtype=xp.complex64); a.real.fill_(3); a.imag.copy_(xp.tensor([1., 2.])); r = a",
    "a = xp.ones(2, dtype=xp.complex64); v = xp.view_as_real(a); v[0, 1] = 5; r = a",
    "a = xp.ones(2); v = a.view(xp.int32); v[0] = 0; r = (a, v)",
]


def test_inplace_changes_of_geometry(same):
    same(*INPLACE_VIEWS)


def test_results_of_ops_are_no_views(xp):
    t = xp.arange(6.).reshape(2, 3)
    for made in (t + 0, t.clone(), t.t().contiguous(), t.t().reshape(6), t[[0]], t[t > 1], t.flip(0)):
        assert not made._is_view()
        made.zero_()
    assert t.tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]


def test_versions(same):
    same("t = xp.zeros(3); t.add_(1); t[0] = 1; t += 1; t[1:].zero_(); t.copy_(t + 1); r = t._version",
         "t = xp.zeros(3); v = t[1:]; t.add_(1); v.add_(1); r = (t._version, v._version)",
         "t = xp.zeros(3); u = t + 1; t.add_(1); r = (u._version, t._version)",
         "t = xp.zeros(3); t.requires_grad_(); r = t._version",
         "t = xp.zeros(2); t.uniform_(); t.fill_(0); t.exp_(); r = t._version",
         "t = xp.zeros(2); xp.exp(t, out=t); r = t._version",
         "t = xp.zeros(2); xp.add(t, 1, out=t); r = (t, t._version)")


@pytest.mark.parametrize("size", [(3, 3), (1, 3), (2, 2, 2), (1, 1)])
def test_results_of_what_lies_otherwise_lie_as_it_does(xp, size):
    """Also where the memory turned round has the shape that it had."""
    x = xp.arange(float(xp.Size(size).numel())).reshape(size).mT
    y = x * 1
    assert y.stride() == xp.ones_like(x).stride() == x.stride() and y.tolist() == x.tolist()
    assert (y + 1).mT.stride() == x.mT.stride() and y.contiguous().tolist() == x.tolist()
