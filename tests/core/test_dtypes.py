"""Dtypes: casts, promotion, the default, in-place errors."""
from __future__ import annotations

import itertools

import numpy as np
import pytest
from bodies import Programs, bodies, words

import jtorch as torch

pytestmark = pytest.mark.core

CASTS = [
    lambda xp: xp.tensor([1.9, -1.9]).to(xp.int32),
    lambda xp: xp.tensor([300., -1.]).to(xp.uint8),
    lambda xp: xp.tensor([1.9]).int(),
    lambda xp: xp.tensor([0., 2., float("nan")]).bool(),
    lambda xp: xp.tensor([1, 0]).float(),
    lambda xp: xp.tensor([1 + 2j]).to(xp.float32),
    lambda xp: xp.tensor([1.]).to("float64"),
    lambda xp: xp.tensor([1.]).to(float),
    lambda xp: xp.tensor([1.]).to(int),
    lambda xp: xp.tensor([1.]).to(xp.float64, copy=True),
    lambda xp: xp.tensor([1.]).to("cpu"),
    lambda xp: xp.tensor([1.]).to("cpu", xp.int64),
    lambda xp: xp.tensor([1.]).to(xp.device("cpu"), dtype=xp.int64),
    lambda xp: xp.tensor([1.]).to(xp.tensor([1])),
    lambda xp: xp.tensor([1.]).to(dtype=xp.int64),
    lambda xp: xp.tensor([1.]).to("nope"),
    lambda xp: xp.tensor([1.]).to(),
    lambda xp: xp.tensor([1.]).to(None),
    lambda xp: xp.tensor([1.]).to(xp.float16, False, True),
    lambda xp: xp.tensor([1.]).to(dtypee=xp.int64),
    lambda xp: xp.tensor([1.]).to([1]),
    lambda xp: xp.ones(2).type(),
    lambda xp: xp.ones(2).type("torch.LongTensor"),
    lambda xp: xp.ones(2).type(xp.int64),
    lambda xp: xp.ones(2).type(xp.LongTensor),
    lambda xp: xp.ones(2).type(int),
    lambda xp: xp.ones(2).type("nope"),
    lambda xp: xp.ones(2).type_as(xp.tensor([1])),
    lambda xp: xp.ones(2, dtype=xp.bool).type(),
    lambda xp: xp.ones(2).half().type(),
    lambda xp: xp.ones(2).bfloat16(),
    lambda xp: xp.ones(2).cfloat(),
    lambda xp: xp.ones(2).cdouble(),
    lambda xp: xp.ones(2).char(),
    lambda xp: xp.ones(2).byte(),
    lambda xp: xp.ones(2).short(),
    lambda xp: xp.tensor([1, 2]).float().sqrt_(),
    lambda xp: xp.ones(2, dtype=xp.float64).to(xp.float8_e4m3fn),
    lambda xp: xp.ones(2).byte().dtype is xp.uint8,
]


DROPPED = [
    lambda xp: xp.tensor([1j]).float(),
    lambda xp: xp.tensor([1j]).bool(),
    lambda xp: xp.tensor([1j]).to(xp.complex128),
    lambda xp: xp.tensor([1j]).sum(dtype=xp.float32),
    lambda xp: xp.tensor([1j]).mean(dtype=xp.float32),
    lambda xp: xp.tensor([1j]).prod(dtype=xp.float32),
    lambda xp: xp.tensor([1j]).cumsum(0, dtype=xp.float32),
    lambda xp: xp.tensor([1j]).sum(dtype=xp.complex128),
]


def test_warnings_of_dropped_imaginary_parts(same):
    same(*DROPPED)


dropping = Programs()


@dropping
def copy_to_floats(xp):
    t = xp.ones(1)
    t.copy_(xp.tensor([1j]))
    return t


@dropping
def copy_to_bools(xp):
    t = xp.ones(1, dtype=xp.bool)
    t.copy_(xp.tensor([1j]))
    return t


@dropping
def item_from_a_complex_number(xp):
    t = xp.ones(2, 1)
    t[1] = xp.tensor([2j])
    return t


@dropping
def fill_with_a_complex_number(xp):
    t = xp.ones(1)
    t.fill_(xp.tensor(1j))
    return t


@pytest.mark.parametrize("program", dropping, ids=words)
def test_warnings_of_writes_that_drop_imaginary_parts(same, program):
    same(program)


