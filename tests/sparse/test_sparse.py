"""Sparse tensors: contents, computations, gradients, text and files."""
from __future__ import annotations

import copy
import io
import pickle

import numpy as np
import pytest

pytestmark = pytest.mark.filterwarnings("ignore:Sparse")        # PyTorch warns of missing checks and of beta features.
PLACES, VALUES = [[0, 1, 1, 0], [2, 0, 2, 2]], [3.0, 4.0, 5.0, 1.0]
DENSE = np.array([[0.0, 0.0, 4.0], [4.0, 0.0, 5.0]])
LAYOUTS = ["coo", "csr", "csc"]


def coo(xp, **options):
    """Return a matrix with two entries for one element."""
    return xp.sparse_coo_tensor(PLACES, VALUES, (2, 3), **options)


def of_layout(xp, name):
    """Return that matrix in a layout."""
    return getattr(coo(xp).coalesce(), f"to_sparse_{name}")()


def close(got, wanted):
    """Return whether two tensors are equal, in any layout."""
    got = got.to_dense() if hasattr(got, "to_dense") else got
    np.testing.assert_allclose(got.detach().numpy(), np.asarray(wanted), rtol=1e-6)


def test_what_a_coo_tensor_says_of_itself(xp):
    a = coo(xp)
    assert (a.shape, a._nnz(), a.sparse_dim(), a.dense_dim(), a.is_sparse, a.is_coalesced()) == ((2, 3), 4, 2, 0, True, False)
    assert (a.layout, a.dtype, a.dim(), a.numel(), isinstance(a, xp.Tensor)) == (xp.sparse_coo, xp.float32, 2, 6, True)
    with pytest.raises(RuntimeError, match="Cannot get indices on an uncoalesced tensor"):
        a.indices()
    c = a.coalesce()
    assert c.indices().tolist() == [[0, 1, 1], [2, 0, 2]] and c.values().tolist() == [4, 4, 5] and c.is_coalesced()
    close(a, DENSE)


def test_layouts_and_back(xp):
    csr = of_layout(xp, "csr")
    assert csr.crow_indices().tolist() == [0, 1, 3] and csr.col_indices().tolist() == [2, 0, 2] and csr.is_sparse_csr
    csc = csr.to_sparse_csc()
    assert csc.ccol_indices().tolist() == [0, 1, 1, 3] and csc.row_indices().tolist() == [1, 0, 1]
    for t in (csr, csc, xp.tensor(DENSE).to_sparse(), xp.tensor(DENSE).to_sparse_csr(), csr.t().t()):
        close(t, DENSE)
        assert t.to_sparse().coalesce().indices().tolist() == [[0, 1, 1], [2, 0, 2]]


def test_what_constructors_refuse(xp):
    i = xp.tensor([[0, 5]])
    with pytest.raises(RuntimeError, match="size is inconsistent with indices: for dim 0, size is 3 but found index 5"):
        xp.sparse_coo_tensor(i, xp.ones(2), (3,), check_invariants=True)
    with pytest.raises(RuntimeError, match="indices and values must have same nnz"):
        xp.sparse_coo_tensor(i, xp.ones(1), (9,))
    with pytest.raises(RuntimeError, match="'len\\(size\\) == sparse_dim \\+ dense_dim' is not satisfied"):
        xp.sparse_coo_tensor(i, xp.ones(2), (9, 9))
    with pytest.raises(RuntimeError, match="found negative index -1 for dim 0"):
        xp.sparse_coo_tensor([[0, -1]], [1.0, 2.0])
    with pytest.raises(RuntimeError, match="`0 <= col_indices < ncols` is not satisfied"):
        xp.sparse_csr_tensor([0, 2], [0, 5], [1.0, 2.0], (1, 2), check_invariants=True)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_products(xp, layout):
    a, d = of_layout(xp, layout), np.arange(6.0, dtype=np.float32).reshape(3, 2)
    x = xp.from_numpy(d.copy())
    for made in (a @ x, xp.mm(a, x), xp.sparse.mm(a, x), xp.matmul(a, x), (x.t() @ a.t()).t()):
        close(made, DENSE @ d)
    close(a @ x[:, 0], DENSE @ d[:, 0])
    close(xp.sparse.addmm(xp.ones(2, 2), a, x, beta=2, alpha=3), 2 + 3 * DENSE @ d)
    close(a @ a.t(), DENSE @ DENSE.T)
    with pytest.raises(RuntimeError, match="expected scalar type|must have the same dtype"):
        a @ x.double()


