"""torch.autograd.Function."""
from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest

import jtorch

pytestmark = pytest.mark.core


def make(xp, backward, forward=lambda ctx, x, *rest: x * 2, name="Exp"):
    """Return an autograd Function with this name, forward and backward."""
    return type(xp.autograd.Function)(name, (xp.autograd.Function,), {"forward": staticmethod(forward),
                                                                     "backward": staticmethod(backward)})


def exp_of(xp):
    def forward(ctx, x):
        result = x.exp()
        ctx.save_for_backward(result)
        return result
    return make(xp, lambda ctx, g: g * ctx.saved_tensors[0], forward)


def cube_of(xp):
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x ** 3
    return make(xp, lambda ctx, g: g * 3 * ctx.saved_tensors[0] ** 2, forward, "Cube")


def ones(xp, n=2):
    return xp.ones(n, requires_grad=True)


def test_apply_and_names(xp):
    x = ones(xp)
    y = exp_of(xp).apply(x)
    node = y.grad_fn
    assert type(node).__name__ == node.name() == "ExpBackward"
    assert isinstance(node, xp.autograd.graph.Node)
    assert node.next_functions[0][0].variable is x
    assert node.needs_input_grad == (True,)
    assert node.saved_tensors[0].tolist() == y.tolist()
    assert "ExpBackward" in repr(y)
    y.sum().backward()
    assert x.grad.tolist() == y.tolist()
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        y.sum().backward()
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        _ = node.saved_tensors


def test_without_grad(xp):
    assert exp_of(xp).apply(xp.ones(2)).grad_fn is None
    with xp.no_grad():
        assert not exp_of(xp).apply(ones(xp)).requires_grad


def test_double_backward(xp):
    x = xp.tensor([2.0], requires_grad=True)
    g, = xp.autograd.grad(cube_of(xp).apply(x), x, create_graph=True)
    gg, = xp.autograd.grad(g, x, create_graph=True)
    ggg, = xp.autograd.grad(gg, x)
    assert [t.item() for t in (g, gg, ggg)] == [12.0, 12.0, 6.0]
    g, = xp.autograd.grad(exp_of(xp).apply(x), x, create_graph=True)
    assert xp.autograd.grad(g, x)[0].item() == pytest.approx(g.item())


def test_setup_context_and_other_arguments(xp):
    class Scale(xp.autograd.Function):
        @staticmethod
        def forward(x, factor, text=None):
            return x * factor

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.factor = inputs[1]

        @staticmethod
        def backward(ctx, g):
            assert ctx.needs_input_grad == (True, False, False)
            return g * ctx.factor, None, None

    x = ones(xp)
    Scale.apply(x, 3, "text").sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


@pytest.mark.parametrize(("backward", "args", "text"), [
    (lambda ctx, g: (g, g), (), r"function ExpBackward returned an incorrect number of gradients \(expected 1, got 2\)"),
    (lambda ctx, g: (), (), r"function ExpBackward returned an incorrect number of gradients \(expected 1, got 0\)"),
    (lambda ctx, g: g, (3,), r"incorrect number of gradients \(expected 2, got 1\)"),
    (lambda ctx, g: (g, g), (3,), "returned a gradient different than None at position 2, but the corresponding forward input"),
    (lambda ctx, g: 3, (), r"expected Variable or None \(got int\)"),
    (lambda ctx, g: g[:1].expand(3), (), r"Function ExpBackward returned an invalid gradient at index 0 - got \[3\] but expected "
                                         r"shape compatible with \[2\]"),
])
def test_wrong_gradients(xp, backward, args, text):
    y = make(xp, backward).apply(ones(xp), *args)
    with pytest.raises(RuntimeError, match=text):
        y.sum().backward()


def test_gradients_that_are_fitted(xp):
    x = ones(xp)
    make(xp, lambda ctx, g: xp.ones(3, 2, dtype=xp.float64)).apply(x).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]
    assert x.grad.dtype is xp.float32
    make(xp, lambda ctx, g: (g, None, None)).apply(x).sum().backward()
    make(xp, lambda ctx, g: None).apply(x).sum().backward()
    assert x.grad.tolist() == [4.0, 4.0]


