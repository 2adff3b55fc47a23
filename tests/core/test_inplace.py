"""In-place methods, augmented assignment and ``out=``."""
from __future__ import annotations

import operator

import pytest
from bodies import Programs, bodies, body, words

pytestmark = pytest.mark.core

# These methods take another tensor, and the ones in ARGUMENTS have arguments of their own.
TAKING_ANOTHER = """
    add_ sub_ subtract_ mul_ multiply_ div_ divide_ true_divide_ floor_divide_ fmod_ remainder_ pow_ atan2_ arctan2_
    copysign_ hypot_ nextafter_ heaviside_ xlogy_ ldexp_ igamma_ igammac_ eq_ ne_ lt_ le_ gt_ ge_ not_equal_ less_
    less_equal_ greater_ greater_equal_ logical_and_ logical_or_ logical_xor_ copy_ set_
""".split()
ARGUMENTS = {
    **dict.fromkeys(TAKING_ANOTHER, lambda b, i, j: (b,)),
    "lerp_": lambda b, i, j: (b, 0.3),
    "clamp_": lambda b, i, j: (-0.5, 0.7),
    "clip_": lambda b, i, j: (-0.5, 0.7),
    "clamp_min_": lambda b, i, j: (0.1,),
    "clamp_max_": lambda b, i, j: (0.1,),
    "addcmul_": lambda b, i, j: (b, b),
    "addcdiv_": lambda b, i, j: (b, b),
    "addmm_": lambda b, i, j: (b, b),
    "addbmm_": lambda b, i, j: (b.expand(2, 2, 2), b.expand(2, 2, 2)),
    "addr_": lambda b, i, j: (b[0], b[1]),
    "cumsum_": lambda b, i, j: (0,),
    "cumprod_": lambda b, i, j: (1,),
    "fill_": lambda b, i, j: (2.5,),
    "fill_diagonal_": lambda b, i, j: (3.,),
    "index_add_": lambda b, i, j: (0, i, b),
    "index_copy_": lambda b, i, j: (0, i, b),
    "index_fill_": lambda b, i, j: (0, i, 2.),
    "index_put_": lambda b, i, j: ((i,), b),
    "masked_fill_": lambda b, i, j: (b > 0.5, 9.),
    "masked_scatter_": lambda b, i, j: (b > 0.5, b),
    "put_": lambda b, i, j: (i, b[0]),
    "scatter_": lambda b, i, j: (0, i.expand(2, 2), b),
    "scatter_add_": lambda b, i, j: (0, i.expand(2, 2), b),
    "scatter_reduce_": lambda b, i, j: (0, i.expand(2, 2), b, 'amax'),
    "renorm_": lambda b, i, j: (2, 0, 1.),
    "logit_": lambda b, i, j: (0.1,),
    "unsqueeze_": lambda b, i, j: (0,),
    "transpose_": lambda b, i, j: (0, 1),
    "swapaxes_": lambda b, i, j: (0, 1),
    "swapdims_": lambda b, i, j: (0, 1),
    "as_strided_": lambda b, i, j: ((2,), (1,)),
    "resize_": lambda b, i, j: (4,),
    "resize_as_": lambda b, i, j: (b[0],),
    "bitwise_and_": lambda b, i, j: (3,),
    "bitwise_or_": lambda b, i, j: (3,),
    "bitwise_xor_": lambda b, i, j: (3,),
    "bitwise_left_shift_": lambda b, i, j: (1,),
    "bitwise_right_shift_": lambda b, i, j: (1,),
    "gcd_": lambda b, i, j: (j,),
    "lcm_": lambda b, i, j: (j,),
}
NOT_CALLED = """
    float_power_ addmv_ baddbmm_ index_reduce_ mvlgamma_ polygamma_ share_memory_ map_ map2_ apply_ is_shared_
""".split()
INTEGER = {"bitwise_and_", "bitwise_or_", "bitwise_xor_", "bitwise_not_", "bitwise_left_shift_", "bitwise_right_shift_", "gcd_", "lcm_"}
RANDOM = {"normal_", "uniform_", "random_", "bernoulli_", "exponential_", "cauchy_", "log_normal_", "geometric_"}