def test_reduced_products(xp):
    a, x = of_layout(xp, "csr"), xp.tensor([[1.0, -1.0], [2.0, 3.0], [0.5, 4.0]])
    close(xp.sparse.mm(a, x, "mean"), [[2, 16], [3.25, 8]])
    close(xp.sparse.mm(a, x, "amax"), [[2, 16], [4, 20]])
    close(xp.sparse.mm(a, x, "amin"), [[2, 16], [2.5, -4]])


@pytest.mark.parametrize("layout", LAYOUTS[:2])
def test_elementwise(xp, layout):
    a, d = of_layout(xp, layout), np.arange(6.0).reshape(2, 3)
    dense = xp.tensor(d, dtype=xp.float32)
    for made, wanted in ((a * 2, 2 * DENSE), (2 * a, 2 * DENSE), (-a, -DENSE), (a.sqrt(), np.sqrt(DENSE)), (a.sin(), np.sin(DENSE)),
                         (a + a, 2 * DENSE), (a * a, DENSE ** 2), (a * dense, DENSE * d), (dense * a, DENSE * d), (a.relu(), DENSE)):
        assert made.layout is a.layout or made.layout == a.layout
        close(made, wanted)
    close(dense + a, d + DENSE)
    close(dense.sparse_mask(a), np.where(DENSE, d, 0))
    close(a.clone().mul_(3), 3 * DENSE)
    assert a.clone().zero_()._nnz() == 0 and a.double().dtype is xp.float64


def test_sums_of_two_that_are_there_elsewhere(xp):
    a, b = coo(xp), xp.sparse_coo_tensor([[0], [0]], [7.0], (2, 3))
    for made in (a + b, a.coalesce() + b.coalesce(), b + a):
        close(made, DENSE + [[7, 0, 0], [0, 0, 0]])
    close(a - b, DENSE - [[7, 0, 0], [0, 0, 0]])
    close(a * b, 0 * DENSE)
    with pytest.raises(RuntimeError, match="add\\(sparse, dense\\) is not supported"):
        a + xp.ones(2, 3)
    with pytest.raises(RuntimeError, match="expected sizes of 'self' and 'other' to match"):
        a + xp.sparse_coo_tensor((3, 3))


def test_parts_and_joins(xp):
    a = coo(xp)
    close(a.t(), DENSE.T)
    close(a.transpose(0, 1), DENSE.T)
    close(a.index_select(0, xp.tensor([1, 1, 0])), DENSE[[1, 1, 0]])
    close(a.index_select(1, xp.tensor([2, 0])), DENSE[:, [2, 0]])
    close(a[1], DENSE[1])
    assert a[0, 2].item() == 4
    close(xp.cat([a, a]), np.concatenate([DENSE, DENSE]))
    close(xp.cat([a, a], 1), np.concatenate([DENSE, DENSE], 1))
    close(xp.stack([a, a]), np.stack([DENSE, DENSE]))


def test_matrices_are_transposed_and_conjugated(xp):
    batches = xp.sparse_coo_tensor([[0, 1], [1, 0], [2, 1]], xp.tensor([1j, 2.0]), (2, 2, 3))
    whole = batches.to_dense()
    for turned in (batches.mH, batches.adjoint()):
        assert turned.to_dense().tolist() == whole.mH.tolist()
    assert batches.mT.to_dense().tolist() == whole.mT.tolist()
    close(coo(xp).H, DENSE.T)
    assert of_layout(xp, "csr").mT.layout == xp.sparse_csc
    with pytest.raises(RuntimeError, match="tensor.H is only supported on matrices"):
        batches.H
    first, second = coo(xp).unbind(0)
    close(first, DENSE[0])
    close(second, DENSE[1])


