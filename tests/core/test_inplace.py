"""In-place methods, augmented assignment and ``out=``."""
from __future__ import annotations

import pytest

pytestmark = pytest.mark.core

# Methods with arguments of their own; the others take none.
ARGUMENTS = {
    "add_": "b", "sub_": "b", "subtract_": "b", "mul_": "b", "multiply_": "b", "div_": "b", "divide_": "b", "true_divide_": "b",
    "floor_divide_": "b", "fmod_": "b", "remainder_": "b", "pow_": "b", "float_power_": None, "atan2_": "b", "arctan2_": "b", "copysign_": "b",
    "hypot_": "b", "nextafter_": "b", "heaviside_": "b", "xlogy_": "b", "ldexp_": "b", "igamma_": "b", "igammac_": "b", "lerp_": "b, 0.3",
    "eq_": "b", "ne_": "b", "lt_": "b", "le_": "b", "gt_": "b", "ge_": "b", "not_equal_": "b", "less_": "b", "less_equal_": "b", "greater_": "b",
    "greater_equal_": "b", "logical_and_": "b", "logical_or_": "b", "logical_xor_": "b", "clamp_": "-0.5, 0.7", "clip_": "-0.5, 0.7",
    "clamp_min_": "0.1", "clamp_max_": "0.1", "addcmul_": "b, b", "addcdiv_": "b, b", "addmm_": "b, b", "addbmm_": "b.expand(2, 2, 2), b.expand(2, 2, 2)",
    "addmv_": None, "addr_": "b[0], b[1]", "baddbmm_": None, "cumsum_": "0", "cumprod_": "1", "copy_": "b", "fill_": "2.5", "fill_diagonal_": "3.",
    "index_add_": "0, i, b", "index_copy_": "0, i, b", "index_fill_": "0, i, 2.", "index_put_": "(i,), b", "index_reduce_": None,
    "masked_fill_": "b > 0.5, 9.", "masked_scatter_": "b > 0.5, b", "put_": "i, b[0]", "scatter_": "0, i.expand(2, 2), b",
    "scatter_add_": "0, i.expand(2, 2), b", "scatter_reduce_": "0, i.expand(2, 2), b, 'amax'", "renorm_": "2, 0, 1.", "mvlgamma_": None,
    "polygamma_": None, "logit_": "0.1", "unsqueeze_": "0", "transpose_": "0, 1", "swapaxes_": "0, 1", "swapdims_": "0, 1",
    "as_strided_": "(2,), (1,)", "resize_": "4", "resize_as_": "b[0]", "set_": "b", "requires_grad_": "", "tril_": "", "triu_": "",
    "bitwise_and_": "3", "bitwise_or_": "3", "bitwise_xor_": "3", "bitwise_left_shift_": "1", "bitwise_right_shift_": "1",
    "gcd_": "j", "lcm_": "j", "share_memory_": None, "map_": None, "map2_": None, "apply_": None, "is_shared_": None,
}
INTEGER = {"bitwise_and_", "bitwise_or_", "bitwise_xor_", "bitwise_not_", "bitwise_left_shift_", "bitwise_right_shift_", "gcd_", "lcm_"}
RANDOM = {"normal_", "uniform_", "random_", "bernoulli_", "exponential_", "cauchy_", "log_normal_", "geometric_"}


def _methods(torch, jtorch) -> list[str]:
    names = [n for n in dir(torch.Tensor) if n.endswith("_") and not n.startswith("_") and "sparse" not in n and hasattr(jtorch.Tensor, n)]
    return [n for n in names if n not in RANDOM and ARGUMENTS.get(n, "") is not None]


def _call(name: str) -> str:
    start = "xp.tensor([[3, 5], [7, 12]])" if name in INTEGER else "xp.tensor([[0.3, 0.9], [0.55, 0.2]])"
    return (f"a = {start}; b = xp.tensor([[0.4, 0.8], [0.6, 1.7]]); i = xp.tensor([1, 0]); j = xp.tensor([[4, 6], [1, 9]]); "
            f"c = a.{name}({ARGUMENTS.get(name, '')}); r = (a, c is a, a._version)")


def test_every_method(torch, same):
    import jtorch
    names = _methods(torch, jtorch)
    assert len(names) > 120
    same(*[_call(n) for n in names], rtol=2e-5)


def test_methods_on_a_view(same):
    names = ["add_", "mul_", "exp_", "zero_", "clamp_", "copy_", "masked_fill_", "index_add_", "cumsum_", "fill_diagonal_", "sigmoid_", "tril_"]
    same(*[f"t = xp.tensor([[0.3, 0.9, 5.], [0.55, 0.2, 6.]]); a = t.t()[:2]; b = xp.tensor([[0.4, 0.8], [0.6, 1.7]]); i = xp.tensor([1, 0]); "
           f"a.{n}({ARGUMENTS.get(n, '')}); r = (t, a.tolist())" for n in names])


OPERATORS = ["+", "-", "*", "/", "//", "%", "**", "@"]


@pytest.mark.parametrize("operator", OPERATORS)
def test_augmented_assignment(same, operator):
    same(f"a = xp.tensor([[4., 9.], [1., 2.]]); b = a; a {operator}= xp.tensor([[2., 1.], [3., 2.]]); r = (a, b)",
         f"a = xp.tensor([[4, 9], [1, 2]]); b = a; a {operator}= xp.tensor([[2, 1], [3, 2]]); r = (a, b)",
         f"a = xp.tensor([4., 9.]); b = a; a {operator}= 2; r = (a, b, a is b)",
         f"x = xp.tensor([4., 9.], requires_grad=True); a = x * 1; a {operator}= {2 if operator != '//' else None}; "
         "a.sum().backward(); r = (a, x.grad)")


