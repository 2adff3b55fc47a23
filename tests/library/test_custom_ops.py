"""torch.library.custom_op and its registrations, against PyTorch's."""
from __future__ import annotations

import itertools

import numpy as np
import pytest

_numbers = itertools.count()


@pytest.fixture
def lib(xp):
    """Return a library of its own for each test."""
    with xp.library._scoped_library(f"jt{next(_numbers)}", "FRAGMENT") as made:
        yield made


def doubled(xp, name, **kwargs):
    """Make an operator from a function that uses NumPy."""
    def double(x, k=2.0):
        return xp.from_numpy(x.detach().numpy() * k)
    double.__annotations__ = {"x": xp.Tensor, "k": float, "return": xp.Tensor}
    return xp.library.custom_op(name, double, mutates_args=(), **kwargs)


@pytest.fixture
def double(xp):
    return doubled(xp, f"jt_ops::double{next(_numbers)}")


def test_a_custom_op_is_called_by_every_name(xp, double):
    x = xp.ones(2)
    packet = getattr(xp.ops.jt_ops, double._name)
    for call in (double, packet, packet.default):
        assert call(x, 3.0).tolist() == [3, 3]
        assert call(x=x).tolist() == [2, 2]
    assert str(packet.default) == f"jt_ops.{double._name}.default"
    assert str(packet.default._schema) == f"jt_ops::{double._name}(Tensor x, float k=2.) -> Tensor"


def test_backward_needs_a_formula(xp, double):
    y = double(xp.ones(2, requires_grad=True))
    assert y.requires_grad and type(y.grad_fn).__name__.startswith("GeneratedBackwardFor_jt_ops_double")
    with pytest.raises(RuntimeError, match="no autograd formula was registered. Please use register_autograd"):
        y.sum().backward()


def test_a_registered_backward_is_used_and_can_be_differentiated(xp, double):
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])
        ctx.k = inputs[1]

    def backward(ctx, grad):
        return grad * ctx.k * ctx.saved_tensors[0] / ctx.saved_tensors[0], None
    double.register_autograd(backward, setup_context=setup_context)
    x = xp.tensor([1.0, 3.0], requires_grad=True)
    g, = xp.autograd.grad(double(x, 5.0).sum() * x.sum(), x, create_graph=True)
    assert g.tolist() == [40, 40]
    assert double(xp.ones(2)).grad_fn is None


def test_lists_of_tensors_have_lists_of_gradients(xp):
    def both(xs):
        return [2 * x for x in xs]
    both.__annotations__ = {"xs": list[xp.Tensor], "return": list[xp.Tensor]}
    op = xp.library.custom_op(f"jt_ops::both{next(_numbers)}", both, mutates_args=())
    op.register_autograd(lambda ctx, grads: [2 * g for g in grads])
    a = xp.ones(2, requires_grad=True)
    first, second = op([a, a * 3])
    (first.sum() + second.sum()).backward()
    assert a.grad.tolist() == [8, 8]


def test_writes_are_counted(xp):
    def add_one(x):
        x.add_(1)
    add_one.__annotations__ = {"x": xp.Tensor, "return": None}
    op = xp.library.custom_op(f"jt_ops::add_one{next(_numbers)}", add_one, mutates_args={"x"})
    x = xp.zeros(2)
    y = (xp.ones(2, requires_grad=True) * x)
    op(x)
    assert x.tolist() == [1, 1]
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_results_may_not_be_inputs(xp):
    def same(x):
        return x
    same.__annotations__ = {"x": xp.Tensor, "return": xp.Tensor}
    op = xp.library.custom_op(f"jt_ops::same{next(_numbers)}", same, mutates_args=())
    with pytest.raises(RuntimeError, match="must not also be an input to this custom operator"):
        op(xp.ones(2))