def test_a_new_size_in_place(xp):
    a = coo(xp)
    assert a.sparse_resize_((3, 4), 2, 0) is a and a.shape == (3, 4)
    close(a, np.pad(DENSE, ((0, 1), (0, 1))))
    with pytest.raises(RuntimeError, match=r"shrinking the size of sparse dimensions \(from \[3, 4\] to \[1, 4\]\)"):
        a.sparse_resize_((1, 4), 2, 0)
    with pytest.raises(RuntimeError, match="changing the number of dense dimensions"):
        a.sparse_resize_((3, 4, 1), 2, 1)
    a.sparse_resize_and_clear_((1, 2, 5), 2, 1)
    assert (a.shape, a.dense_dim(), a._nnz()) == ((1, 2, 5), 1, 0)


def test_sums_and_softmax(xp):
    a = coo(xp)
    assert xp.sparse.sum(a).item() == 13
    close(xp.sparse.sum(a, 0), DENSE.sum(0))
    close(xp.sparse.sum(a, 1), DENSE.sum(1))
    soft = xp.sparse.softmax(a, 1)
    close(soft.coalesce().values(), [1, 1 / (1 + np.e), np.e / (1 + np.e)])
    close(xp.sparse.log_softmax(a, 1).coalesce().values(), np.log([1, 1 / (1 + np.e), np.e / (1 + np.e)]))


def test_dense_dims(xp):
    h = xp.sparse_coo_tensor([[0, 1, 0]], np.arange(6.0).reshape(3, 2), (3, 2))
    assert (h.sparse_dim(), h.dense_dim()) == (1, 1)
    close(h, [[4, 6], [2, 3], [0, 0]])
    close(xp.sparse.sum(h, 1), [10, 5, 0])


@pytest.mark.parametrize("function", [
    lambda xp, a, x: xp.sparse.mm(a, x).pow(2).sum(), lambda xp, a, x: (a * 3).to_dense().pow(2).sum(),
    lambda xp, a, x: xp.sparse.softmax(a, 1).to_dense()[:, 0].sum(), lambda xp, a, x: xp.sparse.sum(a, 0).to_dense().pow(2).sum(),
    lambda xp, a, x: xp.sparse.mm(a, a.t()).to_dense().pow(2).sum(), lambda xp, a, x: (a + a).coalesce().values().pow(2).sum()])
def test_gradients_go_to_the_values(xp, function):
    values = [1.0, 2.0, 3.0]

    def of(v):
        return function(xp, xp.sparse_coo_tensor([[0, 1, 1], [1, 0, 1]], v, (2, 2)), xp.ones(2, 2, dtype=xp.float64))
    v = xp.tensor(values, dtype=xp.float64, requires_grad=True)
    of(v).backward()
    for i in range(3):
        step = xp.zeros(3, dtype=xp.float64)
        step[i] = 1e-6
        near = (of(v.detach() + step) - of(v.detach() - step)) / 2e-6
        np.testing.assert_allclose(v.grad[i].item(), near.item(), rtol=1e-6, atol=1e-8)


def test_the_gradient_of_a_sparse_leaf():
    import jtorch as torch
    a = coo(torch).coalesce().requires_grad_()
    x = torch.ones(3, 2, requires_grad=True)
    (a @ x).sum().backward()
    assert a.is_leaf and a.grad.is_sparse and a.grad.coalesce().values().tolist() == [2, 2, 2]
    close(x.grad, np.repeat(DENSE.sum(0)[:, None], 2, 1))


def test_products_in_a_loop_that_is_compiled(xp):
    a, w = of_layout(xp, "csr"), xp.ones(3, 2, requires_grad=True)
    for _ in range(30):
        loss = (a @ w).pow(2).sum()
        loss.backward()
        with xp.no_grad():
            w -= 0.001 * w.grad
        w.grad = None
    d = np.ones((3, 2))
    for _ in range(30):
        d -= 0.001 * 2 * DENSE.T @ (DENSE @ d)
    np.testing.assert_allclose(w.detach().numpy(), d, rtol=1e-4)


def test_text(xp):
    a = coo(xp).coalesce()
    assert repr(a) == ("tensor(indices=tensor([[0, 1, 1],\n                       [2, 0, 2]]),\n       values=tensor([4., 4., 5.]),\n"
                       "       size=(2, 3), nnz=3, layout=torch.sparse_coo)")
    assert repr(a.to_sparse_csr()) == ("tensor(crow_indices=tensor([0, 1, 3]),\n       col_indices=tensor([2, 0, 2]),\n"
                                       "       values=tensor([4., 4., 5.]), size=(2, 3), nnz=3,\n       layout=torch.sparse_csr)")
    assert repr(xp.sparse_coo_tensor((2, 2))).splitlines()[0] == "tensor(indices=tensor([], size=(2, 0)),"
    assert repr(a.requires_grad_()).endswith("layout=torch.sparse_coo, requires_grad=True)")


