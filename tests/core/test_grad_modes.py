"""no_grad, enable_grad, set_grad_enabled and inference_mode."""
from __future__ import annotations

import contextlib
import threading

import pytest

pytestmark = pytest.mark.core


def test_contexts(xp):
    x = xp.ones(2, requires_grad=True)
    with xp.no_grad():
        assert not xp.is_grad_enabled()
        assert not (x * 2).requires_grad
        with xp.enable_grad():
            assert (x * 2).requires_grad
        with xp.set_grad_enabled(True):
            assert xp.is_grad_enabled()
        assert not xp.is_grad_enabled()
        assert xp.ones(1, requires_grad=True).requires_grad
    assert xp.is_grad_enabled()


def test_left_by_an_exception(xp):
    with pytest.raises(KeyError), xp.no_grad():
        raise KeyError
    assert xp.is_grad_enabled()


def test_set_grad_enabled_as_a_function(xp):
    setting = xp.set_grad_enabled(False)
    try:
        assert not xp.is_grad_enabled()
        assert str(setting) == "torch.autograd.grad_mode.set_grad_enabled(mode=False)"
    finally:
        xp.set_grad_enabled(mode=True)
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'mode'"):
        xp.set_grad_enabled()


@pytest.mark.parametrize("decorate", [lambda xp: xp.no_grad, lambda xp: xp.no_grad(), lambda xp: xp.set_grad_enabled(False)])
def test_decorators(xp, decorate):
    @decorate(xp)
    def f(a, *, b):
        """Says."""
        return xp.is_grad_enabled(), a, b
    assert f(1, b=2) == (False, 1, 2)
    assert (f.__name__, f.__doc__) == ("f", "Says.")
    assert xp.is_grad_enabled()


def test_a_decorated_generator_runs_in_the_mode(xp):
    @xp.no_grad()
    def count():
        sent = yield xp.is_grad_enabled()
        try:
            yield (sent, xp.is_grad_enabled())
        except KeyError:
            yield ("caught", xp.is_grad_enabled())
        return "done"

    gen = count()
    assert next(gen) is False
    assert xp.is_grad_enabled()
    assert gen.send(5) == (5, False)
    assert gen.throw(KeyError()) == ("caught", False)
    with pytest.raises(StopIteration, match="done"):
        next(gen)
    assert xp.is_grad_enabled()


GENERATOR_MODES = {"no_grad": lambda xp: xp.no_grad(), "set_grad_enabled": lambda xp: xp.set_grad_enabled(False),
                   "inference_mode": lambda xp: xp.inference_mode(), "enable_grad": lambda xp: xp.enable_grad()}
ENDS = {"close": lambda gen: gen.close(), "throw": lambda gen: gen.throw(KeyError()), "next": lambda gen: next(gen),
        "exit": lambda gen: gen.throw(GeneratorExit())}


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("name", GENERATOR_MODES)
def test_a_decorated_generator_ends_in_the_mode(xp, name, end):
    with xp.enable_grad():
        context = GENERATOR_MODES[name](xp)
    seen, mode = [], name == "enable_grad"

    @context
    def gen():
        try:
            with xp.set_grad_enabled(not mode):
                yield
        finally:
            seen.append(xp.is_grad_enabled())

    with xp.set_grad_enabled(not mode):
        made = gen()
        next(made)
        with contextlib.suppress(StopIteration, KeyError, GeneratorExit):
            ENDS[end](made)
        assert xp.is_grad_enabled() is not mode
    assert seen == [mode]


def test_errors_while_a_decorated_generator_is_closed(xp):
    @xp.no_grad()
    def goes_on():
        try:
            yield
        except GeneratorExit:
            yield

    @xp.no_grad()
    def raises():
        try:
            yield
        finally:
            raise KeyError("while closing")

    for function, error in ((goes_on, RuntimeError("generator ignored GeneratorExit")), (raises, KeyError("while closing"))):
        made = function()
        next(made)
        with pytest.raises(type(error), match=error.args[0]):
            made.close()
        assert xp.is_grad_enabled()


def test_decorating_a_class_warns(xp):
    with pytest.warns(FutureWarning, match="Decorating classes is deprecated"):
        @xp.no_grad()
        class A:
            pass


def test_each_thread_has_its_one_mode(xp):
    seen = []
    with xp.no_grad():
        t = threading.Thread(target=lambda: seen.append(xp.is_grad_enabled()))
        t.start()
        t.join()
    assert seen == [True]


def test_inference_mode(xp):
    x = xp.ones(2, requires_grad=True)
    with xp.inference_mode():
        assert xp.is_inference_mode_enabled()
        made, of_x, view = xp.ones(2), x * 2, x[:1]
        made.add_(1)
        with xp.enable_grad():
            assert not (x * 2).requires_grad
        with xp.inference_mode(False):
            assert (x * 2).requires_grad
    assert not xp.is_inference_mode_enabled()
    assert [t.is_inference() for t in (made, of_x, view, x)] == [True, True, False, False]
    assert not of_x.requires_grad
    assert (made + 1).is_inference() is False


@pytest.mark.parametrize(("use", "text"), [
    (lambda x, t: x * t, "Inference tensors cannot be saved for backward"),
    (lambda x, t: t.add_(1), "Inplace update to inference tensor outside InferenceMode is not allowed"),
    (lambda x, t: t.requires_grad_(), "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed"),
    (lambda x, t: t._version, "Inference tensors do not track version counter"),
])
def test_what_inference_tensors_refuse(xp, use, text):
    with xp.inference_mode():
        t = xp.ones(2)
    with pytest.raises(RuntimeError, match=text):
        use(xp.ones(2, requires_grad=True), t)


def test_inference_mode_decorates(xp):
    @xp.inference_mode()
    def f():
        return xp.is_inference_mode_enabled(), xp.is_grad_enabled()

    @xp.inference_mode
    def g():
        return xp.is_inference_mode_enabled()
    assert f() == (True, False)
    assert g() is True


def test_writes_under_no_grad_are_not_recorded(xp):
    x = xp.ones(2, requires_grad=True)
    with xp.no_grad():
        x.sub_(0.5)
        x[0] = 3
    assert x.is_leaf
    assert x.tolist() == [3.0, 0.5]
    assert x._version == 2
