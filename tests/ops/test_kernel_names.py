"""Rarely called names in ``torch``: kernels, losses with numbered reductions, products of groups, missing features."""
from __future__ import annotations

import jax
import numpy as np
import pytest
from bodies import written
from libraries import library
from ops.translate import differences

CALLS = [
    lambda xp, a, b, v, kinds: xp.binary_cross_entropy_with_logits(a, b, None, None, 1),
    lambda xp, a, b, v, kinds: xp.cosine_embedding_loss(a[0], b[0], xp.ones(6), 0.2),
    lambda xp, a, b, v, kinds: xp.ctc_loss(
        a.reshape(6, 2, 4).log_softmax(-1), xp.tensor([[1, 2], [2, 3]]), (6, 6), (2, 2), 0, 2),
    lambda xp, a, b, v, kinds: xp.hinge_embedding_loss(a, b.detach().sign(), 1.0, 2),
    lambda xp, a, b, v, kinds: xp.kl_div(a, b, 1, log_target=True),
    lambda xp, a, b, v, kinds: xp.kl_div(a, b),
    lambda xp, a, b, v, kinds: xp.margin_ranking_loss(a, b, xp.ones(2, 6, 4), 0.1, 1),
    lambda xp, a, b, v, kinds: xp.poisson_nll_loss(a, b, True, False, 1e-8, 1),
    lambda xp, a, b, v, kinds: xp.triplet_margin_loss(a, b, a.flip(0)),
    lambda xp, a, b, v, kinds: xp.batch_norm(a, v, v, None, None, True, 0.1, 1e-5, False),
    lambda xp, a, b, v, kinds: xp.instance_norm(a, v, v, None, None, True, 0.1, 1e-5, False),
    lambda xp, a, b, v, kinds: xp.affine_grid_generator(a[:, :2, :3], (2, 1, 3, 3), False),
    lambda xp, a, b, v, kinds: xp.convolution(a, b[:, :, :3], None, (1,), (1,), (1,), False, (0,), 1),
    lambda xp, a, b, v, kinds: xp.convolution(a, b.reshape(6, 2, 4), None, (1,), (1,), (1,), True, (0,), 1),
    lambda xp, a, b, v, kinds: xp.embedding_renorm_(a[0].detach().clone(), xp.tensor([1, 3]), 0.5, 2.0),
    lambda xp, a, b, v, kinds: xp.dropout_(a.clone(), 0.5, True),
    lambda xp, a, b, v, kinds: xp.alpha_dropout_(a.clone(), 0.5, True),
    lambda xp, a, b, v, kinds: xp.feature_alpha_dropout_(a.clone(), 0.5, True),
    lambda xp, a, b, v, kinds: xp.frobenius_norm(a, 1, True),
    lambda xp, a, b, v, kinds: xp.nuclear_norm(a, (1, 2)),
    lambda xp, a, b, v, kinds: xp.nuclear_norm(a[0], True),
    lambda xp, a, b, v, kinds: xp.detach(a),
    lambda xp, a, b, v, kinds: xp.as_strided_(a.clone(), (2, 2), (1, 2)),
    lambda xp, a, b, v, kinds: xp._softmax_backward_data(a, b, 1, xp.float32),
    lambda xp, a, b, v, kinds: xp._chunk_cat([a.detach(), b[:, :5].detach()], 1, 4),
    lambda xp, a, b, v, kinds: xp._native_batch_norm_legit(a, v, v, True, 0.1, 1e-5),
    lambda xp, a, b, v, kinds: xp.native_group_norm(a.bfloat16(), v, v, 2, 6, 4, 3, 1e-5),
    lambda xp, a, b, v, kinds: xp.native_layer_norm(a[..., :0], (0,), None, None, 1e-5),
    lambda xp, a, b, v, kinds: xp.fake_quantize_per_tensor_affine(
        a, xp.tensor(0.1), xp.tensor(2, dtype=xp.int32), 0, 15),
    lambda xp, a, b, v, kinds: xp.nn.functional.grouped_mm(a[0].T, b[0], offs=xp.tensor([2, 3, 6], dtype=xp.int32)),
    lambda xp, a, b, v, kinds: xp.nn.functional.grouped_mm(a.repeat(1, 1, 2)[:, :4], b.mT.repeat(1, 2, 2)[..., :8]),
    lambda xp, a, b, v, kinds: xp.nn.functional.grouped_mm(
        a.repeat(1, 1, 2), b[0].repeat(2, 2)[:8, :8], offs=xp.tensor([3, 8], dtype=xp.int32)),
    lambda xp, a, b, v, kinds: xp.nn.functional.scaled_mm(
        eight(xp, a), eight(xp, b).t(), xp.ones(1) * 2, kinds.TensorWise, xp.ones(1), kinds.TensorWise),
    lambda xp, a, b, v, kinds: xp.nn.functional.scaled_mm(
        eight(xp, a), eight(xp, b).t(), xp.ones(16, 1) * 3, kinds.RowWise, xp.ones(1, 16), kinds.RowWise,
        bias=xp.ones(16)),
    lambda xp, a, b, v, kinds: xp.cond(xp.tensor(True), lambda x: x + 1, lambda x: x - 1, (a,)),
    lambda xp, a, b, v, kinds: xp.dequantize(a.detach()),
    lambda xp, a, b, v, kinds: a.detach().module_load(b.detach()),
    lambda xp, a, b, v, kinds: xp.special.zeta(xp.tensor([2., 3., 5.]), xp.tensor([-3.3, -8.5, -20.25])),
    lambda xp, a, b, v, kinds: xp.polygamma(4, xp.tensor([-8.5, -0.5, 3])),
]


