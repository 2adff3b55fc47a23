"""Features of all optimizers: groups, hooks, state dicts, copies, flags, tensor rates, steps with a history."""
from __future__ import annotations

import copy
import pickle
from collections import OrderedDict, defaultdict

import jax
import numpy as np
import pytest
from libraries import library

KINDS = ("SGD", "Adam", "AdamW", "Adamax", "NAdam", "RAdam", "Adagrad", "Adadelta", "RMSprop", "Rprop", "ASGD", "Adafactor")


def param(xp, *values: float):
    return xp.tensor(list(values or (1.0, -2.0)), requires_grad=True)


def step(optimizer, *params) -> None:
    optimizer.zero_grad()
    sum((p ** 2).sum() for p in params).backward()
    optimizer.step()


# ---------------------------------------------------------------- groups

def group_error(call):
    return lambda xp: call(xp, xp.optim.SGD([param(xp)], lr=0.1))


@pytest.mark.parametrize("call, error, message", [
    (lambda xp: xp.optim.SGD(param(xp)), TypeError, "params argument given to the optimizer should be an iterable of Tensors or dicts"),
    (lambda xp: xp.optim.SGD([]), ValueError, "optimizer got an empty parameter list"),
    (lambda xp: xp.optim.SGD([3]), TypeError, "optimizer can only optimize Tensors, but one of the params is int"),
    (lambda xp: xp.optim.SGD([param(xp) * 2]), ValueError, "can't optimize a non-leaf Tensor"),
    (lambda xp: xp.optim.SGD([{"params": {param(xp)}}]), TypeError, "optimizer parameters need to be organized in ordered"),
    (group_error(lambda xp, o: o.add_param_group([3])), TypeError, "param_group must be a dict, but got <class 'list'>"),
    (group_error(lambda xp, o: o.add_param_group({"params": o.param_groups[0]["params"]})), ValueError,
     "some parameters appear in more than one parameter group"),
    (group_error(lambda xp, o: o.add_param_group({"params": [("a", param(xp))]})), ValueError,
     "all optimizer param groups should be with/without names. cannot add param group with names to the optimizer"),
    (lambda xp: xp.optim.SGD([("a", param(xp)), param(xp)]), ValueError, "all optimizer params should be with/without names."),
    (lambda xp: xp.optim.SGD([param(xp)], lr=-1.0), ValueError, "Invalid learning rate: -1.0"),
    (lambda xp: xp.optim.SGD([param(xp)], nesterov=True), ValueError, "Nesterov momentum requires a momentum and zero dampening"),
    (lambda xp: xp.optim.Adam([param(xp)], lr=xp.ones(2)), ValueError, "Tensor lr must be 1-element"),
    (lambda xp: xp.optim.Adam([param(xp)], lr=xp.tensor(0.1), foreach=True), ValueError, "lr as a Tensor is not supported"),
    (lambda xp: xp.optim.Adam([param(xp)], betas=(0.9, xp.tensor(0.9))), ValueError, "betas must be either both floats or both"),
    (lambda xp: xp.optim.Adam([param(xp)], fused=True, foreach=True), RuntimeError, "`fused` and `foreach` cannot be `True`"),
    (lambda xp: xp.optim.SGD([param(xp)], fused=True, differentiable=True), RuntimeError, "`fused` does not support"),
    (lambda xp: xp.optim.LBFGS([{"params": [param(xp)]}, {"params": [param(xp)]}]), ValueError, "LBFGS doesn't support per-parameter"),
])
def test_errors(xp, call, error, message):
    with pytest.raises(error) as caught:
        call(xp)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("kind, flags, error, message", [
    ("Adam", {"foreach": True, "differentiable": True}, AssertionError, "_foreach ops don't support autograd"),
    ("Adamax", {"foreach": True, "differentiable": True}, AssertionError, "_foreach ops don't support autograd"),
    ("Adam", {"capturable": True}, AssertionError, "If capturable=True, params and state_steps must be on supported devices"),
    ("RMSprop", {"capturable": True}, AssertionError, "If capturable=True, params and state_steps must be on supported devices")])
