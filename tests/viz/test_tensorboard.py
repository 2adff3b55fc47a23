"""SummaryWriter: its events, and its error without tensorboardX."""
from __future__ import annotations

import importlib.util
import struct
import sys

import numpy as np
import pytest

import jtorch
from jtorch.utils import tensorboard


def test_without_tensorboardx(monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    tensorboard._writer.cache_clear()
    with pytest.raises(ImportError, match=r"tensorboardX, which is not installed: pip install tensorboardX, or jtorch-jax\[tensor"):
        tensorboard.SummaryWriter()
    with pytest.raises(AttributeError, match="has no attribute 'Other'"):
        tensorboard.Other()


def test_where_only_tensorboard_is_installed_the_class_can_be_imported(monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: found("json") if name == "tensorboard" else found(name))
    tensorboard._writer.cache_clear()
    kind = tensorboard.SummaryWriter
    tensorboard._writer.cache_clear()
    with pytest.raises(ImportError, match="tensorboardX, which is not installed"):
        kind()


def events(folder):
    """Return the events in a folder's files."""
    from tensorboardX.proto.event_pb2 import Event
    for path in sorted(folder.rglob("events*")):
        data, at = path.read_bytes(), 0
        while at < len(data):
            size = struct.unpack_from("<Q", data, at)[0]
            yield Event.FromString(data[at + 12:at + 12 + size])
            at += 16 + size


def graphs(folder):
    """Return the graphs in a folder's event files: for each the nodes by name."""
    from tensorboardX.proto.graph_pb2 import GraphDef
    return [{n.name: n for n in GraphDef.FromString(e.graph_def).node} for e in events(folder) if e.graph_def]


def shape(node):
    """Return the shape of a node's result."""
    return [d.size for d in node.attr["_output_shapes"].list.shape[0].dim]


needs_tensorboardx = pytest.mark.skipif(importlib.util.find_spec("tensorboardX") is None, reason="tensorboardX is not installed")


@needs_tensorboardx
@pytest.mark.filterwarnings("ignore")
def test_writing(tmp_path):
    from jtorch.utils.tensorboard import SummaryWriter
    with SummaryWriter(str(tmp_path)) as writer:
        assert writer.log_dir == str(tmp_path)
        writer.add_scalar("loss", jtorch.tensor(0.5, requires_grad=True) * 3, jtorch.tensor(4))
        writer.add_scalar("plain", np.float32(2.0), 5, new_style=True)
        writer.add_histogram("weights", jtorch.arange(10.0, dtype=jtorch.bfloat16), 1)
        writer.add_text("note", "text")
        writer.add_image("image", jtorch.rand(3, 4, 4), 2)
        writer.add_scalars("both", {"a": jtorch.tensor(1.0), "b": 2.0}, 0)
        with pytest.raises(AssertionError, match="Expected scalar value to have 1 element"):
            writer.add_scalar("loss", jtorch.ones(2))
    found = {value.tag: (event.step, value) for event in events(tmp_path) for value in event.summary.value}
    assert (found["loss"][0], found["loss"][1].simple_value) == (4, 1.5)
    assert found["plain"][1].simple_value == 2
    assert found["weights"][1].histo.num == 10
    assert "image" in found


class Net(jtorch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = jtorch.nn.Sequential(jtorch.nn.Linear(3, 4), jtorch.nn.Dropout(0.5))
        self.scale = jtorch.nn.Parameter(jtorch.ones(4))

    def forward(self, x, mask=None):
        if mask is not None:
            x = x * mask
        return jtorch.relu(self.layers(x)) * self.scale


@needs_tensorboardx
def test_the_graph_of_a_module(tmp_path):
    from jtorch.utils.tensorboard import SummaryWriter
    net = Net()
    net.layers[1].eval()
    with SummaryWriter(str(tmp_path)) as writer:
        writer.add_graph(net, jtorch.ones(2, 3))
    nodes, = graphs(tmp_path)
    assert {name: list(node.input) for name, node in nodes.items()} == {
        "input/x": [],
        "Net/Sequential[layers]/Linear[0]/weight": [],
        "Net/Sequential[layers]/Linear[0]/bias": [],
        "Net/Sequential[layers]/Linear[0]/layers_0": ["input/x", "Net/Sequential[layers]/Linear[0]/weight",
                                                      "Net/Sequential[layers]/Linear[0]/bias"],
        "Net/Sequential[layers]/Dropout[1]/layers_1": ["Net/Sequential[layers]/Linear[0]/layers_0"],
        "Net/relu": ["Net/Sequential[layers]/Dropout[1]/layers_1"],
        "Net/scale": [],
        "Net/mul": ["Net/relu", "Net/scale"],
        "output/output.1": ["Net/mul"],
    }
    assert shape(nodes["Net/mul"]) == shape(nodes["output/output.1"]) == [2, 4]
    assert shape(nodes["Net/Sequential[layers]/Linear[0]/weight"]) == [4, 3]
    assert (net.training, net.layers[0].training, net.layers[1].training) == (True, True, False)


@needs_tensorboardx
def test_graphs_of_other_calls(tmp_path, capsys):
    from jtorch.utils.tensorboard import SummaryWriter
    with SummaryWriter(str(tmp_path)) as writer:
        writer.add_graph(Net(), (jtorch.ones(2, 3), jtorch.ones(3)), verbose=True)
        writer.add_graph(jtorch.nn.Linear(3, 2))
        writer.add_graph(jtorch.nn.Linear(3, 2), jtorch.ones(1, 3))
        linear = jtorch.nn.Linear(3, 3)
        writer.add_graph(jtorch.nn.Sequential(linear, linear), jtorch.ones(1, 3))
    masked, unknown, linear, twice = graphs(tmp_path)
    assert [n for n in twice if n.endswith("weight")] == ["Sequential/Linear[0]/weight"]
    assert list(masked["Net/mul"].input) == ["input/x", "input/mask"]
    assert "output/output.1" in unknown
    assert shape(linear["output/output.1"]) == [1, 2]
    assert "graph():" in capsys.readouterr().out


class Branching(jtorch.nn.Module):
    def forward(self, x):
        return x if x.sum() > 0 else -x


@needs_tensorboardx
def test_a_module_that_fx_cannot_trace(tmp_path):
    """Training continues, and the module is unchanged."""
    from jtorch.utils.tensorboard import SummaryWriter
    net = Branching()
    with SummaryWriter(str(tmp_path)) as writer:
        with pytest.warns(UserWarning, match="torch.fx could not trace Branching, so no graph is written"):
            writer.add_graph(net, jtorch.ones(2))
        with pytest.warns(UserWarning, match="torch.fx could not trace Linear"):
            writer.add_graph(jtorch.nn.Linear(3, 2), jtorch.ones(2, 4))
    assert graphs(tmp_path) == []
    assert net.training
