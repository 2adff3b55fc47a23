"""Functions with few samples in PyTorch's database: settings, low rank, short-time spectra, wrong arguments."""
from __future__ import annotations

import numpy as np
import pytest
from bodies import written

pytestmark = pytest.mark.filterwarnings("ignore:A window was not provided", "ignore:set_default_tensor_type")


def tensor(xp, *shape, seed=0, **more):
    return xp.tensor(np.random.default_rng(seed).standard_normal(shape), **more)


# ---------------------------------------------------------------- wrong arguments

@pytest.mark.parametrize(("call", "text"), [
    (lambda xp: xp.eq(1, 2), r"eq\(\) received an invalid combination of arguments - got \(int, int\)"),
    (lambda xp: xp.bitwise_and(1, 2),
     r"bitwise_and\(\) received an invalid combination of arguments - got \(int, int\)"),
    (lambda xp: xp.special.zeta(1, 2),
     r"special_zeta\(\) received an invalid combination of arguments - got \(int, int\)"),
    (lambda xp: xp.unsqueeze(xp.ones(2), 0.5), r"unsqueeze\(\): argument 'dim' \(position 2\) must be int, not float"),
    (lambda xp: xp.cumsum(xp.ones(2), None), r"cumsum\(\): argument 'dim' \(position 2\) must be int, not NoneType"),
    (lambda xp: xp.topk(xp.ones(2), 1.0), r"topk\(\): argument 'k' \(position 2\) must be int, not float"),
    (lambda xp: xp.cat([xp.ones(2), None]), "expected Tensor as element 1 in argument 0, but got NoneType"),
], ids=written)
def test_arguments_that_fit_no_overload(xp, call, text):
    with pytest.raises(TypeError, match=text):
        call(xp)


def test_numbers_stand_for_tensors_where_pytorch_lets_them(xp):
    assert xp.add(2, 3).tolist() == 5
    assert xp.ones(2, 3).unsqueeze(xp.tensor(0)).shape == (1, 2, 3)
    assert xp.ones(2, 3).unsqueeze(np.int64(1)).shape == (2, 1, 3)


# ---------------------------------------------------------------- empty results, results whose shape depends on values

def test_no_parts(xp):
    assert xp.zeros(2, 0).unbind(1) == ()
    assert xp.unravel_index(xp.tensor([0]), ()) == ()


def test_out_of_an_op_whose_shape_depends_on_values(xp):
    out = xp.empty(0, dtype=xp.int64)
    assert xp.nonzero(xp.tensor([0, 1, 1]), out=out) is out
    assert out.tolist() == [[1], [2]]
    with pytest.raises(RuntimeError, match="can't be cast|Expected object of scalar type|type Long"):
        xp.nonzero(xp.tensor([1.0]), out=xp.empty(0, dtype=xp.bool))


# ---------------------------------------------------------------- values that others replaced

@pytest.mark.parametrize("write", [
    lambda x, i, v: x.index_put((i,), v),
    lambda x, i, v: x.index_copy(0, i, v),
    lambda x, i, v: x.scatter(0, i[:, None].expand(3, 2), v),
], ids=written)
def test_gradient_of_a_place_written_twice(torch, write):
    found = []
    for xp in (torch, pytest.importorskip("jtorch")):
        x, v = tensor(xp, 4, 2).requires_grad_(), tensor(xp, 3, 2, seed=1).requires_grad_()
        y = write(x, xp.tensor([1, 1, 3]), v)
        loss = y[3].square() if "scatter" in written(write) else y * xp.arange(8.).reshape(4, 2)
        loss.sum().backward()
        found.append([x.grad.tolist(), v.grad.tolist()])
    np.testing.assert_allclose(found[1][0], found[0][0])
    np.testing.assert_allclose(found[1][1], found[0][1])