def _methods(torch, jtorch) -> list[str]:
    names = [n for n in dir(torch.Tensor) if n.endswith("_") and not n.startswith("_") and "sparse" not in n and hasattr(jtorch.Tensor, n)]
    return [n for n in names if n not in RANDOM and n not in NOT_CALLED]


def no_arguments(b, i, j):
    return ()


def calls(names) -> dict:
    """Give each method's name with the function that makes its arguments."""
    return {name: (name, ARGUMENTS.get(name, no_arguments)) for name in names}


def method(xp, call):
    name, arguments = call
    a = xp.tensor([[3, 5], [7, 12]] if name in INTEGER else [[0.3, 0.9], [0.55, 0.2]])
    b, i, j = xp.tensor([[0.4, 0.8], [0.6, 1.7]]), xp.tensor([1, 0]), xp.tensor([[4, 6], [1, 9]])
    c = getattr(a, name)(*arguments(b, i, j))
    return a, c is a, a._version


def test_every_method(torch, same):
    import jtorch
    names = _methods(torch, jtorch)
    assert len(names) > 120
    same(*bodies(method, calls(names)), rtol=2e-5)


def method_on_a_view(xp, call):
    name, arguments = call
    t = xp.tensor([[0.3, 0.9, 5.], [0.55, 0.2, 6.]])
    a = t.t()[:2]
    b, i = xp.tensor([[0.4, 0.8], [0.6, 1.7]]), xp.tensor([1, 0])
    getattr(a, name)(*arguments(b, i, None))
    return t, a.tolist()


def test_methods_on_a_view(same):
    names = ["add_", "mul_", "exp_", "zero_", "clamp_", "copy_", "masked_fill_", "index_add_", "cumsum_", "fill_diagonal_", "sigmoid_", "tril_"]
    same(*bodies(method_on_a_view, calls(names)))


UPDATES = {"+": operator.iadd, "-": operator.isub, "*": operator.imul, "/": operator.itruediv, "//": operator.ifloordiv,
           "%": operator.imod, "**": operator.ipow, "@": operator.imatmul}
UPDATES_OF_BITS = {"&": operator.iand, "|": operator.ior, "^": operator.ixor}
UPDATES_OF_INTEGERS = {**UPDATES_OF_BITS, "<<": operator.ilshift, ">>": operator.irshift, "+": operator.iadd,
                       "//": operator.ifloordiv, "%": operator.imod, "**": operator.ipow}
UPDATES_OF_BOOLS = {**UPDATES_OF_BITS, "+": operator.iadd, "*": operator.imul, "-": operator.isub}


@pytest.mark.parametrize("symbol", UPDATES)
def test_augmented_assignment(same, symbol):
    update = UPDATES[symbol]

    def floats_by_floats(xp):
        a = xp.tensor([[4., 9.], [1., 2.]])
        b = a
        a = update(a, xp.tensor([[2., 1.], [3., 2.]]))
        return a, b

    def integers_by_integers(xp):
        a = xp.tensor([[4, 9], [1, 2]])
        b = a
        a = update(a, xp.tensor([[2, 1], [3, 2]]))
        return a, b

    def floats_by_a_number(xp):
        a = xp.tensor([4., 9.])
        b = a
        a = update(a, 2)
        return a, b, a is b

    def floats_with_a_gradient(xp):
        x = xp.tensor([4., 9.], requires_grad=True)
        a = x * 1
        a = update(a, 2 if symbol != "//" else None)
        a.sum().backward()
        return a, x.grad

    same(floats_by_floats, integers_by_integers, floats_by_a_number, floats_with_a_gradient)


def update_of_integers(xp, update):
    a = xp.tensor([4, 9])
    b = a
    a = update(a, 2)
    return a, b, a is b


def update_of_bools(xp, update):
    a = xp.tensor([True, False])
    return update(a, xp.tensor([True, True]))


def test_augmented_assignment_of_integers(same):
    same(*bodies(update_of_integers, UPDATES_OF_INTEGERS), *bodies(update_of_bools, UPDATES_OF_BOOLS))


with_out = Programs()


@with_out
def out_is_returned(xp):
    o = xp.zeros(2)
    p = xp.exp(xp.ones(2), out=o)
    return o, p is o, o._version