def test_fake_impls_run_on_the_meta_device(xp, double):
    with pytest.raises(RuntimeError, match="There was no fake impl registered for <CustomOpDef"):
        double(xp.ones(2, device="meta"))
    double.register_fake(lambda x, k=2.0: xp.empty_like(x))
    assert double(xp.ones(2, device="meta")).shape == (2,)


def test_kernels_of_devices(xp):
    op = doubled(xp, f"jt_ops::for_cuda{next(_numbers)}", device_types="cuda")
    with pytest.raises(NotImplementedError, match="Could not run 'jt_ops::for_cuda.*' with arguments from the 'CPU' backend"):
        op(xp.ones(2))
    op.register_kernel("cpu")(lambda x, k=2.0: x * k + 1)
    assert op(xp.ones(2)).tolist() == [3, 3]


def test_vmap_uses_the_rule(xp, double):
    calls = []

    def rule(info, in_dims, x, k=2.0):
        calls.append((info.batch_size, in_dims[0]))
        return xp.from_numpy(x.detach().numpy() * k) if x.dim() < 0 else x * k, in_dims[0]
    double.register_fake(lambda x, k=2.0: xp.empty_like(x))
    double.register_vmap(rule)
    assert xp.vmap(double)(xp.ones(3, 2)).tolist() == [[2, 2]] * 3
    assert calls == [(3, 0)]


def test_autocast_casts_inputs(xp):
    def kind(x):
        return x * 1
    kind.__annotations__ = {"x": xp.Tensor, "return": xp.Tensor}
    op = xp.library.custom_op(f"jt_ops::kind{next(_numbers)}", lambda x: x * 1, mutates_args=(), schema="(Tensor x) -> Tensor")
    op.register_autocast("cpu", xp.bfloat16)
    with xp.autocast("cpu", dtype=xp.bfloat16):
        assert op(xp.ones(2)).dtype is xp.bfloat16
    assert op(xp.ones(2)).dtype is xp.float32


def test_opcheck(xp, double):
    double.register_fake(lambda x, k=2.0: xp.empty(7))
    double.register_autograd(lambda ctx, g: (g * 2, None))
    names = ("test_schema", "test_autograd_registration", "test_faketensor")
    found = xp.library.opcheck(double._opoverload, (xp.ones(2, requires_grad=True),), test_utils=names, raise_exception=False)
    assert found["test_schema"] == found["test_autograd_registration"] == "SUCCESS"
    assert isinstance(found["test_faketensor"], Exception)


CALLS = {
    "missing": lambda op, xp: op(),
    "int for tensor": lambda op, xp: op(3),
    "unknown keyword": lambda op, xp: op(xp.ones(2), q=1),
    "too many": lambda op, xp: op(xp.ones(2), 1, 2, 3),
    "str for int": lambda op, xp: op(xp.ones(2), "a"),
    "no kernel": lambda op, xp: op(xp.ones(2)),
}


@pytest.mark.parametrize("case", CALLS)
def test_errors_of_calls(same, case):
    def run(xp):
        with xp.library._scoped_library("jt_errors", "FRAGMENT") as lib:
            lib.define("foo(Tensor x, int y=3, *, float z=1.5) -> Tensor")
            try:
                CALLS[case](xp.ops.jt_errors.foo, xp)
            except (RuntimeError, NotImplementedError) as error:
                return type(error).__name__, str(error).partition(".")[0][:150]
            return None
    same(run)


DEFINITIONS = {
    "unknown type": "bad(Tensr x) -> Tensor", "no parenthesis": "bad(Tensor x -> Tensor", "no result": "bad(Tensor x)",
}


@pytest.mark.parametrize("case", DEFINITIONS)
def test_errors_of_schemas(same, case):
    def run(xp):
        with xp.library._scoped_library("jt_errors", "FRAGMENT") as lib:
            try:
                return lib.define(DEFINITIONS[case])
            except RuntimeError as error:
                return str(error).strip()
    same(run)


