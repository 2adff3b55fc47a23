"""backward and grad: arguments, accumulation, freeing, hooks, histories, versions."""
from __future__ import annotations

from collections.abc import Mapping

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jtorch
from jtorch._base.config import ENGINE_MODE

pytestmark = pytest.mark.core


def leaf(xp, *values, dtype=None):
    return xp.tensor(list(values), dtype=dtype, requires_grad=True)


# ---------------------------------------------------------------- backward and its arguments

def test_backward_accumulates_and_is_freed(xp):
    x = leaf(xp, 1.0, 2.0)
    (x * x).sum().backward()
    (x * x).sum().backward()
    assert x.grad.tolist() == [4.0, 8.0]
    x.grad = None
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.tolist() == [4.0, 8.0]
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        y.backward()


def test_accumulation_is_in_place(xp):
    x = leaf(xp, 1.0)
    (x * 2).sum().backward()
    first = x.grad
    (x * 2).sum().backward()
    assert x.grad is first
    assert first.item() == 4.0


def test_backward_with_gradient_and_inputs(xp):
    x, w = leaf(xp, 1.0, 2.0), leaf(xp, 3.0, 4.0)
    y = x * w
    y.backward(xp.tensor([1.0, 10.0]), inputs=[x], retain_graph=True)
    assert x.grad.tolist() == [3.0, 40.0]
    assert w.grad is None
    y.backward(xp.tensor([1.0, 1.0]), inputs=w)
    assert x.grad.tolist() == [3.0, 40.0]
    assert w.grad.tolist() == [1.0, 2.0]


def test_backward_inputs_may_be_non_leaves(xp):
    x = leaf(xp, 1.0, 2.0)
    y = x * 2
    (y * y).sum().backward(inputs=[y])
    assert y.grad.tolist() == [4.0, 8.0]
    assert x.grad is None


def test_several_roots(xp):
    x = leaf(xp, 1.0, 2.0)
    xp.autograd.backward([x.sum(), x * 3], [None, xp.tensor([1.0, 1.0])])
    assert x.grad.tolist() == [4.0, 4.0]


@pytest.mark.parametrize(("call", "text"), [
    (lambda xp, x: xp.ones(2).sum().backward(), "element 0 of tensors does not require grad and does not have a grad_fn"),
    (lambda xp, x: (x * 2).backward(), "grad can be implicitly created only for scalar outputs"),
    (lambda xp, x: (x * 2).backward(xp.ones(3)), r"Mismatch in shape: grad_output\[0\] has a shape of torch.Size\(\[3\]\)"),
    (lambda xp, x: (x * 2).backward(xp.ones(2, dtype=xp.complex64)), "For complex Tensors, both grad_output and output"),
    (lambda xp, x: (x * 2).sum().backward(inputs=[]), r"`inputs` argument to `backward\(\)` cannot be empty."),
    (lambda xp, x: xp.autograd.backward([x.sum(), x.sum()], [xp.ones(())]), "got 2 tensors and 1 gradients"),
    (lambda xp, x: xp.autograd.grad(x.sum(), []), r"`inputs` argument to `grad\(\)` cannot be empty."),
    (lambda xp, x: xp.autograd.grad(x.sum(), xp.ones(2)), "One of the differentiated Tensors does not require grad"),
    (lambda xp, x: xp.autograd.grad(x.sum(), leaf(xp, 1.0)), "appears to not have been used in the graph"),
    (lambda xp, x: x.mul_(2), "a leaf Variable that requires grad is being used in an in-place operation"),
    (lambda xp, x: x[:1].mul_(2), "a view of a leaf Variable that requires grad is being used in an in-place operation"),
    (lambda xp, x: (x * 1).requires_grad_(False), "you can only change requires_grad flags of leaf variables"),
    (lambda xp, x: (x * 1)[0].detach_(), "Can't detach views in-place"),
    (lambda xp, x: xp.ones(2, dtype=xp.int64).requires_grad_(), "only Tensors of floating point dtype can require gradients"),
    (lambda xp, x: xp.ones(2).retain_grad(), "can't retain_grad on Tensor that has requires_grad=False"),
    (lambda xp, x: xp.ones(2).register_hook(print), "cannot register a hook on a tensor that doesn't require gradient"),
    (lambda xp, x: (x * 1).register_post_accumulate_grad_hook(print), "cannot be registered on non-leaf tensors"),
    (lambda xp, x: setattr(x, "grad", xp.ones(3)), "attempting to assign a gradient of size"),
    (lambda xp, x: setattr(x, "grad", xp.ones(2, dtype=xp.float64)), "attempting to assign a gradient with dtype 'double'"),
    (lambda xp, x: (x * 1).unbind(0)[0].mul_(2), "Output 0 of Unbind is a view and is being modified inplace"),
])
def test_runtime_errors(xp, call, text):
    with pytest.raises(RuntimeError, match=text):
        call(xp, leaf(xp, 1.0, 2.0))


