"""Tensors without elements: names of nodes, strides, and errors raised before those of kernels."""
from __future__ import annotations

import pytest

pytestmark = pytest.mark.core


def test_the_node_of_a_chunk(xp):
    def names(x, *args):
        return [type(part.grad_fn).__name__ for part in x.requires_grad_().chunk(*args)]
    assert names(xp.ones(0, 2), 2) == ["SplitWithSizesBackward0"] * 2
    assert names(xp.ones(3, 0), 2, -1) == ["SplitWithSizesBackward0"] * 2
    assert names(xp.ones(3, 0), 3) == names(xp.ones(3), 3) == ["SplitBackward0"] * 3
    parts = xp.unsafe_chunk(xp.ones(0, requires_grad=True), 2)
    assert [type(p.grad_fn).__name__ for p in parts] == ["UnsafeSplitWithSizesBackward0"] * 2


@pytest.mark.parametrize("dtype", ["bool", "int64"])
def test_lerp_asks_for_shapes_first(xp, dtype):
    a, b = xp.ones(2, dtype=getattr(xp, dtype)), xp.ones(3, dtype=getattr(xp, dtype))
    for call in (xp.lerp, xp.Tensor.lerp_):
        with pytest.raises(RuntimeError, match=r"The size of tensor a \(2\) must match the size of tensor b \(3\)"):
            call(a, b, 0.5)
    with pytest.raises(RuntimeError, match=r"output with shape \[2\] doesn't match the broadcast shape \[2, 2\]"):
        a.lerp_(xp.ones(2, 2, dtype=a.dtype), 0.5)
    with pytest.raises(NotImplementedError, match="lerp_kernel_scalar"):
        a.lerp_(a.clone(), 0.5)


def test_strides_behind_a_dim_of_no_elements(xp):
    assert (xp.empty(3, 0).t() + 1).stride() == (1, 0)
    assert (xp.empty(2, 3, 0).transpose(0, -1) + 1).stride() == (1, 0, 0)
    assert (xp.empty(2, 3, 0).transpose(0, -1) + xp.empty(0, 3, 2)).stride() == (6, 2, 1)
    assert [t.stride() for t in (xp.empty(0, 1), xp.zeros(3, 0), xp.cat([xp.ones(0, 2)] * 2), xp.ones(0, 3).sum(1, keepdim=True))] == \
        [(1, 1), (1, 1), (2, 1), (1, 1)]


@pytest.mark.parametrize("change", [lambda y: y.unsqueeze_(0), lambda y: y.t_()], ids=["unsqueeze_", "t_"])
def test_another_shape_between_two_uses(xp, change):
    """Gradients must fit the shapes of the graph. The error names the function that returned another shape."""
    x = xp.ones(2, 3, requires_grad=True)
    y = x * 2
    before = (y * 3).sum()
    with xp.no_grad():
        change(y)
    after = (y * 5).sum()
    if change(xp.ones(2, 3)).dim() == 3:        # Backward sums the gradient over a new first dim of size 1.
        (before + after).backward()
        assert x.grad.tolist() == [[16.0] * 3] * 2
    else:
        with pytest.raises(RuntimeError, match=r"Function MulBackward0 returned an invalid gradient at index 0 - got \[3, 2\] but"):
            (before + after).backward()
