"""Writes between a call and its backward raise if PyTorch saves the argument or result."""
from __future__ import annotations

import bodies
import pytest

import jtorch

CALLS = [
    lambda xp, x, i: x.max(0).values,
    lambda xp, x, i: x.median(0).values,
    lambda xp, x, i: x.max(),
    lambda xp, x, i: x.median(),
    lambda xp, x, i: x.sort(0)[0],
    lambda xp, x, i: x.cummax(0)[0],
    lambda xp, x, i: x.topk(2, 0)[0],
    lambda xp, x, i: x.amax(0),
    lambda xp, x, i: x.logsumexp(0),
    lambda xp, x, i: x.quantile(0.5),
    lambda xp, x, i: x.var(),
    lambda xp, x, i: x.std(0),
    lambda xp, x, i: x.norm(),
    lambda xp, x, i: x.prod(0),
    lambda xp, x, i: x.cumprod(0),
    lambda xp, x, i: x.cumsum(0),
    lambda xp, x, i: x * x,
    lambda xp, x, i: x ** 2,
    lambda xp, x, i: x.abs(),
    lambda xp, x, i: x.clamp(0, 1),
    lambda xp, x, i: x.sigmoid(),
    lambda xp, x, i: x.softmax(0),
    lambda xp, x, i: x.log(),
    lambda xp, x, i: x.masked_fill(x > 1, 0),
    lambda xp, x, i: x[x > 1],
    lambda xp, x, i: x.gather(0, i),
    lambda xp, x, i: x.index_select(0, i),
    lambda xp, x, i: x @ x,
    lambda xp, x, i: x.atan2(x),
    lambda xp, x, i: x.hypot(x),
    lambda xp, x, i: x.remainder(2),
    lambda xp, x, i: x.fmod(x),
    lambda xp, x, i: 2 / x,
    lambda xp, x, i: x / 2,
    lambda xp, x, i: x.sgn(),
    lambda xp, x, i: x.tanh(),
    lambda xp, x, i: x.floor(),
    lambda xp, x, i: x.dist(x * 2),
    lambda xp, x, i: x.sqrt(),
    lambda xp, x, i: x.reciprocal(),
    lambda xp, x, i: x.aminmax()[0],
    lambda xp, x, i: x.index_add(0, i, x[:2]),
    lambda xp, x, i: x.index_copy(0, i, x[:2]),
    lambda xp, x, i: x.diff(),
    lambda xp, x, i: x.view(2, 2).tril(),
    lambda xp, x, i: x.nan_to_num(),
]


@pytest.mark.parametrize("written", ["x", "y"])
@pytest.mark.parametrize("call", CALLS, ids=bodies.written)
def test_a_write_is_an_error_where_it_is_one_in_pytorch(call, written, same):
    same(lambda xp: outcome(xp, call, written))


def outcome(xp, call, written):
    x = (xp.arange(4.) + 1).requires_grad_() * 1
    y = call(xp, x, xp.tensor([0, 1]))
    {"x": x, "y": y}[written].add_(1)
    return raised(y)


OF_SEVERAL = {      # Maps functions of torch.nn.functional or of torch to sizes of tensors and other arguments.
    "conv1d": ("conv1d", [(1, 2, 5), (3, 2, 2), (3,)], {}),
    "conv2d in groups": ("conv2d", [(1, 2, 5, 5), (4, 1, 2, 2), (4,)], {"groups": 2, "stride": 2}),
    "conv_transpose2d": ("conv_transpose2d", [(1, 2, 5, 5), (2, 3, 2, 2), (3,)], {}),
    "batch_norm": ("batch_norm", [(3, 4), (4,), (4,)], {"running_mean": None, "running_var": None, "training": True}),
    "group_norm": ("group_norm", [(3, 4), (4,), (4,)], {"num_groups": 2}),
    "instance_norm": ("instance_norm", [(3, 4, 5), (4,), (4,)], {}),
    "layer_norm": ("layer_norm", [(3, 4), (4,), (4,)], {"normalized_shape": (4,)}),
    "rms_norm": ("rms_norm", [(3, 4), (4,)], {"normalized_shape": (4,)}),
    "prelu": ("prelu", [(3, 4), (4,)], {}),
    "bilinear": ("bilinear", [(3, 4), (3, 2), (5, 4, 2), (5,)], {}),
    "grid_sample": ("grid_sample", [(1, 2, 5, 5), (1, 3, 3, 2)], {"align_corners": False}),
    "linear": ("linear", [(3, 4), (5, 4), (5,)], {}),
}
# The tensors after the first are passed by keyword.
NAMES = {"batch_norm", "group_norm", "instance_norm", "layer_norm", "rms_norm"}