def test_the_warning_shows_the_users_line():
    import jtorch
    for statement in (lambda t: t.float(), lambda t: jtorch.zeros(1).copy_(t), lambda t: t.prod(dtype=jtorch.float64)):
        with pytest.warns(UserWarning, match="discards the imaginary part") as caught:
            statement(jtorch.tensor([1j]))
        assert [w.filename for w in caught] == [__file__]


def test_casts(same):
    same(*CASTS)


returning_itself = Programs()


@returning_itself
def to_its_dtype(xp):
    t = xp.ones(2)
    return t.to(xp.float32) is t


@returning_itself
def to_its_device(xp):
    t = xp.ones(2)
    return t.to("cpu") is t


@returning_itself
def to_itself(xp):
    t = xp.ones(2)
    return t.to(t) is t


@returning_itself
def float_of_floats(xp):
    t = xp.ones(2)
    return t.float() is t


@returning_itself
def to_its_dtype_copied(xp):
    t = xp.ones(2)
    return t.to(xp.float32, copy=True) is t


@returning_itself
def type_of_its_dtype(xp):
    t = xp.ones(2)
    return t.type(xp.float32) is t


@returning_itself
def cpu_of_a_cpus(xp):
    t = xp.ones(2)
    return t.cpu() is t


@returning_itself
def contiguous_of_a_contiguous(xp):
    t = xp.ones(2)
    return t.contiguous() is t


@pytest.mark.parametrize("program", returning_itself, ids=words)
def test_casts_that_change_nothing(same, program):
    same(program)


def with_default(xp, dtype, make):
    """Call ``make`` while the default is another dtype."""
    xp.set_default_dtype(getattr(xp, dtype))
    try:
        return make(xp)
    finally:
        xp.set_default_dtype(xp.float32)


def few_made_by_default(xp):
    return [xp.tensor(1.), xp.zeros(2), xp.tensor([1]) / 2]


def made_by_default(xp):
    return [*few_made_by_default(xp), xp.tensor(1j), xp.arange(2.), xp.linspace(0, 1, 2)]


def test_default(same):
    same(lambda xp: xp.set_default_dtype(xp.int32),
         lambda xp: xp.set_default_dtype("a"),
         *bodies(with_default, ["float64"], made_by_default),
         *bodies(with_default, ["bfloat16"], few_made_by_default))


def test_what_was_called_before_the_default_changed_is_computed_as_it_was_called(run_forked):
    """Deferred calls, as on an accelerator, use the default of their time too."""
    assert run_forked("""
import jtorch as torch
x = torch.ones(2)
y = x * torch.arange(2.0)
torch.set_default_dtype(torch.float64)
print(x.numpy().dtype, y.numpy().dtype, torch.ones(2).numpy().dtype)
""", {"JTORCH_ENGINE": "hot"}) == "float32 float32 float64\n"


writes = Programs()


@writes
def float_added_to_integers(xp):
    t = xp.tensor([1, 2])
    t += 1.5
    return t


@writes
def integers_divided(xp):
    t = xp.tensor([1, 2])
    t /= 2
    return t


@writes
def integers_times_a_bool(xp):
    t = xp.tensor([1, 2])
    t *= True
    return t


@writes
def integer_added_to_bools(xp):
    t = xp.tensor([True])
    t += 1
    return t


@writes
def bool_added_to_bools(xp):
    t = xp.tensor([True])
    t += True
    return t


@writes
def complex_added_to_floats(xp):
    t = xp.tensor([1.])
    t += 1j
    return t


@writes
def number_past_a_bytes_added(xp):
    t = xp.tensor([1], dtype=xp.uint8)
    t += 300
    return t


@writes
def negative_number_added_to_bytes(xp):
    t = xp.tensor([1], dtype=xp.uint8)
    t.add_(-2)
    return t


@writes
def float64_added_to_float16(xp):
    t = xp.tensor([1.], dtype=xp.float16)
    t += xp.tensor([1.], dtype=xp.float64)
    return t


@writes
def int64_added_to_int8(xp):
    t = xp.tensor([1], dtype=xp.int8)
    t += xp.tensor([300])
    return t


@writes
def number_past_a_bytes_filled(xp):
    t = xp.tensor([1], dtype=xp.uint8)
    t.fill_(300)
    return t


@writes
def number_past_a_bytes_as_an_item(xp):
    t = xp.tensor([1], dtype=xp.uint8)
    t[0] = 300
    return t


@writes
def float_filled_into_integers(xp):
    t = xp.tensor([1])
    t.fill_(1.5)
    return t


@writes
def float_as_an_integer_item(xp):
    t = xp.tensor([1])
    t[0] = 1.5
    return t