def test_grad_accumulates_nothing_and_takes_non_leaves(xp):
    x = leaf(xp, 1.0, 2.0)
    y = x * 2
    gy, gx = xp.autograd.grad((y * y).sum(), [y, x])
    assert gy.tolist() == [4.0, 8.0]
    assert gx.tolist() == [8.0, 16.0]
    assert x.grad is None


def test_grad_of_unused(xp):
    x, unused = leaf(xp, 1.0), leaf(xp, 1.0, 2.0)
    assert xp.autograd.grad(x.sum(), unused, allow_unused=True) == (None,)
    assert xp.autograd.grad(x.sum(), unused, materialize_grads=True)[0].tolist() == [0.0, 0.0]
    with pytest.raises(ValueError, match="Expected allow_unused to be True or not passed when materialize_grads=True"):
        xp.autograd.grad(x.sum(), unused, materialize_grads=True, allow_unused=False)


def test_materialized_zeros_are_like_their_inputs(xp):
    x, unused = leaf(xp, 1.0), xp.ones(3, 2, dtype=xp.float64, requires_grad=True)
    inputs = [unused, unused.t(), unused.expand(2, 3, 2)]
    for create_graph in (False, True):
        found = xp.autograd.grad(x.sum(), inputs, materialize_grads=True, create_graph=create_graph)
        assert [(g.shape, g.stride(), g.dtype, g.requires_grad) for g in found] == [
            (t.shape, stride, xp.float64, create_graph) for t, stride in zip(inputs, [(2, 1), (1, 2), (6, 2, 1)], strict=True)]
    found = xp.autograd.grad(x.sum(), {"a": unused, "b": x}, materialize_grads=True)
    assert (found["a"].tolist(), found["b"].tolist()) == ([[0.0, 0.0]] * 3, [1.0])


class OtherMapping(Mapping):
    """A mapping that is no dict."""

    def __init__(self, **items):
        self.items_ = items

    def __getitem__(self, key):
        return self.items_[key]

    def __iter__(self):
        return iter(self.items_)

    def __len__(self):
        return len(self.items_)


WRONG_CALLS = {
    "constant": (lambda xp, x, y: {"inputs": xp.ones(2)}, RuntimeError, "One of the differentiated Tensors does not require grad"),
    "number": (lambda xp, x, y: {"inputs": [x, 3]}, RuntimeError, "all inputs have to be Tensors or GradientEdges, but got int"),
    "none": (lambda xp, x, y: {"inputs": [None]}, RuntimeError, "all inputs have to be Tensors or GradientEdges, but got NoneType"),
    "nothing": (lambda xp, x, y: {"inputs": None}, TypeError, "'NoneType' object is not iterable"),
    "empty": (lambda xp, x, y: {"inputs": {}}, RuntimeError, r"`inputs` argument to `grad\(\)` cannot be empty"),
    "mapping": (lambda xp, x, y: {"inputs": OtherMapping(x=x)}, TypeError, r"argument to `grad\(\)` must be a dict, not OtherMapping"),
    "output": (lambda xp, x, y: {"outputs": [y, None]}, AssertionError, "Expected output to be a torch.Tensor"),
    "too few": (lambda xp, x, y: {"outputs": [y, y], "grad_outputs": [xp.ones(())]}, RuntimeError, "got 2 tensors and 1 gradients"),
    "no gradients": (lambda xp, x, y: {"grad_outputs": []}, RuntimeError, "got 1 tensors and 0 gradients"),
    "float": (lambda xp, x, y: {"grad_outputs": [3.0]}, TypeError, "gradients can be either Tensors or None, but got float"),
    "edge": (lambda xp, x, y: {"inputs": xp.autograd.graph.get_gradient_edge(xp.ones(1, requires_grad=True))}, RuntimeError,
             "materialize_grads cannot be used when the given input is a GradientEdge"),
    "sizes": (lambda xp, x, y: {"outputs": [y, y], "grad_outputs": [xp.ones(2), xp.ones(3)], "is_grads_batched": True}, ValueError,
              "Expected all tensors to have the same size in the mapped dimension"),
    "size 0": (lambda xp, x, y: {"grad_outputs": xp.ones(0), "is_grads_batched": True}, IndexError, "index 0 is out of bounds"),
}


