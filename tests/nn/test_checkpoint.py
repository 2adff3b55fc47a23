"""torch.utils.checkpoint: gradients, randomness, autocast and errors."""
from __future__ import annotations

import functools
import importlib

import pytest


def block(xp):
    return xp.nn.Sequential(xp.nn.Linear(4, 4), xp.nn.Tanh(), xp.nn.Dropout(0.5), xp.nn.Linear(4, 4))


@pytest.mark.parametrize("reentrant", [True, False])
def test_gradients_are_those_without(xp, reentrant):
    m, runs = block(xp), []

    def f(x):
        runs.append(1)
        return m(x)

    def gradients(call):
        m.zero_grad()
        x = xp.ones(2, 4, requires_grad=True)
        xp.manual_seed(1)
        (call(x) ** 2).sum().backward()
        return [x.grad.tolist(), *[p.grad.tolist() for p in m.parameters()], xp.rand(1).item()]

    wanted = gradients(m)
    assert gradients(lambda x: xp.utils.checkpoint.checkpoint(f, x, use_reentrant=reentrant)) == wanted
    assert len(runs) == 2


def test_randomness_that_is_not_kept(xp):
    def f(x):
        seen.append(xp.rand(1).item())
        return x.sin()

    for preserve, same in ((True, True), (False, False)):
        seen = []
        x = xp.ones(1, requires_grad=True)
        xp.utils.checkpoint.checkpoint(f, x, use_reentrant=False, preserve_rng_state=preserve, early_stop=False).backward()
        assert (seen[0] == seen[1]) is same


def test_what_only_the_second_kind_can(xp):
    w, ck = xp.tensor(2.0, requires_grad=True), xp.utils.checkpoint.checkpoint

    def f(x, *, by):
        return {"y": [(x * w).sin() * by]}

    x = xp.tensor(0.5)
    y = ck(f, x, by=3.0, use_reentrant=False)["y"][0]
    (first,) = xp.autograd.grad(y, w, retain_graph=True)
    (again,) = xp.autograd.grad(y, w)
    assert abs(first.item() - 1.5 * 0.5403023) < 1e-5
    assert again.item() == first.item()
    z = xp.tensor(0.5, requires_grad=True)
    out = ck(lambda z: ck(lambda z: z.exp(), z, use_reentrant=False).sin(), z, use_reentrant=False)
    out.backward()
    plain = xp.tensor(0.5, requires_grad=True)
    plain.exp().sin().backward()
    assert z.grad.item() == plain.grad.item()


def test_second_gradients(xp):
    x = xp.tensor(0.5, requires_grad=True)
    y = xp.utils.checkpoint.checkpoint(lambda x: x.sin() * x, x, use_reentrant=False)
    (g,) = xp.autograd.grad(y, x, create_graph=True)
    assert abs(g.item() - (0.4794255 + 0.5 * 0.8775826)) < 1e-5


def test_the_second_run_stops_early(xp):
    runs = []

    def f(x):
        y = x.exp()
        runs.append("before")
        z = y.sin()
        runs.append("after")
        return z

    ck = xp.utils.checkpoint
    x = xp.ones(1, requires_grad=True)
    ck.checkpoint(f, x, use_reentrant=False).backward()
    assert runs == ["before", "after", "before"]
    with ck.set_checkpoint_early_stop(False):
        y = ck.checkpoint(f, x, use_reentrant=False)
    y.backward()
    assert runs[3:] == ["before", "after", "before", "after"]


def test_a_second_run_that_saves_something_else(xp):
    runs = []

    def f(x):
        runs.append(1)
        return x.sin() if len(runs) == 1 else x[:1].sin() + x
    x = xp.ones(2, requires_grad=True)
    with pytest.raises(xp.utils.checkpoint.CheckpointError, match="torch.utils.checkpoint: Recomputed values for the following tensors "
                       "have different metadata than during the forward pass."):
        xp.utils.checkpoint.checkpoint(f, x, use_reentrant=False).sum().backward()
    runs.clear()

    def g(x):
        runs.append(1)
        return x.sin().cos() if len(runs) == 1 else x.sin()
    with pytest.raises(xp.utils.checkpoint.CheckpointError, match="A different number of tensors was saved during the original forward "
                       "and recomputation."):
        xp.utils.checkpoint.checkpoint(g, x, use_reentrant=False).sum().backward()


def test_an_input_written_to(xp):
    a = xp.ones(2, requires_grad=True)
    x = a * 1
    y = xp.utils.checkpoint.checkpoint(lambda x: x.sin(), x, use_reentrant=False)
    x.add_(1)
    with pytest.raises(RuntimeError, match="one of the variables needed for gradient computation has been modified by an inplace"):
        y.sum().backward()