@writes
def complex_as_an_integer_item(xp):
    t = xp.tensor([1])
    t[0] = 1j
    return t


@writes
def complex_as_a_float_item(xp):
    t = xp.tensor([1.])
    t[0] = 1j
    return t


@writes
def complex_copied_to_floats(xp):
    t = xp.tensor([1.])
    t.copy_(xp.tensor([1j]))
    return t


@writes
def float_copied_to_integers(xp):
    t = xp.tensor([1])
    t.copy_(xp.tensor([1.9]))
    return t


@pytest.mark.parametrize("program", writes, ids=words)
def test_inplace(same, program):
    same(program)


ARITHMETIC = [
    lambda xp: xp.tensor([1 + 2j]).abs().dtype,
    lambda xp: xp.float32.itemsize,
    lambda xp: xp.float32.is_floating_point,
    lambda xp: xp.complex64.to_real(),
    lambda xp: xp.float32.to_complex(),
    lambda xp: xp.int64.is_signed,
    lambda xp: xp.float32 == xp.float,
    lambda xp: hash(xp.float32) == hash(xp.float),
    lambda xp: xp.can_cast(xp.float64, xp.float32),
    lambda xp: xp.can_cast(xp.float32, xp.int32),
    lambda xp: xp.can_cast(xp.int32, xp.bool),
    lambda xp: xp.can_cast(xp.complex64, xp.float32),
    lambda xp: xp.result_type(xp.tensor([1, 2]), 1.0),
    lambda xp: xp.result_type(xp.tensor([1, 2]), xp.tensor(1.)),
    lambda xp: xp.result_type(1, 1.0),
    lambda xp: xp.result_type(1, True),
    lambda xp: xp.result_type(1j, 1.0),
    lambda xp: xp.promote_types(xp.int32, xp.float32),
    lambda xp: xp.promote_types(xp.uint8, xp.int8),
    lambda xp: xp.promote_types(xp.uint16, xp.int8),
    lambda xp: xp.promote_types(xp.uint64, xp.int64),
    lambda xp: xp.promote_types(xp.float16, xp.bfloat16),
    lambda xp: xp.get_default_dtype(),
    lambda xp: xp.tensor([1], dtype=xp.uint8) + 300,
    lambda xp: xp.tensor([1], dtype=xp.uint8) - 2,
    lambda xp: xp.tensor([1], dtype=xp.int8) * 200,
    lambda xp: -xp.tensor([1], dtype=xp.uint8),
    lambda xp: -xp.tensor([True]),
    lambda xp: ~xp.tensor([True]),
    lambda xp: ~xp.tensor([1.]),
    lambda xp: xp.tensor([True]) - xp.tensor([True]),
    lambda xp: xp.tensor([True]) - True,
    lambda xp: 1 - xp.tensor([True]),
    lambda xp: True - xp.tensor([1]),
    lambda xp: xp.tensor([True]) + xp.tensor([True]),
    lambda xp: xp.tensor([True]) * 2,
    lambda xp: xp.tensor([True]) / 2,
    lambda xp: xp.tensor([7]) // 2,
    lambda xp: xp.tensor([-7]) // 2,
    lambda xp: xp.tensor([-7]) % 3,
    lambda xp: xp.tensor([7]) // 0,
    lambda xp: xp.tensor([7.]) // 0,
    lambda xp: xp.tensor([7]) % 0,
    lambda xp: xp.tensor([7]) / 0,
    lambda xp: 2 ** xp.tensor([3]),
    lambda xp: xp.tensor([2]) ** 3,
    lambda xp: xp.tensor([2]) ** -1,
    lambda xp: xp.tensor([2.]) ** -1,
    lambda xp: xp.tensor([2]) ** xp.tensor([-1]),
    lambda xp: xp.tensor([True]) ** 2,
    lambda xp: xp.tensor([1.]) & 1,
    lambda xp: xp.tensor([1]) & 3,
    lambda xp: xp.tensor([1]) | True,
    lambda xp: xp.tensor([5]) ^ 1,
    lambda xp: xp.tensor([1]) << 2,
    lambda xp: xp.tensor([1]) >> 1,
    lambda xp: xp.tensor([1.]) << 2,
    lambda xp: 2 << xp.tensor([1]),
    lambda xp: xp.tensor([1, 2]).mean(),
    lambda xp: xp.tensor([True, True]).sum(),
    lambda xp: xp.tensor([1, 2], dtype=xp.int8).sum(),
    lambda xp: xp.tensor([1, 2], dtype=xp.uint8).prod(),
    lambda xp: xp.tensor([1, 2], dtype=xp.float16).sum(),
    lambda xp: xp.tensor([1, 2]).sum(dtype=xp.float32),
    lambda xp: xp.tensor([1., 2.]).sum(dtype=xp.int64),
    lambda xp: xp.tensor([1, 2]).sqrt(),
    lambda xp: xp.tensor([1, 2]).exp_(),
    lambda xp: xp.tensor([1, 2]).sqrt_(),
    lambda xp: xp.where(xp.tensor([True]), 1, 2.5),
    lambda xp: xp.where(xp.tensor([True]), xp.tensor([1]), 2.5),
    lambda xp: xp.where(xp.tensor([1]), 1, 2),
    lambda xp: xp.cat([xp.tensor([1]), xp.tensor([1.5])]),
    lambda xp: xp.cat([xp.tensor([1], dtype=xp.int8), xp.tensor([True])]),
    lambda xp: xp.stack([xp.tensor([1]), xp.tensor([1.5])]),
    lambda xp: xp.maximum(xp.tensor([1]), xp.tensor([1.5])),
    lambda xp: xp.tensor([1]) == 1.0,
    lambda xp: xp.tensor([1]) == "a",
    lambda xp: xp.tensor([1]) == None,      # noqa: E711
    lambda xp: xp.tensor([1]) != None,      # noqa: E711
    lambda xp: xp.tensor([1]) < "a",
    lambda xp: xp.tensor([1j]) < 1,
    lambda xp: xp.tensor([1]) == [1],
    lambda xp: xp.tensor([1, 2]) + [1, 2],
    lambda xp: xp.tensor([1]) + "a",
    lambda xp: xp.tensor([1]) + None,
    lambda xp: "a" + xp.tensor([1]),
    lambda xp: xp.tensor([1., 2.]).dot(xp.tensor([1, 2])),
    lambda xp: xp.mm(xp.ones(2, 2), xp.ones(2, 2, dtype=xp.float64)),
    lambda xp: xp.iinfo(xp.int8).max,
    lambda xp: xp.finfo(xp.float32).eps,
    lambda xp: xp.finfo(xp.int32),
    lambda xp: xp.iinfo(xp.float32),
    lambda xp: xp.finfo().dtype,
    lambda xp: xp.ones(2, dtype=xp.uint32).sum(),
    lambda xp: xp.ones(2).view(xp.int32),
    lambda xp: xp.ones(2).view(xp.int16),
    lambda xp: xp.ones(2).view(xp.int64),
    lambda xp: xp.ones(3).view(xp.int64),
    lambda xp: xp.ones(2, 2).t().view(xp.int16),
    lambda xp: xp.ones(2, requires_grad=True).view(xp.int32),
    lambda xp: xp.ones(2, dtype=xp.complex64).real,
    lambda xp: xp.ones(2).imag,
    lambda xp: xp.ones(2).real,
    lambda xp: xp.view_as_real(xp.ones(2, dtype=xp.complex64)),
    lambda xp: xp.view_as_complex(xp.ones(2, 2)),
    lambda xp: xp.view_as_complex(xp.ones(2, 3)),
    lambda xp: (xp.is_floating_point(xp.ones(2)), xp.is_complex(xp.ones(2)),
                xp.is_tensor(1), xp.is_nonzero(xp.tensor(0))),
    lambda xp: xp.is_nonzero(xp.ones(2)),
    lambda xp: xp.equal(xp.ones(2), xp.ones(2, dtype=xp.int64)),
    lambda xp: xp.equal(xp.ones(2), 1),
    lambda xp: xp.allclose(xp.ones(2), xp.ones(2, dtype=xp.float64)),
]


