"""Block layouts (BSR, BSC), ``out=`` and other methods of sparse tensors."""
from __future__ import annotations

import copy
import warnings

import pytest
from bodies import bodies

STARTS, OTHERS, DENSE = [0, 1, 3], [1, 0, 1], [[1.0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 2, 3], [0, 4, 0, 0]]


def blocks_of(xp):
    return xp.arange(1.0, 13.0).reshape(3, 2, 2)


def bsr(xp):
    return xp.sparse_bsr_tensor(STARTS, OTHERS, blocks_of(xp))


def bsc(xp):
    return xp.sparse_bsc_tensor(STARTS, OTHERS, blocks_of(xp))


def _value(xp, program):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")     # PyTorch warns of sparse tensors once in a process.
        return shown(program(xp))


def shown(made):
    """Return results with sparse tensors as text."""
    if isinstance(made, (list, tuple)):
        return [shown(m) for m in made]
    return str(made) if str(getattr(made, "layout", "")).startswith("torch.sparse") else made


VALUES = [
    lambda xp: (bsr(xp), bsc(xp), bsr(xp).to_dense(), bsc(xp).to_dense()),
    lambda xp: (str(bsr(xp).layout), tuple(bsr(xp).shape), bsr(xp)._nnz(), bsr(xp).sparse_dim(), bsr(xp).dense_dim(), len(bsr(xp))),
    lambda xp: (bsr(xp).is_sparse, bsr(xp).is_sparse_csr, bsr(xp).numel(), bsr(xp).values(), bsr(xp).col_indices()),
    lambda xp: (bsr(xp).crow_indices(), bsc(xp).ccol_indices(), bsc(xp).row_indices()),
    lambda xp: [f(xp.tensor(DENSE)) for f in (lambda t: t.to_sparse_bsr((2, 2)), lambda t: t.to_sparse_bsc((2, 2)),
                                              lambda t: t.to_sparse_bsr((1, 2)), lambda t: t.to_sparse_bsc(2))],
    lambda xp: xp.tensor(DENSE).to_sparse(layout=xp.sparse_bsr, blocksize=(2, 2)),
    lambda xp: [getattr(xp.tensor(DENSE), f"to_sparse_{n}")().to_sparse_bsr((2, 2)) for n in ("coo", "csr", "csc")],
    lambda xp: xp.tensor(DENSE).to_sparse_csc().to_sparse_bsc((2, 1)),
    lambda xp: (bsr(xp).to_sparse_coo(), bsc(xp).to_sparse(), bsr(xp).to_sparse_bsc((2, 2)), bsr(xp).to_sparse_bsr((2, 2))),
    lambda xp: (bsr(xp).t(), bsr(xp).transpose(0, 1).to_dense(), bsc(xp).t().to_dense()),
    lambda xp: (bsr(xp) @ xp.ones(4, 3), xp.mm(bsr(xp), xp.ones(4, 2)), bsr(xp) @ xp.ones(4)),
    lambda xp: xp.nn.functional.linear(xp.ones(2, 4), bsr(xp)).contiguous(),
    lambda xp: (bsr(xp) * 2, bsr(xp).sin(), -bsr(xp), bsr(xp).abs(), bsr(xp).relu()),
    lambda xp: (bsr(xp).clone(), bsr(xp).detach(), bsr(xp).double(), xp.zeros_like(bsr(xp)), bsr(xp).sum()),
    lambda xp: (bsr(xp)[0], bsr(xp)[0, 2]),
    lambda xp: xp.sparse_bsr_tensor(STARTS, OTHERS, blocks_of(xp), (4, 6), dtype=xp.float64, requires_grad=True),
    lambda xp: xp.sparse_compressed_tensor(STARTS, OTHERS, blocks_of(xp), layout=xp.sparse_bsc),
    lambda xp: xp.tensor([[True, False], [False, True]]).to_sparse_bsr((1, 2)),
]
ERRORS = [
    lambda xp: bsr(xp).ccol_indices(),
    lambda xp: bsc(xp).crow_indices(),
    lambda xp: bsr(xp).indices(),
    lambda xp: bsr(xp).stride(),
    lambda xp: bsc(xp).is_contiguous(),
    lambda xp: bsr(xp).to_sparse_csr(),
    lambda xp: bsr(xp).to_sparse_bsr((1, 1)),
    lambda xp: bsr(xp) @ bsr(xp),
    lambda xp: xp.tensor(DENSE).to_sparse_bsr((3, 2)),
    lambda xp: xp.tensor(DENSE).to_sparse_bsr((2,)),
    lambda xp: xp.tensor(DENSE).to_sparse_bsc((0, 2)),
    lambda xp: xp.tensor(DENSE)[0].to_sparse_bsr((1, 1)),
    lambda xp: xp.tensor(DENSE).to_sparse(layout=xp.sparse_bsr),
    lambda xp: xp.tensor(DENSE).to_sparse(layout=xp.sparse_csr, blocksize=(2, 2)),
    lambda xp: xp.sparse_bsr_tensor(STARTS, OTHERS, xp.ones(3)),
    lambda xp: xp.sparse_bsr_tensor(STARTS, OTHERS[:2], blocks_of(xp), check_invariants=True),
    lambda xp: xp.sparse_bsr_tensor([0, 1, 2], OTHERS, blocks_of(xp), check_invariants=True),
    lambda xp: xp.sparse_bsr_tensor(STARTS, [1, 0, 5], blocks_of(xp), (4, 4), check_invariants=True),
    lambda xp: xp.sparse_bsc_tensor(STARTS, OTHERS, blocks_of(xp), (5, 4), check_invariants=True),
]


