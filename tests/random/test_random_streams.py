"""The CPU's random numbers against PyTorch: the same numbers, the same state afterwards, the same errors."""
from __future__ import annotations

import math
import pickle

import ml_dtypes
import numpy as np
import pytest

import jtorch
from jtorch._base.generator import Generator
from jtorch._base.mt19937 import Stream
from jtorch.ops import random as R
from jtorch.ops import random_choice as C
from jtorch.ops import random_rejection as J

torch = pytest.importorskip("torch", reason="the reference is PyTorch, which is not installed")

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*is out of bounds"),
    pytest.mark.skipif(torch.backends.cpu.get_cpu_capability() == "DEFAULT",
                       reason="PyTorch uses other float kernels without AVX2"),
]
F32, F64 = np.dtype(np.float32), np.dtype(np.float64)
FLOATS = ["float32", "float64", "float16", "bfloat16"]
INTS = ["int64", "int32", "int16", "int8", "uint8"]


def np_dtype(name):
    return np.dtype(ml_dtypes.bfloat16) if name == "bfloat16" else np.dtype(name)


def array(t):
    return t.view(torch.int16).numpy().view(ml_dtypes.bfloat16) if t.dtype == torch.bfloat16 else t.numpy()


def position():
    return int(torch.get_rng_state().numpy()[16:24].view(np.uint64)[0])


def torch_uses_mkl():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        torch.empty(5).bernoulli_(0.5)
        return position() != 10


no_mkl = pytest.mark.skipif(torch_uses_mkl(), reason="on Intel's CPUs PyTorch draws these from MKL's generator")


def same(theirs, ours, seed=7, before=0, ulp=0):
    """Run both from one seed (after ``before`` normals), and compare the numbers and the states."""
    torch.manual_seed(seed)
    stream = Stream(seed)
    torch.randn(before)
    R.randn(stream, (before,))
    expected, got = array(theirs()), np.ascontiguousarray(ours(stream))
    assert (expected.dtype, expected.shape) == (got.dtype, got.shape)
    if ulp:
        np.testing.assert_array_max_ulp(expected, got, ulp)
    else:
        np.testing.assert_array_equal(expected, got)
    np.testing.assert_array_equal(torch.get_rng_state().numpy(), stream.get_state())


@pytest.mark.parametrize("seed", [0, 1, -1, 2**63, -2**63, 2**64 - 1, 0x80000000, 12345678901234567])
def test_seeds(seed):
    torch.manual_seed(seed)
    stream = Stream(seed)
    assert stream.initial_seed() == torch.initial_seed()
    np.testing.assert_array_equal(stream.get_state(), torch.get_rng_state().numpy())
    np.testing.assert_array_equal(stream.floats(700), torch.rand(700).numpy())
    np.testing.assert_array_equal(stream.get_state(), torch.get_rng_state().numpy())


@pytest.mark.parametrize("seed", [2**64, -2**63 - 1])
def test_seed_out_of_range(seed):
    with pytest.raises(ValueError, match="Overflow when unpacking long long"):
        Stream(seed)


@pytest.mark.parametrize("drawn", [0, 1, 5, 623, 624, 625, 1247, 1248, 5000])
def test_state_travels_both_ways(drawn):
    torch.manual_seed(3)
    torch.rand(drawn)
    torch.randn(3)
    stream = Stream()
    stream.set_state(torch.get_rng_state().numpy())
    np.testing.assert_array_equal(stream.get_state(), torch.get_rng_state().numpy())
    torch.set_rng_state(torch.from_numpy(stream.clone().get_state()))
    np.testing.assert_array_equal(R.randn(stream, (5,)), torch.randn(5).numpy())


@pytest.mark.parametrize("n", [0, 1, 2, 3, 15, 16, 17, 31, 32, 33, 100, 1000, 70_000])
@pytest.mark.parametrize("before", [0, 3])
@pytest.mark.parametrize("name", [*FLOATS, "complex64", "complex128"])
def test_uniform_and_normal(name, n, before):
    t, d = getattr(torch, name), np_dtype(name)
    same(lambda: torch.rand(n, dtype=t), lambda s: R.rand(s, (n,), d), before=before)
    same(lambda: torch.randn(n, dtype=t), lambda s: R.randn(s, (n,), d), before=before)
    same(lambda: torch.empty(n, dtype=t).uniform_(-.3, .7), lambda s: R.uniform(s, (n,), d, -.3, .7))
    same(lambda: torch.empty(n, dtype=t).normal_(.3, 1.7), lambda s: R.normal(s, (n,), d, .3, 1.7), before=before)


