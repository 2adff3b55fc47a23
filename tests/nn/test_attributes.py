"""Attributes of modules: ints or tuples, text, constants, the names in state dicts, constructor errors."""
from __future__ import annotations

import inspect
import re

import pytest

MODULES = [
    "Conv1d(4, 6, 3)", "Conv2d(4, 6, (3, 2), stride=2, padding=(1, 0), dilation=2, groups=2, bias=False)",
    "Conv2d(4, 6, [3, 2], padding='same', padding_mode='reflect')", "Conv3d(2, 2, 1, padding='valid', padding_mode='circular')",
    "ConvTranspose1d(4, 6, 3, 2, 1, 1)", "ConvTranspose2d(4, 6, (3, 2), groups=2, dilation=(2, 1))", "ConvTranspose3d(1, 2, 3)",
    "BatchNorm1d(3)", "BatchNorm2d(3, affine=False)", "BatchNorm3d(3, 1e-3, None, bias=False)",
    "BatchNorm1d(3, track_running_stats=False)", "SyncBatchNorm(3)", "InstanceNorm1d(3)", "InstanceNorm2d(3, affine=True)",
    "InstanceNorm3d(3, track_running_stats=True, affine=True, bias=False)", "LayerNorm(3)", "LayerNorm([2, 3], bias=False)",
    "RMSNorm(3)", "RMSNorm((2, 3), 1e-3, False)", "GroupNorm(2, 4)", "GroupNorm(2, 4, bias=False)", "LocalResponseNorm(2)",
    "CrossMapLRN2d(3)", "MaxPool1d(2)", "MaxPool2d((2, 3), 1, (1, 0), ceil_mode=True)", "MaxPool3d(2, return_indices=True)",
    "AvgPool1d(2)", "AvgPool2d(2, padding=1)", "AvgPool3d((1, 2, 2), divisor_override=3)", "MaxUnpool1d(2)", "MaxUnpool2d(2, 1)",
    "MaxUnpool3d((1, 2, 3), padding=1)", "FractionalMaxPool2d(2, 3)", "FractionalMaxPool3d(2, output_ratio=0.5)", "LPPool1d(2, 3)",
    "LPPool2d(1.5, (2, 1), stride=1)", "LPPool3d(2, 2)", "AdaptiveMaxPool1d(2)", "AdaptiveMaxPool2d((2, None))",
    "AdaptiveMaxPool3d(1, True)", "AdaptiveAvgPool1d(2)", "AdaptiveAvgPool2d([2, 3])", "AdaptiveAvgPool3d((None, 1, 2))",
    *(f"{kind}Pad{n}d({size})" for kind in ("Circular", "Reflection", "Replication", "Zero") for n in (1, 2, 3)
      for size in (2, tuple(range(2 * n)))), "ConstantPad1d(2, 3.5)", "ConstantPad2d((1, 2, 3, 4), 0)", "ConstantPad3d(1, -1)",
    "Upsample(3)", "Upsample(scale_factor=(2, 3), mode='bilinear', align_corners=True)", "UpsamplingNearest2d((2, 3))",
    "UpsamplingBilinear2d(scale_factor=2)", "PixelShuffle(2)", "PixelUnshuffle(2)", "ChannelShuffle(3)", "Fold((4, 5), 2)",
    "Unfold((2, 1), 1, 2, 3)", "Flatten(0, -2)", "Unflatten(1, (2, -1))", "Dropout(0.2, True)", "Dropout1d()", "Dropout2d()",
    "Dropout3d(0)", "AlphaDropout(1)", "FeatureAlphaDropout()", "Threshold(1, 2.5)", "RReLU(inplace=True)", "Hardtanh(-2, 2, True)",
    "ReLU6(True)", "Hardsigmoid(True)", "Hardswish(True)", "CELU(2.0, True)", "GELU('tanh')", "GLU(1)", "Softmax2d()",
    "PReLU(3, 0.1)", "Softplus(2, 3)", "Hardshrink(1)", "Softshrink()", "Tanhshrink()", "LogSigmoid()", "Softmin(1)", "Softmax()",
    "LazyLinear(3)", "LazyConv1d(2, 3)", "LazyConv2d(2, 3, 2, bias=False)", "LazyConv3d(2, 1, padding='same')",
    "LazyConvTranspose1d(2, 3)", "LazyConvTranspose2d(2, 3, output_padding=0)", "LazyConvTranspose3d(2, 1)", "LazyBatchNorm1d()",
    "LazyBatchNorm2d(affine=False)", "LazyBatchNorm3d(track_running_stats=False, bias=False)", "LazyInstanceNorm1d()",
    "LazyInstanceNorm2d(1e-4)", "LazyInstanceNorm3d(affine=False)", "Linear(3, 2, bias=False)", "Identity(1, a=2)",
]


def made(xp, source):
    return eval(source, {**vars(xp.nn)})


def facts(xp, source) -> dict:
    module = made(xp, source)
    public = {k: v for k, v in vars(module).items() if not k.startswith("_")}
    return {"text": repr(module), "attributes": public, "constants": sorted(getattr(module, "__constants__", [])),
            "state": [(k, None if "Lazy" in source else tuple(v.shape)) for k, v in module.state_dict().items()],
            "parameters": [name for name, _ in module.named_parameters()], "buffers": [name for name, _ in module.named_buffers()]}