def test_flags_that_a_step_refuses(xp, kind, flags, error, message):
    p = param(xp)
    optimizer = getattr(xp.optim, kind)([p], **flags)
    with pytest.raises(error, match=message):
        step(optimizer, p)


@pytest.mark.parametrize("flag", ["foreach", "fused"])
@pytest.mark.parametrize("kind", KINDS)
def test_flags_change_no_result(xp, kind, flag):
    if flag == "fused" and kind not in ("SGD", "Adam", "AdamW", "Adagrad"):
        with pytest.raises(TypeError, match="unexpected keyword argument 'fused'"):
            getattr(xp.optim, kind)([param(xp)], fused=True)
        return
    results = []
    for options in ({}, {flag: True}):
        p = param(xp)
        optimizer = getattr(xp.optim, kind)([p], **options)
        step(optimizer, p)
        results.append(p.tolist())
    assert results[0] == pytest.approx(results[1], rel=1e-5)


@pytest.mark.parametrize("kind", ["SGD", "Adam", "Adagrad"])
def test_fused_wants_floating_point(xp, kind):
    p = xp.ones(2, dtype=xp.complex64, requires_grad=True)
    optimizer = getattr(xp.optim, kind)([p], fused=True)
    p.grad = xp.ones_like(p)
    with pytest.raises(RuntimeError, match="`fused=True` requires all the params to be floating point Tensors of supported devices"):
        optimizer.step()


def test_a_bad_group_changes_nothing(xp):
    optimizer = xp.optim.SGD([param(xp)], lr=0.1)
    bad = {"params": [param(xp), 3]}
    with pytest.raises(TypeError):
        optimizer.add_param_group(bad)
    assert len(optimizer.param_groups) == 1


def test_groups_are_completed_in_place(xp):
    group = {"params": iter([("a", param(xp)), ("b", param(xp))]), "lr": 0.5}
    optimizer = xp.optim.SGD([group], lr=0.1, momentum=0.9)
    assert optimizer.param_groups[0] is group and group["param_names"] == ["a", "b"]
    assert group["lr"] == 0.5 and group["momentum"] == 0.9 and len(group["params"]) == 2
    with pytest.warns(UserWarning, match="optimizer contains a parameter group with duplicate parameters"):
        p = param(xp)
        xp.optim.SGD([p, p], lr=0.1)


def test_required_options(xp):
    from importlib import import_module
    module = import_module(f"{xp.__name__}.optim.optimizer")

    class Own(module.Optimizer):
        def __init__(self, params):
            super().__init__(params, {"lr": module.required})
    with pytest.raises(ValueError, match="parameter group didn't specify a value of required optimization parameter lr"):
        Own([param(xp)])
    assert Own([{"params": [param(xp)], "lr": 1.0}]).param_groups[0]["lr"] == 1.0


@pytest.mark.conformance
def test_repr_is_pytorchs(torch):
    theirs, ours = (repr(xp.optim.Adam([{"params": [param(xp)]}, {"params": [param(xp)], "lr": 0.5}], amsgrad=True))
                    for xp in (torch, library("jtorch")))
    assert theirs == ours


# ---------------------------------------------------------------- stepping

def own_optimizer(xp):
    class Own(xp.optim.Optimizer):
        def __init__(self, params, lr=0.1):
            super().__init__(params, {"lr": lr})

        @xp.no_grad()
        def step(self, closure=None):
            for group in self.param_groups:
                for p in group["params"]:
                    self.state[p]["seen"] = self.state[p].get("seen", 0) + 1
                    p.add_(p.grad, alpha=-group["lr"])
    return Own


