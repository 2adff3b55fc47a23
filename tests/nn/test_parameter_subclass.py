"""Subclasses of Parameter whose ``__new__`` has arguments of its own, as in geoopt."""
from __future__ import annotations


def test_arguments_of_new(xp):
    class Named(xp.nn.Parameter):
        def __new__(cls, data, name=None, requires_grad=True):
            made = xp.Tensor._make_subclass(cls, data, requires_grad)
            made.label = name
            return made

    p = Named(xp.ones(2), name="weight")
    assert (p.label, p.requires_grad, isinstance(p, xp.nn.Parameter)) == ("weight", True, True)