def test_an_operator_ends_with_its_library(xp):
    with xp.library._scoped_library("jt_scope", "FRAGMENT") as lib:
        lib.define("f(Tensor x) -> Tensor")
        lib.impl("f", lambda x: x + 1, "CPU")
        assert xp.ops.jt_scope.f(xp.ones(1)).tolist() == [2]
    with pytest.raises(AttributeError, match="'_OpNamespace' 'jt_scope' object has no attribute 'f'"):
        _ = xp.ops.jt_scope.f


def test_a_kernel_without_autograd_warns_in_backward(xp, lib):
    lib.define("g(Tensor x) -> Tensor")
    lib.impl("g", lambda x: x * 2, "CPU")
    x = xp.ones(2, requires_grad=True)
    y = getattr(xp.ops, lib.ns).g(x)
    with pytest.warns(UserWarning, match="an autograd kernel was not registered"):
        y.sum().backward()
    assert x.grad.tolist() == [2, 2]


def test_composites_are_differentiated_through(xp, lib):
    lib.define("h(Tensor x, *, Tensor? w=None) -> Tensor")
    lib.impl("h", lambda x, *, w=None: x * (2 if w is None else w))
    x = xp.ones(2, requires_grad=True)
    h = getattr(xp.ops, lib.ns).h
    (h(x) + h(x, w=xp.full((2,), 3.0))).sum().backward()
    assert x.grad.tolist() == [5, 5]


def test_overloads_are_chosen_by_arguments(xp, lib):
    lib.define("pick.tensor(Tensor x) -> str")
    lib.define("pick.number(Scalar x) -> str")
    lib.impl("pick.tensor", lambda x: "tensor")
    lib.impl("pick.number", lambda x: "number")
    pick = getattr(xp.ops, lib.ns).pick
    assert (pick(xp.ones(1)), pick(2.5), pick.overloads()) == ("tensor", "number", ["tensor", "number"])
    with pytest.raises(RuntimeError, match="failed to match any schema"):
        pick("text")


def test_a_torch_function_mode_sees_operators(xp, double):
    seen = []

    class Mode(xp.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(str(func))
            return func(*args, **(kwargs or {}))
    with Mode():
        double(xp.ones(2))
    assert any(double._name in name for name in seen)


def test_a_vmap_rule_needs_no_fake(xp):
    """The rule gets the tensors of all samples, and lists of them; the kernel may use NumPy."""
    seen = []

    def of_numpy(xs):
        return [xp.tensor(np.sin(x.numpy())) for x in xs]
    of_numpy.__annotations__ = {"xs": list[xp.Tensor], "return": list[xp.Tensor]}
    sines = xp.library.custom_op(f"vmapped::sines{next(_numbers)}", of_numpy, mutates_args=())

    def rule(info, in_dims, xs):
        seen.append((info.batch_size, info.randomness, list(in_dims), [tuple(x.shape) for x in xs]))
        return sines(xs), [0] * len(xs)
    sines.register_vmap(rule)
    x = xp.ones(2, 3)
    found = xp.vmap(lambda t: sines([t, t * 2]), randomness="same")(x)
    assert [tuple(t.shape) for t in found] == [(2, 3)] * 2
    assert seen == [(2, "same", [[0, 0]], [(2, 3), (2, 3)])]


def test_a_functions_vmap(xp):
    class Sums(xp.autograd.Function):
        @staticmethod
        def forward(xs):
            return xs[0] + xs[1]

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def vmap(info, in_dims, xs):
            assert in_dims == ([0, None],)
            return Sums.apply([xs[0], xs[1] * 10]), 0

    assert xp.vmap(lambda t: Sums.apply([t, xp.ones(3)]))(xp.ones(2, 3)).tolist() == [[11.0] * 3] * 2

    class Bare(xp.autograd.Function):
        @staticmethod
        def forward(x):
            return x * 2

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass
    with pytest.raises(RuntimeError, match="You tried to vmap over Bare, but it does not have vmap support"):
        xp.vmap(Bare.apply)(xp.ones(2, 3))