def test_an_optimizer_of_ones_own_with_hooks(xp):
    p, seen = param(xp), []
    optimizer = own_optimizer(xp)([p])
    optimizer.register_step_pre_hook(lambda o, args, kwargs: seen.append(("pre", o is optimizer, args[0] is optimizer, kwargs)))
    optimizer.register_step_post_hook(lambda o, args, kwargs: seen.append(("post", p.tolist())))
    scheduler = xp.optim.lr_scheduler.StepLR(optimizer, 1)
    step(optimizer, p)
    scheduler.step()
    assert seen[0] == ("pre", True, True, {}) and seen[1][1] == pytest.approx([0.8, -1.6])
    assert optimizer.state_dict()["state"] == {0: {"seen": 1}} and optimizer.param_groups[0]["lr"] == pytest.approx(0.01)


def test_hooks_of_every_optimizer(xp):
    from importlib import import_module
    module = import_module(f"{xp.__name__}.optim.optimizer")
    p, seen = param(xp), []
    optimizer = xp.optim.SGD([p], lr=0.1)
    handles = [module.register_optimizer_step_pre_hook(lambda o, a, k: seen.append("global pre")),
               module.register_optimizer_step_post_hook(lambda o, a, k: seen.append("global post")),
               optimizer.register_step_pre_hook(lambda o, a, k: seen.append("pre")),
               optimizer.register_step_post_hook(lambda o, a, k: seen.append("post"))]
    try:
        step(optimizer, p)
    finally:
        for handle in handles:
            handle.remove()
    step(optimizer, p)
    assert seen == ["global pre", "pre", "post", "global post"]


def test_a_hook_may_replace_the_arguments(xp):
    p, called = param(xp), []
    optimizer = xp.optim.SGD([p], lr=0.1)
    handle = optimizer.register_step_pre_hook(lambda o, args, kwargs: ((o, lambda: called.append(1)), {}))
    step(optimizer, p)
    assert called == [1]
    handle.remove()
    optimizer.register_step_pre_hook(lambda o, args, kwargs: 3)
    with pytest.raises(RuntimeError, match="must return None or a tuple of"):
        optimizer.step()


@pytest.mark.parametrize("kind", ["SGD", "Adam", "Rprop"])
def test_a_closure_runs_with_gradients_on(xp, kind):
    p = param(xp)
    optimizer = getattr(xp.optim, kind)([p], lr=0.1)

    def closure():
        optimizer.zero_grad()
        loss = (p ** 2).sum()
        loss.backward()
        return loss
    with xp.no_grad():
        assert optimizer.step(closure).item() == 5.0
    assert p.tolist() != [1.0, -2.0]


def test_zero_grad(xp):
    p, q = param(xp), param(xp)
    optimizer = xp.optim.SGD([p, q], lr=0.1)
    (p ** 2).sum().backward()
    grad = p.grad
    optimizer.zero_grad(set_to_none=False)
    assert p.grad is grad and grad.tolist() == [0.0, 0.0] and q.grad is None
    optimizer.zero_grad()
    assert p.grad is None


# ---------------------------------------------------------------- states

def test_hooks_of_state_dicts(xp):
    seen = []
    optimizer = xp.optim.SGD([param(xp)], lr=0.1)
    optimizer.register_state_dict_pre_hook(lambda o: seen.append("pre"))
    optimizer.register_state_dict_pre_hook(lambda o: seen.append("first"), prepend=True)
    optimizer.register_state_dict_post_hook(lambda o, d: {**d, "more": 1})
    optimizer.register_load_state_dict_pre_hook(lambda o, d: {k: v for k, v in d.items() if k != "more"})
    optimizer.register_load_state_dict_post_hook(lambda o: seen.append("post"))
    saved = optimizer.state_dict()
    optimizer.load_state_dict(saved)
    assert saved["more"] == 1 and seen == ["first", "pre", "post"]


def test_a_hook_replaces_what_is_loaded(xp):
    optimizer, other = xp.optim.SGD([param(xp)], lr=0.1), xp.optim.SGD([param(xp)], lr=0.7)
    optimizer.register_load_state_dict_pre_hook(lambda o, d: other.state_dict())
    optimizer.load_state_dict(optimizer.state_dict())
    assert optimizer.param_groups[0]["lr"] == 0.7