@pytest.mark.parametrize("name", WRONG_CALLS)
def test_wrong_calls_of_grad(xp, name):
    x = leaf(xp, 1.0, 2.0)
    y = (x * 2).sum()
    given, error, text = WRONG_CALLS[name]
    with pytest.raises(error, match=text):
        xp.autograd.grad(**{"outputs": y, "inputs": x, "materialize_grads": True, **given(xp, x, y)})
    assert xp.autograd.grad(y, x, [None, None])[0].tolist() == [2.0, 2.0]


def test_wrong_calls_of_backward(xp):
    x = leaf(xp, 1.0, 2.0)
    y, one = (x * 2).sum(), xp.ones(())
    with pytest.raises(TypeError, match=r"`inputs` argument to `backward\(\)` must be a dict, not OtherMapping"):
        xp.autograd.backward(y, inputs=OtherMapping(x=x))
    with pytest.raises(RuntimeError, match="all inputs have to be Tensors or GradientEdges, but got int"):
        xp.autograd.backward(y, inputs=[3])
    with pytest.warns(FutureWarning, match="`grad_variables` is deprecated"), \
            pytest.raises(RuntimeError, match="`grad_tensors` and `grad_variables` .deprecated. arguments both passed"):
        xp.autograd.backward(y, one, grad_variables=one)
    with pytest.warns(FutureWarning, match="`grad_variables` is deprecated"):
        xp.autograd.backward(y, grad_variables=one, retain_graph=True)
    with pytest.warns(FutureWarning, match="only_inputs argument is deprecated"):
        xp.autograd.grad(y, x, only_inputs=False)
    assert x.grad.tolist() == [2.0, 2.0]


def test_grad_batched():
    x = leaf(jtorch, 1.0, 2.0)
    rows, = jtorch.autograd.grad(x * x, x, jtorch.eye(2), is_grads_batched=True)
    assert rows.tolist() == [[2.0, 0.0], [0.0, 4.0]]
    with pytest.raises(RuntimeError, match="If `is_grads_batched=True`, we interpret the first dimension"):
        jtorch.autograd.grad(x * x, x, jtorch.ones(2, 3), is_grads_batched=True)


def test_create_graph_to_the_third_order(xp):
    x = leaf(xp, 2.0, dtype=xp.float64)
    g = x ** 4
    for expected in (32.0, 48.0, 48.0):
        g, = xp.autograd.grad(g.sum(), x, create_graph=True)
        assert g.item() == pytest.approx(expected)


def test_gradient_of_linear_has_no_history(xp):
    x = leaf(xp, 1.0, 2.0)
    g, = xp.autograd.grad((x * 3).sum(), x, create_graph=True)
    assert not g.requires_grad


def test_inputs_as_dict(xp):
    x = leaf(xp, 1.0)
    assert xp.autograd.grad((x * 2).sum(), {"x": x})["x"].item() == 2.0


# ---------------------------------------------------------------- leaves, histories