@pytest.mark.parametrize("source", MODULES)
def test_module(same, source):
    same(lambda xp: facts(xp, source))


@pytest.mark.parametrize("name", sorted({s.partition("(")[0] for s in MODULES}))
def test_signatures(same, name):
    def names(f):
        return [(p.name, p.kind, p.default) for p in inspect.signature(f).parameters.values()]
    same(lambda xp: [names(f) for f in (getattr(xp.nn, name), getattr(xp.nn, name).forward)])


ERRORS = [
    "Conv1d(4, 6, 3, groups=0)", "Conv1d(3, 6, 3, groups=2)", "Conv1d(4, 5, 3, groups=2)", "Conv2d(4, 6, 3, stride=2, padding='same')",
    "ConvTranspose1d(4, 6, 3, padding_mode='reflect')", "ConvTranspose2d(3, 6, 3, groups=2)", "GroupNorm(3, 4)",
    "FractionalMaxPool2d(2)", "FractionalMaxPool2d(2, 2, 0.5)", "FractionalMaxPool3d(2, output_ratio=1.5)",
    "FractionalMaxPool3d(0, 2)", "FractionalMaxPool3d(2)", "Unflatten(1, 3)", "Unflatten(1, (2, 1.5))", "Dropout(1.5)",
    "Dropout2d(-0.1)", "Hardtanh(2, 1)", "Linear(-1, 2)", "Softmax2d()(torch.zeros(2, 2))", "CrossMapLRN2d(3)(torch.zeros(2, 2))",
    "BatchNorm2d(2)(torch.zeros(2, 2))", "BatchNorm1d(2)(torch.zeros(1, 2))", "SyncBatchNorm(2)(torch.zeros(2))",
    "SyncBatchNorm(0)(torch.zeros(2, 0))", "InstanceNorm2d(2, affine=True)(torch.zeros(1, 3, 4, 4))",
    "InstanceNorm2d(2)(torch.zeros(3, 4))", "CircularPad2d(1)(torch.zeros(2, 2))", "ReflectionPad1d(4)(torch.zeros(1, 3))",
    "LazyConv2d(2, 3)(torch.zeros(3, 3))", "LazyConv2d(4, 3, groups=2)(torch.zeros(1, 3, 4, 4))",
    "ConvTranspose2d(1, 1, 2, 2)(torch.zeros(1, 1, 2, 2), (9, 9))", "ConvTranspose2d(1, 1, 2, 2)(torch.zeros(1, 1, 2, 2), (4, 4, 4))",
    "MaxUnpool1d(2)(torch.zeros(1, 1, 2), torch.zeros(1, 1, 2, dtype=torch.int64), (9,))", "PixelShuffle(2)(torch.zeros(3, 2, 2))",
    "ChannelShuffle(2)(torch.zeros(1, 3, 2))", "LayerNorm(3)(torch.zeros(2, 2))", "RMSNorm(3)(torch.zeros(2, 2))", "GLU()(torch.zeros(3))",
    "Upsample()(torch.zeros(1, 1, 2))", "Upsample(2, mode='bilinear')(torch.zeros(1, 1, 2))", "PReLU(3)(torch.zeros(1, 2))",
    "Fold(4, 2)(torch.zeros(1, 3, 9))", "Unfold(3)(torch.zeros(1, 1, 2, 2))", "FractionalMaxPool2d(3, 2)(torch.zeros(1, 1, 3, 3))",
    "ParameterList([1])(2)", "ParameterDict({})(2)", "ParameterList(3)", "ParameterDict([1])", "ParameterDict({1: 2})",
    "ParameterDict([(1, 2, 3)])", "ParameterList([1])[1]", "MaxPool2d(2, padding=2)(torch.zeros(1, 1, 4, 4))",
]


@pytest.mark.parametrize("source", ERRORS)
def test_errors(same, source):
    def caught(xp):
        with pytest.raises(Exception) as error:
            eval(source, {**vars(xp.nn), "torch": xp})
        return error.type.__name__, re.split(r"(?<=[a-z)])\.(?: |$)|\n", str(error.value))[0]
    same(caught)


@pytest.mark.parametrize("source", ["Conv1d(1, 1, 1, padding='some')", "Conv1d(1, 1, 1, padding_mode='some')"])
def test_errors_that_print_a_set(same, source):
    def words(xp):
        with pytest.raises(ValueError) as error:
            made(xp, source)
        return sorted(re.findall(r"\w+", str(error.value)))
    same(words)


def test_warnings(xp):
    with pytest.warns(UserWarning, match="input's size at dim=1 does not match num_features"):
        xp.nn.InstanceNorm1d(2)(xp.zeros(1, 3, 4))
    with pytest.warns(FutureWarning, match="keyword argument `min_value` is deprecated and renamed to `min_val`"):
        assert xp.nn.Hardtanh(min_value=-3).min_val == -3
    with pytest.warns(UserWarning, match="Implicit dimension choice for softmax has been deprecated"):
        xp.nn.Softmax()(xp.zeros(2))
