"""More tests of layers than PyTorch's database: given sizes, indices, statistics, old files, memory formats."""
from __future__ import annotations

from collections import OrderedDict

import numpy as np
import pytest


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype("float32")


def both(torch, run):
    """Return the arrays of ``run`` with each library, after a comparison."""
    import jtorch
    made = []
    for xp in (torch, jtorch):
        xp.manual_seed(0)
        made.append([np.asarray(t.detach().numpy() if hasattr(t, "detach") else t) for t in run(xp)])
    for a, b in zip(*made, strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-4, atol=1e-5)
    return made[1]


TRANSPOSED = [("ConvTranspose1d(2, 3, 3, stride=2)", (1, 2, 4), (10,)), ("ConvTranspose1d(4, 2, 2, stride=3, groups=2)", (4, 4), (2, 12)),
              ("ConvTranspose2d(2, 4, 3, stride=2, padding=1, groups=2)", (2, 2, 3, 4), (5, 8)),
              ("ConvTranspose2d(2, 3, (2, 3), stride=(3, 2), dilation=(1, 2))", (1, 2, 3, 3), (1, 3, 9, 9)),
              ("ConvTranspose3d(1, 2, 2, stride=2)", (1, 1, 2, 2, 2), (4, 5, 4))]


@pytest.mark.conformance
@pytest.mark.parametrize(("source", "shape", "size"), TRANSPOSED, ids=[s for s, _, _ in TRANSPOSED])
def test_output_size_of_transposed_convolutions(torch, source, shape, size):
    def run(xp):
        layer, x = eval(source, vars(xp.nn)), xp.tensor(numbers(*shape), requires_grad=True)
        out = layer(x, output_size=size)
        (out * out).sum().backward()
        return out, x.grad, *(p.grad for p in layer.parameters())
    assert both(torch, run)[0].shape[-len(shape) + 2:] == tuple(size)[-len(shape) + 2:]


@pytest.mark.conformance
@pytest.mark.parametrize("padding", ["'same'", "'valid'", "1", "(0,)"])
@pytest.mark.parametrize("mode", ["zeros", "reflect", "replicate", "circular"])
def test_padding_modes(torch, mode, padding):
    def run(xp):
        layer = eval(f"Conv1d(2, 3, 4, padding={padding}, padding_mode='{mode}', dilation=2)", vars(xp.nn))
        x = xp.tensor(numbers(2, 2, 12), requires_grad=True)
        out = layer(x)
        (out * out).sum().backward()
        return out, x.grad, layer.weight.grad
    both(torch, run)


@pytest.mark.conformance
def test_padding_of_several_dimensions(torch):
    def run(xp):
        layer = xp.nn.Conv2d(1, 1, (2, 4), padding="same", padding_mode="replicate")
        return layer(xp.tensor(numbers(1, 5, 6))), layer._conv_forward(xp.tensor(numbers(1, 5, 6)), layer.weight * 2, None)
    both(torch, run)


POOLS = [("MaxPool1d(2, return_indices=True)", "MaxUnpool1d(2)", (2, 3, 7)), ("MaxPool2d(3, 2, return_indices=True)", "MaxUnpool2d(3, 2)", (1, 2, 8, 7)),
         ("MaxPool3d((1, 2, 2), return_indices=True)", "MaxUnpool3d((1, 2, 2))", (2, 2, 4, 5))]


@pytest.mark.conformance
@pytest.mark.parametrize(("pool", "unpool", "shape"), POOLS, ids=[p for p, _, _ in POOLS])
def test_unpooling(torch, pool, unpool, shape):
    n = int(pool[7])

    def run(xp):
        x = xp.tensor(numbers(*shape), requires_grad=True)
        values, indices = eval(pool, vars(xp.nn))(x)
        back = eval(unpool, vars(xp.nn))(values, indices, output_size=x.shape[-n:])
        (back * back).sum().backward()
        return values, indices, back, x.grad
    assert both(torch, run)[2].shape == shape