def test_loading_casts_states(xp):
    p = param(xp)
    first = xp.optim.Adam([p], lr=0.5)
    step(first, p)
    saved = copy.deepcopy(first.state_dict())
    q = p.detach().to(xp.float64).requires_grad_()
    second = xp.optim.Adam([q])
    saved["state"][0]["more"] = [xp.ones(1), {"x": 3}]
    second.load_state_dict(saved)
    state = second.state[q]
    assert state["exp_avg"].dtype == xp.float64 and state["step"].dtype == xp.float32 and second.param_groups[0]["lr"] == 0.5
    assert state["more"][0].dtype == xp.float64 and state["more"][1] == {"x": 3}
    saved["param_groups"][0]["capturable"] = True
    second.load_state_dict(saved)
    assert second.state[q]["step"].device == q.device


def test_what_an_older_version_saved_is_completed(xp):
    p = param(xp)
    optimizer = xp.optim.Adam([p], lr=0.5)
    step(optimizer, p)
    saved = copy.deepcopy(optimizer.state_dict())
    for key in ("maximize", "foreach", "capturable", "differentiable", "fused", "amsgrad"):
        del saved["param_groups"][0][key]
    saved["state"][0]["step"] = 1
    optimizer.load_state_dict(saved)
    assert optimizer.param_groups[0]["maximize"] is False and optimizer.state[p]["step"].item() == 1.0
    step(optimizer, p)
    assert optimizer.state[p]["step"].item() == 2.0


@pytest.mark.parametrize("change, message", [
    (lambda d: d["param_groups"].append({"params": []}), "loaded state dict has a different number of parameter groups"),
    (lambda d: d["param_groups"][0]["params"].append(7), "loaded state dict contains a parameter group that doesn't match the size")])
def test_what_does_not_fit_is_not_loaded(xp, change, message):
    optimizer = xp.optim.SGD([param(xp)], lr=0.1)
    saved = copy.deepcopy(optimizer.state_dict())
    change(saved)
    with pytest.raises(ValueError, match=message):
        optimizer.load_state_dict(saved)


@pytest.mark.parametrize("kind", KINDS)
def test_copies_go_on(xp, kind):
    p = xp.nn.Parameter(param(xp).detach())
    optimizer = getattr(xp.optim, kind)([p])
    step(optimizer, p)
    for again in (copy.deepcopy(optimizer), pickle.loads(pickle.dumps(optimizer))):
        q = again.param_groups[0]["params"][0]
        assert q is not p and type(q) is xp.nn.Parameter
        before = p.detach().clone()
        step(again, q)
        assert p.tolist() == before.tolist() and q.tolist() != p.tolist()
    step(optimizer, p)
    assert p.tolist() == q.tolist()


def test_parameters_and_states_are_swapped_in(xp):
    p, q = param(xp), param(xp, 5.0, 6.0)
    optimizer, other = xp.optim.Adam([p], lr=0.1), xp.optim.Adam([q], lr=0.2)
    step(optimizer, p)
    step(other, q)
    before, saved = p.tolist(), other.state_dict()
    with xp.optim.swap_in_optimizer_params_and_state(optimizer, {"q": q}, saved):
        assert optimizer.param_groups[0]["lr"] == 0.2
        step(optimizer, q)
    assert p.tolist() == before and optimizer.param_groups[0]["lr"] == 0.1 and optimizer.state[p]["step"].item() == 1.0
    assert other.state[q]["step"].item() == 2.0 and q.tolist() == pytest.approx([4.6, 5.6], rel=1e-3)
    context = xp.optim.swap_in_optimizer_params_and_state(optimizer, {"q": q}, {**saved, "param_groups": [{"params": [0]}]})
    with pytest.raises(RuntimeError, match="requires optimizer.state_dict\\(\\)-style param group keys"):
        context.__enter__()


# ---------------------------------------------------------------- rates that are tensors

