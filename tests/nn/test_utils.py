"""torch.nn.utils: clipping, vectors of parameters, fused layers, weight and spectral norm as hooks, stateless calls."""
from __future__ import annotations

import numpy as np
import pytest


def with_grads(xp, *grads):
    out = []
    for g in grads:
        p = xp.zeros(len(g), requires_grad=True)
        p.grad = xp.tensor(g)
        out.append(p)
    return [*out, xp.zeros(1, requires_grad=True)]


# ---------------------------------------------------------------- clipping

@pytest.mark.parametrize(("norm_type", "total"), [(2.0, 13.0), (1, 19.0), (float("inf"), 12.0), ("inf", 12.0)])
def test_clip_grad_norm(xp, norm_type, total):
    ps = with_grads(xp, [3.0, 4.0], [12.0])
    assert xp.nn.utils.clip_grad_norm_(ps, 1.0, norm_type).item() == total
    np.testing.assert_allclose(ps[0].grad.numpy(), np.array([3.0, 4.0]) / total, rtol=1e-6)
    assert ps[2].grad is None
    small = ps[0].grad.clone()
    xp.nn.utils.clip_grad_norm_(ps, 100.0)
    assert xp.equal(ps[0].grad, small)


def test_clip_grad_norm_of_what_is_not_finite(xp):
    ps = with_grads(xp, [float("inf"), 1.0])
    with pytest.raises(RuntimeError, match="The total norm of order 2.0 for gradients from `parameters` is non-finite"):
        xp.nn.utils.clip_grad_norm_(ps, 1.0, error_if_nonfinite=True)
    assert ps[0].grad.tolist() == [float("inf"), 1.0]
    assert xp.nn.utils.clip_grad_norm_(ps, 1.0).item() == float("inf")


def test_clip_grad_norm_of_nothing(xp):
    assert xp.nn.utils.clip_grad_norm_([], 1.0).item() == 0.0
    with pytest.warns(UserWarning, match="`parameters` is an empty generator, no gradient clipping will occur."):
        xp.nn.utils.clip_grad_norm_((p for p in []), 1.0)
    with pytest.warns(FutureWarning, match="`torch.nn.utils.clip_grad_norm` is now deprecated"):
        xp.nn.utils.clip_grad_norm(with_grads(xp, [1.0])[0], 1.0)


def test_the_parts_of_clip_grad_norm(xp):
    ps = with_grads(xp, [3.0, 4.0])
    total = xp.nn.utils.get_total_norm([p.grad for p in ps[:1]], foreach=False)
    assert total.item() == 5.0
    xp.nn.utils.clip_grads_with_norm_(ps, 2.5, total)
    np.testing.assert_allclose(ps[0].grad.tolist(), [1.5, 2.0], rtol=1e-6)
    assert xp.nn.utils.get_total_norm(xp.tensor([3.0, 4.0]), 1).item() == 7.0


def test_clip_grad_value(xp):
    ps = with_grads(xp, [3.0, -4.0], [0.5])
    xp.nn.utils.clip_grad_value_(ps, 1, foreach=None)
    assert [p.grad.tolist() for p in ps[:2]] == [[1.0, -1.0], [0.5]]


def test_vectors_of_parameters(xp):
    m = xp.nn.Linear(2, 1)
    vec = xp.nn.utils.parameters_to_vector(m.parameters())
    assert (vec.shape, vec.requires_grad) == ((3,), True)
    given = xp.tensor([1.0, 2.0, 3.0])
    xp.nn.utils.vector_to_parameters(given, m.parameters())
    assert (m.weight.tolist(), m.bias.tolist()) == ([[1.0, 2.0]], [3.0])
    given[0] = 7
    assert m.weight.tolist() == [[7.0, 2.0]]
    with pytest.raises(TypeError, match="expected torch.Tensor, but got: list"):
        xp.nn.utils.vector_to_parameters([1], m.parameters())


# ---------------------------------------------------------------- fusion

LAYERS = ["nn.Conv2d(2, 3, 2)", "nn.Conv2d(2, 3, 2, bias=False)", "nn.Conv1d(2, 3, 2)", "nn.ConvTranspose2d(2, 3, 2)"]


