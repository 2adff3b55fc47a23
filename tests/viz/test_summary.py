"""summary(): torchinfo's table, without a change of the model."""
from __future__ import annotations

import numpy as np
import pytest

import jtorch
from jtorch import nn
from jtorch.utils.viz import summary


class Net(nn.Module):
    """Convolution, a list of layers with one used twice, a container and a parameter."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 8, 3)
        self.blocks = nn.ModuleList([nn.Linear(8 * 26 * 26, 16), nn.ReLU(), nn.Linear(16, 16)])
        self.head = nn.Sequential(nn.Linear(16, 10))
        self.scale = nn.Parameter(jtorch.ones(10))

    def forward(self, x):
        x = jtorch.relu(self.conv(x)).flatten(1)
        for block in self.blocks:
            x = block(x)
        return self.head(self.blocks[2](x)) * self.scale


# The output of torchinfo 1.8 for the same model in PyTorch. Python 3.11 prints its unit as "Units.MEGABYTES".
EXPECTED = """\
==========================================================================================
Layer (type:depth-idx)                   Output Shape              Param #
==========================================================================================
Net                                      [2, 10]                   10
├─Conv2d: 1-1                            [2, 8, 26, 26]            80
├─ModuleList: 1-2                        --                        --
│    └─Linear: 2-1                       [2, 16]                   86,544
│    └─ReLU: 2-2                         [2, 16]                   --
│    └─Linear: 2-3                       [2, 16]                   272
│    └─Linear: 2-4                       [2, 16]                   (recursive)
├─Sequential: 1-3                        [2, 10]                   --
│    └─Linear: 2-5                       [2, 10]                   170
==========================================================================================
Total params: 87,076
Trainable params: 87,076
Non-trainable params: 0
Total mult-adds (M): 0.28
==========================================================================================
Input size (MB): 0.01
Forward/backward pass size (MB): 0.09
Params size (MB): 0.35
Estimated Total Size (MB): 0.44
=========================================================================================="""


def test_table(capsys):
    found = summary(Net(), input_size=(2, 1, 28, 28))
    assert capsys.readouterr().out == EXPECTED + "\n"
    assert repr(found) == EXPECTED


def test_ways_to_give_inputs():
    model = Net()
    shape = [[2, 10]]
    for options in ({"input_data": jtorch.ones(2, 1, 28, 28)}, {"input_data": [np.ones((2, 1, 28, 28), np.float32)]},
                    {"input_data": {"x": jtorch.ones(2, 1, 28, 28)}}, {"input_size": [(2, 1, 28, 28)]}):
        assert [summary(model, verbose=0, **options).layers[0].output_size] == shape
    assert summary(model, input_size=(1, 28, 28), batch_dim=0, verbose=0).layers[0].input_size == [1, 1, 28, 28]


def test_without_inputs():
    text = str(summary(Net(), verbose=0))
    assert "├─Conv2d: 1-1                            --                        80" in text
    assert "mult-adds" not in text


def test_columns_and_rows():
    model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2))
    model[1].requires_grad_(False)
    found = summary(model, (1, 1, 8, 8), col_names=("kernel_size", "mult_adds", "trainable", "num_params"), verbose=0,
                    row_settings=("var_names",), col_width=16)
    lines = str(found).splitlines()
    assert lines[1].split() == ["Layer", "(type", "(var_name):depth-idx)", "Kernel", "Shape", "Mult-Adds", "Trainable", "Param", "#"]
    assert lines[4].split() == ["├─Conv2d", "(0):", "1-1", "[3,", "3]", "720", "True", "20"]
    assert lines[5].split() == ["├─BatchNorm2d", "(1):", "1-2", "--", "4", "False", "(4)"]
    assert lines[3].split()[-2:] == ["Partial", "--"]
    assert len(str(summary(model, (1, 1, 8, 8), depth=0, verbose=0)).splitlines()) < len(lines)


def test_nothing_changes():
    model = nn.Sequential(nn.BatchNorm1d(3), nn.Dropout(0.5))
    model[1].eval()
    before = jtorch.get_rng_state()
    summary(model, (4, 3), mode="train", verbose=0)
    assert jtorch.equal(jtorch.get_rng_state(), before)
    assert (model.training, model[1].training) == (True, False)
    assert not model._forward_hooks
    assert not model[0]._forward_pre_hooks
    summary(model, (4, 3), verbose=0)
    assert int(model[0].num_batches_tracked) == 1       # Only the call in train mode counts a batch.


def test_errors():
    with pytest.raises(ValueError, match="unknown column 'size'"):
        summary(Net(), col_names=("size",))
    with pytest.raises(ValueError, match="give either input_size or input_data"):
        summary(Net(), (1,), jtorch.ones(1))
    model = Net()
    with pytest.raises(RuntimeError):
        summary(model, (2, 3))
    assert not model._forward_hooks