def test_leaves_and_detach(xp):
    x = leaf(xp, 1.0, 2.0)
    y = x * 2
    assert (x.is_leaf, y.is_leaf, x.grad_fn, y.requires_grad) == (True, False, None, True)
    d = y.detach()
    assert (d.is_leaf, d.requires_grad) == (True, False)
    d.zero_()
    assert y.tolist() == [0.0, 0.0]
    z = x * 3
    assert z.detach_() is z
    assert (z.is_leaf, z.requires_grad) == (True, False)


def test_names_and_next_functions(xp):
    x, w = leaf(xp, 1.0, 2.0), leaf(xp, 1.0, 2.0)
    y = (x * w).exp().sum()
    names, node = [], y.grad_fn
    while node is not None:
        names.append(type(node).__name__)
        node = node.next_functions[0][0] if node.next_functions else None
    assert names == ["SumBackward0", "ExpBackward0", "MulBackward0", "AccumulateGrad"]
    mul = y.grad_fn.next_functions[0][0].next_functions[0][0]
    assert mul.name() == "MulBackward0"
    assert [n for _, n in mul.next_functions] == [0, 0]
    assert mul.next_functions[1][0].variable is w
    assert mul.next_functions[1][0].name() == "torch::autograd::AccumulateGrad"
    mul.metadata["seen"] = 1
    assert mul.metadata == {"seen": 1}
    assert isinstance(mul, xp.autograd.graph.Node)
    assert not isinstance(x, xp.autograd.graph.Node)


def test_integer_outputs_have_no_history(xp):
    x = leaf(xp, 3.0, 1.0)
    values, indices = x.sort()
    assert values.requires_grad
    assert not indices.requires_grad
    assert not (x > 1).requires_grad
    values[0].backward()
    assert x.grad.tolist() == [0.0, 1.0]


def test_views_share_history(xp):
    base = leaf(xp, 1.0, 2.0, 3.0) * 1
    view = base[1:]
    view.mul_(10)
    assert type(base.grad_fn).__name__ == "CopySlices"
    assert base.grad_fn.name() == "torch::autograd::CopySlices"
    assert type(view.grad_fn).__name__ == "AsStridedBackward0"
    assert base.tolist() == [1.0, 20.0, 30.0]


def test_copy_slices_gradient(xp):
    x, w = leaf(xp, 1.0, 2.0, 3.0), leaf(xp, 5.0)
    y = x * 2
    y[1:2] = w * w
    y[2] *= 3
    (y * y).sum().backward()
    assert x.grad.tolist() == [8.0, 0.0, 216.0]
    assert w.grad.tolist() == [500.0]


def test_a_view_follows_its_base(xp):
    x = leaf(xp, 1.0, 2.0)
    y = x * 1
    view = y[:1]
    y.mul_(5)
    assert view.tolist() == [5.0]
    view.sum().backward()
    assert x.grad.tolist() == [5.0, 0.0]


def test_a_constant_becomes_tracked_by_writing_a_tracked_value(xp):
    x, y = leaf(xp, 2.0), xp.zeros(3)
    y[1:2] = x * x
    assert y.requires_grad
    y.sum().backward()
    assert x.grad.tolist() == [4.0]


def test_views_made_under_no_grad(xp):
    x = leaf(xp, 1.0, 2.0)
    with xp.no_grad():
        view = x[:1]
    assert view.requires_grad
    assert view.grad_fn is None
    with pytest.raises(RuntimeError, match="A view was created in no_grad mode and is being modified inplace with grad mode"):
        view.mul_(2)
    assert x.tolist() == [1.0, 2.0]
    y = x * 1
    with xp.no_grad():
        view = y[:1]
    y.mul_(2)
    with pytest.raises(RuntimeError, match="A view was created in no_grad mode and its base or another view of its base"):
        view * 2


# ---------------------------------------------------------------- versions