@pytest.mark.parametrize("layout", LAYOUTS[:2])
def test_copies_and_files(xp, layout):
    a = of_layout(xp, layout)
    module = xp.nn.Module()
    module.register_buffer("a", a)
    file = io.BytesIO()
    xp.save(module.state_dict(), file)
    file.seek(0)
    copies = [copy.deepcopy(a)] if layout == "coo" else []
    for made in (*copies, pickle.loads(pickle.dumps(a)), xp.load(file)["a"]):
        assert made.layout == a.layout and made._nnz() == 3
        close(made, DENSE)


def test_functions_without_a_rule(xp):
    a = coo(xp)
    with pytest.raises(NotImplementedError, match="Could not run 'aten::exp' with arguments from the 'SparseCPU' backend"):
        a.exp()
    with pytest.raises(NotImplementedError, match="Could not run 'aten::eq.Tensor'"):
        a == a
    with pytest.raises(TypeError, match="can't convert Sparse layout tensor to numpy"):
        a.numpy()
    with pytest.raises(RuntimeError, match="coalesce expected sparse coordinate tensor layout but got Strided"):
        xp.ones(2).coalesce()
    with pytest.raises(RuntimeError, match="indices expected sparse coordinate tensor layout but got SparseCsr"):
        of_layout(xp, "csr").indices()


def test_sparse_gradients_of_an_embedding(xp):
    e = xp.nn.Embedding(4, 2, sparse=True, padding_idx=0)
    e(xp.tensor([[1, 1], [3, 0]])).sum().backward()
    assert e.weight.grad.is_sparse and e.weight.grad._indices().tolist() == [[1, 1, 3]]
    e(xp.tensor([1])).sum().backward()
    close(e.weight.grad, [[0, 0], [3, 3], [0, 0], [1, 1]])


@pytest.mark.parametrize(("name", "options"), [("SGD", {}), ("SGD", {"momentum": 0.9}), ("Adagrad", {}), ("SGD", {"maximize": True})])
def test_steps_with_sparse_gradients_are_those_with_dense_ones(xp, name, options):
    weights = []
    for sparse in (False, True):
        e = xp.nn.Embedding.from_pretrained(xp.arange(15.0).reshape(5, 3) / 10, freeze=False, sparse=sparse)
        weight = xp.tensor([[1.0], [-2.0], [0.5]])
        optimizer = getattr(xp.optim, name)(e.parameters(), lr=0.01, **options)
        for k in range(3):
            optimizer.zero_grad()
            (e(xp.tensor([[0, 1, 1], [4, k, 0]])) @ weight).pow(2).sum().backward()
            optimizer.step()
        weights.append(e.weight.detach())
    np.testing.assert_allclose(weights[0].numpy(), weights[1].numpy(), rtol=1e-5)


def test_sparse_adam_leaves_rows_without_a_gradient_alone(xp):
    e = xp.nn.Embedding.from_pretrained(xp.zeros(4, 2), freeze=False, sparse=True)
    optimizer = xp.optim.SparseAdam(e.parameters(), lr=0.1)
    for wanted in ([-0.1, -0.1], [-0.2, -0.2]):
        optimizer.zero_grad()
        e(xp.tensor([2, 2])).sum().backward()
        optimizer.step()
        np.testing.assert_allclose(e.weight.detach().numpy(), [[0, 0], [0, 0], wanted, [0, 0]], rtol=1e-5)
    weight = xp.ones(2, requires_grad=True)
    weight.sum().backward()
    with pytest.raises(RuntimeError, match="SparseAdam does not support dense gradients"):
        xp.optim.SparseAdam([weight]).step()


def test_adam_refuses_sparse_gradients(xp):
    e = xp.nn.Embedding(5, 3, sparse=True)
    e(xp.tensor([1])).sum().backward()
    with pytest.raises(RuntimeError, match="Adam does not support sparse gradients, please consider SparseAdam instead"):
        xp.optim.Adam(e.parameters()).step()