def test_materialized_gradients_and_other_outputs(xp):
    seen = []

    def backward(ctx, *grads):
        seen.append([None if g is None else g.tolist() for g in grads])
        return grads[1] * 2

    def forward(ctx, x, materialize):
        ctx.set_materialize_grads(materialize)
        return x + 1, x * 2, 7

    for materialize in (True, False):
        x = ones(xp, 1)
        a, b, c = make(xp, lambda ctx, *g: (backward(ctx, *g), None), forward).apply(x, materialize)
        assert c == 7
        b.sum().backward()
    assert seen == [[[0.0], [1.0], None], [None, [1.0], None]]


def test_non_differentiable_outputs(xp):
    def forward(ctx, x):
        a, b = x + 1, x * 2
        ctx.mark_non_differentiable(a)
        return a, b, x.long()
    a, b, c = make(xp, lambda ctx, *g: g[1] * 2, forward).apply(ones(xp))
    assert [t.requires_grad for t in (a, b, c)] == [False, True, False]


def test_dirty_inputs(xp):
    def forward(ctx, x):
        x.mul_(2)
        ctx.mark_dirty(x)
        return x
    double = make(xp, lambda ctx, g: g * 2, forward)
    x = ones(xp)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad has been used in an in-place operation"):
        double.apply(x)
    x = ones(xp)
    y = x * 1
    z = double.apply(y)
    assert z is y
    assert type(y.grad_fn).__name__ == "ExpBackward"
    assert y._version == 2
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]
    y = x * 1
    view = y[:1]
    double.apply(view)
    assert type(y.grad_fn).__name__ == "CopySlices"
    y.sum().backward()
    assert x.grad.tolist() == [4.0, 3.0]


def test_dirty_inputs_must_be_returned(xp):
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x + 1
    with pytest.raises(RuntimeError, match="Some elements marked as dirty during the forward method were not returned as output"):
        make(xp, lambda ctx, g: g, forward).apply(ones(xp) * 1)


def test_returning_an_input_gives_a_view(xp):
    x = ones(xp)
    y = make(xp, lambda ctx, g: g * 5, lambda ctx, x: x).apply(x)
    assert y is not x
    assert y._base is x
    with pytest.raises(RuntimeError, match="Output 0 of Exp is a view and is being modified inplace. This view was "
                                           "created inside "
                                           "a custom Function"):
        y.mul_(2)
    y.sum().backward()
    assert x.grad.tolist() == [5.0, 5.0]


def test_saved_tensors_are_checked(xp):
    x = ones(xp) * 1
    y = cube_of(xp).apply(x)
    assert y.grad_fn.saved_tensors[0] is x
    x.mul_(2)
    with pytest.raises(RuntimeError, match="one of the variables needed for gradient computation has been modified"):
        y.sum().backward()
    y = exp_of(xp).apply(ones(xp))
    y.mul_(2)
    with pytest.raises(RuntimeError, match="one of the variables needed for gradient computation has been modified"):
        y.sum().backward()


def test_what_can_be_saved(xp):
    def forward(ctx, x):
        ctx.save_for_backward(x, 3)
        return x
    with pytest.raises(TypeError, match="save_for_backward can only save variables, but argument 1 is of type int"):
        make(xp, lambda ctx, g: g, forward).apply(ones(xp))


def test_saved_tensor_hooks(xp):
    seen, x = [], ones(xp)
    with xp.autograd.graph.saved_tensors_hooks(lambda t: (seen.append("pack"), t)[1], lambda t: (seen.append("unpack"), t)[1]):
        y = cube_of(xp).apply(x)
    y.sum().backward()
    assert seen == ["pack", "unpack"]
    assert x.grad.tolist() == [3.0, 3.0]


