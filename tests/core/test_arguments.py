"""How arguments may be given: under NumPy's names, in the order of old overloads; what is said of too many and too few."""
from __future__ import annotations

import warnings

import pytest

pytestmark = pytest.mark.core


def test_numpys_names(same):
    x = "xp.arange(6.0).reshape(2, 3)"
    same(f"xp.sum({x}, axis=1)", f"{x}.sum(axis=0, keepdims=True)", f"xp.mean(a={x}, axis=-1)", f"xp.add(x1={x}, x2={x})",
         f"{x}.mul(x2=2)", f"xp.exp(x={x})", f"xp.cat([{x}, {x}], axis=1)", f"xp.stack([{x}, {x}], axis=2)",
         f"{x}.max(axis=1)", f"xp.argsort({x}, axis=0)", f"xp.cumsum({x}, axis=0)", f"{x}.all(axis=0, keepdims=True)",
         f"{x}.unsqueeze(axis=0)", f"xp.atan2(x1={x}, x2={x})", f"{x}.std(axis=1, keepdims=True)",
         f"xp.squeeze({x}.unsqueeze(0), axis=0)", f"xp.norm({x})", f"{x}.gather(axis=1, index=xp.zeros(2, 1, dtype=xp.int64))")


def test_dims_one_by_one(same):
    x = "xp.ones(1, 3, 1, 1)"
    same(*[f"{x}.{call}" for call in ("squeeze(0, 2)", "squeeze(2, 3)", "squeeze(0, 1, -1)", "squeeze((0, 2))", "squeeze()",
                                      "squeeze(axis=(0, 2))", "squeeze_(0, 2)", "squeeze(0, 7)", "permute(3, 1, 0, 2)")],
         f"{x}.requires_grad_().squeeze(0, 2).grad_fn.name()")


def test_numpys_names_write(same):
    def add(xp):
        x = xp.ones(2)
        x.add_(x2=3)
        return x, xp.add(x1=x, x2=1, out=xp.empty(2))
    same(add)


@pytest.mark.filterwarnings("ignore:This overload")
def test_old_overloads(same):
    a, b = "xp.arange(4.0).reshape(2, 2)", "xp.ones(2, 2)"
    same(*[f"xp.{f}({args})" for f, args in (
        ("add", f"{a}, 2, {b}"), ("sub", f"{a}, 2, {b}"), ("addcmul", f"{a}, 2, {b}, {b}"), ("addcdiv", f"{a}, 0.5, {b}, {b}"),
        ("addmm", f"2, {a}, 3, {a}, {b}"), ("addmm", f"2, {a}, {a}, {b}"), ("addmv", f"2, xp.ones(2), {a}, xp.ones(2)"),
        ("addr", f"2, {a}, 3, xp.ones(2), xp.ones(2)"), ("baddbmm", f"2, {a}[None], 3, {a}[None], {b}[None]"))],
        f"{a}.addcmul_(2, {b}, {b})", f"{a}.addmm(2, 3, {a}, {b})", f"{a}.add_(2, {b})")


def test_an_old_overload_warns(xp):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        xp.addcmul(xp.ones(1), 2, xp.ones(1), xp.ones(1))
    assert len(caught) <= 1 and all("This overload of addcmul is deprecated" in str(w.message) for w in caught)     # once in PyTorch


def test_too_many_and_too_few(xp):
    x = xp.ones(2, 2)
    with pytest.raises(TypeError, match=r"cumsum\(\) takes 2 positional arguments but 3 were given"):
        xp.cumsum(x, 0, 1)
    with pytest.raises(TypeError, match=r'cumsum\(\) missing 1 required positional arguments: "dim"'):
        xp.cumsum(x)
    with pytest.raises(TypeError, match=r'transpose\(\) missing 2 required positional argument: "dim0", "dim1"'):
        xp.transpose(x)
    with pytest.raises(TypeError, match="got an unexpected keyword argument 'foo'"):
        xp.exp(x, foo=1)
    for wrong in (lambda: xp.add(x), lambda: xp.mul(x, x, x, x), lambda: xp.mm(x)):
        with pytest.raises(TypeError):
            wrong()