@pytest.mark.parametrize("kind", KINDS)
def test_a_rate_that_is_a_tensor(xp, kind):
    found = []
    for lr in (0.25, xp.tensor(0.25), xp.tensor([0.25])):
        p = xp.ones(2, 2, requires_grad=True)
        q = xp.tensor(1.0, requires_grad=True)
        optimizer = getattr(xp.optim, kind)([p, q], lr=lr, **({} if kind == "Rprop" else {"weight_decay": 0.1}))
        for _ in range(2):
            step(optimizer, p, q)
        assert q.shape == ()
        found.append(p.detach().numpy())
    np.testing.assert_allclose(found[1], found[0], rtol=1e-5)
    np.testing.assert_allclose(found[2], found[0], rtol=1e-5)


@pytest.mark.parametrize("kind", ["Adam", "AdamW"])
def test_betas_that_are_tensors(xp, kind):
    found = []
    for betas in ((0.5, 0.75), (xp.tensor(0.5), xp.tensor([0.75]))):
        p = param(xp)
        optimizer = getattr(xp.optim, kind)([p], lr=0.1, betas=betas, foreach=False)
        for _ in range(3):
            step(optimizer, p)
        found.append(p.detach().numpy())
    np.testing.assert_allclose(found[1], found[0], rtol=1e-5)


# ---------------------------------------------------------------- steps with a history

def through(xp, kind: str, options: dict, steps: int, lr=None):
    """Return gradients through a few differentiable steps: by the initial parameters, the gradients and the rate."""
    rng = np.random.default_rng(3)
    start, grad = (xp.tensor(rng.standard_normal((3, 2)), requires_grad=True) for _ in range(2))
    rate = xp.tensor(lr, dtype=xp.float64, requires_grad=True) if lr is not None else 0.05
    p = start.clone()
    optimizer = getattr(xp.optim, kind)([p], differentiable=True, lr=rate, **options)
    for k in range(steps):
        p.grad = grad * (k + 1)
        assert optimizer.step() is None
    (p ** 2).sum().backward()
    return [t.grad.numpy() for t in (start, grad, *([rate] if lr is not None else [])) if t.grad is not None]


SEEN = [("SGD", {"weight_decay": 0.1}), ("Adam", {"weight_decay": 0.1}), ("AdamW", {}), ("NAdam", {}), ("RAdam", {"weight_decay": 0.1}),
        ("Adagrad", {}), ("Adadelta", {}), ("ASGD", {"weight_decay": 0.1})]


@pytest.mark.conformance
@pytest.mark.parametrize("kind, options", SEEN, ids=[k for k, _ in SEEN])
def test_gradients_through_steps_are_pytorchs(torch, kind, options):
    theirs, ours = (through(xp, kind, options, 2) for xp in (torch, library("jtorch")))
    assert len(theirs) == len(ours) == 2
    for a, b in zip(theirs, ours, strict=True):     # PyTorch counts steps in float32
        np.testing.assert_allclose(b, a, rtol=1e-4, atol=1e-5)


@pytest.mark.conformance
@pytest.mark.parametrize("kind", ["SGD", "Adam", "AdamW", "RAdam"])
def test_gradients_of_the_rate_are_pytorchs(torch, kind):
    theirs, ours = (through(xp, kind, {}, 1, lr=0.05) for xp in (torch, library("jtorch")))
    for a, b in zip(theirs, ours, strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind, options", [("SGD", {"momentum": 0.9}), ("Adam", {"amsgrad": True}), ("Adamax", {}), ("Rprop", {}),
                                           ("RMSprop", {"momentum": 0.9, "centered": True})], ids=str)