@pytest.mark.filterwarnings("ignore:index_reduce")
@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("zeros", [[], [0], [3], [0, 1], [0, 6, 7], [7, 9]])
@pytest.mark.parametrize("call", [
    lambda x, i, v, own: x.scatter_reduce(0, i, v, "prod", include_self=own),
    lambda x, i, v, own: x.index_reduce(0, i, v, "prod", include_self=own),
], ids=written)
def test_second_gradients_of_products_of_zeros(torch, call, zeros, include_self):
    """``zeros`` says which of 5 numbers and of their 6 factors are 0. PyTorch refuses several zero factors at one
    number.
    """
    import jtorch
    found = []
    for xp in (torch, jtorch):
        numbers = np.random.default_rng(0).standard_normal(11)
        numbers[zeros] = 0
        x, v = (xp.tensor(part, requires_grad=True) for part in (numbers[:5], numbers[5:]))
        y = call(x, xp.tensor([0, 1, 0, 2, 1, 0]), v, include_self)
        weights = xp.arange(1.0, 6.0, dtype=xp.float64)
        first = xp.autograd.grad((y * weights).sum(), (x, v), create_graph=True)
        second = xp.autograd.grad(sum((g * xp.arange(2.0, 2.0 + len(g), dtype=xp.float64)).sum() for g in first), (x, v))
        found.append([g.detach().numpy() for g in (y, *first, *second)])
    for expected, got in zip(*found, strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.nightly
@pytest.mark.parametrize("zeros", [[], [0, 1], [0, 1, 4]])
def test_second_gradients_are_those_of_differences(zeros):
    import jtorch
    numbers = np.random.default_rng(1).standard_normal(10)
    numbers[zeros] = 0
    x, v = (jtorch.tensor(part, requires_grad=True) for part in (numbers[:6], numbers[6:]))
    i = jtorch.tensor([0, 0, 0, 1])
    for call in (lambda x, v: x.scatter_reduce(0, i, v, "prod"), lambda x, v: x.scatter_reduce(0, i, v, "mean", include_self=False),
                 lambda x, v: jtorch.segment_reduce(x, "prod", lengths=jtorch.tensor([5, 1])) * v[0],
                 lambda x, v: jtorch.as_strided_scatter(x * x, (v * v).reshape(2, 2), (2, 2), (2, 1), 1),
                 lambda x, v: jtorch.as_strided_scatter(x * x, (v * v).reshape(2, 2), (2, 2), (1, 1), 0)):
        assert jtorch.autograd.gradcheck(call, (x, v))
        assert jtorch.autograd.gradgradcheck(call, (x, v))


# ---------------------------------------------------------------- short-time spectra

def test_a_signal_comes_back_from_its_spectra(xp):
    signal, window = tensor(xp, 2, 50), xp.hann_window(16, dtype=xp.float64)
    spectra = xp.stft(signal, 16, 4, window=window, return_complex=True)
    assert (spectra.shape, spectra.dtype) == ((2, 9, 13), xp.complex128)
    back = xp.istft(spectra, 16, 4, window=window, length=50)
    np.testing.assert_allclose(back.numpy()[:, :48], signal.numpy()[:, :48], atol=1e-12)


@pytest.mark.parametrize(("call", "text"), [
    (lambda xp, x: xp.stft(x, 8), "stft requires the return_complex parameter be given for real inputs"),
    (lambda xp, x: xp.stft(x, 8, win_length=9, return_complex=True),
     r"stft\(torch.DoubleTensor\[48\], n_fft=8, hop_length=2, win_length=9"),
    (lambda xp, x: xp.istft(x.reshape(5, 8), 8), "istft requires a complex-valued input tensor"),
    (lambda xp, x: xp.istft(xp.ones(5, 9, dtype=xp.complex64), 8, window=xp.hann_window(8), center=False),
     "window overlap add min: 1"),
], ids=written)
def test_errors_of_spectra(xp, call, text):
    with pytest.raises(RuntimeError, match=text):
        call(xp, tensor(xp, 40)).tolist()


# ---------------------------------------------------------------- statistics, histograms, segments

def test_weighted_covariances(xp):
    x, counts, shares = tensor(xp, 3, 6), xp.tensor([1, 2, 3, 1, 1, 2]), xp.linspace(0.5, 1, 6, dtype=xp.float64)
    expected = np.cov(x.numpy(), fweights=counts.numpy(), aweights=shares.numpy())
    np.testing.assert_allclose(xp.cov(x, fweights=counts, aweights=shares).numpy(), expected)
    with pytest.raises(RuntimeError, match=r"cov\(\): fweights cannot be negative"):
        xp.cov(x, fweights=-counts).tolist()


def test_histogram_of_points(xp):
    found = xp.histogramdd(xp.tensor([[0.0, 0.5], [1.0, 0.5], [1.0, 2.0]]), bins=[2, 3])
    assert type(found).__name__ == "histogramdd"
    assert found.hist.tolist() == [[1, 0, 0], [1, 0, 1]]
    assert [e.tolist() for e in found.bin_edges] == [[0, 0.5, 1], [0.5, 1, 1.5, 2]]
    with pytest.raises(RuntimeError, match="expected 2 sequences of bin edges for a 2-dimensional histogram but got 1"):
        xp.histogramdd(xp.ones(3, 2), bins=[xp.arange(3.0)])


@pytest.mark.parametrize(("reduce", "expected"), [("sum", [3, 0, 3]), ("mean", [1.5, float("nan"), 3]), ("max", [2, -np.inf, 3])])
def test_segments(xp, reduce, expected):
    made = xp.segment_reduce(xp.tensor([1.0, 2.0, 3.0]), reduce, lengths=xp.tensor([2, 0, 1]))
    np.testing.assert_array_equal(made.numpy(), expected)
    with pytest.raises(RuntimeError, match="Expected all rows of lengths along axis to sum to"):
        xp.segment_reduce(xp.ones(3), reduce, lengths=xp.tensor([1])).tolist()


NAN = float("nan")
NUMBERS = [1.0, 1.0, NAN, 2.0, 2.0, 3.0, 3.0, 0.0, 4.0, 0.0]


@pytest.mark.parametrize(("reduce", "initial", "expected"), [
    ("max", None, [0, 0, 2, -2, -2, 2, 2, 0, -4, 0]), ("max", 3.0, [0, 0, 2, 0, 0, 2, 2, 0, -4, 0]),
    ("min", None, [0, 0, 2, -2, -2, 2, 2, -4, 0, -4]), ("min", NAN, [0, 0, 2, 0, 0, 0, 0, 0, 0, 0]),
    ("prod", None, [NAN, NAN, 2, -4, -4, 12, 12, 0, 0, 0]), ("prod", 2.0, [NAN, NAN, 4, -8, -8, 24, 24, 0, 0, 0]),
])
def test_gradients_of_segments(xp, reduce, initial, expected):
    """NaN gets the gradient of an extreme. Only positive gradients are divided among equal extremes."""
    x = xp.tensor(NUMBERS, requires_grad=True)
    made = xp.segment_reduce(x, reduce, lengths=xp.tensor([3, 2, 2, 0, 3]), initial=initial)
    made.backward(xp.tensor([2.0, -2.0, 4.0, 3.0, -4.0]))
    np.testing.assert_array_equal(x.grad.numpy(), expected)


def test_gradients_of_segments_along_a_later_dim(xp):
    x = xp.tensor([[0.0, 3.0, 5.0], [2.0, 0.0, 0.0]], requires_grad=True)
    xp.segment_reduce(x, "prod", lengths=xp.tensor([[2, 1], [1, 2]]), axis=1).sum().backward()
    assert x.grad.tolist() == [[3, 0, 1], [1, 0, 0]]


# ---------------------------------------------------------------- some eigenvalues

@pytest.mark.parametrize("largest", [True, False])
def test_lobpcg(xp, largest):
    a, b = tensor(xp, 9, 9), tensor(xp, 9, 9, seed=1)
    a, b = a + a.T, b @ b.T + xp.eye(9, dtype=xp.float64)
    values, vectors = xp.lobpcg(a, k=2, B=b, largest=largest, niter=200, X=tensor(xp, 9, 2, seed=2))
    every = np.sort(np.linalg.eigvals(np.linalg.solve(b.numpy(), a.numpy())).real)
    np.testing.assert_allclose(values.numpy(), every[::-1][:2] if largest else every[:2], rtol=1e-5)
    np.testing.assert_allclose((a @ vectors).numpy(), (b @ vectors * values).numpy(), atol=1e-4)


def test_principal_components(xp):
    a = tensor(xp, 20, 3) @ tensor(xp, 3, 8, seed=1)
    u, s, v = xp.pca_lowrank(a, q=3)
    np.testing.assert_allclose((u * s @ v.T).numpy(), (a - a.mean(0)).numpy(), atol=1e-10)
    with pytest.raises(ValueError, match="must be non-negative integer and not greater than min"):
        xp.pca_lowrank(a, q=9)


# ---------------------------------------------------------------- settings and questions

def test_deterministic_debug_mode(xp):
    try:
        for mode, number in (("warn", 1), ("error", 2), (0, 0)):
            xp.set_deterministic_debug_mode(mode)
            assert xp.get_deterministic_debug_mode() == number
        with pytest.raises(RuntimeError, match="invalid value of debug_mode, expected 0, 1, or 2, but got 5"):
            xp.set_deterministic_debug_mode(5)
        xp.use_deterministic_algorithms(False, warn_only=True)
        assert xp.is_deterministic_algorithms_warn_only_enabled() and not xp.are_deterministic_algorithms_enabled()
    finally:
        xp.set_deterministic_debug_mode("default")


def test_elements_through_python(xp):
    x = xp.tensor([1.0, 2.0])
    assert x.apply_(lambda v: v + 1) is x
    assert x.map_(xp.tensor([2.0]), lambda a, b: a * b).tolist() == [4.0, 6.0]
    with pytest.raises(RuntimeError, match=r"Can't call apply_\(\) on Variable that requires grad"):
        x.requires_grad_().apply_(abs)


def test_layout(xp):
    x = xp.empty_permuted((2, 3, 4), (2, 0, 1))
    assert (x.stride(), x.dim_order()) == ((3, 1, 6), (2, 0, 1))
    assert (x.dense_dim(), x.sparse_dim()) == (3, 0)
    assert x.to_dense() is x
    with pytest.raises(RuntimeError, match="Duplicate dim not allowed"):
        xp.empty_permuted((2, 3), (0, 0))


def test_symbolic_numbers_functions(xp):
    assert (xp.sym_max(1, 2.0), xp.sym_min(1, 2), xp.sym_sum([1, 2]), xp.sym_not(0), xp.sym_ite(True, 1, 2)) == (2.0, 1, 3, True, 1)
    assert xp.typename(xp.ones(1)) == "torch.FloatTensor"


def test_scatter_of_a_value_by_keyword(xp):
    """The one-hot target of PyTorch's tutorials has its gradient; a missing value raises a TypeError."""
    assert xp.zeros(3).scatter_(0, xp.tensor(2), value=1).tolist() == [0, 0, 1]
    x = xp.zeros(3, requires_grad=True)
    xp.scatter(x, 0, xp.tensor([1]), value=2).sum().backward()
    assert x.grad.tolist() == [1, 0, 1]
    with pytest.raises(TypeError):
        xp.zeros(3).scatter(0, xp.tensor([1]))


def test_extremes_take_no_dim(xp):
    x = xp.tensor([[1.0, 4.0], [3.0, 2.0]])
    assert (xp.amax(x, None).item(), x.amin(dim=None).item(), xp.amax(x, None, keepdim=True).shape) == (4.0, 1.0, (1, 1))


@pytest.mark.parametrize(("equation", "dtypes", "result"), [
    ("ij,kj->ikj", ("float16", "bfloat16"), "float32"), ("ij,->ij", ("float32", "float64"), "float64"),
    ("ij,kl->ij", ("float16", "int32"), "float16"), ("ij->i", ("uint8",), "int64"), ("ij,kl->ij", ("uint8", "uint8"), "int64"),
    ("ij,kj->ik", ("uint8", "uint8"), "uint8")])
def test_einsum_promotes_where_it_multiplies_elements(equation, dtypes, result, xp):
    operands = [xp.ones((2, 3)[:len(term)], dtype=getattr(xp, d)) for term, d in zip(equation.split("->")[0].split(","), dtypes, strict=True)]
    assert xp.einsum(equation, *operands).dtype is getattr(xp, result)


def test_einsum_contracts_one_dtype(xp):
    with pytest.raises(RuntimeError, match="expected scalar type Float but found Double"):
        xp.einsum("ij,kj->ik", xp.ones(2, 3), xp.ones(2, 3, dtype=xp.float64))