@pytest.mark.conformance
@pytest.mark.parametrize("given", ["output_size=3", "output_ratio=(0.5, 0.6)", "output_size=(1, 4)"])
@pytest.mark.parametrize("shape", [(2, 3, 7, 8), (3, 7, 8)])
def test_fractional_pooling_draws_the_same_windows(torch, given, shape):
    def run(xp):
        x = xp.tensor(numbers(*shape), requires_grad=True)
        values, indices = eval(f"FractionalMaxPool2d(2, {given}, return_indices=True)", vars(xp.nn))(x)
        (values * values).sum().backward()
        return values, indices, x.grad, xp.nn.functional.fractional_max_pool2d_with_indices(x, 2, 3)[1]
    both(torch, run)


@pytest.mark.conformance
def test_fractional_pooling_with_given_samples(torch):
    def run(xp):
        x, samples = xp.tensor(numbers(2, 2, 5, 6, 7)), xp.tensor(np.random.default_rng(1).random((2, 2, 3)).astype("float32"))
        pool = xp.nn.FractionalMaxPool3d((2, 1, 3), (3, 4, 2), _random_samples=samples)
        assert list(pool.state_dict()) == ["_random_samples"]
        return pool(x), *xp.nn.functional.fractional_max_pool3d(x, 2, 2, return_indices=True, _random_samples=samples)
    both(torch, run)


@pytest.mark.conformance
def test_functions_that_return_indices(torch):
    def run(xp):
        f, x = xp.nn.functional, xp.tensor(numbers(1, 2, 4, 6))
        return (*f.max_pool1d_with_indices(x[0], 2), *f.max_pool2d_with_indices(x, 2, 1), *f.max_pool3d_with_indices(x, 2),
                *f.adaptive_max_pool1d_with_indices(x[0], 4), *f.adaptive_max_pool2d_with_indices(x, 3),
                *f.adaptive_max_pool3d_with_indices(x, 2))
    both(torch, run)


@pytest.mark.conformance
@pytest.mark.parametrize("size", [1, 2, 3, 4, 5])
def test_cross_map_lrn(torch, size):
    def run(xp):
        x = xp.tensor(numbers(2, 7, 2, 3), requires_grad=True)
        return xp.nn.CrossMapLRN2d(size, 0.5, 0.6, 1.5)(x), xp.nn.LocalResponseNorm(size, 0.5, 0.6, 1.5)(x)
    both(torch, run)


def test_batch_norm_averages_without_momentum(xp):
    norm, batches = xp.nn.BatchNorm1d(1, momentum=None), ([[0.0], [2.0]], [[4.0], [6.0]])
    for batch in batches:
        norm(xp.tensor(batch))
    assert (norm.running_mean.tolist(), norm.num_batches_tracked.item()) == ([3.0], 2)
    norm.eval()(xp.tensor([[1.0]]))
    assert norm.num_batches_tracked.item() == 2
    norm.reset_running_stats()
    assert (norm.running_mean.tolist(), norm.running_var.tolist(), norm.num_batches_tracked.item()) == ([0.0], [1.0], 0)


def test_empty_batch_keeps_the_statistics(xp):
    norm = xp.nn.BatchNorm2d(2)
    norm(xp.zeros(0, 2, 3, 3)).sum().backward()
    assert (norm.running_mean.tolist(), norm.running_var.tolist(), norm.weight.grad.tolist()) == ([0, 0], [1, 1], [0, 0])


def test_files_from_before_batches_were_counted(xp):
    norm = xp.nn.BatchNorm1d(2)
    norm.num_batches_tracked.fill_(5)
    state = OrderedDict((k, v.clone()) for k, v in norm.state_dict().items() if k != "num_batches_tracked")
    assert repr(norm.load_state_dict(state)) == "<All keys matched successfully>"
    assert norm.num_batches_tracked.item() == 5
    state._metadata = {"": {"version": 2}}
    with pytest.raises(RuntimeError, match=r'Missing key\(s\) in state_dict: "num_batches_tracked"'):
        norm.load_state_dict(state)


def test_instance_norm_refuses_statistics_it_does_not_keep(xp):
    state = OrderedDict(running_mean=xp.zeros(2), running_var=xp.ones(2))
    with pytest.raises(RuntimeError, match='Unexpected running stats buffer\\(s\\) "running_mean" and "running_var" for InstanceNorm1d '
                                           "with track_running_stats=False"):
        xp.nn.InstanceNorm1d(2).load_state_dict(state)