@pytest.mark.parametrize("change", ["whole", "element", "view"])
def test_writing_to_what_backward_needs(xp, change):
    x = leaf(xp, 1.0, 2.0)
    y = x * 1
    z = y.sin()
    if change == "whole":
        y.add_(1)
    elif change == "element":
        y[0] = 3
    else:
        y[1:].zero_()
    with pytest.raises(RuntimeError, match=r"one of the variables needed for gradient computation has been modified by an "
                                           r"inplace operation: \[torch.FloatTensor \[2\]\].* is at version 1; "
                                           r"expected version 0"):
        z.sum().backward()


def test_writing_to_what_backward_does_not_need(xp):
    x = leaf(xp, 1.0, 2.0)
    y = x * 1
    z = y + 3
    y.add_(1)
    z.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]


def test_writing_to_a_result_that_backward_needs(xp):
    x = leaf(xp, 1.0, 2.0)
    y = x.exp()
    y.add_(1)
    with pytest.raises(RuntimeError, match="one of the variables needed for gradient computation has been modified"):
        y.sum().backward()


def test_data_hides_writes(xp):
    x = leaf(xp, 1.0, 2.0)
    y = (x * x).sum()
    version = x._version
    x.data.mul_(10)
    assert x._version == version
    assert x.tolist() == [10.0, 20.0]
    y.backward()
    assert x.grad is not None


def test_increment_version(xp):
    x = leaf(xp, 1.0, 2.0)
    y = x * 1
    z = (y * y).sum()
    xp.autograd.graph.increment_version(y)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.backward()


def test_mutation_of_saved_tensors_allowed(xp):
    with xp.autograd.graph.allow_mutation_on_saved_tensors():
        x = leaf(xp, 1.0, 2.0)
        y = x.clone()
        z = (y ** 2).sum()
        y.sin_()
        z.backward()
    assert x.grad.tolist() == [2.0, 4.0]


# ---------------------------------------------------------------- hooks

def test_hooks_run_in_order_and_replace(xp):
    log, x = [], leaf(xp, 1.0, 1.0)
    y = x * 2
    y.retain_grad()
    y.register_hook(lambda g: (log.append("first"), g * 2)[1])
    y.register_hook(lambda g: log.append(("second", g.tolist())))
    y.grad_fn.register_prehook(lambda gs: log.append(("pre", gs[0].tolist())))
    y.grad_fn.register_hook(lambda gi, go: log.append(("post", gi[0].tolist(), gi[1], go[0].tolist())))
    x.register_hook(lambda g: log.append(("leaf", g.tolist())))
    x.register_post_accumulate_grad_hook(lambda t: log.append(("accumulated", t.grad.tolist())))
    y.sum().backward()
    assert log == ["first", ("second", [2.0, 2.0]), ("pre", [2.0, 2.0]), ("post", [4.0, 4.0], None, [2.0, 2.0]),
                   ("leaf", [4.0, 4.0]), ("accumulated", [4.0, 4.0])]
    assert y.grad.tolist() == [2.0, 2.0]


def test_hooks_see_captured_gradients(xp):
    x = leaf(xp, 1.0)
    y = x * 2
    y.register_hook(lambda g: g * 3)
    seen = []
    y.grad_fn.register_prehook(seen.append)
    assert xp.autograd.grad(y.sum(), y)[0].item() == 3.0
    assert not seen


def test_hooks_are_removed(xp):
    x, log = leaf(xp, 1.0), []
    handle = x.register_hook(lambda g: log.append(1))
    with x.register_hook(lambda g: log.append(2)):
        (x * 1).sum().backward()
    handle.remove()
    handle.remove()
    (x * 1).sum().backward()
    assert log == [1, 2]


def test_hooks_and_in_place(xp):
    x, log = leaf(xp, 1.0), []
    y = x * 2
    y.register_hook(lambda g: log.append(("before", g.item())))
    y.retain_grad()
    y.mul_(3)
    y.register_hook(lambda g: log.append(("after", g.item())))
    y.sum().backward()
    assert log == [("after", 1.0), ("before", 3.0)]
    assert y.grad.item() == 1.0


