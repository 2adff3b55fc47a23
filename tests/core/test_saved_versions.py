"""Which writes between a call and its backward are errors: those to what PyTorch saves, argument or result."""
from __future__ import annotations

import pytest

import jtorch

CALLS = """
x.max(0).values  x.median(0).values  x.max()  x.median()  x.sort(0)[0]  x.cummax(0)[0]  x.topk(2,0)[0]  x.amax(0)
x.logsumexp(0)  x.quantile(0.5)  x.var()  x.std(0)  x.norm()  x.prod(0)  x.cumprod(0)  x.cumsum(0)  x*x  x**2  x.abs()
x.clamp(0,1)  x.sigmoid()  x.softmax(0)  x.log()  x.masked_fill(x>1,0)  x[x>1]  x.gather(0,i)  x.index_select(0,i)
x@x  x.atan2(x)  x.hypot(x)  x.remainder(2)  x.fmod(x)  2/x  x/2  x.sgn()  x.tanh()  x.floor()  x.dist(x*2)  x.sqrt()
x.reciprocal()  x.aminmax()[0]  x.index_add(0,i,x[:2])  x.index_copy(0,i,x[:2])  x.diff()  x.view(2,2).tril()  x.nan_to_num()
""".split()


@pytest.mark.parametrize("written", ["x", "y"])
@pytest.mark.parametrize("call", CALLS)
def test_a_write_is_an_error_where_it_is_one_in_pytorch(call, written, torch):
    assert outcome(jtorch, call, written) == outcome(torch, call, written)


def outcome(xp, call, written):
    x = (xp.arange(4.) + 1).requires_grad_() * 1
    y = eval(call, {"x": x, "xp": xp, "i": xp.tensor([0, 1])})
    {"x": x, "y": y}[written].add_(1)
    try:
        y.sum().backward()
    except RuntimeError as error:
        return str(error).split(":")[0]
    return "no error"