def test_contexts(xp):
    log = []

    class Note:
        def __init__(self, name):
            self.name = name

        def __enter__(self):
            log.append(self.name)

        def __exit__(self, *exc):
            pass

    x = xp.ones(1, requires_grad=True)
    xp.utils.checkpoint.checkpoint(xp.sin, x, use_reentrant=False, context_fn=lambda: (Note("first"), Note("second"))).backward()
    assert log == ["first", "second"]


def test_without_gradients(xp):
    with xp.no_grad():
        assert not xp.utils.checkpoint.checkpoint(xp.sin, xp.ones(1, requires_grad=True), use_reentrant=False).requires_grad
    with pytest.warns(UserWarning, match="None of the inputs have requires_grad=True. Gradients will be None"):
        xp.utils.checkpoint.checkpoint(xp.sin, xp.ones(1), use_reentrant=True)


def test_autocast_is_the_same_in_the_second_run(xp):
    seen = []

    def f(x):
        y = x @ x
        seen.append(y.dtype)
        return y.sum()

    for reentrant in (True, False):
        seen.clear()
        x = xp.ones(2, 2, requires_grad=True)
        with xp.autocast("cpu"):
            y = xp.utils.checkpoint.checkpoint(f, x, use_reentrant=reentrant, early_stop=False)
        y.backward()
        assert seen == [xp.bfloat16] * 2


def test_errors_of_arguments(xp):
    ck, x = xp.utils.checkpoint, xp.ones(1, requires_grad=True)
    with pytest.warns(UserWarning, match="torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly"):
        ck.checkpoint(xp.sin, x)
    with pytest.raises(ValueError, match="Unexpected keyword arguments: a"):
        ck.checkpoint(xp.sin, x, use_reentrant=True, a=1)
    with pytest.raises(ValueError, match="Passing `context_fn` or `debug` is only supported when use_reentrant=False."):
        ck.checkpoint(xp.sin, x, use_reentrant=True, debug=True)
    with pytest.raises(RuntimeError, match="When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad\\(\\)"):
        xp.autograd.grad(ck.checkpoint(xp.sin, x, use_reentrant=True), x)
    with pytest.raises(ValueError, match="Unexpected keyword arguments: a"):
        ck.checkpoint_sequential([xp.sin], 1, x, use_reentrant=False, a=1)


@pytest.mark.parametrize("reentrant", [True, False])
def test_sequential(xp, reentrant):
    m = xp.nn.Sequential(*[xp.nn.Linear(2, 2) for _ in range(5)])
    x, y = xp.ones(1, 2, requires_grad=True), xp.ones(1, 2, requires_grad=True)
    xp.utils.checkpoint.checkpoint_sequential(m, 2, x, use_reentrant=reentrant).sum().backward()
    m(y).sum().backward()
    assert xp.allclose(x.grad, y.grad)


# ---------------------------------------------------------------- nested checkpoints

def composed(xp, letters):
    """Return ``sin`` inside the functions that ``letters`` name, outermost first: C a checkpoint, G a gradient, S a sum."""
    def checkpointed(function):
        return lambda x: xp.utils.checkpoint.checkpoint(function, x, use_reentrant=False)

    def gradient(function):
        def run(x):
            with xp.enable_grad():
                return xp.autograd.grad(function(x), x, create_graph=True)[0]
        return run

    def summed(function):
        return lambda x: function(x).sum()

    made = xp.sin
    for letter in reversed(letters):
        made = {"C": checkpointed, "G": gradient, "S": summed}[letter](made)
    return made


COMPOSED = ["C", "CC", "CCC", "GCS", "CGS", "CGCS", "GSCGCS", "GSGCS", "CGSGCS", "GSCCGS", "CCGS"]


@pytest.mark.parametrize("early_stop", [True, False])
@pytest.mark.parametrize("letters", COMPOSED)
def test_checkpoints_and_gradients_in_one_another(xp, letters, early_stop):
    module = xp.utils.checkpoint
    found = []
    for chosen in (letters, letters.replace("C", "")):
        x = xp.tensor([0.3, 0.7], requires_grad=True)
        with module.set_checkpoint_early_stop(early_stop):
            y = composed(xp, chosen)(x)
            y.sum().backward(retain_graph=True)
            y.sum().backward()
        found.append((y.detach(), x.grad))
    for checkpointed, plain in zip(*found, strict=True):
        assert xp.allclose(checkpointed, plain)


@pytest.mark.parametrize("outer", [True, False])
@pytest.mark.parametrize("inner", [True, False])
def test_how_often_checkpoints_in_one_another_run(xp, outer, inner):
    module = xp.utils.checkpoint
    runs = []

    def named(name):
        return lambda x: runs.append(name) or getattr(x, name)()

    def around(x):
        with module.set_checkpoint_early_stop(inner):
            return named("exp")(module.checkpoint(named("cos"), named("sin")(x), use_reentrant=False))

    x = xp.tensor([0.3, 0.7], requires_grad=True)
    with module.set_checkpoint_early_stop(outer):
        module.checkpoint(around, x, use_reentrant=False).sum().backward()
    assert runs[:3] == ["sin", "cos", "exp"]
    assert sorted(runs[3:]) == ["cos"] * 2 + ["exp", "sin"]
    assert xp.allclose(x.grad, -x.sin().cos().exp() * x.sin().sin() * x.cos())