@pytest.mark.parametrize(("hook", "error", "text"), [
    (lambda g: g.double(), RuntimeError, "has changed the type of value"),
    (lambda g: g[:1], RuntimeError, "has changed the size of value"),
    (lambda g: 3, TypeError, "expected Variable, but hook returned 'int'"),
])
def test_what_hooks_may_not_return(xp, hook, error, text):
    y = leaf(xp, 1.0, 2.0) * 1
    y.register_hook(hook)
    with pytest.raises(error, match=text):
        y.sum().backward()


def test_node_hooks_replace(xp):
    x = leaf(xp, 1.0)
    y = x * 2
    y.grad_fn.register_prehook(lambda gs: (gs[0] * 5,))
    y.grad_fn.register_hook(lambda gi, go: (gi[0] + 1, None))
    y.sum().backward()
    assert x.grad.item() == 11.0
    y = x * 2
    y.grad_fn.register_hook(lambda gi, go: (None,))
    with pytest.raises(RuntimeError, match=r"has returned an incorrect number of values \(got 1, but expected 2\)"):
        y.sum().backward()


def test_multi_grad_hooks(xp):
    a, b, unused = leaf(xp, 1.0), leaf(xp, 2.0), leaf(xp, 3.0)
    calls, first = [], []
    handle = xp.autograd.graph.register_multi_grad_hook((a, b, unused), lambda gs: calls.append([g is not None for g in gs]))
    xp.autograd.graph.register_multi_grad_hook((a, b), first.append, mode="any")
    (a * b).sum().backward()
    (a * 2).sum().backward()
    assert calls == [[True, True, False], [True, False, False]]
    assert len(first) == 2
    handle.remove()
    (a * b).sum().backward()
    assert len(calls) == 2
    with pytest.raises(ValueError, match="Expects mode to be one of"):
        xp.autograd.graph.register_multi_grad_hook((a,), print, mode="some")


def test_gradient_edges(xp):
    x = leaf(xp, 3.0)
    y = x * x
    edge = xp.autograd.graph.get_gradient_edge(y)
    assert edge.node is y.grad_fn
    assert edge.output_nr == 0
    assert xp.autograd.grad(edge, x, xp.ones(1), retain_graph=True)[0].item() == 6.0
    assert xp.autograd.grad((y * 2).sum(), edge)[0].item() == 2.0
    with pytest.raises(RuntimeError, match="It is not possible to get the gradient edge for a Tensor that does not require"):
        xp.autograd.graph.get_gradient_edge(xp.ones(2))


def test_saved_tensor_hooks(xp):
    packed, unpacked = [], []

    def pack(t):
        packed.append(t.tolist())
        return t.tolist()

    def unpack(values):
        unpacked.append(values)
        return xp.tensor(values)

    x = leaf(xp, 1.0, 2.0)
    with xp.autograd.graph.saved_tensors_hooks(pack, unpack):
        y = x.sin()
    assert packed == [[1.0, 2.0]]
    y.sum().backward()
    assert unpacked == packed
    assert np.allclose(x.grad.tolist(), np.cos([1.0, 2.0]))
    with xp.autograd.graph.disable_saved_tensors_hooks("not here"), pytest.raises(RuntimeError, match="not here"), \
            xp.autograd.graph.saved_tensors_hooks(pack, unpack):
        pass


def test_saved_tensor_hooks_and_writes(xp):
    x = leaf(xp, 1.0, 2.0)
    with xp.autograd.graph.save_on_cpu():
        y = (x * x * x).sum()
    y.backward(retain_graph=True)
    assert x.grad.tolist() == [3.0, 12.0]
    with xp.autograd.graph.saved_tensors_hooks(lambda t: t.mul_(2), lambda t: t), \
            pytest.raises(RuntimeError, match="A saved tensor pack hook is modifying its input in place"):
        x.sin()
    with xp.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: 3):
        y = x.sin().sum()
    with pytest.raises(TypeError, match="Output of saved tensor unpack_hook expected to be a Tensor"):
        y.backward()


# ---------------------------------------------------------------- values

