"""SummaryWriter: what is written, and what is said where tensorboardX is missing."""
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


def events(folder):
    """The summaries in a folder's event files."""
    from tensorboardX.proto.event_pb2 import Event
    for path in sorted(folder.rglob("events*")):
        data, at = path.read_bytes(), 0
        while at < len(data):
            size = struct.unpack_from("<Q", data, at)[0]
            event = Event.FromString(data[at + 12:at + 12 + size])
            yield from ((event.step, value) for value in event.summary.value)
            at += 16 + size


@pytest.mark.skipif(importlib.util.find_spec("tensorboardX") is None, reason="tensorboardX is not installed")
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
        with pytest.raises(NotImplementedError, match="add_graph is not built"):
            writer.add_graph(jtorch.nn.Linear(1, 1))
    found = {value.tag: (step, value) for step, value in events(tmp_path)}
    assert (found["loss"][0], found["loss"][1].simple_value) == (4, 1.5)
    assert found["plain"][1].simple_value == 2
    assert found["weights"][1].histo.num == 10
    assert "image" in found
