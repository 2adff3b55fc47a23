"""torch.fx.experimental: the names that packages need without tracing."""
from __future__ import annotations

import importlib

import pytest
from libraries import library


def test_guards(torch):
    def work(xp):
        shapes = importlib.import_module(f"{xp.__name__}.fx.experimental.symbolic_shapes")
        proxy = importlib.import_module(f"{xp.__name__}.fx.experimental.proxy_tensor")
        x = xp.ones(2, 3)
        return (shapes.guard_or_false(x.size(0) == 2), shapes.guard_or_true(x.size(0) == 3), shapes.statically_known_true(x.dim() == 2),
                shapes.free_symbols(x.size(0)), shapes.free_unbacked_symbols(x), shapes.is_concrete_int(x.size(0)),
                shapes.sym_eq(x.shape, (2, 3)), shapes.sym_eq(x.shape, (2,)), proxy.get_proxy_mode(),
                issubclass(shapes.GuardOnDataDependentSymNode, RuntimeError))

    assert work(library("jtorch")) == work(torch)


def test_tracing_itself_is_refused():
    from jtorch.fx.experimental.proxy_tensor import make_fx
    with pytest.raises(NotImplementedError, match="symbolic_trace"):
        make_fx(lambda x: x)