@pytest.mark.parametrize("source", LAYERS)
@pytest.mark.parametrize("affine", [True, False])
def test_a_convolution_takes_in_its_batch_norm(xp, source, affine):
    conv = eval(source, {"nn": xp.nn})
    bn = (xp.nn.BatchNorm1d if "1d" in source else xp.nn.BatchNorm2d)(3, affine=affine)
    x = xp.randn(4, 2, 5) if "1d" in source else xp.randn(4, 2, 5, 5)
    bn(conv(x))
    conv.eval(), bn.eval()
    fused = xp.nn.utils.fuse_conv_bn_eval(conv, bn, transpose="Transpose" in source)
    assert xp.allclose(fused(x), bn(conv(x)), atol=1e-5)
    assert isinstance(fused.bias, xp.nn.Parameter)


def test_a_linear_layer_takes_in_its_batch_norm(xp):
    layer, bn, x = xp.nn.Linear(2, 3), xp.nn.BatchNorm1d(3), xp.randn(4, 2)
    bn(layer(x))
    with pytest.raises(AssertionError, match="Fusion only for eval!"):
        xp.nn.utils.fuse_linear_bn_eval(layer, bn)
    layer.eval(), bn.eval()
    assert xp.allclose(xp.nn.utils.fuse_linear_bn_eval(layer, bn)(x), bn(layer(x)), atol=1e-5)
    with pytest.raises(AssertionError, match="To fuse, linear.out_features == bn.num_features or bn.num_features == 1"):
        xp.nn.utils.fuse_linear_bn_eval(layer, xp.nn.BatchNorm1d(2).eval())


def test_skip_init(xp):
    state = xp.get_rng_state()
    layer = xp.nn.utils.skip_init(xp.nn.Linear, 3, 2, bias=False)
    assert xp.equal(xp.get_rng_state(), state)
    assert (layer.weight.shape, layer.bias, layer.weight.requires_grad) == ((2, 3), None, True)
    with pytest.raises(RuntimeError, match="Expected a Module; got <class 'int'>"):
        xp.nn.utils.skip_init(int)
    with pytest.raises(RuntimeError, match="Module must support a 'device' arg to skip initialization"):
        xp.nn.utils.skip_init(xp.nn.ReLU)


def test_memory_formats_of_weights(xp):
    m = xp.nn.Sequential(xp.nn.Conv2d(2, 3, 2), xp.nn.Linear(2, 2))
    before = m[0].weight.tolist()
    assert xp.nn.utils.convert_conv2d_weight_memory_format(m, xp.channels_last) is m
    assert m[0].weight.is_contiguous(memory_format=xp.channels_last)
    assert m[0].weight.tolist() == before
    xp.nn.utils.convert_conv3d_weight_memory_format(m, xp.channels_last_3d)


# ---------------------------------------------------------------- norms as hooks

@pytest.mark.conformance
@pytest.mark.parametrize("source", ["weight_norm(nn.Linear(3, 2))", "weight_norm(nn.Conv1d(3, 2, 2), dim=None)",
                                    "spectral_norm(nn.Linear(3, 2))", "spectral_norm(nn.Conv1d(3, 2, 2), dim=1)",
                                    "spectral_norm(nn.ConvTranspose1d(3, 2, 2), n_power_iterations=2)"])