def test_complex_gradients(xp):
    z = xp.tensor([1.0 + 2.0j, 3.0 - 1.0j], requires_grad=True)
    (z * z.conj()).real.sum().backward()
    assert z.grad.tolist() == [2 + 4j, 6 - 2j]
    z.grad = None
    (z * z).backward(xp.tensor([1.0 + 0j, 1j]))
    assert np.allclose(z.grad.tolist(), np.conj([2 * (1 + 2j), 2 * (3 - 1j)]) * [1, 1j])


@pytest.mark.skipif(ENGINE_MODE == "hot", reason="compiling programs of thousands of calls takes minutes")
def test_a_long_chain(xp):
    x = leaf(xp, 1.0)
    y = x
    for _ in range(10_000):
        y = y + 0.5
    y.backward()
    assert x.grad.item() == 1.0
    del y


def _mlp(m, x, w, v):
    return m.tanh(x @ w) @ v


COMPOSITIONS = {
    "products": lambda m, x, w, v: (m.sin(x) * x + m.exp(-x * x)).sum(),
    "matrix": lambda m, x, w, v: (_mlp(m, x, w, v) ** 2).sum(),
    "broadcast": lambda m, x, w, v: (x[:, None, :] * x[None]).sum() / x.shape[0],
    "reused": lambda m, x, w, v: (m.log(m.exp(x).sum(0)) * m.exp(x).sum(0)).sum(),
    "indexed": lambda m, x, w, v: (x[1:] * x[:-1]).sum() + x[0, 0] * x[1, 1],
    "where": lambda m, x, w, v: m.where(x > 0, x * x, m.sin(x)).sum(),
}


@pytest.mark.parametrize("name", COMPOSITIONS)
def test_against_jax(name, rng):
    f = COMPOSITIONS[name]
    arrays = [rng.standard_normal(s) for s in ((4, 3), (3, 5), (5, 2))]
    tensors = [jtorch.tensor(a, requires_grad=True) for a in arrays]
    f(jtorch, *tensors).backward()
    with jax.enable_x64(True):
        expected = jax.grad(lambda *a: f(jnp, *a), argnums=(0, 1, 2))(*[jnp.asarray(a) for a in arrays])
    for t, e in zip(tensors, expected, strict=True):
        if t.grad is None:
            assert not np.any(e)
        else:
            assert np.allclose(t.grad.numpy(), e, rtol=1e-9)


# ---------------------------------------------------------------- anomaly detection

def test_anomaly_names_the_function_and_the_line(xp):
    x = xp.zeros(2, requires_grad=True)
    with pytest.warns(UserWarning, match="Anomaly Detection has been enabled"), xp.autograd.detect_anomaly():
        y = (x.sqrt() * 0).sum()        # this line
        with pytest.warns(UserWarning, match="Error detected in SqrtBackward0(.|\n)*this line"), \
                pytest.raises(RuntimeError, match="Function 'SqrtBackward0' returned nan values in its 0th output"):
            y.backward()
    assert not xp.is_anomaly_enabled()


def test_anomaly_without_forward_information(xp):
    y = (xp.zeros(2, requires_grad=True).sqrt() * 0).sum()
    with xp.autograd.set_detect_anomaly(True), pytest.warns(UserWarning, match="No forward pass information available"), \
            pytest.raises(RuntimeError, match="returned nan values"):
        y.backward()


def test_anomaly_as_function_and_without_nan_check(xp):
    xp.autograd.set_detect_anomaly(True, check_nan=False)
    try:
        assert xp.is_anomaly_enabled()
        assert not xp.is_anomaly_check_nan_enabled()
        x = xp.zeros(2, requires_grad=True)
        (x.sqrt() * 0).sum().backward()
        assert np.isnan(x.grad.tolist()).all()
    finally:
        xp.autograd.set_detect_anomaly(False)


def test_what_a_hook_of_accumulation_gives(same):
    def run(xp, made):
        x = xp.ones(2, requires_grad=True)
        x.register_post_accumulate_grad_hook(lambda p: made(xp))
        x.sum().backward()
        return x.grad
    same(lambda xp: run(xp, lambda xp: None), lambda xp: run(xp, lambda xp: 3), lambda xp: run(xp, lambda xp: xp.ones(2)))