def test_a_million_normals():
    same(lambda: torch.randn(10**6), lambda s: R.randn(s, (10**6,)))


def test_normal_of_tensors():
    m, sd = torch.rand(4, 5), torch.rand(5)
    for mean, std in ((m, sd), (2.5, m), (m, 2.5), (m, m.double()), (m.double(), m), (m.bfloat16(), m.bfloat16())):
        plain = [array(x) if isinstance(x, torch.Tensor) else x for x in (mean, std)]
        same(lambda m=mean, s=std: torch.normal(m, s), lambda s, p=plain: R.normal_of(s, *p))


@pytest.mark.parametrize("shape, order", [((4, 5), (1, 0)), ((2, 3, 4, 5), (0, 3, 1, 2)), ((3, 1, 4), (2, 1, 0)),
                                          ((4, 5, 6), (1, 2, 0))])
def test_order_of_memory(shape, order):
    x = torch.empty(shape).permute(order)
    for theirs, ours in ((lambda: x.uniform_(), lambda s: R.uniform(s, x.shape)),
                         (lambda: x.normal_(), lambda s: R.normal(s, x.shape, contiguous=False)),
                         (lambda: x.random_(9), lambda s: R.random(s, x.shape, F32, 0, 9))):
        same(lambda f=theirs: f().contiguous(), lambda s, f=ours: R.place(f(s).ravel(), x.shape, x.stride()))


def numbers(xp, *shape):
    """Return numbers from 0 to 1, in the order of a contiguous tensor."""
    return xp.linspace(0, 1, math.prod(shape)).reshape(shape)


LAYOUTS = {
    "contiguous": lambda xp: numbers(xp, 6, 8),
    "transposed": lambda xp: numbers(xp, 40, 50).t(),
    "permuted": lambda xp: numbers(xp, 3, 4, 5).permute(1, 2, 0),
    "channels last": lambda xp: numbers(xp, 2, 3, 4, 5).contiguous(memory_format=xp.channels_last),
    "expanded": lambda xp: numbers(xp, 6, 1).expand(6, 8),
    "with gaps": lambda xp: numbers(xp, 6, 8)[1:, ::2].t(),
    "dims of size 1": lambda xp: numbers(xp, 1, 1, 6).permute(2, 0, 1),
    "no elements": lambda xp: numbers(xp, 0, 3).t(),
}
DRAWN = {
    "dropout": lambda xp, x: xp.nn.functional.dropout(x, 0.3),
    "dropout of all": lambda xp, x: xp.nn.functional.dropout(x, 1.0),
    "alpha_dropout": lambda xp, x: xp.nn.functional.alpha_dropout(x, 0.3, training=True),
    "feature_dropout": lambda xp, x: xp.feature_dropout(x, 0.3, True),
    "rrelu": lambda xp, x: xp.nn.functional.rrelu(x - 0.5, training=True),
    "rand_like": lambda xp, x: xp.rand_like(x),
    "randn_like": lambda xp, x: xp.randn_like(x),
    "randn_like in double": lambda xp, x: xp.randn_like(x, dtype=xp.float64, memory_format=xp.preserve_format),
    "rand_like contiguous": lambda xp, x: xp.rand_like(x, memory_format=xp.contiguous_format),
    "rand_like channels last": lambda xp, x: xp.rand_like(x, memory_format=xp.channels_last),
    "randint_like": lambda xp, x: xp.randint_like(x, 9),
    "gumbel_softmax": lambda xp, x: xp.nn.functional.gumbel_softmax(x, hard=True, dim=0),
    "multinomial": lambda xp, x: xp.multinomial(x, 2),
    "bernoulli": lambda xp, x: xp.bernoulli(x),
    "normal": lambda xp, x: xp.normal(x, x),
    "poisson": lambda xp, x: xp.poisson(x),
    "binomial": lambda xp, x: xp.binomial(xp.tensor(9.0), x),
    "Normal": lambda xp, x: xp.distributions.Normal(x, x + 1).rsample(),
    "rand out": lambda xp, x: xp.rand(x.shape, out=x),
    "randn out": lambda xp, x: xp.randn(x.shape, out=x),
    "randint out": lambda xp, x: xp.randint(9, x.shape, out=x),
    "bernoulli out": lambda xp, x: xp.bernoulli(numbers(xp, *x.shape), out=x),
    "normal out": lambda xp, x: xp.normal(numbers(xp, *x.shape), numbers(xp, *x.shape), out=x),
    "orthogonal_": lambda xp, x: xp.nn.init.orthogonal_(x),
    **{f"trunc_normal_ {arguments}": lambda xp, x, arguments=arguments: xp.nn.init.trunc_normal_(x, *arguments) for arguments in
       ((0., 1., -2., 2.), (0., 1., -.02, .02), (3., 1., 1.5, 2.))},
    "dropout_": lambda xp, x: xp.dropout_(x, 0.3, True),
    "feature_dropout_": lambda xp, x: xp.feature_dropout_(x, 0.3, True),
    "rrelu_": lambda xp, x: xp.nn.functional.rrelu_(x.sub_(0.5), training=True),
    "bernoulli_ by a tensor": lambda xp, x: x.bernoulli_(numbers(xp, *x.shape)),
    "bernoulli_ by a row": lambda xp, x: x.bernoulli_(numbers(xp, x.shape[-1])),
    **{f"{name}_": lambda xp, x, name=name, arguments=arguments: getattr(x, f"{name}_")(*arguments) for name, arguments in
       {"normal": (), "uniform": (), "exponential": (), "geometric": (0.3,), "cauchy": (), "log_normal": (), "random": (0, 50),
        "bernoulli": (0.3,)}.items()},
}