def eight(xp, t):
    """Return a matrix of 8-bit floats, made of some elements of a tensor."""
    return t.detach().reshape(-1)[:16].repeat(16, 1).to(xp.float8_e4m3fn)


@pytest.mark.conformance
@pytest.mark.parametrize("call", CALLS, ids=written)
@pytest.mark.filterwarnings("ignore")
def test_results_and_gradients(torch, call):
    rng, outcomes = np.random.default_rng(0), []
    data = [rng.standard_normal((2, 6, 4)), rng.uniform(0.1, 1, (2, 6, 4)), rng.standard_normal(6)]
    for xp in (torch, library("jtorch")):
        xp.manual_seed(0)
        a, b, v = (xp.tensor(x, dtype=xp.float32, requires_grad=True) for x in data)
        kinds = xp.nn.functional.ScalingType
        made = call(xp, a, b, v, kinds)
        first = made[0] if isinstance(made, tuple) else made
        if first.requires_grad:
            first.float().square().sum().backward()
        outcomes.append([made, *(0 if t.grad is None else t.grad for t in (a, b, v))])
    assert differences(*outcomes, near=2e-2 if "scaled" in written(call) else 0) is None


@pytest.mark.parametrize(("call", "kind", "text"), [
    (lambda xp, a, kinds: xp.nn.functional.grouped_mm(a, a.mT.double()),
     RuntimeError, "Expected mat_b to be Float32, BFloat16 or Float16 matrix"),
    (lambda xp, a, kinds: xp.nn.functional.grouped_mm(a[0], a.mT),
     RuntimeError, "Have to provide offsets if there is a 2d matrix"),
    (lambda xp, a, kinds: xp.nn.functional.grouped_mm(a[0], a.mT, offs=xp.tensor([2, 6])),
     RuntimeError, "Offsets have to be int32"),
    (lambda xp, a, kinds: xp.nn.functional.scaled_mm(
        a[0], a[1].T, xp.ones(1), kinds.TensorWise, xp.ones(1), kinds.TensorWise),
     ValueError, "Invalid scaling configuration"),
    (lambda xp, a, kinds: xp.fake_quantize_per_tensor_affine(a, 0.1, 20, 0, 15),
     RuntimeError, "`zero_point` must be between `quant_min` and"),
    (lambda xp, a, kinds: xp.native_group_norm(a, None, None, 2, 6, 5, 3, 1e-5), RuntimeError, "Expected X.numel"),
    (lambda xp, a, kinds: xp.native_group_norm(a, a[0, 0], None, 2, 6, 4, 3, 1e-5),
     RuntimeError, "Expected weight to be a vector of size"),
    (lambda xp, a, kinds: xp.constant_pad_nd(a, (1,)),
     RuntimeError, "Length of pad must be even but instead it equals 1"),
    (lambda xp, a, kinds: xp.cov(a[0], aweights=xp.zeros(4)), RuntimeError, r"cov\(\): weights sum to zero"),
    (lambda xp, a, kinds: xp.histc(a / 0, 4), RuntimeError, r"torch.histc: range of \[-?inf, -?inf\] is not finite"),
    (lambda xp, a, kinds: xp.histogramdd(a[0, :, :2] * xp.tensor([1, xp.inf]), [2, 2]),
     RuntimeError, r"dimension 1's range \[-?inf, inf\] is not finite"),
    (lambda xp, a, kinds: xp.multinomial(xp.ones(2), 1, out=xp.zeros(1)),
     RuntimeError, "multinomial expects Long tensor out, got: Float"),
    (lambda xp, a, kinds: a.coalesce(),
     RuntimeError, "coalesce expected sparse coordinate tensor layout but got Strided"),
    (lambda xp, a, kinds: xp.solve(a, a),
     RuntimeError, "This function was deprecated since version 1.9 and is now removed"),
    (lambda xp, a, kinds: xp.cond('yes', len, len), RuntimeError, "Expected pred to be bool or tensor, but got yes"),
], ids=written)
def test_errors(xp, call, kind, text):
    a = xp.tensor(np.random.default_rng(0).standard_normal((2, 6, 4)), dtype=xp.float32)

    def called():
        call(xp, a, xp.nn.functional.ScalingType)
        xp.cpu.synchronize()        # Deferred calls raise errors of values now.

    with pytest.raises(kind, match=text):
        called()


def test_a_loop_as_a_function():
    jtorch = library("jtorch")
    i, x = jtorch.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), (jtorch.tensor(0), jtorch.ones(2)))
    assert (i.item(), x.tolist()) == (3, [8.0, 8.0])


def test_methods_that_are_not_built_say_so():
    jtorch = library("jtorch")
    with pytest.raises(NotImplementedError, match="per block"):
        jtorch.nn.functional.scaled_mm(jtorch.ones(2, 2), jtorch.ones(2, 2), jtorch.ones(1), 3, jtorch.ones(1), 3)


@pytest.mark.parametrize(("n", "expected"), [(2, [4.226896440867263, -16.117453214407064]), (5, [15992.591647035295, 23323.457])])
def test_polygamma_of_negative_numbers_is_the_same_compiled(n, expected):
    jtorch, x = library("jtorch"), np.array([-8.478373527526855, -0.5734938383102417])
    compiled = jax.jit(lambda x: jtorch.polygamma(n, jtorch.from_jax(x)).jax())
    with jax.enable_x64(True):
        np.testing.assert_allclose(compiled(x), expected, rtol=1e-6)
    np.testing.assert_allclose(jtorch.polygamma(n, jtorch.tensor(x)).tolist(), expected, rtol=1e-6)