@pytest.mark.parametrize("case", OF_SEVERAL)
def test_writes_where_one_of_several_needs_a_gradient(case, same):
    name, sizes, keywords = OF_SEVERAL[case]

    def run(xp):
        function = getattr(xp.nn.functional, name)
        if name in NAMES:
            return all_writes(xp, sizes, lambda x, *w: function(x, **dict(zip(("weight", "bias"), w, strict=False)), **keywords))
        return all_writes(xp, sizes, lambda *given: function(*given, **keywords))
    same(run)


@pytest.mark.parametrize(("name", "states", "gates"), [("lstm_cell", 2, 4), ("gru_cell", 1, 3)])
def test_writes_to_what_a_cell_takes(name, states, gates, same):
    def run(xp):
        def call(x, *given):
            h, weights = given[:states], given[states:]
            made = getattr(xp, name)(x, h if states > 1 else h[0], *weights)
            return made[0] if states > 1 else made
        return all_writes(xp, [(2, 3), *[(2, 4)] * states, (4 * gates, 3), (4 * gates, 4), (4 * gates,), (4 * gates,)], call)
    same(run)


def all_writes(xp, sizes, call):
    """Return backward's error or None for a write to each tensor, if one tensor or all of them need gradients."""
    found, each = [], range(len(sizes))
    for needed in [*[{i} for i in each], set(each)]:
        for written in each:
            given = [numbered(xp, *size).requires_grad_(i in needed) * 1 for i, size in enumerate(sizes)]
            out = call(*given)
            given[written].detach().mul_(1)
            found.append((sorted(needed), written, raised(out)))
    return found


def raised(out):
    try:
        out.sum().backward()
    except RuntimeError as error:
        return str(error).split(":")[0]
    return "no error"


# The message describes the present state of a written tensor: its shape and the function that last made it.
MADE = {
    "a": lambda x, xp: x * 1, "a.t()": lambda x, xp: (x * 1).t(), "a[0]": lambda x, xp: (x * 1)[0],
    "a.sum(0)": lambda x, xp: x.sum(0), "a ** a": lambda x, xp: x ** x, "var_mean": lambda x, xp: xp.var_mean(x, 0)[1],
    "leaf": lambda x, xp: x, "constant": lambda x, xp: xp.ones(2, 2), "detached": lambda x, xp: (x * 1).detach(),
}
WRITTEN = {
    "add_": lambda a, xp: a.add_(1), "mul_ of the base": lambda a, xp: (a if a._base is None else a._base).mul_(2),
    "setitem": lambda a, xp: a.__setitem__(0, 1.0), "detach().add_": lambda a, xp: a.detach().add_(1),
    "unsqueeze_": lambda a, xp: a.unsqueeze_(0), "copy_ of one with history": lambda a, xp: a.copy_(a * xp.ones(2, requires_grad=True)),
}


@pytest.mark.parametrize("written", WRITTEN)
@pytest.mark.parametrize("made", MADE)
def test_the_message_is_pytorchs(made, written, same):
    same(lambda xp: message(xp, MADE[made], WRITTEN[written]))


def message(xp, make, write):
    x, w = xp.ones(2, 2, requires_grad=True), xp.ones(2, requires_grad=True)
    a = make(x, xp)
    b = (a * w).sin()
    try:
        write(a, xp)
        b.sum().backward()
    except RuntimeError as error:
        return str(error)
    return "no error"


def test_the_message_where_the_tensor_is_gone(torch):
    def said(xp):
        x = xp.ones(2, 2, requires_grad=True)
        a = x * 1
        b = a.sin()
        a += 1
        a = a * 2
        with pytest.raises(RuntimeError) as caught:
            (a + b).sum().backward()
        return str(caught.value)
    assert said(jtorch) == said(torch)


