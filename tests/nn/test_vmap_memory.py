"""Writes under vmap reach the caller's tensors, results share memory, and their strides are PyTorch's."""
from __future__ import annotations

import pytest


def shown(t, *others):
    """Return a result's values, strides and offset, and for each other tensor whether it shares the memory."""
    where = t.untyped_storage().data_ptr()
    return t.tolist(), t.stride(), t.storage_offset(), [o.untyped_storage().data_ptr() == where for o in others]


WRITES = {
    "add_": lambda xp, t: t.add_(1),
    "a row": lambda xp, t: t[0].fill_(7),
    "an element": lambda xp, t: t.__setitem__((0, 1), t[1, 0]),
    "a view of a view": lambda xp, t: t.t()[1:].mul_(2),
    "copy_ of what is the same for all": lambda xp, t: t.copy_(xp.ones(1)),
    "copy_ of another sample's part": lambda xp, t: t[0].copy_(t[1]),
    "index_put_": lambda xp, t: t.index_put_((xp.tensor([1]),), t[:1] * 2),
    "detached": lambda xp, t: t.detach().zero_(),
}


@pytest.mark.parametrize("dim", [0, 1, 2])
@pytest.mark.parametrize("name", WRITES)
def test_writes_reach_the_caller(same, name, dim):
    def run(xp):
        x = xp.arange(24.0).view(2, 3, 4).movedim(dim, 0).contiguous().movedim(0, dim)
        part = x[:, :, 1:]
        found = xp.vmap(lambda t: (WRITES[name](xp, t), t)[1], in_dims=dim)(x if dim != 2 else part)
        return shown(found, x), x.tolist(), x._version > 0
    same(run)


VIEWS = {
    "itself": lambda xp, t: t,
    "transposed": lambda xp, t: t.t(),
    "a row": lambda xp, t: t[1],
    "every second": lambda xp, t: t[:, ::2],
    "a view of a result": lambda xp, t: (t * 2).t(),
    "expanded": lambda xp, t: t[:1].expand(3, -1),
    "flat": lambda xp, t: t.reshape(-1),
    "real": lambda xp, t: xp.view_as_real(xp.complex(t, t)),
    "captured": lambda xp, t: xp.ones(3),
}


@pytest.mark.parametrize(("dim", "out"), [(0, 0), (1, 0), (2, 1), (-1, -1)])
@pytest.mark.parametrize("name", VIEWS)
def test_results_are_views(same, name, dim, out):
    def run(xp):
        x = xp.arange(24.0).view(2, 3, 4)
        return shown(xp.vmap(lambda t: VIEWS[name](xp, t), in_dims=dim, out_dims=0 if name == "captured" else out)(x), x)
    same(run)


def test_results_share_memory_with_each_other(same):
    def run(xp):
        y, turned = xp.vmap(lambda t: (lambda y: (y, y.t()))(t + 1))(xp.zeros(2, 3, 4))
        turned.zero_()
        return y.tolist(), turned.stride(), turned._base is y
    same(run)


STRIDES = {
    "one argument": lambda xp, x, y: x.exp(),
    "two": lambda xp, x, y: x + y,
    "with a number": lambda xp, x, y: x * 2,
    "with a row": lambda xp, x, y: x + y[0],
    "comparison": lambda xp, x, y: x > y,
    "clone": lambda xp, x, y: x.clone(),
    "zeros_like": lambda xp, x, y: xp.zeros_like(x),
    "sum": lambda xp, x, y: x.sum(0),
}


@pytest.mark.parametrize("dims", [(0, 0), (1, 1), (2, 2), (0, None), (2, None), (None, 2), (1, 0)])
@pytest.mark.parametrize("name", STRIDES)
def test_strides(same, name, dims):
    def run(xp):
        inside = []

        def sample(x, y):
            inside.append((x.stride(), x.is_contiguous()))
            made = STRIDES[name](xp, x, y)
            inside.append(made.stride())
            return made
        found = xp.vmap(sample, in_dims=dims)(xp.ones(3, 3, 3), xp.ones(3, 3, 3))
        return inside, found.stride()
    same(run)


def test_nested(same):
    def run(xp):
        x = xp.zeros(2, 3, 4)
        found = xp.vmap(xp.vmap(lambda t: t.add_(1), out_dims=1 - 1), in_dims=2)(x)
        xp.vmap(lambda a: xp.vmap(lambda b: b[0].fill_(5))(a))(x)
        return found.stride(), x.tolist()
    same(run)


def test_writes_of_numpy_are_seen(same):
    def run(xp):
        x = xp.zeros(2, 3)
        xp.vmap(lambda t: t.add_(1))(x)
        array = x.numpy()
        xp.vmap(lambda t: t.mul_(3))(x)
        array[0] = 9
        return array.tolist(), xp.vmap(lambda t: t * 2)(x).tolist()
    same(run)


def test_gradients_inside_see_the_writes(same):
    def run(xp):
        def sample(t):
            made = t * 1
            made[0] = 5.0
            return xp.func.grad(lambda q: (q.view(-1) ** 2).sum())(made)
        return xp.vmap(sample)(xp.ones(2, 3)).tolist()
    same(run)


def test_a_write_is_undone_if_the_function_has_to_run_again():
    """Code that only JAX can map makes the function run twice. Its write must not count twice."""
    import jtorch as torch

    x = torch.zeros(2, 3)

    def sample(t):
        t.add_(1)
        return torch.from_jax(t.jax() * 2)
    assert torch.vmap(sample)(x).tolist() == [[2.0] * 3] * 2
    assert x.tolist() == [[1.0] * 3] * 2