def test_gradients_where_pytorch_has_none(kind, options):
    """Several steps of these raise in PyTorch, whose backward misses overwritten values. So compare with finite
    differences.
    """
    torch = library("jtorch")
    start = torch.tensor([[0.5, -1.0]], dtype=torch.float64, requires_grad=True)
    grad = torch.tensor([[0.3, 0.7]], dtype=torch.float64, requires_grad=True)

    def run(start, grad):
        p = start.clone()
        optimizer = getattr(torch.optim, kind)([p], differentiable=True, lr=0.05, **options)
        for k in range(3):
            p.grad = grad * (k + 1)
            optimizer.step()
        return p
    assert torch.autograd.gradcheck(run, (start, grad), eps=1e-6, atol=1e-5)


def test_a_leaf_cannot_have_a_history(xp):
    p = param(xp)
    optimizer = xp.optim.SGD([p], lr=0.1, differentiable=True)
    (p ** 2).sum().backward()
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation."):
        optimizer.step()
    assert p.tolist() == [1.0, -2.0]


def test_steps_are_not_counted_with_a_history(xp):
    p = param(xp).clone()
    optimizer = xp.optim.Adam([p], differentiable=True)
    p.grad = param(xp)
    optimizer.step()
    assert not optimizer.state[p]["step"].requires_grad and optimizer.state[p]["exp_avg"].requires_grad


# ---------------------------------------------------------------- LBFGS

def rosenbrock(p):
    return (1 - p[0]) ** 2 + 100 * (p[1] - p[0] ** 2) ** 2


@pytest.mark.conformance
@pytest.mark.parametrize("options", [{"line_search_fn": "strong_wolfe"}, {"lr": 1e-2, "max_iter": 7}, {"history_size": 2, "lr": 0.1},
                                     {"line_search_fn": "strong_wolfe", "max_iter": 4, "max_eval": 5}], ids=str)
def test_lbfgs_takes_pytorchs_path(torch, options):
    paths = []
    for xp in (torch, library("jtorch")):
        p = xp.tensor([-1.5, 2.0], dtype=xp.float64, requires_grad=True)
        optimizer, path = xp.optim.LBFGS([p], **options), []

        def closure():
            optimizer.zero_grad()
            loss = rosenbrock(p)
            loss.backward()
            path.append(p.tolist())
            return loss
        for _ in range(3):
            optimizer.step(closure)
        paths.append((path, optimizer.state[p]["func_evals"], optimizer.state[p]["n_iter"]))
    assert paths[0][1:] == paths[1][1:]
    np.testing.assert_allclose(paths[1][0], paths[0][0], rtol=1e-6, atol=1e-8)


def test_lbfgs_state_is_taken_over(xp):
    p, q = param(xp, -1.5, 2.0), param(xp, 0.0, 0.0)

    def closure_of(optimizer, t):
        def closure():
            optimizer.zero_grad()
            loss = rosenbrock(t)
            loss.backward()
            return loss
        return closure
    first, second = xp.optim.LBFGS([p], max_iter=3, lr=0.01), xp.optim.LBFGS([q])
    first.step(closure_of(first, p))
    second.load_state_dict(copy.deepcopy(first.state_dict()))
    q.data.copy_(p.data)
    for o, t in ((first, p), (second, q)):
        o.step(closure_of(o, t))
    np.testing.assert_allclose(q.tolist(), p.tolist(), rtol=1e-6)


def test_lbfgs_knows_one_line_search(xp):
    p = param(xp)
    optimizer = xp.optim.LBFGS([p], line_search_fn="other")

    def closure():
        loss = (p ** 2).sum()
        loss.backward()
        return loss
    with pytest.raises(RuntimeError, match="only 'strong_wolfe' is supported"):
        optimizer.step(closure)


# ---------------------------------------------------------------- optax