LAYOUTS = {
    "vector": lambda xp: numbered(xp, 3), "matrix": lambda xp: numbered(xp, 3, 3), "batch": lambda xp: numbered(xp, 2, 3, 3),
    "batch of one": lambda xp: numbered(xp, 1, 3, 3), "transposed batch": lambda xp: numbered(xp, 2, 3, 3).mT,
    "heads": lambda xp: numbered(xp, 2, 3, 2, 3).transpose(1, 2), "expanded": lambda xp: numbered(xp, 2, 3, 3).expand(2, 2, 3, 3),
    "every second": lambda xp: numbered(xp, 2, 3, 6)[..., ::2],
}


def numbered(xp, *shape):
    return ((xp.arange(1.0, 1 + xp.Size(shape).numel()) % 7) + 1).reshape(shape)


@pytest.mark.parametrize(("first", "second"), [
    ("vector", "transposed batch"), ("matrix", "transposed batch"), ("matrix", "batch"), ("batch", "vector"), ("heads", "matrix"),
    ("transposed batch", "matrix"), ("every second", "matrix"), ("batch of one", "batch"), ("batch", "batch of one"),
    ("heads", "expanded"), ("heads", "batch"), ("expanded", "batch"), ("every second", "transposed batch")])
def test_matmul_saves_copies_of_what_pytorch_copies(first, second, torch):
    for needed in ((True, False), (False, True)):
        for written in (0, 1):
            got, expected = [after_matmul(xp, (first, second), needed, written) for xp in (jtorch, torch)]
            assert got == expected, (needed, written)


def after_matmul(xp, layouts, needed, written):
    pair = [LAYOUTS[name](xp).detach().requires_grad_(n) for name, n in zip(layouts, needed, strict=True)]
    out = pair[0] @ pair[1]
    pair[written].detach().select(0, 0).mul_(2)
    try:
        out.sum().backward()
    except RuntimeError:
        return "error"
    return [t.grad.sum().item() for t in pair if t.grad is not None]