def test_once_differentiable(xp):
    once = xp.autograd.function.once_differentiable(lambda ctx, g: g * 2)
    x = ones(xp)
    g, = xp.autograd.grad(make(xp, once).apply(x).sum(), x, create_graph=True)
    assert not g.requires_grad
    ct = ones(xp)
    g, = xp.autograd.grad(make(xp, once).apply(x), x, ct, create_graph=True)
    with pytest.raises(RuntimeError, match="trying to differentiate twice a function that was marked with @once_differentiable"):
        g.sum().backward()


def test_what_is_not_implemented(xp):
    class Empty(xp.autograd.Function):
        pass

    class Forward(xp.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2
    with pytest.raises(NotImplementedError, match="You must implement the forward function for custom autograd.Function"):
        Empty.apply(ones(xp))
    with pytest.raises(NotImplementedError, match="You must implement either the backward or vjp method"):
        Forward.apply(ones(xp)).sum().backward()
    with pytest.warns(DeprecationWarning, match="should not be instantiated"):
        made = Empty()
    with pytest.raises(RuntimeError, match="Legacy autograd function with non-static forward method is deprecated"):
        made(ones(xp))


def test_hooks_and_errors_pass_through(xp):
    x, log = ones(xp, 1), []
    y = exp_of(xp).apply(x)
    y.grad_fn.register_hook(lambda gi, go: log.append(len(gi)))
    y.sum().backward()
    assert log == [1]

    def fail(ctx, g):
        raise KeyError("mine")
    with pytest.raises(KeyError, match="mine"):
        make(xp, fail).apply(x).sum().backward()


def test_jax_uses_the_backward():
    straight = make(jtorch, lambda ctx, g: g * 7, lambda ctx, x: x.round())
    gradient = jax.grad(lambda x: (straight.apply(jtorch.from_jax(x)) ** 2).sum().jax())(jnp.array([1.2, 2.7]))
    assert gradient.tolist() == [14.0, 42.0]


def test_under_vmap_of_grad(xp):
    """The user's backward runs under the batching and differentiation of torch.func."""
    class Three(xp.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x):
            return x.round(), x * 1

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(output[1])

        @staticmethod
        def backward(ctx, g, other):
            return 3 * g * ctx.saved_tensors[0]

    found = xp.func.vmap(xp.func.grad(lambda x: Three.apply(x)[0].sum()))(xp.tensor([[1.0, 2.0], [3.0, 4.0]]))
    assert found.tolist() == [[3.0, 6.0], [9.0, 12.0]]


def test_under_jax_grad_of_a_captured_parameter():
    """JAX uses the user's backward even if a captured tensor requires grad."""
    class Ten(jtorch.autograd.Function):
        @staticmethod
        def forward(ctx, x, w):
            return x * w

        @staticmethod
        def backward(ctx, g):
            return 10 * g, None

    w = jtorch.ones(2, requires_grad=True)
    found = jax.grad(lambda a: Ten.apply(jtorch.from_jax(a), w).sum().jax())(jnp.ones(2))
    assert found.tolist() == [10.0, 10.0]


def test_saved_result(xp):
    x = xp.tensor([0.0, 1.0], requires_grad=True)
    y = x.exp()
    assert (y.grad_fn._saved_result == y).all()
    assert y.grad_fn._saved_result.grad_fn is y.grad_fn


# ---------------------------------------------------------------- arguments by name, and defaults

def scaled(xp, seen):
    class Scaled(xp.autograd.Function):
        @staticmethod
        def forward(x, scale=2, shift=None):
            return x * scale if shift is None else x * scale + shift

        @staticmethod
        def setup_context(ctx, inputs, output):
            seen.append(inputs[1:])
            ctx.scale = inputs[1]

        @staticmethod
        def backward(ctx, grad):
            seen.append(ctx.needs_input_grad)
            return grad * ctx.scale, None, grad if ctx.needs_input_grad[2] else None
    return Scaled.apply


@pytest.mark.parametrize(("args", "named", "inputs"), [
    ((), {}, (2, None)), ((3,), {}, (3, None)), ((), {"scale": 3}, (3, None)), ((), {"shift": 5}, (2, 5)), ((3, 5), {}, (3, 5))])
def test_setup_context_gets_defaults_and_named_arguments_in_their_places(xp, args, named, inputs):
    seen = []
    x = ones(xp)
    scaled(xp, seen)(x, *args, **named).sum().backward()
    assert seen == [inputs, (True, False, False)]
    assert x.grad.tolist() == [inputs[0]] * 2


def test_a_tensor_given_by_name_gets_its_gradient(xp):
    x, shift = ones(xp), ones(xp)
    scaled(xp, [])(shift=shift, x=x).sum().backward()
    assert (x.grad.tolist(), shift.grad.tolist()) == ([2.0] * 2, [1.0] * 2)
    function = make(xp, lambda ctx, g: (g, g * 3), lambda ctx, x, w: x * w)
    x.grad = None
    y = function.apply(w=shift, x=x)
    assert y.grad_fn.needs_input_grad == (True, True)
    y.sum().backward()
    assert (x.grad.tolist(), shift.grad.tolist()) == ([1.0] * 2, [4.0] * 2)


def two_more(ctx, x, a=1, b=2):
    return x * a


WRONG = {
    "unexpected": ((), {"z": 1}, "got an unexpected keyword argument 'z'"),
    "ctx": ((), {"ctx": 1}, "got an unexpected keyword argument 'ctx'"),
    "twice": ((), {"x": 1}, "got multiple values for argument 'x'"),
    "missing": ((), {"b": 1}, r"missing required argument: 'a' \(position 1\)"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_arguments_of_forward(xp, name):
    args, named, text = WRONG[name]
    with pytest.raises(TypeError, match=r"forward\(\) " + text):
        make(xp, lambda ctx, g: g, two_more).apply(ones(xp), *args, **named)


def test_arguments_that_forward_takes_by_name_only(xp):
    with pytest.raises(TypeError, match="got an unexpected keyword argument 'k'"):
        make(xp, lambda ctx, g: g, lambda ctx, x, *, k=3: x * k).apply(ones(xp), k=4)
    with pytest.raises(TypeError, match="too many positional arguments"):
        scaled(xp, [])(ones(xp), 1, 2, 3)
    with pytest.raises(TypeError, match="missing a required argument: 'x'"):
        scaled(xp, [])()


# ---------------------------------------------------------------- inputs that are returned, or need no gradient

def returning(xp, marked):
    def forward(ctx, *inputs):
        ctx.mark_non_differentiable(*[inputs[i] for i in marked])
        return inputs
    return make(xp, lambda ctx, *grads: tuple([g * (i + 2) for i, g in enumerate(grads)]), forward)


@pytest.mark.parametrize("marked", [(), (0,), (1,), (0, 1)])
@pytest.mark.parametrize("needing", [(True, False), (False, True), (True, True), (False, False)])
def test_inputs_that_are_returned(xp, needing, marked):
    inputs = [xp.ones(2, requires_grad=needs) for needs in needing]
    outs = returning(xp, marked).apply(*inputs)
    recorded = [any(needing) and i not in marked for i in range(2)]
    assert [out.requires_grad for out in outs] == recorded
    assert not any(out is t for out, t in zip(outs, inputs, strict=True))
    detached = [i in marked and needing[i] for i in range(2)]
    assert [out._base is t for out, t in zip(outs, inputs, strict=True)] == [not cut for cut in detached]
    if any(recorded):
        seen = []
        outs[recorded.index(True)].grad_fn.register_hook(lambda *grads: seen.extend([g.tolist() for g in grads[0]]))
        sum(out.sum() for out in outs if out.requires_grad).backward()
        wanted = [[i + 2.0] * 2 if recorded[i] else [0.0] * 2 for i in range(2)]
        assert seen == wanted       # A function's hooks see all gradients of its backward, also those of constants.
        assert [t.grad.tolist() for t in inputs if t.requires_grad] == [g for g, needs in zip(wanted, needing, strict=True) if needs]