def test_arithmetic(same):
    same(*ARITHMETIC)


NAMES = ("uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64", "complex128", "bool")
# A pair stands for a tensor of this dtype and size.
OPERANDS = [*((n, (2,)) for n in NAMES), *((n, ()) for n in NAMES), True, 2, 2.5, 1j]


def _pairs():
    """Give pairs of operands without those of float16 and complex numbers: JAX does not have PyTorch's complex32."""
    for a in OPERANDS[:2 * len(NAMES)]:
        for b in OPERANDS:
            kinds = [operand[0] if isinstance(operand, tuple) else type(operand).__name__ for operand in (a, b)]
            if not ("float16" in kinds and any("complex" in kind for kind in kinds)):
                yield a, b


def operand(xp, given):
    return xp.ones(given[1], dtype=getattr(xp, given[0])) if isinstance(given, tuple) else given


def result_type(xp, pair):
    return xp.result_type(*[operand(xp, given) for given in pair])


def test_promotion_of_every_pair(same):
    same(*bodies(result_type, _pairs()))


def sum_of_operands(xp, pair):
    a, b = [operand(xp, given) for given in pair]
    return a + b


def product_of_operands(xp, pair):
    a, b = [operand(xp, given) for given in pair]
    return a * b


@pytest.mark.parametrize("program", [sum_of_operands, product_of_operands], ids=["+", "*"])
def test_results_of_every_third_pair(same, program):
    pairs = [pair for pair in list(_pairs())[::3] if "16" not in str(pair)]
    same(*bodies(program, pairs), rtol=1e-3)


