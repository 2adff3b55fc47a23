"""Eight virtual CPUs stand for several accelerators. JAX needs the setting before it starts, so each test is a fresh
Python.
"""
from __future__ import annotations

import textwrap

import pytest
from process_programs import virtual_devices

PRELUDE = "import warnings, jtorch as torch, jax\nfrom jtorch import Tensor\n"


@pytest.fixture
def eight(run_forked):
    """Return a function that runs code with the devices ``cpu`` (cpu:0) to ``cpu:7``."""
    return lambda code: run_forked(PRELUDE + textwrap.dedent(code), virtual_devices(8))


def test_a_tensor_goes_to_a_device_and_back(eight):
    eight("""
        x = torch.arange(4.)
        y = x.to("cpu:3")
        assert str(y.device) == "cpu:3" and str(x.device) == "cpu"
        assert y.jax().devices() == {jax.devices("cpu")[3]}
        assert (y.cpu() == x).all() and str(y.cpu().device) == "cpu"
    """)


def test_a_tensor_is_made_on_a_device(eight):
    eight("""
        for make in (lambda d: torch.zeros(3, device=d), lambda d: torch.tensor([1., 2.], device=d),
                     lambda d: torch.randn(3, device=d), lambda d: torch.arange(3, device=d), lambda d: torch.full((2,), 1.0, device=d)):
            t = make("cpu:5")
            assert str(t.device) == "cpu:5", t.device
            assert (t + t).jax().devices() == {jax.devices("cpu")[5]}
            assert str((t * 2)[0].device) == "cpu:5"
    """)


def test_devices_do_not_mix(eight):
    eight("""
        x, y = torch.ones(2), torch.ones(2, device="cpu:1")
        try:
            x + y
        except RuntimeError as error:
            assert str(error).startswith("Expected all tensors to be on the same device"), error
        else:
            raise AssertionError("no error")
        assert str((torch.tensor(2.0) * y).device) == "cpu:1"       # a 0-dim tensor on the CPU goes along
    """)


def test_gradients_stay_on_their_device(eight):
    eight("""
        w = torch.ones(3, device="cpu:2", requires_grad=True)
        x = torch.arange(3., requires_grad=True)
        (w * x.to("cpu:2")).sum().backward()
        assert str(w.grad.device) == "cpu:2" and str(x.grad.device) == "cpu"
        assert w.grad.tolist() == [0., 1., 2.] and x.grad.tolist() == [1., 1., 1.]
    """)


def test_in_place_and_views_on_a_device(eight):
    eight("""
        x = torch.zeros(2, 2, device="cpu:4")
        x[0] += 1
        x.T[1, 1] = 5.0
        assert x.tolist() == [[1., 1.], [0., 5.]] and str(x[0].device) == "cpu:4"
    """)


def test_a_training_step_repeats_on_a_device(eight):
    eight("""
        w = torch.zeros(3, device="cpu:6", requires_grad=True)
        x = torch.arange(12., device="cpu:6").reshape(4, 3)
        losses = []
        for _ in range(30):
            loss = ((x @ w - 1) ** 2).mean()
            loss.backward()
            with torch.no_grad():
                w -= 0.001 * w.grad
            w.grad = None
            losses.append(loss.item())
        assert losses == sorted(losses, reverse=True) and str(w.device) == "cpu:6"
    """)


def test_an_index_that_is_not_there(eight):
    eight("""
        try:
            torch.zeros(1, device="cpu:8")
        except RuntimeError as error:
            assert "invalid device ordinal" in str(error)
        else:
            raise AssertionError("no error")
    """)