@with_out
def float32_into_float64(xp):
    o = xp.zeros(2, dtype=xp.float64)
    xp.exp(xp.ones(2), out=o)
    return o


@with_out
def float32_into_int64(xp):
    o = xp.zeros(2, dtype=xp.int64)
    xp.add(xp.ones(2), 1, out=o)
    return o


@with_out
def int64_into_int32(xp):
    o = xp.zeros(2, dtype=xp.int32)
    xp.add(xp.tensor([1, 2]), 1, out=o)
    return o


@with_out
def out_of_another_size(xp):
    o = xp.zeros(3)
    xp.exp(xp.ones(2), out=o)
    return o


@with_out
def empty_out(xp):
    o = xp.zeros(0)
    xp.exp(xp.ones(2), out=o)
    return o


@with_out
def row_as_out(xp):
    o = xp.zeros(2, 2)
    xp.exp(xp.ones(2), out=o[0])
    return o


@with_out
def column_as_out(xp):
    o = xp.zeros(2, 2)
    xp.exp(xp.ones(2), out=o[:, 1])
    return o


@with_out
def transpose_as_out(xp):
    o = xp.zeros(2, 3)
    xp.mm(xp.ones(3, 2), xp.ones(2, 2), out=o.t())
    return o


@with_out
def argument_as_out(xp):
    a = xp.ones(2)
    xp.add(a, a, out=a)
    return a


@with_out
def part_of_the_argument_as_out(xp):
    a = xp.arange(3.)
    xp.add(a[:-1], a[1:], out=a[:-1])
    return a


@with_out
def two_outs(xp):
    o = (xp.zeros(2), xp.zeros(2, dtype=xp.int64))
    p = xp.max(xp.tensor([[1., 2.], [4., 3.]]), 1, out=o)
    return o, list(p)


@with_out
def list_of_outs(xp):
    o = (xp.zeros(2), xp.zeros(2, dtype=xp.int64))
    xp.sort(xp.tensor([2., 1.]), out=o)
    return o


@with_out
def out_of_cat(xp):
    o = xp.zeros(4)
    xp.cat([xp.ones(2), xp.zeros(2)], out=o)
    return o


@with_out
def bool_out(xp):
    o = xp.zeros(2, dtype=xp.bool)
    xp.eq(xp.ones(2), 1, out=o)
    return o


@with_out
def zero_dim_out(xp):
    o = xp.zeros(())
    xp.sum(xp.ones(3), dim=0, out=o)
    return o


@with_out
def leaf_as_out(xp):
    o = xp.zeros(2, requires_grad=True)
    xp.exp(xp.ones(2), out=o)
    return o


@with_out
def argument_that_needs_a_gradient(xp):
    o = xp.zeros(2)
    xp.exp(xp.ones(2, requires_grad=True), out=o)
    return o


@pytest.mark.parametrize("program", with_out, ids=words)
def test_out(same, program):
    same(program)


# The value that is written shares memory with the tensor that is written to, and is read before anything is written.
in_its_own_memory = Programs()


@in_its_own_memory
def item_to_a_mask(a, i):
    a[a > 2] = a[1]


@in_its_own_memory
def item_to_indices(a, i):
    a[i] = a[5]


@in_its_own_memory
def masked_fill_(a, i):
    a.masked_fill_(a > 2, a[4])


@in_its_own_memory
def index_fill_(a, i):
    a.index_fill_(0, i, a[1])


@in_its_own_memory
def fill_(a, i):
    a.fill_(a[5])


@in_its_own_memory
def item_to_a_slice(a, i):
    a[:3] = a[1]


@in_its_own_memory
def slice_to_a_slice(a, i):
    a[:3] = a[1:4]


@in_its_own_memory
def masked_scatter_of_a_slice(a, i):
    a.masked_scatter_(a > 2, a[:3])


@in_its_own_memory
def masked_scatter_of_itself(a, i):
    a.masked_scatter_(a > 2, a)


@in_its_own_memory
def index_put_(a, i):
    a.index_put_((i,), a[5])


@in_its_own_memory
def add_(a, i):
    a.add_(a[5])


@in_its_own_memory
def put_(a, i):
    a.put_(i, a[:3])