ALIASES = {
    "data": lambda a, xp: a.data, "data of a view": lambda a, xp: a.view(-1).data.view(3, 1), "detach": lambda a, xp: a.detach(),
    "Parameter": lambda a, xp: xp.nn.Parameter(a.detach()), "set_": lambda a, xp: xp.ones(3, 1).set_(a.detach()),
}
CHANGES = {
    "add_": lambda a: a.add_(1), "data.add_": lambda a: a.data.add_(1), "a view's mul_": lambda a: a[0].mul_(3), "exp_": lambda a: a.exp_(),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("alias", ALIASES)
def test_backward_uses_what_memory_of_another_version_holds_by_now(alias, change, torch):
    def gradients(xp, use, changed):
        x, w = [(xp.arange(3.0) + i).reshape(3, 1).requires_grad_() for i in (1, 2)]
        a = x * 1
        b = ALIASES[alias](a, xp)
        out = use(w, b)
        try:
            CHANGES[change]((a, b)[changed])
            out.sum().backward()
        except RuntimeError as error:
            return str(error)
        return w.grad.flatten().tolist(), x.grad if x.grad is None else x.grad.flatten().tolist()
    for use in (lambda w, b: w * b, lambda w, b: b.exp() * w):
        for changed in (0, 1):
            got, expected = [gradients(xp, use, changed) for xp in (jtorch, torch)]
            if isinstance(got, tuple) and isinstance(expected, tuple):
                assert got[0] == pytest.approx(expected[0], rel=1e-6) and got[1] == expected[1]
            else:
                assert got == expected


KEPT = {
    "constant": lambda x, a, xp: xp.ones(3, 1), "detached": lambda x, a, xp: a.detach(), "leaf": lambda x, a, xp: x,
    "made under no_grad": lambda x, a, xp: xp.no_grad()(lambda: x * 2)(),
    "a view under no_grad": lambda x, a, xp: xp.no_grad()(lambda: a.view(3, 1))(), "a view": lambda x, a, xp: a.view(3, 1),
}


@pytest.mark.parametrize("kept", KEPT)
def test_backward_uses_the_memory_that_data_was_set_to(kept, torch):
    def gradient(xp, use, alias):
        x = (xp.arange(3.0) - 3).reshape(3, 1).requires_grad_()
        a = x * 1
        v = KEPT[kept](x, a, xp)
        same = v.type_as(v) if alias else v
        out = use(a * 2, v)
        same.data = xp.full((3, 1), 5.0)
        out.sum().backward()
        return x.grad.flatten().tolist()
    for use in (lambda b, v: b * v, lambda b, v: b.t() @ v):
        for alias in (False, True):
            assert gradient(jtorch, use, alias) == pytest.approx(gradient(torch, use, alias), rel=1e-6)


WITH_ANOTHER = [
    lambda xp, x, v, i: x.index_add(0, i, v[:2]),
    lambda xp, x, v, i: x.index_copy(0, i, v[:2]),
    lambda xp, x, v, i: x.scatter(0, i, v[:2]),
    lambda xp, x, v, i: x.scatter_add(0, i, v[:2]),
    lambda xp, x, v, i: x.index_put((i,), v[:2]),
    lambda xp, x, v, i: x.index_put((i,), v[:2], True),
    lambda xp, x, v, i: x.masked_scatter(x > 2, v),
    lambda xp, x, v, i: xp.addmm(x.view(2, 2), v.view(2, 2), v.view(2, 2)),
    lambda xp, x, v, i: xp.addmv(x, v.view(4, 1), v[:1]),
    lambda xp, x, v, i: xp.addr(x.view(2, 2), v[:2], v[:2]),
    lambda xp, x, v, i: xp.addbmm(x.view(2, 2), v.view(1, 2, 2), v.view(1, 2, 2)),
    lambda xp, x, v, i: x.sub(v),
    lambda xp, x, v, i: xp.baddbmm(x.view(1, 2, 2), v.view(1, 2, 2), v.view(1, 2, 2)),
    lambda xp, x, v, i: x.lerp(v, 0.5),
    lambda xp, x, v, i: x.addcmul(v, v),
    lambda xp, x, v, i: x.where(x > 2, v),
    lambda xp, x, v, i: x.div(v),
    lambda xp, x, v, i: x.mul(v),
    lambda xp, x, v, i: x.fmod(v),
    lambda xp, x, v, i: x.copysign(v),
    lambda xp, x, v, i: xp.cat([x, v]),
    lambda xp, x, v, i: x.slice_scatter(v[:2], 0, 1, 3),
    lambda xp, x, v, i: x.maximum(v),
    lambda xp, x, v, i: xp.nn.functional.mse_loss(x, v),
]


@pytest.mark.parametrize("needs", ["x", "v", "xv"])
@pytest.mark.parametrize("call", WITH_ANOTHER, ids=bodies.written)
def test_a_second_backward_is_an_error_where_it_is_one_in_pytorch(call, needs, torch):
    """The arguments with gradients decide which values a node saves and a backward frees."""
    assert second_backward(jtorch, call, needs) == second_backward(torch, call, needs)


def second_backward(xp, call, needs):
    x, v = ((xp.arange(4.) + k).requires_grad_(name in needs) for k, name in ((1, "x"), (2, "v")))
    y = call(xp, x, v, xp.tensor([0, 1])).sum()
    y.backward()
    try:
        y.backward()
    except RuntimeError as error:
        return str(error).split("(")[0]
    return [None if t.grad is None else t.grad.tolist() for t in (x, v)]


KEEPING_RESULTS = [
    lambda x: x.prod(),
    lambda x: x.exp(),
    lambda x: x.tanh(),
    lambda x: x.sigmoid(),
    lambda x: x.sqrt(),
    lambda x: x.reciprocal(),
    lambda x: x.softmax(0),
    lambda x: x.log_softmax(0),
    lambda x: x.cumprod(0),
    lambda x: x.norm(),
    lambda x: x.std(),
    lambda x: x.logsumexp(0),
    lambda x: x.expm1(),
    lambda x: x.rsqrt(),
]


@pytest.mark.parametrize("when", ["before", "between"])
@pytest.mark.parametrize("call", KEEPING_RESULTS, ids=bodies.written)
def test_second_gradients_of_what_data_wrote_to(xp, call, when):
    """They use the numbers of the write if the forward read these numbers."""
    x = xp.tensor([1.0, 2.0, 0.5], dtype=xp.float64, requires_grad=True)

    def second(write):
        if write == "before":
            x.data[0] = 1.0
        made = call(x)
        if write == "between":
            x.data[0] = 1.0
        gradient, = xp.autograd.grad((made * made).sum(), x, create_graph=True)
        return [gradient.tolist(), xp.autograd.grad((gradient * gradient).sum(), x)[0].tolist()]
    expected, got = second(None), second(when)
    for a, b in zip(got, expected, strict=True):
        assert a == pytest.approx(b, rel=1e-12)