def hybrid(xp):
    """Return a 4x3 matrix with two entries for one element and no entry in row 2, and a dense matrix to multiply."""
    a = xp.sparse_coo_tensor([[0, 1, 1, 3, 0], [2, 0, 2, 1, 2]], [3.0, 4.0, 5.0, 0.0, 1.0], (4, 3))
    return a, xp.arange(6.0).reshape(3, 2)


@pytest.mark.parametrize("name", ["hspmm", "hsmm"])
def test_products_of_dense_rows(xp, name):
    a, b = hybrid(xp)
    made = getattr(xp, name)(a, b)
    assert (made.sparse_dim(), made.dense_dim(), tuple(made.shape), made.is_coalesced()) == (1, 1, (4, 2), False)
    assert made._indices().tolist() == [[0, 1, 3]] and made._values().tolist() == [[16, 20], [20, 29], [0, 0]]
    with pytest.raises(RuntimeError, match="hspmm: Argument #3: Expected dim 0 size 3, got 4"):
        xp.hspmm(a, xp.ones(4, 2))
    with pytest.raises(RuntimeError, match="hspmm: Argument #3: matrices expected, got 1D tensor"):
        xp.hspmm(a, xp.ones(3))


def test_products_keep_the_rows_with_elements(xp):
    a, b = hybrid(xp)
    made = xp.smm(a, b)
    assert made._indices().tolist() == [[0, 0, 1, 1, 3, 3], [0, 1] * 3] and made._values().tolist() == [16, 20, 20, 29, 0, 0]
    with pytest.raises(RuntimeError, match="can only be called on sparse tensors"):
        xp.smm(b, b)


def test_a_product_is_added_to_a_sparse_matrix(xp):
    a, b = hybrid(xp)
    c = xp.sparse_coo_tensor([[0, 3], [1, 0]], [10.0, 20.0], (4, 2))
    out = xp.sparse_coo_tensor((1, 1))
    assert xp.sspaddmm(c, a, b, beta=2, alpha=3, out=out) is out
    assert out._indices().tolist() == [[0, 3, 0, 0, 1, 1, 3, 3], [1, 0, 0, 1, 0, 1, 0, 1]]
    assert out._values().tolist() == [20, 40, 48, 60, 60, 87, 0, 0]
    close(c.sspaddmm(a, b), c.to_dense() + a.to_dense() @ b)
    with pytest.raises(RuntimeError, match="sspaddmm: expected 'mat1' to have sparse layout, got 'mat1' with layout Strided"):
        xp.sspaddmm(c, b, b)
    with pytest.raises(RuntimeError, match="sspaddmm: Argument #1: Expected dim 0 size 4, got 3"):
        xp.sspaddmm(xp.sparse_coo_tensor((3, 2)), a, b)


def test_as_tensor_of_sparse_tensors_within_a_mode(xp):
    class Mode(xp.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    csr = xp.eye(2).to_sparse_csr()
    with Mode():
        assert xp.as_tensor(csr) is csr
        assert xp.asarray(csr).layout is xp.sparse_csr


@pytest.mark.parametrize(("write", "text"), [
    (lambda xp, t: xp.asin(t, out=t), "result type Float can't be cast to the desired output type Int"),
    (lambda xp, t: t.sin_(), "result type Float can't be cast to the desired output type Int"),
    (lambda xp, t: t.div_(2), "result type Float can't be cast to the desired output type Int"),
    (lambda xp, t: t.mul_(t.float()), "Can't convert result type Float to output Int in mul operation"),
    (lambda xp, t: xp.sub(t, t.float(), out=t), "Can't convert result type Float to output Int in add operation")])
def test_sparse_tensors_keep_their_dtype_when_written_to(xp, write, text):
    t = xp.eye(2, dtype=xp.int32).to_sparse()
    with pytest.raises(RuntimeError, match=text):
        write(xp, t)
    assert t.dtype is xp.int32
    assert xp.neg(t, out=xp.eye(2).to_sparse()).values().tolist() == [-1, -1]


def test_a_sparse_out_of_a_creation_is_refused():
    import jtorch
    with pytest.raises(NotImplementedError, match="out= with a tensor of the layout torch.sparse_coo is not built"):
        jtorch.zeros(2, 2, out=jtorch.eye(2).to_sparse())
