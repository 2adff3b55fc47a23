"""Errors in hooks and custom functions leave usable tensors, and later calls continue as in PyTorch."""
from __future__ import annotations

import contextlib

import pytest

import jtorch

pytestmark = [pytest.mark.core, pytest.mark.conformance]


class Failed(Exception):
    """The error of the user's code."""


class Case:
    """A small model with one place that raises an error while ``armed``."""

    def __init__(self, xp, site: str, error: type[BaseException] = Failed):
        self.xp, self.site, self.error, self.armed, self.runs = xp, site, error, True, 0
        self.x = xp.tensor([[1.0, 2.0]], requires_grad=True)
        self.layer = xp.nn.Linear(2, 2)
        self.function = self.custom()
        with xp.no_grad():
            self.layer.weight.fill_(0.5)
            self.layer.bias.fill_(0.25)
        for name, register in self.registers().items():
            if name == site:
                register(self.fail)

    def fail(self, *given):
        if self.armed:
            raise self.error("from the user's code")

    def custom(self):
        case, xp = self, self.xp

        class Custom(xp.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                if case.site == "forward":
                    xp.set_grad_enabled(True)
                    case.fail()
                return x.exp()

            @staticmethod
            def backward(ctx, grad):
                if case.site == "backward":
                    xp.set_grad_enabled(True)
                    case.fail()
                return grad * ctx.saved_tensors[0].exp()
        return Custom.apply

    def registers(self):
        layer = self.layer
        return {"leaf": self.x.register_hook, "accumulated": self.x.register_post_accumulate_grad_hook,
                "module": layer.register_forward_hook,
                "before the module": layer.register_forward_pre_hook, "backward of the module": layer.register_full_backward_hook,
                "before the module's backward": layer.register_full_backward_pre_hook}

    def packing(self):
        hooks = self.xp.autograd.graph.saved_tensors_hooks
        if self.site == "pack":
            return hooks(lambda t: self.fail() or t, lambda t: t)
        if self.site == "unpack":
            return hooks(lambda t: t, lambda t: self.fail() or t)
        return contextlib.nullcontext()

    def loss(self):
        doubled = self.x * 2
        with self.packing():
            out = self.function(self.layer(doubled))
        if self.site == "tensor":
            doubled.register_hook(self.fail)
        if self.site == "several tensors":
            self.xp.autograd.graph.register_multi_grad_hook([self.x, out], self.fail)
        if self.site == "node":
            out.grad_fn.register_hook(self.fail)
        if self.site == "before the node":
            out.grad_fn.register_prehook(self.fail)
        if self.site == "recomputed":
            out = self.xp.utils.checkpoint.checkpoint(self.recomputed, out, use_reentrant=False)
        return (out * doubled).sum()

    def recomputed(self, x):
        self.runs += 1
        out = x.sin()
        if self.runs % 2 == 0:      # The second run is the one of backward.
            self.fail()
        return out.exp()

    def state(self):
        """Return the modes and all gradients."""
        xp = self.xp
        modes = xp.is_grad_enabled(), xp.is_inference_mode_enabled(), xp.is_autocast_enabled("cpu"), xp.is_anomaly_enabled()
        return [modes, *[None if t.grad is None else t.grad.flatten().tolist() for t in (self.x, *self.layer.parameters())]]


SITES = ["leaf", "accumulated", "module", "before the module", "backward of the module", "before the module's backward",
         "pack", "unpack", "forward", "backward", "tensor", "several tensors", "node", "before the node", "recomputed"]
WAYS = {"backward": lambda xp, loss, x: loss.backward(), "retain": lambda xp, loss, x: loss.backward(retain_graph=True),
        "create": lambda xp, loss, x: loss.backward(create_graph=True),
        "grad": lambda xp, loss, x: xp.autograd.grad(loss, x)[0].flatten().tolist()}
CONTEXTS = {"none": lambda xp: contextlib.nullcontext(), "autocast": lambda xp: xp.autocast("cpu"),
            "anomaly": lambda xp: xp.autograd.set_detect_anomaly(True),
            "hooks": lambda xp: xp.autograd.graph.saved_tensors_hooks(lambda t: t * 1, lambda t: t)}


def attempt(call, *given):
    """Return the result of a call, or its error."""
    try:
        return call(*given)
    except BaseException as error:
        return f"{type(error).__name__}: {str(error)[:60]}"


def story(xp, site: str, context: str, way: str, error: type[BaseException] = Failed) -> list:
    """Return what a program sees at an error and after it: two more backwards of the same loss, and a new loss."""
    case, told = Case(xp, site, error), []

    def first():
        with CONTEXTS[context](xp):
            made.append(case.loss())
            return WAYS[way](xp, made[0], case.x)

    made: list = []
    told.append(attempt(first))
    told += [[t.detach().flatten().tolist() for t in (*made, case.x)], case.state()]
    case.armed = False
    for _ in made * 2:
        told += [attempt(WAYS[way], xp, made[0], case.x), case.state()]
    told += [attempt(lambda: case.loss().backward()), case.state()]
    with pack_counter(xp) as packed:
        case.x.sin()
    case.x.grad = None
    case.layer.zero_grad()
    return [*told, len(packed)]


@contextlib.contextmanager
def pack_counter(xp):
    packed: list = []
    with xp.autograd.graph.saved_tensors_hooks(lambda t: packed.append(0) or t, lambda t: t):
        yield packed


def assert_same(ours, theirs, rel: float = 1e-4) -> None:
    assert type(ours) is type(theirs)
    if isinstance(ours, (list, tuple)):
        assert len(ours) == len(theirs)
        for a, b in zip(ours, theirs, strict=True):
            assert_same(a, b, rel)
    elif isinstance(ours, float):
        assert ours == pytest.approx(theirs, rel=rel)
    else:
        assert ours == theirs


@pytest.mark.filterwarnings("ignore:Using backward.. with create_graph=True", "ignore:Error detected in", "ignore:Anomaly")
@pytest.mark.parametrize("context", CONTEXTS)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("site", SITES)
def test_what_is_left_by_an_error(torch, site, way, context):
    rel = 0.03 if context == "autocast" else 1e-4      # XLA chooses where it rounds sums in bfloat16.
    assert_same(story(jtorch, site, context, way), story(torch, site, context, way), rel)


@pytest.mark.parametrize("error", [ValueError, RuntimeError, StopIteration, KeyboardInterrupt, NotImplementedError])
@pytest.mark.parametrize("site", SITES)
def test_errors_of_other_classes(torch, site, error):
    told = story(jtorch, site, "none", "backward", error)
    assert_same(told, story(torch, site, "none", "backward", error))
    assert told[0] == f"{error.__name__}: from the user's code"


# ---------------------------------------------------------------- in the middle of a training

@pytest.mark.parametrize("site", SITES)
def test_a_training_with_errors_goes_on(torch, site):
    found = []
    for xp in (jtorch, torch):
        case, losses = Case(xp, site), []
        optimizer = xp.optim.SGD([case.x, *case.layer.parameters()], lr=1e-6, momentum=0.5)
        for step in range(30):
            case.armed = step in (12, 13, 20)
            optimizer.zero_grad()
            loss = attempt(case.loss)
            if not isinstance(loss, str):
                attempt(loss.backward)
                optimizer.step()
                loss = loss.item()
            losses.append(loss)
        found.append([losses, case.state()])
    assert_same(*found, rel=0.01)