def test_augmented_assignment_of_integers(same):
    same(*[f"a = xp.tensor([4, 9]); b = a; a {o}= 2; r = (a, b, a is b)" for o in ("&", "|", "^", "<<", ">>", "+", "//", "%", "**")],
         *[f"a = xp.tensor([True, False]); a {o}= xp.tensor([True, True]); r = a" for o in ("&", "|", "^", "+", "*", "-")])


OUT = [
    "o = xp.zeros(2); p = xp.exp(xp.ones(2), out=o); r = (o, p is o, o._version)",
    "o = xp.zeros(2, dtype=xp.float64); xp.exp(xp.ones(2), out=o); r = o",
    "o = xp.zeros(2, dtype=xp.int64); xp.add(xp.ones(2), 1, out=o); r = o",
    "o = xp.zeros(2, dtype=xp.int32); xp.add(xp.tensor([1, 2]), 1, out=o); r = o",
    "o = xp.zeros(3); xp.exp(xp.ones(2), out=o); r = o",
    "o = xp.zeros(0); xp.exp(xp.ones(2), out=o); r = o",
    "o = xp.zeros(2, 2); xp.exp(xp.ones(2), out=o[0]); r = o",
    "o = xp.zeros(2, 2); xp.exp(xp.ones(2), out=o[:, 1]); r = o",
    "o = xp.zeros(2, 3); xp.mm(xp.ones(3, 2), xp.ones(2, 2), out=o.t()); r = o",
    "a = xp.ones(2); xp.add(a, a, out=a); r = a",
    "a = xp.arange(3.); xp.add(a[:-1], a[1:], out=a[:-1]); r = a",
    "o = (xp.zeros(2), xp.zeros(2, dtype=xp.int64)); p = xp.max(xp.tensor([[1., 2.], [4., 3.]]), 1, out=o); r = (o, list(p))",
    "o = (xp.zeros(2), xp.zeros(2, dtype=xp.int64)); xp.sort(xp.tensor([2., 1.]), out=o); r = o",
    "o = xp.zeros(4); xp.cat([xp.ones(2), xp.zeros(2)], out=o); r = o",
    "o = xp.zeros(2, dtype=xp.bool); xp.eq(xp.ones(2), 1, out=o); r = o",
    "o = xp.zeros(()); xp.sum(xp.ones(3), dim=0, out=o); r = o",
    "o = xp.zeros(2, requires_grad=True); xp.exp(xp.ones(2), out=o); r = o",
    "o = xp.zeros(2); xp.exp(xp.ones(2, requires_grad=True), out=o); r = o",
]


def test_out(same):
    same(*OUT)


# What an argument may share with the memory that is written to: a value that is read before anything is written may.
IN_ITS_OWN_MEMORY = [f"a = xp.arange(6.); i = xp.tensor([2, 1, 0]); {call}; r = a" for call in (
    "a[a > 2] = a[1]", "a[i] = a[5]", "a.masked_fill_(a > 2, a[4])", "a.index_fill_(0, i, a[1])", "a.fill_(a[5])", "a[:3] = a[1]",
    "a[:3] = a[1:4]", "a.masked_scatter_(a > 2, a[:3])", "a.masked_scatter_(a > 2, a)", "a.index_put_((i,), a[5])", "a.add_(a[5])",
    "a.put_(i, a[:3])", "a.lerp_(a[5], 0.5)", "a.copy_(a[1])", "a[:5].copy_(a[1:])", "i.masked_fill_(i > 0, i[0])")]


def test_arguments_in_the_memory_that_is_written_to(same):
    same(*IN_ITS_OWN_MEMORY)


@pytest.mark.parametrize("call", ["a.index_put_((i,), v)", "a[i] = v", "a[i] = 1.", "a.masked_fill_(a > 2, 0.)", "a.index_fill_(0, i, 0.)",
                                  "a.fill_(1.)", "a.zero_()", "a.add_(1)", "a[:2] = 1.", "a[0] = 2."])
def test_writes_to_expanded_tensors(same, call):
    same(f"a, i, v = xp.ones(1).expand(6), xp.tensor([2, 1, 0]), xp.ones(3); {call}; r = a")


FAILS = ["a.add_(xp.ones(3))", "a.add_('x')", "a.div_(1, rounding_mode='x')", "a.add_(1j)", "a.copy_(xp.ones(5))", "a.masked_fill_(xp.ones(7) > 0, 1)",
         "a.clamp_()", "a.mul_(None)", "a.bitwise_and_(1)",
         "xp.exp(xp.ones(2, dtype=xp.complex64), out=a)", "a.addmm_(a, a)", "a.transpose_(0, 5)", "a.unsqueeze_(7)", "a.normal_(0, -1)"]
FAILS_BY_VALUE = ["a.index_fill_(0, xp.tensor([9]), 1)", "a.scatter_(0, xp.tensor([9]), 1.)", "a[xp.tensor([5])] = 1", "a.put_(xp.tensor([5]), a[:1])"]


def _caught(call: str) -> str:
    return f"""
a = xp.tensor([1., 2.])
try:
    {call}
    r = 'no error'
except Exception as e:
    r = (type(e).__name__, a.tolist(), tuple(a.shape), a._version)
"""


@pytest.mark.parametrize("call", FAILS)
def test_errors_leave_the_tensor_unchanged(same, call):
    same(_caught(call))


@pytest.mark.parametrize("call", FAILS_BY_VALUE)
def test_errors_of_values_leave_the_tensor_unchanged(same, errors_at_the_call, call):
    same(_caught(call))
