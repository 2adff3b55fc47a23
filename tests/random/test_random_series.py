"""Draws in any order: PyTorch's numbers, and its state after each call."""
from __future__ import annotations

import copy
import pickle
import random
import threading

import numpy as np
import pytest

import jtorch
from jtorch._base import late_bindings
from jtorch._base import mt19937 as streams
from jtorch._base.mt19937 import Stream
from jtorch.ops import random as draw
from jtorch.ops import random_choice

torch = pytest.importorskip("torch", reason="the reference is PyTorch, which is not installed")

pytestmark = pytest.mark.skipif(torch.backends.cpu.get_cpu_capability() == "DEFAULT",
                                reason="PyTorch uses other float kernels without AVX2")

CALLS = {
    "randn": lambda xp, n, g: xp.randn(n, generator=g),
    "half": lambda xp, n, g: xp.randn(n, generator=g, dtype=xp.bfloat16).float(),
    "double": lambda xp, n, g: xp.randn(n, generator=g, dtype=xp.float64),
    "complex": lambda xp, n, g: xp.view_as_real(xp.randn(n, generator=g, dtype=xp.complex64)),
    "normal_": lambda xp, n, g: xp.empty(n).normal_(.5, 2., generator=g),
    "rand": lambda xp, n, g: xp.rand(n, generator=g),
    "randint": lambda xp, n, g: xp.randint(0, 10, (n,), generator=g),
    "randperm": lambda xp, n, g: xp.randperm(n, generator=g),
    "bernoulli": lambda xp, n, g: xp.bernoulli(xp.full((n,), .3), generator=g),
    "poisson": lambda xp, n, g: xp.poisson(xp.full((n % 50,), .3), generator=g),
}
SIZES = (16, 100, 1000, 1024, 8, 1, 624, 2048, 2049, 9000)


def check_same(ours, theirs, said):
    np.testing.assert_array_equal(ours.numpy(), theirs.numpy(), err_msg=said)


def check_states(generators, said=""):
    ours, theirs = (g.get_state().numpy() for g in generators)
    np.testing.assert_array_equal(ours, theirs, err_msg=said)


def both(seed):
    return jtorch.Generator().manual_seed(seed), torch.Generator().manual_seed(seed)


def moved(rng, generators, saved):
    """Sometimes set both generators to another state. ``saved`` keeps an earlier state of each."""
    event = rng.randrange(40)
    if event == 0:
        seed = rng.randrange(1 << 40)
        for g in generators:
            g.manual_seed(seed)
    elif event == 1:
        saved[:] = [g.get_state() for g in generators]
    elif event == 2 and saved:
        for g, state in zip(generators, saved, strict=True):
            g.set_state(state)
    elif event == 3:
        return tuple(g.clone_state() for g in generators)
    elif event == 4:
        return pickle.loads(pickle.dumps(generators[0])), generators[1]
    return generators


@pytest.mark.parametrize("seed", range(3))
def test_any_series_of_calls(seed):
    rng, generators, saved = random.Random(seed), both(seed), []
    for i in range(120):
        name = rng.choice(["randn"] * 8 + list(CALLS))
        n = rng.choice((rng.choice(SIZES), rng.randrange(16, 80), rng.randrange(16, 2100)))
        for _ in range(rng.choice((1, 1, 3, 12))):
            check_same(*(CALLS[name](xp, n, g) for xp, g in zip((jtorch, torch), generators, strict=True)), f"{i}: {name} {n}")
        check_states(generators, f"{i}: {name} {n}")
        generators = moved(rng, generators, saved)


@pytest.mark.parametrize("n", [16, 17, 23, 24, 25, 31, 100, 1000, 1024, 2047])
@pytest.mark.parametrize("between", [0, 8, 33])
def test_one_size_again_and_again(n, between):
    """Each draw begins at another word of the state."""
    generators = both(n)
    for i in range(6000 // n + 15):
        check_same(jtorch.randn(n, generator=generators[0]), torch.randn(n, generator=generators[1]), str(i))
        check_same(jtorch.rand(between, generator=generators[0]), torch.rand(between, generator=generators[1]), str(i))
    check_states(generators)


def test_the_default_generator():
    def noise(xp):
        out = []
        xp.manual_seed(5)
        for i in range(30):
            out.append(xp.randn(50))
            if i % 7 == 3:
                with xp.random.fork_rng():
                    out += [xp.randn(20), xp.randn(20), xp.randn(20)]
                out.append(xp.nn.functional.dropout(xp.ones(10), .5))
        return xp.cat(out), xp.get_rng_state()
    for ours, theirs in zip(noise(jtorch), noise(torch), strict=True):
        check_same(ours, theirs, "")


def drawn(stream, n=100):
    return draw.randn(stream, (n,)).tolist()


def test_a_copy_goes_its_own_way():
    g = jtorch.Generator().manual_seed(3)
    for _ in range(5):
        drawn(g.stream)
    copies = [g.clone_state(), copy.copy(g), copy.deepcopy(g), pickle.loads(pickle.dumps(g))]
    assert len(pickle.dumps(g)) < 12_000
    for other in copies:
        jtorch.rand(7, generator=other)
    streams = [copy.copy(g.stream), copy.deepcopy(g.stream), g.stream.clone()]
    expected = [drawn(g.stream) for _ in range(5)]
    for other in streams:
        assert [drawn(other) for _ in range(5)] == expected
    stray = [[drawn(other.stream) for _ in range(5)] for other in copies]
    assert all(s == stray[0] for s in stray)
    assert stray[0] != expected


def test_threads_share_a_stream():
    """No number comes twice, in any thread."""
    stream, found = Stream(4), []

    def work():
        found.extend(drawn(stream, 64) for _ in range(200))
    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    other = Stream(4)
    assert sorted(found) == sorted(drawn(other, 64) for _ in range(800))
    np.testing.assert_array_equal(stream.get_state(), other.get_state())


def test_without_numpys_memory(monkeypatch):
    """If NumPy stores its state in another way, its own property is used."""
    assert streams._memory_is_known()
    plain = Stream(9)
    monkeypatch.setattr(streams, "_memory_is_known", lambda: False)
    other = Stream(9)
    for _ in range(4):
        assert drawn(plain) == drawn(other)
        with plain.one_by_one(9) as a, other.one_by_one(9) as b:
            assert a() == b()
        np.testing.assert_array_equal(plain.get_state(), other.get_state())
    assert drawn(other.clone()) == drawn(plain)


@pytest.mark.parametrize("n", [0, 1, 2, 65, 1000])
@pytest.mark.parametrize("in_c", [False, True])
def test_randperm_with_and_without_the_extension(monkeypatch, n, in_c):
    if not in_c:
        monkeypatch.setattr(late_bindings, "swap_places", None)
    torch.manual_seed(n)
    np.testing.assert_array_equal(random_choice.randperm(Stream(n), n), torch.randperm(n).numpy())


def test_normals_where_the_uniform_is_zero():
    """The radius is -0 then, and the result has the sign of the mean."""
    state = torch.Generator().manual_seed(1).get_state()
    words = state.numpy()[24:24 + 624 * 8].view(np.uint64)
    words[:] = 0
    state[8:12].view(torch.int32)[0], state[16:24].view(torch.int64)[0] = 500, 124
    ours, theirs = jtorch.Generator(), torch.Generator()
    ours.set_state(jtorch.tensor(state.numpy()))
    theirs.set_state(state)
    for n in (16, 32, 40):
        a, b = jtorch.randn(n, generator=ours).numpy(), torch.randn(n, generator=theirs).numpy()
        np.testing.assert_array_equal(a.view(np.int32), b.view(np.int32))
