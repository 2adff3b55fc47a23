"""The in-place samplers take tensors of no dimensions as numbers."""
import numpy as np
import pytest

pytestmark = pytest.mark.conformance

CALLS = {
    "normal_": lambda x, t: x.normal_(mean=t(1.), std=2 * t(1)), "uniform_": lambda x, t: x.uniform_(t(1.), t(2)),
    "exponential_": lambda x, t: x.exponential_(t(2.)), "cauchy_": lambda x, t: x.cauchy_(t(1), t(2.)),
    "log_normal_": lambda x, t: x.log_normal_(mean=t(1), std=t(2.)), "geometric_": lambda x, t: x.geometric_(t(.5)),
    "random_": lambda x, t: x.random_(t(1), t(7)),
}
REFUSED = {
    "of one dimension": lambda x, t: x.normal_(t([1.])), "differentiated": lambda x, t: x.uniform_(0, t(1., requires_grad=True)),
    "not an integer": lambda x, t: x.random_(0, t(2.)),
}


@pytest.mark.parametrize("name", CALLS)
def test_numbers(torch, name):
    import jtorch

    def drawn(xp):
        xp.manual_seed(0)
        return CALLS[name](xp.zeros(5), xp.tensor).numpy()
    np.testing.assert_allclose(drawn(jtorch), drawn(torch), rtol=1e-6)


@pytest.mark.parametrize("name", REFUSED)
def test_refused(xp, name):
    with pytest.raises(TypeError, match=r"argument '(mean|to)' .* must be float, not Tensor|got \(int, Tensor\)"):
        REFUSED[name](xp.zeros(5), xp.tensor)
