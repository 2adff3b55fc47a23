"""Parameters of a user's subclass of Tensor, the setter of requires_grad, and methods that a program adds to Tensor."""
from __future__ import annotations

import pytest


def made(xp):
    class Named(xp.Tensor):
        pass
    return Named, xp.nn.Parameter(xp.ones(3).as_subclass(Named))


def test_a_parameter_keeps_the_class_of_a_subclass(xp):
    cls, p = made(xp)
    assert type(p) is cls and isinstance(p, xp.nn.Parameter) and p.requires_grad and p.is_leaf
    assert type(p + 1) is cls and not isinstance(p + 1, xp.nn.Parameter) and not isinstance(p.detach(), xp.nn.Parameter)
    assert not isinstance(xp.ones(2), xp.nn.Parameter) and type(xp.nn.Parameter(xp.ones(2))) is xp.nn.Parameter
    assert isinstance(xp.nn.Parameter(p), xp.nn.Parameter)


def test_modules_and_optimizers_take_it(xp):
    cls, p = made(xp)
    module = xp.nn.Module()
    module.p = p
    assert list(dict(module.named_parameters())) == ["p"]
    module.p.sum().backward()
    xp.optim.SGD(module.parameters(), 0.5).step()
    assert module.p.tolist() == [0.5] * 3 and type(module.p) is cls


def test_detach_that_gives_another_class(xp):
    class Odd(xp.Tensor):
        def detach(self):
            return xp.zeros(3)
    with pytest.raises(RuntimeError, match="Creating a Parameter from an instance of type Odd requires that detach"):
        xp.nn.Parameter(xp.ones(3).as_subclass(Odd))


def test_the_setter_calls_no_method_of_the_user(xp):
    class Own(xp.Tensor):
        def requires_grad_(self, requires_grad=True):
            self.requires_grad = requires_grad
            return self
    assert xp.ones(2).as_subclass(Own).requires_grad_().requires_grad


def test_a_method_that_a_program_adds_is_a_plain_function(xp):
    asked = []
    xp.Tensor.plain_method = lambda self: len(asked)
    xp.Tensor.plain_property = property(lambda self: len(asked))
    try:
        class Asking(xp.Tensor):
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                asked.append(func)
                return super().__torch_function__(func, types, args, kwargs or {})
        t = xp.ones(2).as_subclass(Asking)
        asked.clear()
        assert t.plain_method() == 0 and t.plain_property == 0
        assert type(t + 1) is Asking and asked
    finally:
        del xp.Tensor.plain_method, xp.Tensor.plain_property