@pytest.mark.parametrize("early_stop", [True, False])
def test_a_backward_in_a_checkpoint(xp, early_stop):
    module = xp.utils.checkpoint

    def function(x):
        y = module.checkpoint(lambda x: x.sin().exp(), x, use_reentrant=False)
        xp.autograd.grad(y.sum(), x, retain_graph=True)
        return y.sin()

    x = xp.tensor([0.3, 0.7], requires_grad=True)
    with module.set_checkpoint_early_stop(early_stop):
        module.checkpoint(function, x, use_reentrant=False).sum().backward()
    inside = x.sin().exp()
    assert xp.allclose(x.grad, inside.cos() * inside * x.cos())


def test_a_second_run_that_saves_more(xp):
    module = xp.utils.checkpoint
    runs = []

    def function(x):
        runs.append(1)
        return x.sin().exp() if len(runs) == 1 else x.sin().exp().exp()

    with module.set_checkpoint_early_stop(False):
        y = module.checkpoint(function, xp.ones(2, requires_grad=True), use_reentrant=False)
    with pytest.raises(module.CheckpointError, match="trying to save more tensors during recomputation"):
        y.sum().backward()


# ---------------------------------------------------------------- selective checkpoints

def selective(xp, f, x, policy, **options):
    """Return the result of a checkpoint that keeps what a policy chooses."""
    ck = xp.utils.checkpoint
    contexts = functools.partial(ck.create_selective_checkpoint_contexts, policy, **options)
    return ck.checkpoint(f, x, use_reentrant=False, context_fn=contexts)


def recomputed(xp, f, policy):
    """Return the gradient of ``f`` for a matrix of ones, and how many products the backward computes."""
    seen = []

    class Names(importlib.import_module(f"{xp.__name__}.utils._python_dispatch").TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(str(func))
            return func(*args, **(kwargs or {}))
    x = xp.ones(2, 2, requires_grad=True)
    out = selective(xp, f, x, policy)
    with Names():
        out.backward()
    return x.grad.tolist(), seen.count("aten.mm.default")


def test_chosen_results_are_kept(xp):
    def f(x):
        return xp.mm(x.cos(), x).sin().sum()
    aten, policies = xp.ops.aten, xp.utils.checkpoint.CheckpointPolicy
    wanted, products = recomputed(xp, f, [])
    assert products == 3
    assert recomputed(xp, f, [aten.mm.default]) == (wanted, 2)
    assert recomputed(xp, f, lambda ctx, op, *args, **kwargs: op == aten.mm.default) == (wanted, 2)
    assert recomputed(xp, f, lambda ctx, op, *args, **kwargs: policies.PREFER_SAVE) == (wanted, 2)
    assert recomputed(xp, f, lambda ctx, op, *args, **kwargs: policies.MUST_RECOMPUTE) == (wanted, 3)


def test_the_policy_is_asked_in_the_first_run(xp):
    asked = []

    def policy(ctx, op, *args, **kwargs):
        asked.append((str(op), ctx.is_recompute, ctx.op_output.tolist()))
        return xp.utils.checkpoint.CheckpointPolicy.PREFER_RECOMPUTE
    x = xp.zeros(1, requires_grad=True)
    selective(xp, lambda x: x.sin().cos(), x, policy).sum().backward()
    assert asked == [("aten.sin.default", False, [0.0]), ("aten.cos.default", False, [1.0])]


def test_writing_to_a_kept_result(xp):
    def f(x):
        return x.sin().mul_(2).cos()
    ops = [xp.ops.aten.sin.default]
    with pytest.raises(RuntimeError, match="Tensor cached during selective activation checkpoint has been mutated"):
        selective(xp, f, xp.ones(1, requires_grad=True), ops).sum().backward()
    selective(xp, f, xp.ones(1, requires_grad=True), ops, allow_cache_entry_mutation=True).sum().backward()


def test_a_second_backward_of_a_selective_checkpoint(xp):
    out = selective(xp, lambda x: x.sin().cos().exp(), xp.ones(1, requires_grad=True), [xp.ops.aten.cos.default]).sum()
    out.backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="Trying to backward an extra time"):
        out.backward()


def test_policies_that_are_refused(xp):
    make = xp.utils.checkpoint.create_selective_checkpoint_contexts
    with pytest.raises(ValueError, match="to be an OpOverload but got: 2 of type <class 'int'>"):
        make([2])
    with pytest.raises(ValueError, match="update the OpOverloadPacket to a specific OpOverload"):
        make([xp.ops.aten.sin])
    with pytest.raises(TypeError, match="policy_fn_or_list must be either a function or a list of ops"):
        make(2)