@in_its_own_memory
def lerp_(a, i):
    a.lerp_(a[5], 0.5)


@in_its_own_memory
def copy_of_an_item(a, i):
    a.copy_(a[1])


@in_its_own_memory
def copy_of_a_slice(a, i):
    a[:5].copy_(a[1:])


@in_its_own_memory
def masked_fill_of_indices(a, i):
    i.masked_fill_(i > 0, i[0])


def after_write(xp, write):
    a = xp.arange(6.)
    i = xp.tensor([2, 1, 0])
    write(a, i)
    return a


@pytest.mark.parametrize("write", in_its_own_memory, ids=words)
def test_arguments_in_the_memory_that_is_written_to(same, write):
    same(body(after_write, words(write), write))


to_expanded = Programs()


@to_expanded
def tensor_by_index_put_(a, i, v):
    a.index_put_((i,), v)


@to_expanded
def tensor_to_indices(a, i, v):
    a[i] = v


@to_expanded
def number_to_indices(a, i, v):
    a[i] = 1.


@to_expanded
def masked_fill_of_nothing(a, i, v):
    a.masked_fill_(a > 2, 0.)


@to_expanded
def index_fill_with_zero(a, i, v):
    a.index_fill_(0, i, 0.)


@to_expanded
def fill_with_one(a, i, v):
    a.fill_(1.)


@to_expanded
def zero_(a, i, v):
    a.zero_()


@to_expanded
def add_one(a, i, v):
    a.add_(1)


@to_expanded
def number_to_a_slice(a, i, v):
    a[:2] = 1.


@to_expanded
def number_to_an_item(a, i, v):
    a[0] = 2.


def expanded_after_write(xp, write):
    a, i, v = xp.ones(1).expand(6), xp.tensor([2, 1, 0]), xp.ones(3)
    write(a, i, v)
    return a


@pytest.mark.parametrize("write", to_expanded, ids=words)
def test_writes_to_expanded_tensors(same, write):
    same(body(expanded_after_write, words(write), write))


FAILS = {
    "another size": lambda xp, a: a.add_(xp.ones(3)),
    "a string": lambda xp, a: a.add_('x'),
    "an unknown rounding": lambda xp, a: a.div_(1, rounding_mode='x'),
    "a complex number": lambda xp, a: a.add_(1j),
    "a copy of another size": lambda xp, a: a.copy_(xp.ones(5)),
    "a mask of another size": lambda xp, a: a.masked_fill_(xp.ones(7) > 0, 1),
    "clamp_ without bounds": lambda xp, a: a.clamp_(),
    "None": lambda xp, a: a.mul_(None),
    "bits of floats": lambda xp, a: a.bitwise_and_(1),
    "a complex result": lambda xp, a: xp.exp(xp.ones(2, dtype=xp.complex64), out=a),
    "addmm_ of vectors": lambda xp, a: a.addmm_(a, a),
    "transpose_ of no such dim": lambda xp, a: a.transpose_(0, 5),
    "unsqueeze_ at no such dim": lambda xp, a: a.unsqueeze_(7),
    "a negative deviation": lambda xp, a: a.normal_(0, -1),
}
FAILS_BY_VALUE = {
    "index_fill_": lambda xp, a: a.index_fill_(0, xp.tensor([9]), 1),
    "scatter_": lambda xp, a: a.scatter_(0, xp.tensor([9]), 1.),
    "an item": lambda xp, a: operator.setitem(a, xp.tensor([5]), 1),
    "put_": lambda xp, a: a.put_(xp.tensor([5]), a[:1]),
}


def failure(xp, call):
    a = xp.tensor([1., 2.])
    try:
        call(xp, a)
    except Exception as error:
        return type(error).__name__, a.tolist(), tuple(a.shape), a._version
    return "no error"


@pytest.mark.parametrize("call", FAILS)
def test_errors_leave_the_tensor_unchanged(same, call):
    same(body(failure, call, FAILS[call]))


@pytest.mark.parametrize("call", FAILS_BY_VALUE)
def test_errors_of_values_leave_the_tensor_unchanged(same, errors_at_the_call, call):
    same(body(failure, call, FAILS_BY_VALUE[call]))