def outcome(xp, call, layout):
    """Return the strides, the numbers and the next two random numbers; or the error."""
    x = layout(xp)
    xp.manual_seed(7)
    try:
        made = call(xp, x)
    except Exception as error:
        return type(error).__name__, str(error).split(". ")[0]
    return made.stride(), [a.detach().double().contiguous().numpy() for a in (made, xp.rand(2))]


@no_mkl
@pytest.mark.filterwarnings("ignore:An output with one or more elements was resized")      # PyTorch's binomial warns.
@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("call", DRAWN.values(), ids=DRAWN)
def test_numbers_come_in_the_order_of_memory(call, layout):
    (how, expected), (stride, got) = outcome(torch, call, layout), outcome(jtorch, call, layout)
    assert stride == how
    if isinstance(expected, str):
        assert got == expected
    else:
        for a, b in zip(got, expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("call", [
    lambda xp, x: xp.normal(x, x), lambda xp, x: xp.normal(x, 1.0), lambda xp, x: xp.normal(1.0, x[0]), lambda xp, x: xp.poisson(x),
    lambda xp, x: xp.bernoulli(x), lambda xp, x: xp.bernoulli(x, 0.5), lambda xp, x: xp.binomial(x, x)])
def test_gradients_of_drawn_numbers(call):
    """The gradients are 0, or unknown."""
    found = []
    for xp in (torch, jtorch):
        x = numbers(xp, 2, 3).requires_grad_()
        made = call(xp, x)
        try:
            gradient = xp.autograd.grad(made.sum(), x)[0].tolist()
        except RuntimeError as error:
            gradient = str(error).split("\n")[0]
        found.append((type(made.grad_fn).__name__, gradient))
    assert found[0] == found[1]


@no_mkl
@pytest.mark.parametrize("n", [0, 1, 5, 33, 3000])
@pytest.mark.parametrize("name", FLOATS)
def test_continuous(name, n):
    t, d = getattr(torch, name), np_dtype(name)
    same(lambda: torch.empty(n, dtype=t).exponential_(1.3), lambda s: R.exponential(s, (n,), d, 1.3))
    same(lambda: torch.empty(n, dtype=t).log_normal_(.2, 1.3), lambda s: R.log_normal(s, (n,), d, .2, 1.3), before=3)
    same(lambda: torch.empty(n, dtype=t).cauchy_(.2, 1.), lambda s: R.cauchy(s, (n,), d, .2, 1.),
         ulp=4 * (name == "float64" and n > 33))


@no_mkl
@pytest.mark.parametrize("n", [0, 1, 5, 3000])
@pytest.mark.parametrize("name", [*FLOATS, *INTS, "bool"])
def test_discrete(name, n):
    t, d = getattr(torch, name), np_dtype(name)
    same(lambda: torch.empty(n, dtype=t).bernoulli_(.3), lambda s: R.bernoulli(s, (n,), d, .3))
    same(lambda: torch.empty(n, dtype=t).random_(), lambda s: R.random(s, (n,), d))
    same(lambda: torch.empty(n, dtype=t).random_(0, 2), lambda s: R.random(s, (n,), d, 0, 2))
    if name != "bool":
        same(lambda: torch.empty(n, dtype=t).geometric_(.3), lambda s: R.geometric(s, (n,), d, .3))
        same(lambda: torch.empty(n, dtype=t).random_(3, None), lambda s: R.random(s, (n,), d, 3, None))
    if name in FLOATS:
        p = torch.linspace(0, 1, n).to(t)
        same(lambda: torch.bernoulli(p), lambda s: R.bernoulli_of(s, array(p)), before=3)
        same(lambda: torch.empty(n).bernoulli_(p), lambda s: R.bernoulli_of(s, array(p), F32))


@pytest.mark.parametrize("name", ["int64", "uint64", "float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize("low", [0, -5, -2**40, 2**24 + 1, -2**62])
@pytest.mark.parametrize("high", [7, 2**24 + 3, 2**28 - 1, 2**28, 2**31, 2**33 + 1, 2**62])
def test_ranges(name, low, high):
    t, d = getattr(torch, name), np_dtype(name)
    compare(lambda: torch.randint(low, high, (9,), dtype=t), lambda s: R.randint(s, low, high, (9,), d))


def compare(theirs, ours):
    """Check that both give the same numbers, or the same error with the same first line."""
    try:
        theirs()
    except Exception as e:  # noqa: BLE001, whatever PyTorch raises is what jtorch must raise
        with pytest.raises(type(e)) as found:
            ours(Stream())
        assert str(found.value).split("\n")[0] == str(e).split("\n")[0]
        return
    same(theirs, ours)


@pytest.mark.parametrize("name", ["int64", "float32", "float64", "bfloat16", "int32"])
def test_full_range(name):
    t, d = getattr(torch, name), np_dtype(name)
    compare(lambda: torch.empty(50, dtype=t).random_(-2**63, None), lambda s: R.random(s, (50,), d, -2**63, None))


@pytest.mark.parametrize("n", [-1, 0, 1, 2, 5, 129, 255, 257, 1000, 2050, 30_000])
def test_randperm(n):
    for name in ("int64", "int32", "uint8", "int8", "float16", "float32", "bfloat16", "bool", "complex64", "uint16"):
        compare(lambda t=name: torch.randperm(n, dtype=getattr(torch, t)),
                lambda s, t=name: C.randperm(s, n, np_dtype(t)))


@no_mkl
@pytest.mark.parametrize("shape", [(5,), (1000,), (3, 5), (4, 300), (1, 1)])
@pytest.mark.parametrize("name", ["float32", "float64"])
def test_multinomial(name, shape):
    torch.manual_seed(1)
    p = torch.rand(shape, dtype=getattr(torch, name)) + .01
    for k in (1, 2, 5, 40):
        same(lambda k=k: torch.multinomial(p, k, True), lambda s, k=k: C.multinomial(s, p.numpy(), k, True))
        compare(lambda k=k: torch.multinomial(p, k), lambda s, k=k: C.multinomial(s, p.numpy(), k))
    if p.ndim == 2:
        q = p.t()
        same(lambda: torch.multinomial(q, 1), lambda s: C.multinomial(s, q.contiguous().numpy(), 1, stride=q.stride()))


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_multinomial_half(name):
    torch.manual_seed(1)
    p = torch.rand(4, 300).to(getattr(torch, name))
    same(lambda: torch.multinomial(p, 40, True), lambda s: C.multinomial(s, array(p), 40, True))


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("rate", [0., .5, 3., 9.9, 10., 50., 1000.])
def test_poisson(name, rate):
    rates = torch.full((300,), rate, dtype=getattr(torch, name))
    same(lambda: torch.poisson(rates), lambda s: J.poisson(s, array(rates)))


@pytest.mark.parametrize("name", ["float32", "float64"])
@pytest.mark.parametrize("seed", range(3))
def test_binomial_gamma_dirichlet(name, seed):
    t = getattr(torch, name)
    count, prob = torch.tensor([0., 1, 10, 20, 30, 1000, 100000, 40] * 40, dtype=t), torch.linspace(0, 1, 320, dtype=t)
    same(lambda: torch.binomial(count, prob), lambda s: J.binomial(s, count.numpy(), prob.numpy()), seed)
    a = torch.linspace(0.01, 5, 301, dtype=t)
    same(lambda: torch._standard_gamma(a), lambda s: J.standard_gamma(s, a.numpy()), seed, before=3)
    b = a.reshape(43, 7)
    same(lambda: torch._sample_dirichlet(b), lambda s: J.dirichlet(s, b.numpy()), seed, ulp=4)


@no_mkl
@pytest.mark.parametrize("p", [0., .1, .5, 1.])
def test_dropout(p):
    x = torch.ones(6, 5, 4)
    scale = 1 / (1 - p) if p < 1 else 1.
    same(lambda: torch.dropout(x, p, True), lambda s: R.dropout_mask(s, x.shape, F32, p) * np.float32(scale))
    same(lambda: torch.feature_dropout(x, p, True),
         lambda s: x.numpy() * R.dropout_mask(s, R.feature_dropout_size(x.shape), F32, p) * np.float32(scale))
    same(lambda: (torch.alpha_dropout(x, p, True) > 0).float() if 0 < p < 1 else torch.alpha_dropout(x, p, True),
         lambda s: R.dropout_mask(s, x.shape, F32, p))


@pytest.mark.parametrize("name", ["float32", "float64"])
def test_rrelu(name):
    x = torch.linspace(-1, 1, 501, dtype=getattr(torch, name))
    x[:50] *= -1

    def theirs():
        noise = torch.empty_like(x)
        torch._C._nn.rrelu_with_noise(x, noise, .125, 1 / 3, True)
        return noise

    same(theirs, lambda s: R.rrelu_noise(s, x.numpy(), .125, 1 / 3))


INF, NAN = math.inf, math.nan
ERRORS = {
    "normal std": (lambda: torch.empty(3).normal_(0, -1), lambda s: R.normal(s, (3,), F32, 0, -1)),
    "normal stds": (lambda: torch.normal(0., torch.tensor([-1.])), lambda s: R.normal_of(s, 0., np.full(1, -1., F32))),
    "normal complex std": (lambda: torch.normal(0., torch.tensor([1j])), lambda s: R.normal_of(s, 0., np.full(1, 1j))),
    "normal sizes": (lambda: torch.normal(torch.zeros(2), torch.ones(3)),
                     lambda s: R.normal_of(s, np.zeros(2, F32), np.ones(3, F32))),
    "normal ints": (lambda: torch.randn(3, dtype=torch.int64), lambda s: R.randn(s, (3,), np.dtype(np.int64))),
    "rand ints": (lambda: torch.rand(3, dtype=torch.int64), lambda s: R.rand(s, (3,), np.dtype(np.int64))),
    "randint": (lambda: torch.randint(3, 2, (2,)), lambda s: R.randint(s, 3, 2, (2,))),
    "randint uint8": (lambda: torch.randint(300, (2,), dtype=torch.uint8),
                      lambda s: R.randint(s, 0, 300, (2,), np.dtype(np.uint8))),
    "randint complex": (lambda: torch.randint(3, (2,), dtype=torch.complex64),
                        lambda s: R.randint(s, 0, 3, (2,), np.dtype(np.complex64))),
    "random uint16": (lambda: torch.empty(2, dtype=torch.uint16).random_(),
                      lambda s: R.random(s, (2,), np.dtype(np.uint16))),
    "random uint64": (lambda: torch.empty(2, dtype=torch.uint64).random_(3, None),
                      lambda s: R.random(s, (2,), np.dtype(np.uint64), 3, None)),
    "random half": (lambda: torch.empty(2, dtype=torch.float16).random_(5000, None),
                    lambda s: R.random(s, (2,), np.dtype(np.float16), 5000, None)),
    "uniform": (lambda: torch.empty(3).uniform_(3, 2.5), lambda s: R.uniform(s, (3,), F32, 3, 2.5)),
    "uniform to": (lambda: torch.empty(3).uniform_(0, 1e39), lambda s: R.uniform(s, (3,), F32, 0, 1e39)),
    "uniform width": (lambda: torch.empty(3).uniform_(-3e38, 3e38), lambda s: R.uniform(s, (3,), F32, -3e38, 3e38)),
    "exponential": (lambda: torch.empty(3).exponential_(-1.5), lambda s: R.exponential(s, (3,), F32, -1.5)),
    "exponential nan": (lambda: torch.empty(3).exponential_(NAN), lambda s: R.exponential(s, (3,), F32, NAN)),
    "exponential int": (lambda: torch.ones(3, dtype=torch.int64).exponential_(),
                        lambda s: R.exponential(s, (3,), np.dtype(np.int64))),
    "cauchy": (lambda: torch.empty(3).cauchy_(0, 0), lambda s: R.cauchy(s, (3,), F32, 0, 0)),
    "cauchy int": (lambda: torch.ones(3, dtype=torch.int64).cauchy_(),
                   lambda s: R.cauchy(s, (3,), np.dtype(np.int64))),
    "log_normal": (lambda: torch.empty(3).log_normal_(0, 0), lambda s: R.log_normal(s, (3,), F32, 0, 0)),
    "geometric": (lambda: torch.empty(3).geometric_(1), lambda s: R.geometric(s, (3,), F32, 1)),
    "geometric bool": (lambda: torch.empty(3, dtype=torch.bool).geometric_(.5),
                       lambda s: R.geometric(s, (3,), np.dtype(bool), .5)),
    "bernoulli": (lambda: torch.empty(3).bernoulli_(1.5), lambda s: R.bernoulli(s, (3,), F32, 1.5)),
    "bernoulli ps": (lambda: torch.bernoulli(torch.tensor([.5, NAN])),
                     lambda s: R.bernoulli_of(s, np.array([.5, NAN], F32))),
    "bernoulli int ps": (lambda: torch.bernoulli(torch.tensor([1, 0])), lambda s: R.bernoulli_of(s, np.array([1, 0]))),
    "poisson": (lambda: torch.poisson(torch.tensor([-1.])), lambda s: J.poisson(s, np.array([-1.], F32))),
    "poisson int": (lambda: torch.poisson(torch.tensor([1])), lambda s: J.poisson(s, np.array([1]))),
    "binomial int": (lambda: torch.binomial(torch.tensor([1]), torch.tensor([.5])),
                     lambda s: J.binomial(s, np.array([1]), np.array([.5], F32))),
    "binomial dtypes": (lambda: torch.binomial(torch.tensor([1.]), torch.tensor([.5]).double()),
                        lambda s: J.binomial(s, np.array([1.], F32), np.array([.5]))),
    "dropout": (lambda: torch.dropout(torch.ones(3), 1.5, True), lambda s: R.dropout_mask(s, (3,), F32, 1.5)),
    "feature dropout": (lambda: torch.feature_dropout(torch.ones(3), .5, True),
                        lambda s: R.feature_dropout_size((3,))),
    "rrelu": (lambda: torch.rrelu(torch.ones(3), .5, .2, True), lambda s: R.rrelu_noise(s, np.ones(3, F32), .5, .2)),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    compare(*ERRORS[name])


@pytest.mark.parametrize("p, k, replacement", [
    ([1., 1, 1], 4, False), ([1., 1, 1], 0, False), (1., 1, False), ([[[1.]]], 1, False), ([1, 2], 1, False),
    ([-1., 2], 1, False), ([-1., 2], 2, True), ([INF, 2], 2, True), ([NAN, 2], 1, False), ([0., 0], 1, False),
    ([0., 0], 2, True), ([[0., 0], [1, 1]], 1, False), ([[0., 0], [1, 1]], 2, True), ([], 1, True),
    ([NAN, 2], 2, True)])
def test_multinomial_errors(p, k, replacement):
    t = torch.tensor(p)
    compare(lambda: torch.multinomial(t, k, replacement), lambda s: C.multinomial(s, t.numpy(), k, replacement))


def test_one_by_one_puts_back_what_it_did_not_use():
    stream, other = Stream(5), Stream(5)
    with stream.one_by_one(100) as draw:
        first = [draw() for _ in range(37)]
    assert first == other.doubles(37).tolist()
    np.testing.assert_array_equal(stream.get_state(), other.get_state())


def test_generator():
    g, t = Generator(), torch.Generator()
    assert g.initial_seed() == t.initial_seed()
    assert g.manual_seed(4) is g
    t.manual_seed(4)
    np.testing.assert_array_equal(R.randn(g.stream, (3,)), torch.randn(3, generator=t).numpy())
    np.testing.assert_array_equal(g.get_state(), t.get_state().numpy())
    for other in (g.clone_state(), pickle.loads(pickle.dumps(g))):
        np.testing.assert_array_equal(other.get_state(), g.get_state())
    assert g.seed() == g.initial_seed() != 4


@pytest.mark.parametrize("call", [
    lambda g, make: g.manual_seed(2**64), lambda g, make: g.manual_seed("a"), lambda g, make: g.manual_seed(1.5),
    lambda g, make: g.manual_seed(True), lambda g, make: g.get_offset(), lambda g, make: g.set_offset(3),
    lambda g, make: g.set_state(3), lambda g, make: g.set_state(make(np.zeros(3, np.uint8))),
    lambda g, make: g.set_state(make(np.zeros(5056, np.uint8))),
    lambda g, make: g.set_state(make(np.zeros(5056, F32)))])
def test_generator_errors(call):
    with pytest.raises(Exception) as theirs:
        call(torch.Generator(), torch.from_numpy)
    with pytest.raises(theirs.type) as ours:
        call(Generator(), jtorch.from_numpy)
    assert str(ours.value) == str(theirs.value)


def test_generator_knows_its_device(xp):
    assert xp.Generator().device == xp.Generator(None).device == xp.default_generator.device == xp.device("cpu")
    g = xp.Generator("cpu:0")
    assert type(g.device) is xp.device
    assert pickle.loads(pickle.dumps(g)).device == g.clone_state().device == g.device == xp.rand(1, generator=g).device
    with pytest.raises(AttributeError):
        g.device = "cpu"


def test_generators_that_there_are_none_of(xp):
    for what, error in ((3.5, TypeError), ("nope", RuntimeError), ("meta", RuntimeError)):
        with pytest.raises(error):
            xp.Generator(what)
    g = xp.Generator()
    for call in (g.graphsafe_get_state, lambda: g.graphsafe_set_state(g)):
        with pytest.raises(NotImplementedError, match="graphsafe_[gs]et_state is not supported in this Generator"):
            call()
    for call in (lambda: g.graphsafe_set_state(3), lambda: g.manual_seed(seed=3), lambda: xp.ones(2).normal_(generator=3)):
        with pytest.raises(TypeError):
            call()


def test_keys(monkeypatch):
    # The test pretends that the device exists.
    monkeypatch.setattr("jtorch._base.generator.canonical", lambda place: place)
    g = Generator("xla").manual_seed(2**63 + 5)
    keys = [g.next_key() for _ in range(3)]
    state = g.get_state()
    assert len({str(k) for k in keys}) == 3
    assert g.get_offset() == 12
    again = Generator("xla").manual_seed(2**63 + 5)
    assert str(again.next_key()) == str(keys[0])
    fourth = str(g.next_key())
    g.set_state(state)
    assert str(g.next_key()) == fourth
    assert str(Generator("xla").manual_seed(5).next_key()) != str(keys[0])
    on_cpu = Generator()
    assert str(on_cpu.next_key()) != str(on_cpu.next_key())
