"""Subclasses of Tensor with __torch_dispatch__: wrappers without memory, and tensors that handle operators."""
from __future__ import annotations

import importlib

import pytest


def wrapper_class(xp, seen):
    """Return a wrapper subclass. Each instance holds another tensor, and ``seen`` gets the dispatched operators."""
    tree_map = importlib.import_module(f"{xp.__name__}.utils._pytree").tree_map

    class Wrapper(xp.Tensor):
        @staticmethod
        def __new__(cls, elem):
            return xp.Tensor._make_wrapper_subclass(
                cls, elem.size(), strides=elem.stride(), storage_offset=elem.storage_offset(), dtype=elem.dtype,
                layout=elem.layout, device=elem.device, requires_grad=elem.requires_grad)

        def __init__(self, elem):
            self.elem = elem

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            seen.append(str(func).removeprefix("aten."))

            def unwrapped(t):
                return t.elem if isinstance(t, cls) else t
            out = func(*tree_map(unwrapped, args), **tree_map(unwrapped, kwargs or {}))
            return tree_map(lambda t: cls(t) if isinstance(t, xp.Tensor) else t, out)

        def __tensor_flatten__(self):
            return ["elem"], None

        @staticmethod
        def __tensor_unflatten__(inner, context, size, stride):
            return Wrapper(inner["elem"])

    return Wrapper


def test_a_wrapper_says_what_it_is_told(xp):
    t = wrapper_class(xp, [])(xp.ones(3, 4, dtype=xp.float64).t())
    assert t.shape == (4, 3) and t.stride() == (1, 4) and t.dtype is xp.float64 and not t.is_contiguous()
    assert t.device.type == "cpu" and t.is_leaf and not t.requires_grad and t.dim() == 2 and t.numel() == 12


def test_operators_come_to_the_class(xp):
    seen = []
    Wrapper = wrapper_class(xp, seen)
    x = Wrapper(xp.arange(12.0).view(3, 4))
    made = [x + 1, 1 - x, x @ x.t(), x[1:, 0], xp.cat([x, x]), x.sum(0), xp.nn.functional.softmax(x, 1)]
    assert seen == ["add.Tensor", "rsub.Scalar", "t.default", "mm.default", "slice.Tensor", "select.int", "cat.default",
                    "sum.dim_IntList", "_softmax.default"]
    assert all(type(t) is Wrapper for t in made) and made[2].elem.shape == (3, 3) and made[3].elem.tolist() == [4, 8]


def test_writes_come_to_the_class(xp):
    seen = []
    x = wrapper_class(xp, seen)(xp.ones(2))
    same = x.add_(2)
    assert same is x and x.elem.tolist() == [3, 3] and seen == ["add_.Tensor"]


def test_reading_a_number(xp):
    seen = []
    assert wrapper_class(xp, seen)(xp.ones(3)).sum().item() == 3.0 and seen == ["sum.default", "_local_scalar_dense.default"]


def test_backward_through_wrappers(xp):
    seen = []
    Wrapper = wrapper_class(xp, seen)
    w, b, x = (xp.randn(*size) for size in ((5, 4), (5,), (3, 4)))
    target = xp.tensor([0, 1, 2])

    def loss(x, w, b, target):
        return xp.nn.functional.cross_entropy(xp.nn.functional.linear(x, w, b), target)

    plain = [t.clone().requires_grad_() for t in (w, b)]
    loss(x, *plain, target).backward()
    leaves = [Wrapper(t).requires_grad_() for t in (w, b)]
    made = loss(Wrapper(x), *leaves, Wrapper(target))
    assert type(made) is Wrapper and type(made.grad_fn).__name__ == "NllLossBackward0"
    seen.clear()
    made.backward()
    assert {"ones_like.default", "nll_loss_backward.default", "_log_softmax_backward_data.default", "mm.default"} <= set(seen)
    for leaf, other in zip(leaves, plain, strict=True):
        assert type(leaf.grad) is Wrapper and xp.allclose(leaf.grad.elem, other.grad, atol=1e-6)


def test_second_derivatives_through_wrappers(xp):
    Wrapper = wrapper_class(xp, [])
    x = Wrapper(xp.tensor([1.0, 2.0])).requires_grad_()
    (g,) = xp.autograd.grad((x.exp() * x).sum(), x, create_graph=True)
    (h,) = xp.autograd.grad(g.sum(), x)
    assert xp.allclose(h.elem, x.elem.exp() * (x.elem + 2))


def test_a_wrapped_parameter_of_a_module(xp):
    seen = []
    Wrapper = wrapper_class(xp, seen)
    layer = xp.nn.Linear(4, 2)
    layer.weight = xp.nn.Parameter(Wrapper(layer.weight.detach()))
    assert isinstance(layer.weight, xp.nn.Parameter) and type(layer.weight) is Wrapper
    seen.clear()
    layer(xp.ones(3, 4)).sum().backward()
    assert seen[:2] == ["t.default", "addmm.default"]
    assert type(layer.weight.grad) is Wrapper and layer.weight.grad.elem.tolist() == [[3.0] * 4] * 2