def test_sync_batch_norm_takes_over(xp):
    model = xp.nn.Sequential(xp.nn.Conv2d(1, 2, 1), xp.nn.Sequential(xp.nn.BatchNorm2d(2, eps=0.1, bias=False), xp.nn.BatchNorm1d(2))).eval()
    norm = model[1][0]
    made = xp.nn.SyncBatchNorm.convert_sync_batchnorm(model)
    assert made is model
    assert [type(m).__name__ for m in made[1]] == ["SyncBatchNorm"] * 2
    assert made[1][0].weight is norm.weight
    assert made[1][0].running_mean is norm.running_mean
    assert (made[1][0].bias, made[1][0].eps, made[1][0].training) == (None, 0.1, False)
    assert type(xp.nn.SyncBatchNorm.convert_sync_batchnorm(xp.nn.BatchNorm3d(2))) is xp.nn.SyncBatchNorm
    assert tuple(made[1][0](xp.ones(2, 2, 3)).shape) == (2, 2, 3)


def test_memory_formats_are_accepted(xp):
    model = xp.nn.Sequential(xp.nn.Conv2d(3, 4, 3), xp.nn.BatchNorm2d(4), xp.nn.MaxPool2d(2), xp.nn.Upsample(scale_factor=2))
    x = xp.ones(1, 3, 6, 6).to(memory_format=xp.channels_last)
    plain = model.eval()(xp.ones(1, 3, 6, 6))
    assert xp.allclose(model.to(memory_format=xp.channels_last)(x), plain, atol=1e-5)