def test_optax():
    optax, torch = pytest.importorskip("optax"), library("jtorch")
    transform = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(optax.cosine_decay_schedule(0.1, 20)))
    p, q = param(torch), torch.ones(2, 3, requires_grad=True)
    optimizer = torch.optim.Optax([p, q], transform)
    tree = [np.array([1.0, -2.0], "f4"), np.ones((2, 3), "f4")]
    with jax.numpy_dtype_promotion("standard"):
        state = transform.init(tree)

        @jax.jit
        def reference(tree, state):
            updates, state = transform.update([2 * x for x in tree], state, tree)
            return optax.apply_updates(tree, updates), state
        for _ in range(6):
            step(optimizer, p, q)
            tree, state = reference(tree, state)
    np.testing.assert_allclose(p.detach().numpy(), tree[0], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(q.detach().numpy(), tree[1], rtol=1e-4, atol=1e-5)


def test_optax_state_is_taken_over_and_copied():
    optax, torch = pytest.importorskip("optax"), library("jtorch")
    p, q = param(torch), param(torch)
    first, second = (torch.optim.Optax([t], optax.adam(0.1)) for t in (p, q))
    for _ in range(3):
        step(first, p)
    second.load_state_dict(pickle.loads(pickle.dumps(first.state_dict())))
    q.data.copy_(p.data)
    again = copy.deepcopy(first)
    for o, t in ((first, p), (second, q), (again, again.param_groups[0]["params"][0])):
        step(o, t)
        assert o.state["group 0"]["[0].count"].item() == 4 and t.tolist() == pytest.approx(p.tolist())


def test_optax_with_groups_a_missing_gradient_and_a_loss():
    optax, torch = pytest.importorskip("optax"), library("jtorch")
    p, q, r = param(torch), param(torch), param(torch)
    seen = []

    def update(updates, state, params=None, *, value, **more):
        seen.append(value.shape)
        return [-u * value for u in updates], state
    own = optax.GradientTransformationExtraArgs(lambda params: optax.EmptyState(), update)
    optimizer = torch.optim.Optax([{"params": [p, q]}, {"params": [r], "transform": optax.sgd(0.25)}], own)

    def closure():
        loss = p.sum() + r.sum()
        loss.backward()
        return loss
    assert optimizer.step(closure).item() == -2.0
    assert p.tolist() == [3.0, 0.0] and q.tolist() == [1.0, -2.0] and r.tolist() == [0.75, -2.25] and seen
    with pytest.raises(TypeError, match="transform must be an optax.GradientTransformation, but got int"):
        torch.optim.Optax([p], 3)


def test_optax_is_asked_for_only_where_it_is_used(run_python):
    code = ("import sys, jtorch as torch\n"
            "assert 'optax' not in sys.modules\n"
            "sys.modules['optax'] = None\n"
            "try: torch.optim.Optax([torch.ones(1, requires_grad=True)], None)\n"
            "except ImportError as error: print(error)")
    assert "needs optax: pip install optax" in run_python(code)


# ---------------------------------------------------------------- made without Optimizer.__init__

def bare_of(xp, **hooks):
    class Bare(xp.optim.Optimizer):
        def __init__(self, params):
            self.param_groups, self.defaults, self.state = [{"params": list(params), "lr": 0.5}], {"lr": 0.5}, defaultdict(dict)
            vars(self).update({name: make() for name, make in hooks.items()})

        def step(self, closure=None):
            with xp.no_grad():
                for p in self.param_groups[0]["params"]:
                    p -= self.param_groups[0]["lr"] * p.grad

    p = xp.nn.Parameter(xp.ones(1))
    p.sum().backward()
    return p, Bare([p])


def test_an_optimizer_made_without_init_steps(xp):
    p, opt = bare_of(xp)
    schedule = xp.optim.lr_scheduler.StepLR(opt, 1)
    opt.step()
    schedule.step()
    assert p.item() == 0.5
    assert opt.param_groups[0]["lr"] == pytest.approx(0.05)
    opt.zero_grad()
    assert p.grad is None
    assert "lr: 0.05" in repr(opt)
    for use in (lambda: opt.state_dict(), lambda: opt.load_state_dict({"state": {}, "param_groups": []}),
                lambda: opt.register_step_pre_hook(print)):
        with pytest.raises(AttributeError, match="has no attribute '_optimizer_.*_hooks'"):
            use()


def test_an_optimizer_that_makes_its_own_dicts_of_hooks(xp):
    p, opt = bare_of(xp, _optimizer_step_pre_hooks=OrderedDict, _optimizer_step_post_hooks=OrderedDict)
    ran = []
    opt.register_step_post_hook(lambda *given: ran.append(given[0] is opt))
    opt.step()
    assert ran == []        # The class's step runs hooks only after zero_grad, __init__ or __setstate__ has been called.
    opt.zero_grad()
    p.sum().backward()
    opt.step()
    assert ran == [True]
    assert p.item() == 0.0


def test_an_optimizer_around_another(xp):
    class Around(xp.optim.Optimizer):
        def __init__(self, base):
            self.base, self.param_groups, self.defaults = base, base.param_groups, base.defaults
            self.state = defaultdict(dict)

        def step(self, closure=None):
            return self.base.step(closure)

        def zero_grad(self, set_to_none=True):
            self.base.zero_grad(set_to_none)

        def state_dict(self):
            return self.base.state_dict()

        def load_state_dict(self, state_dict):
            self.base.load_state_dict(state_dict)
            self.param_groups = self.base.param_groups

    p = xp.nn.Parameter(xp.ones(1))
    opt = Around(xp.optim.SGD([p], lr=0.25, momentum=0.5))
    for _ in range(2):
        opt.zero_grad()
        p.sum().backward()
        opt.step()
        opt.load_state_dict(opt.state_dict())
    assert p.item() == 1 - 0.25 - 0.375


def test_a_step_runs_hooks_as_of_the_first_optimizer_made_with_init(xp):
    class Mine(xp.optim.Optimizer):
        def step(self, closure=None):
            return "mine"

    assert not hasattr(Mine.step, "hooked")
    opt = Mine([xp.nn.Parameter(xp.ones(1))], {})
    assert Mine.step.hooked
    ran = []
    opt.register_step_pre_hook(lambda *given: ran.append(1))
    assert (opt.step(), ran) == ("mine", [1])


@pytest.mark.parametrize("options", [{}, {"amsgrad": True}, {"weight_decay": 0.2}])
@pytest.mark.parametrize("name", ["Adam", "AdamW"])
def test_adam_takes_a_complex_parameter_as_two_real_ones(xp, name, options):
    whole = xp.tensor([1 + 2j, -3j], requires_grad=True)
    parts = xp.view_as_real(whole.detach()).clone().requires_grad_()
    optimizers = [getattr(xp.optim, name)([p], lr=0.1, **options) for p in (whole, parts)]
    for k in range(3):
        whole.grad = xp.tensor([0.3 - 4j * k, 2 + 1j])
        parts.grad = xp.view_as_real(whole.grad).clone()
        for optimizer in optimizers:
            optimizer.step()
    assert xp.allclose(xp.view_as_real(whole.detach()), parts.detach())


@pytest.mark.parametrize("name", ["SGD", "RMSprop", "Adagrad", "Adadelta", "ASGD", "Adam", "Adamax", "NAdam", "RAdam"])
def test_an_option_of_1_is_used(xp, name):
    """An option of 0 leaves a term out of the step."""
    found = []
    for decay in (0, 1, 0.999999):
        p = param(xp, 2.0)
        optimizer = getattr(xp.optim, name)([p], lr=0.125, weight_decay=decay)
        for k in range(3):
            p.grad = xp.tensor([0.5 - k])
            optimizer.step()
        found.append(p.item())
    assert abs(found[1] - found[2]) < 1e-3 < abs(found[0] - found[1])


def test_a_closure_runs_within_hooks(xp):
    p, ran = param(xp, 3.0), []
    optimizer = xp.optim.SGD([p], lr=0.5)
    optimizer.register_step_pre_hook(lambda *given: ran.append("before"))
    optimizer.register_step_post_hook(lambda *given: ran.append("after"))

    def closure():
        ran.append("closure")
        loss = (p * 2).sum()
        loss.backward()
        return loss

    assert (optimizer.step(closure).item(), p.item(), ran) == (6.0, 2.0, ["before", "closure", "after"])