@pytest.mark.parametrize("body", bodies(_value, VALUES + ERRORS), ids=lambda b: b.label)
def test_blocks(same, body):
    same(body, rtol=1e-6)


def test_gradients_of_blocks(same):
    def body(xp):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            d = xp.tensor(DENSE, requires_grad=True)
            made = d.to_sparse_bsr((2, 2)).to_dense()
            (made * xp.arange(16.0).reshape(4, 4)).sum().backward()
            return made.detach(), d.grad
    same(body)


def coo(xp):
    return xp.tensor([[0.0, 1.0], [2.0, 0.0]]).to_sparse()


def _written(xp, program):
    out, dense = xp.zeros(2, 2).to_sparse(), xp.zeros(2, 2)
    return _value(xp, lambda xp: [program(xp, coo(xp), out, dense), out, dense])


WRITTEN = [
    lambda xp, s, out, dense: xp.add(s, s, out=out) is out,
    lambda xp, s, out, dense: xp.mul(s, 2, out=out),
    lambda xp, s, out, dense: (xp.sin(s, out=out), xp.neg(s, out=out)),
    lambda xp, s, out, dense: xp.mm(s, xp.ones(2, 2), out=dense) is dense,
    lambda xp, s, out, dense: xp.add(s, s, out=out.double()),
    lambda xp, s, out, dense: xp.cat([s, s], out=out),
    lambda xp, s, out, dense: (s.permute(dims=(1, 0)), xp.permute(s, dims=(1, 0)), s.permute(1, 0)),
    lambda xp, s, out, dense: (s.new(), s.new(2, 2), s.new_zeros(2, 2), s.new_empty((3,), dtype=xp.int64)),
]


@pytest.mark.parametrize("body", bodies(_written, WRITTEN), ids=lambda b: b.label)
def test_writing_and_new_tensors(same, body):
    same(body, rtol=1e-6)


def test_blocks_are_copied_added_and_saved(tmp_path):
    from libraries import library
    xp = library("jtorch")
    assert (bsr(xp) + copy.deepcopy(bsr(xp))).to_dense().tolist() == (bsr(xp).to_dense() * 2).tolist()
    xp.save(bsc(xp), tmp_path / "blocks.pt")
    loaded = xp.load(tmp_path / "blocks.pt")
    assert str(loaded) == str(bsc(xp)) and loaded.layout is xp.sparse_bsc