def promotion(xp, names):
    a, b = [getattr(xp, name) for name in names]
    return [xp.promote_types(a, b), xp.can_cast(a, b)]


def test_promote_types_and_can_cast(same):
    same(*bodies(promotion, itertools.product(NAMES, NAMES)))


def cast(xp, names):
    of, to = [getattr(xp, name) for name in names]
    return xp.tensor([0, 1, 3], dtype=of).to(to)


def test_casts_between_all(same):
    pairs = itertools.product(NAMES, NAMES)
    same(*bodies(cast, [(of, to) for of, to in pairs if "complex" not in of or "complex" in to]))


def properties(xp, name):
    dtype = getattr(xp, name)
    return [dtype.itemsize, dtype.is_floating_point, dtype.is_complex, dtype.is_signed, repr(dtype)]


def test_properties(same):
    same(*bodies(properties, NAMES))


FAR = """inf -inf nan 1e10 -1e10 3e9 -3e9 5e9 1e20 -1e20 300 -300 70000 -70000 2147483648 -2147483648 4294967296 9223372036854775808
         -9223372036854775808 18446744073709551616 -1.5 255.9 256 -129 128 32768 -32769 1e300 2147483647 4294967301 -1099511627779 0.5""".split()
SINGLY = ("uint32",)        # PyTorch casts one number to these dtypes in another way than eight numbers.


@pytest.mark.conformance
@pytest.mark.parametrize("to", ["uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64", "bool"])
@pytest.mark.parametrize("of", ["float16", "bfloat16", "float32", "float64", "complex64"])
@pytest.mark.filterwarnings("ignore:Casting complex values")
def test_casts_of_numbers_that_do_not_fit(torch, of, to):
    import jtorch

    def cast(xp, size, way):
        numbers = (list(map(float, FAR)) * 2)[:size] if size > 1 else [float("nan")]
        x, d = xp.tensor(numbers, dtype=xp.float64).to(getattr(xp, of)), getattr(xp, to)
        if xp is torch and to in SINGLY:
            return [v.to(d).item() for v in x]
        return (x.to(d) if way == "to" else xp.zeros(size, dtype=d).copy_(x) if way == "copy_" else x.reshape(1, -1).t().to(d)[:, 0]).tolist()
    for size in (1, 7, 16, 64):
        for way in ("to", "copy_", "a view"):
            assert cast(jtorch, size, way) == cast(torch, size, way), (size, way)


@pytest.mark.conformance
@pytest.mark.parametrize("to", ["uint8", "int8", "int16", "int32", "int64"])
def test_arrays_and_sums_of_numbers_that_do_not_fit(torch, to):
    import jtorch
    numbers = np.array(FAR, np.float64)
    with np.errstate(over="ignore"):
        narrow = numbers.astype(np.float32)
    for make in (lambda xp, d: xp.tensor(numbers, dtype=d), lambda xp, d: xp.as_tensor(narrow, dtype=d),
                 lambda xp, d: xp.zeros(1, dtype=d).new_tensor(numbers), lambda xp, d: xp.tensor(numbers)[:, None].sum(1, dtype=d),
                 lambda xp, d: xp.tensor(numbers)[:, None].cumsum(1, dtype=d)[:, 0]):
        assert make(jtorch, getattr(jtorch, to)).tolist() == make(torch, getattr(torch, to)).tolist()


@pytest.mark.parametrize("value", [1j, 0j, 1 + 0j, complex(0, float("nan"))])
def test_a_complex_number_is_true_for_either_part(value):
    t = torch.tensor(value)
    filled = torch.zeros(2, dtype=torch.bool)
    filled.fill_(t)
    placed = torch.zeros(1, dtype=torch.bool)
    placed[0] = t
    assert {*filled.tolist(), *placed.tolist(), t.bool().item(), t.to(torch.bool).item()} == {bool(value)}