@pytest.mark.conformance
@pytest.mark.parametrize("name", ["Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "AlphaDropout", "FeatureAlphaDropout", "RReLU"])
def test_random_layers_draw_the_same(torch, name):
    def run(xp):
        layer = getattr(xp.nn, name)()
        shape = {"Dropout1d": (3, 4, 2), "Dropout2d": (3, 4, 2, 2), "Dropout3d": (3, 4, 1, 2, 2)}.get(name, (3, 4))
        x = xp.tensor(numbers(*shape), requires_grad=True)
        out = layer(x)
        out.sum().backward()
        return out, x.grad, layer.eval()(x)
    both(torch, run)


@pytest.mark.conformance
@pytest.mark.parametrize("name", "ReLU SiLU Mish SELU Hardsigmoid Hardswish Hardtanh ReLU6 ELU CELU LeakyReLU RReLU Dropout Dropout2d".split())
@pytest.mark.filterwarnings("ignore:dropout2d")
def test_inplace_layers(torch, name):
    def run(xp):
        layer, x = getattr(xp.nn, name)(inplace=True), xp.tensor(numbers(1, 3, 2, 2))
        out = layer(x)
        assert out is x
        return x,
    both(torch, run)


@pytest.mark.conformance
def test_large_threshold_and_value(torch):
    both(torch, lambda xp: [xp.nn.Threshold(0.1, 20)(xp.tensor(numbers(5))), xp.nn.Threshold(-1, 2.5, True)(xp.tensor(numbers(5)))])


def test_softmax2d_over_channels(xp):
    x = xp.tensor(numbers(2, 3, 2, 2))
    for given in (x, x[0]):
        assert xp.allclose(xp.nn.Softmax2d()(given).sum(-3), xp.ones(()))


@pytest.mark.conformance
@pytest.mark.parametrize("source", ["Upsample(scale_factor=2, mode='trilinear')", "Upsample((3, 4, 5))", "Upsample(scale_factor=(1.5, 2, 1), recompute_scale_factor=True)"])
def test_upsampling(torch, source):
    both(torch, lambda xp: [eval(source, vars(xp.nn))(xp.tensor(numbers(1, 2, 2, 3, 4)))])


@pytest.mark.conformance
def test_distances(torch):
    def run(xp):
        a, b = xp.tensor(numbers(3, 4)), xp.tensor(numbers(3, 4, seed=1))
        return [xp.nn.PairwiseDistance(p, keepdim=k)(a, b) for p, k in ((1, True), (2.5, False))] + [xp.nn.CosineSimilarity(dim=0)(a, b)]
    both(torch, run)


@pytest.mark.conformance
@pytest.mark.parametrize("size", [(4, 5), 4])
def test_fold_undoes_unfold(torch, size):
    def run(xp):
        h, w = size if isinstance(size, tuple) else (size, size)
        x = xp.tensor(numbers(2, 3, h, w))
        columns = xp.nn.Unfold(2, dilation=1, padding=1, stride=2)(x)
        return columns, xp.nn.Fold(size, 2, padding=1, stride=2)(columns)
    both(torch, run)


@pytest.mark.conformance
@pytest.mark.parametrize("n", [1, 2, 3])
def test_gradients_of_convolutions(torch, n):
    import inspect

    import jtorch

    def run(xp):
        x, w = xp.tensor(numbers(2, 4, *[5] * n)), xp.tensor(numbers(6, 2, *[3] * n), requires_grad=True)
        options = {"stride": 2, "padding": 1, "groups": 2}
        out = xp.tensor(numbers(2, 6, *[3] * n), requires_grad=True)
        for_input = getattr(xp.nn.grad, f"conv{n}d_input")(x.shape, w, out, **options)
        for_weight = getattr(xp.nn.grad, f"conv{n}d_weight")(x, w.shape, out, **options)
        (for_input.sum() + (for_weight * for_weight).sum()).backward()
        return for_input, for_weight, w.grad, out.grad
    both(torch, run)
    for kind in ("input", "weight"):
        theirs, ours = (inspect.signature(getattr(xp.nn.grad, f"conv{n}d_{kind}")) for xp in (torch, jtorch))
        assert list(ours.parameters) == list(theirs.parameters)


WHOLE = ["Conv2d(2, 3, 3, padding='same', padding_mode='reflect')", "ConvTranspose2d(2, 3, 3, stride=2)", "LazyConv2d(3, 2)", "LazyBatchNorm2d()",
         "InstanceNorm2d(2, affine=True, track_running_stats=True)", "FractionalMaxPool2d(2, 2)", "Upsample(scale_factor=2)", "ZeroPad2d(1)",
         "ParameterDict({'a': torch.ones(2)})", "ParameterList([torch.ones(2)])", "Sequential(PReLU(), Softmax2d(), LPPool2d(2, 2))"]


@pytest.mark.conformance
@pytest.mark.parametrize("source", WHOLE)
def test_saved_modules_load_in_the_other_library(torch, source):
    import io

    import jtorch
    for writer, reader in ((torch, jtorch), (jtorch, torch)):
        file = io.BytesIO()
        module = eval(source, {**vars(writer.nn), "torch": writer}).eval()
        writer.save(module, file)
        file.seek(0)
        made = reader.load(file, weights_only=False)
        assert type(made) is getattr(reader.nn, type(module).__name__)
        assert repr(made) == repr(module)
        if "Parameter" not in source:
            x = numbers(1, 2, 4, 4)
            assert tuple(made(reader.tensor(x)).shape) == tuple(module(writer.tensor(x)).shape)


def test_isinstance_asks_strange_objects_nothing(xp):
    class Strange:
        def __getattr__(self, name):
            raise KeyError(name)

    for cls in (xp.nn.Buffer, xp.nn.Parameter, xp.nn.UninitializedBuffer, xp.nn.Module, xp.Tensor, xp.FloatTensor,
                xp.autograd.Variable, xp.jit.ScriptModule):
        assert not isinstance(Strange(), cls)
    module = xp.nn.Module()
    module.strange = Strange()
    assert "strange" in vars(module)


def test_subclasses_of_buffer_are_told_apart(xp):
    class Mine(xp.nn.Buffer):
        pass

    assert not isinstance(xp.nn.Buffer(xp.ones(2)), Mine)
    assert isinstance(Mine(xp.ones(2)), xp.nn.Buffer)


def test_buffers_are_tensors_that_are_marked(xp):
    b = xp.nn.Buffer(xp.ones(2), persistent=False)
    assert type(b) is xp.Tensor
    assert isinstance(b, xp.nn.Buffer)
    assert not isinstance(xp.ones(2), xp.nn.Buffer)
    assert repr(b) == "tensor([1., 1.])"
    module = xp.nn.Module()
    module.a, module.b = xp.nn.Buffer(xp.zeros(1)), b
    assert [n for n, _ in module.named_buffers()] == ["a", "b"]
    assert list(module.state_dict()) == ["a"]
