"""torch.jit._get_trace_graph: the operators that a module calls, as PyTorch's tracer names them."""
from __future__ import annotations

import pytest

import jtorch as torch
from jtorch.nn import functional as F


class _Of(torch.nn.Module):
    def __init__(self, f):
        super().__init__()
        self.f = f

    def forward(self, *args):
        return self.f(*args)


def _kinds(graph):
    return [node.kind() for node in graph.nodes() if not node.kind().startswith("prim::")]


def _traced(f, *args):
    return torch.jit._get_trace_graph(f, args)[0]


class _Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * 2


# Functions, with the operators that PyTorch 2.13 records for each.
CASES = [
    (lambda x: (x * 5, x + 1)[1], ["aten::add"]),
    (lambda x: F.pad(x, (1, 1)), ["aten::pad"]),
    (lambda x: F.relu6(x) + F.hardswish(x), ["aten::relu6", "aten::hardswish", "aten::add"]),
    (lambda x: F.interpolate(x, size=(4, 4), mode="bilinear"), ["aten::upsample_bilinear2d"]),
    (lambda x: x[0, 1:3], ["aten::select", "aten::slice"]),
    (lambda x: x[x > 0], ["aten::gt", "aten::index"]),
    (lambda x: x.norm(), ["aten::linalg_vector_norm"]),
    (lambda x: 2 - x, ["aten::rsub"]),
    (lambda x: x.std(0), ["aten::std"]),
    (lambda x: x.to(torch.float64), ["aten::to"]),
    (lambda x: F.cross_entropy(x.flatten(1), torch.zeros(2, dtype=torch.long)),
     ["aten::flatten", "aten::zeros", "aten::cross_entropy_loss"]),
    (lambda x: F.dropout(x, 0.5, False), ["aten::dropout"]),
    (F.instance_norm, ["aten::instance_norm"]),
    (lambda x: x.float().contiguous().detach(), ["aten::to", "aten::contiguous", "aten::detach"]),
    (lambda x: F.max_pool2d(x, 2), ["aten::max_pool2d"]),
    (lambda x: F.conv_transpose2d(x, torch.ones(3, 2, 2, 2)), ["aten::ones", "aten::_convolution"]),
    (lambda x: x.clone().add_(1).relu_(), ["aten::clone", "aten::add_", "aten::relu_"]),
    (lambda x: torch.where(x > 0, x, 0.0), ["aten::gt", "aten::where"]),
    (lambda x: x @ x.mT, ["aten::mT", "aten::matmul"]),
    (lambda x: x.chunk(3, 1)[0], ["aten::chunk"]),
    (lambda x: torch.einsum("bchw,bchv->wv", x, x), ["aten::einsum"]),
]


@pytest.mark.parametrize(("f", "kinds"), CASES, ids=[kinds[-1] for _, kinds in CASES])
def test_operators_of_a_call(f, kinds):
    assert _kinds(_traced(_Of(f), torch.randn(2, 3, 8, 8))) == kinds


def test_module_with_shapes_and_constants():
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.BatchNorm2d(8), torch.nn.Flatten(),
                                torch.nn.Linear(8 * 64, 5))
    graph, out = torch.jit._get_trace_graph(model, torch.randn(2, 3, 8, 8))
    assert _kinds(graph) == ["aten::_convolution", "aten::add_", "aten::batch_norm", "aten::flatten", "aten::linear"]
    assert len(list(graph.inputs())) == 1 + len(model.state_dict())
    conv, norm, linear = (graph.findNode(f"aten::{kind}") for kind in ("_convolution", "batch_norm", "linear"))
    assert conv.inputsSize() == 13
    assert conv.output().type().sizes() == [2, 8, 8, 8]
    assert [v.toIValue() for v in norm.inputs()][5:] == [True, 0.1, 1e-5, True]
    assert linear.inputsAt(1) in list(graph.inputs())
    assert str(next(graph.inputs()).type()) == "Float(2, 3, 8, 8, strides=[192, 64, 8, 1], requires_grad=0, device=cpu)"
    assert out.shape == (2, 5)


def test_networks_that_are_one_operator():
    assert _kinds(_traced(torch.nn.LSTM(3, 4), torch.randn(2, 6, 3)))[-1] == "aten::lstm"
    layer = torch.nn.TransformerEncoderLayer(16, 4, 32, batch_first=True)
    kinds = _kinds(_traced(layer, torch.randn(2, 6, 16)))
    assert kinds.count("aten::scaled_dot_product_attention") == 1
    assert kinds.count("aten::linear") == 4
    assert kinds.count("aten::layer_norm") == 2
    assert kinds.count("aten::dropout") == 3


def test_functions_in_python_are_one_node():
    node = next(_traced(_Of(_Twice.apply), torch.randn(3)).nodes())
    assert (node.kind(), node.pyname()) == ("prim::PythonOp", "_Twice")


def test_scopes_and_the_state_while_tracing():
    def scoped(x):
        state = torch._C._get_tracing_state()
        state.push_scope("outer")
        state.push_scope("inner")
        y = x + 1
        state.pop_scope()
        assert torch.jit.is_tracing()
        assert torch._C._is_tracing()
        return y * 2

    nodes = [n for n in _traced(_Of(scoped), torch.randn(3)).nodes() if n.kind().startswith("aten")]
    assert [n.scopeName() for n in nodes] == ["outer/inner", "outer"]
    assert torch._C._get_tracing_state() is None
    assert not torch.jit.is_tracing()


def test_nothing_stays_after_an_error():
    def broken(x):
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        _traced(_Of(broken), torch.randn(3))
    assert torch._C._get_tracing_state() is None
    assert (torch.ones(2) + 1).tolist() == [2, 2]