def test_a_mode_is_asked_before_the_class_and_told_of_it(xp):
    dispatch = importlib.import_module(f"{xp.__name__}.utils._python_dispatch")
    seen, told = [], []
    Wrapper = wrapper_class(xp, seen)

    class Mode(dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            told.append((str(func), types))
            return func(*args, **(kwargs or {}))

    x = Wrapper(xp.ones(2))
    with Mode():
        x * 2
    assert told == [("aten.mul.Tensor", (Wrapper,))] and seen == ["mul.Tensor"]


def test_what_a_wrapper_is_made_of(xp):
    dispatch = importlib.import_module(f"{xp.__name__}.utils._python_dispatch")
    x = wrapper_class(xp, [])(xp.ones(2))
    assert dispatch.is_traceable_wrapper_subclass(x) and not dispatch.is_traceable_wrapper_subclass(xp.ones(2))
    twice = dispatch.transform_subclass(x, lambda name, inner: inner * 2)
    assert type(twice) is type(x) and twice.elem.tolist() == [2, 2]


def test_aliasing_is_corrected(xp):
    dispatch = importlib.import_module(f"{xp.__name__}.utils._python_dispatch")

    class Aliasing(wrapper_class(xp, [])):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            out = super().__torch_dispatch__(func, types, args, kwargs)
            return dispatch.return_and_correct_aliasing(func, args, kwargs, out)

    x = Aliasing(xp.ones(2, 2))
    assert xp.ops.aten.add_.Tensor(x, 1) is x and x.t().elem.tolist() == [[2, 2], [2, 2]]


def test_declining_names_the_class(xp):
    class Declines(wrapper_class(xp, [])):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return NotImplemented

    with pytest.raises(TypeError, match=r"(?s)aten.sin.default.*tensor subclass"):
        Declines(xp.ones(2)).sin()


def test_a_class_without_a_handler_makes_no_wrapper(xp):
    class Plain(xp.Tensor):
        pass

    with pytest.raises(TypeError, match="must define __torch_dispatch__"):
        xp.Tensor._make_wrapper_subclass(Plain, (2,))


def test_a_tensor_with_memory_takes_operators_over(xp):
    seen = []

    class Takes(xp.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            seen.append(str(func))
            with xp._C._DisableTorchDispatch():
                return func(*args, **(kwargs or {}))

    x = xp.Tensor._make_subclass(Takes, xp.arange(3.0))
    seen.clear()
    y = x + 1
    assert seen == ["aten.add.Tensor"] and type(y) is xp.Tensor and y.tolist() == [1, 2, 3]


def test_what_pytorch_has_no_operator_for():
    from libraries import library
    xp = library("jtorch")
    seen = []
    Wrapper = wrapper_class(xp, seen)
    plain = xp.rand(2, 3, 4, 4).requires_grad_()
    x = Wrapper(plain.detach()).requires_grad_()
    made, expected = (xp.nn.functional.local_response_norm(t, 2) for t in (x, plain))
    made.backward(Wrapper(xp.ones(2, 3, 4, 4)))
    expected.backward(xp.ones(2, 3, 4, 4))
    names = [name.rpartition(".")[0] for name in seen]      # Each form of a call has its own overload.
    assert names == ["jtorch.local_response_norm", "jtorch.local_response_norm_backward", "detach"]
    assert xp.allclose(made.elem, expected.detach()) and xp.allclose(x.grad.elem, plain.grad)


def test_what_a_class_cannot_take_over_is_refused():
    from libraries import library
    xp = library("jtorch")
    x = wrapper_class(xp, [])(xp.ones(4))
    with pytest.raises(NotImplementedError, match="has no counterpart in torch.ops.aten"):
        xp.unique(x)
    with pytest.raises(RuntimeError, match="Attempted to access the data pointer on an invalid python storage"):
        x.data_ptr()


def test_no_array_is_made_of_a_class_that_takes_operators_over(xp):
    x = wrapper_class(xp, [])(xp.ones(4))
    with pytest.raises(RuntimeError, match=r"\.numpy\(\) is not supported for tensor subclasses"):
        x.numpy()
    with pytest.raises(RuntimeError, match=r"\.tolist\(\) is not supported for tensor subclasses, got Wrapper"):
        x.tolist()


@pytest.mark.parametrize("name", ["SGD", "Adam", "RMSprop"])
def test_optimizers_of_wrappers(xp, name):
    Wrapper = wrapper_class(xp, [])
    options = {"momentum": 0.9} if name == "SGD" else {}
    start = xp.arange(4.0) / 4
    plain, wrapped = xp.nn.Parameter(start.clone()), xp.nn.Parameter(Wrapper(start.clone()))
    for parameter in (plain, wrapped):
        optimizer = getattr(xp.optim, name)([parameter], 0.1, **options)
        for _ in range(3):
            optimizer.zero_grad()
            (parameter * parameter).sum().backward()
            optimizer.step()
    assert type(wrapped) is Wrapper and xp.allclose(wrapped.elem, plain.detach())
    assert any(type(state) is Wrapper for state in optimizer.state[wrapped].values())