@pytest.mark.filterwarnings("ignore:.*weight_norm:FutureWarning")
def test_norms_as_hooks(torch, source):
    import jtorch

    def seen(xp):
        xp.manual_seed(0)
        m = eval(source, {"nn": xp.nn, **vars(xp.nn.utils)})
        x = xp.tensor(np.random.RandomState(0).randn(2, 3, *([4] if "Conv" in source else [])).astype("float32"))
        (m(x) ** 2).sum().backward()
        m(x)
        out = m.eval()(x)
        grads = [p.grad.numpy() for _, p in sorted(m.named_parameters())]
        keys, meta = list(m.state_dict()), dict(m.state_dict()._metadata)
        state = [v.numpy().copy() for v in m.state_dict().values()]
        twin = eval(source, {"nn": xp.nn, **vars(xp.nn.utils)}).eval()
        twin.load_state_dict(m.state_dict())
        remove = xp.nn.utils.remove_weight_norm if "weight" in source else xp.nn.utils.remove_spectral_norm
        remove(m)
        return [keys, meta, list(m.state_dict()), len(m._forward_pre_hooks), len(m._state_dict_hooks)], [
            out.detach().numpy(), *grads, *state, m(x).detach().numpy(), twin(x).detach().numpy()]
    wanted, found = seen(torch), seen(jtorch)
    assert found[0] == wanted[0]
    for a, b in zip(found[1], wanted[1], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


@pytest.mark.filterwarnings("ignore:.*weight_norm:FutureWarning")
def test_errors_of_norms_as_hooks(xp):
    u = xp.nn.utils
    m = u.weight_norm(xp.nn.Linear(1, 1))
    with pytest.raises(RuntimeError, match="Cannot register two weight_norm hooks on the same parameter weight"):
        u.weight_norm(m)
    with pytest.raises(ValueError, match="weight_norm of 'bias' not found in Linear"):
        u.remove_weight_norm(m, "bias")
    m = u.spectral_norm(xp.nn.Linear(1, 1))
    with pytest.raises(RuntimeError, match="Cannot register two spectral_norm hooks on the same parameter weight"):
        u.spectral_norm(m)
    with pytest.raises(ValueError, match="`SpectralNorm` cannot be applied as parameter `bias` is None"):
        u.spectral_norm(xp.nn.Linear(1, 1, bias=False), "bias")
    with pytest.raises(ValueError, match="spectral_norm of 'bias' not found in Linear"):
        u.remove_spectral_norm(m, "bias")
    with pytest.warns(FutureWarning, match="`torch.nn.utils.weight_norm` is deprecated in favor of"):
        u.weight_norm(xp.nn.Linear(1, 1))


def test_old_state_dicts_of_spectral_norm(xp):
    m = xp.nn.utils.spectral_norm(xp.nn.Linear(3, 2))
    m(xp.ones(1, 3))
    state = m.state_dict()
    v = state.pop("weight_v")
    state["weight"] = m.weight.detach()
    del state._metadata[""]["spectral_norm"]
    m.weight_v.zero_()
    m.load_state_dict(state)
    assert xp.allclose(m.weight_v, v, atol=1e-3)


# ---------------------------------------------------------------- stateless calls

def test_functional_call(xp):
    call, m = xp.func.functional_call, xp.nn.Linear(2, 1)
    weight = m.weight
    given = {"weight": xp.ones(1, 2, requires_grad=True)}
    out = call(m, (given, {"bias": xp.zeros(1)}), xp.tensor([[1.0, 2.0]]))
    assert out.item() == 3.0
    assert m.weight is weight
    out.sum().backward()
    assert given["weight"].grad.tolist() == [[1.0, 2.0]]
    assert weight.grad is None
    with pytest.raises(ValueError, match="\\['weight'\\] appeared in multiple dictionaries; behavior of functional call is ambiguous"):
        call(m, (given, given), xp.ones(1, 2))
    with pytest.raises(ValueError, match="Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got <class"):
        call(m, 3, xp.ones(1, 2))
    with pytest.raises(RuntimeError, match="Error\\(s\\) in reparametrizing for Linear:\n\tUnexpected key\\(s\\): 'x'.\n\tMissing key"):
        call(m, {"weight": given["weight"], "x": xp.ones(1)}, xp.ones(1, 2), strict=True)
    with pytest.warns(FutureWarning, match="`torch.nn.utils.stateless.functional_call` is deprecated"):
        xp.nn.utils.stateless.functional_call(m, given, xp.ones(1, 2))


def test_functional_call_writes_buffers_into_the_dict(xp):
    class Counts(xp.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("n", xp.zeros(1))

        def forward(self, x, *, by=1):
            self.n = self.n + by
            return self.n * x

    m, given = Counts(), {"n": xp.tensor([5.0])}
    assert xp.func.functional_call(m, given, (xp.tensor(2.0),), {"by": 3}).item() == 16.0
    assert (m.n.item(), given["n"].item()) == (0.0, 8.0)


def test_functional_call_of_tied_weights(xp):
    class Tied(xp.nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = xp.nn.Linear(1, 1, bias=False), xp.nn.Linear(1, 1, bias=False)
            self.b.weight = self.a.weight

        def forward(self, x):
            return self.b(self.a(x))

    m, two, x = Tied(), xp.tensor([[2.0]]), xp.ones(1, 1)
    assert xp.func.functional_call(m, {"a.weight": two}, x).item() == 4.0
    one_only = xp.func.functional_call(m, {"a.weight": two}, x, tie_weights=False).item()
    np.testing.assert_allclose(one_only, 2 * m.a.weight.item(), rtol=1e-6)
    with pytest.raises(ValueError, match="functional_call got multiple values for keys \\['a.weight', 'b.weight'\\], which are tied"):
        xp.func.functional_call(m, {"a.weight": two, "b.weight": two + 1}, x)
    m.register_forward_hook(lambda *args: (_ for _ in ()).throw(RuntimeError("boom")))
    with pytest.raises(RuntimeError, match="boom"):
        xp.func.functional_call(m, {"a.weight": two}, x)
    assert m.a.weight is m.b.weight
    assert m.a.weight is not two
