"""Graphs, names of nodes and generated code are the same as PyTorch's."""
import copy
import operator
import pickle

import pytest
from libraries import library

pytestmark = pytest.mark.conformance


def code(xp, fn, **options):
    return str(xp.fx.symbolic_trace(fn, **options).code)


@pytest.fixture(params=["torch", "jtorch"])
def torch_and_fx(request):
    return library(request.param)


def both(make):
    return [make(library(name)) for name in ("torch", "jtorch")]


CALLS = {
    "functional": lambda t, x: (t.nn.functional.relu(x), t.nn.functional.dropout(x, 0.1), t.nn.functional.gelu(x),
                                t.nn.functional.linear(x, x), t.nn.functional.layer_norm(x, (2,)),
                                t.nn.functional.interpolate(x, scale_factor=2), t.nn.functional.sigmoid(x)),
    "pooling": lambda t, x: (t.nn.functional.max_pool2d(x, 2), t.nn.functional.max_pool2d(x, 2, return_indices=True),
                             t.nn.functional.adaptive_avg_pool2d(x, 1), t.nn.functional.avg_pool2d(x, 2)),
    "torch": lambda t, x: (t.relu(x), t.cat([x, x], 1), t.flatten(x, 1), t.split(x, 2), t.einsum("ij->i", x),
                           t.linalg.norm(x), t.fft.fft(x), t.add(x, x, alpha=2), t.broadcast_tensors(x, x), t.sigmoid(x)),
    "methods": lambda t, x: (x.view(x.size(0), -1), x.softmax(-1), x.shape[0], x.to(t.float32), x.T, x.new_zeros(2)),
    "operators": lambda t, x: (x + 1, 1 - x, x @ x, 2 ** x, -x, ~x, x[:, 1:], x[0], x > 1, abs(x), 3 // x, x & x),
    "constants": lambda t, x: (x + t.ones(2), t.ones(3) * x, x.to(t.device("cpu"))),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls(name):
    theirs, ours = both(lambda t: t.fx.symbolic_trace(lambda x: CALLS[name](t, x)))
    assert ours.code == theirs.code
    assert str(ours.graph) == str(theirs.graph)


def block(t):
    class Block(t.nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.norm = t.nn.Conv2d(3, 3, 3, padding=1), t.nn.BatchNorm2d(3)
            self.register_buffer("shift", t.ones(1))
            self.scale = t.nn.Parameter(t.ones(1))

        def forward(self, x, extra=None):
            return t.nn.functional.relu(self.norm(self.conv(x))) * self.scale + self.shift + x

    return t.nn.Sequential(Block(), Block(), t.nn.Flatten(), t.nn.Linear(48, 2))


def test_modules():
    theirs, ours = both(lambda t: t.fx.symbolic_trace(block(t)))
    assert ours.code == theirs.code
    assert [n.name for n in ours.graph.nodes] == [n.name for n in theirs.graph.nodes]
    stacks = [[list(n.meta.get("nn_module_stack", ())) for n in m.graph.nodes] for m in (ours, theirs)]
    assert stacks[0] == stacks[1]
    assert str(ours) == str(theirs)


def parameters(x, y=2, *args, z=3, **kwargs):
    return x + y + z + args[0] + kwargs["q"]


def unpacking(x):
    a, b = x.chunk(2)
    return a * b


def annotated(x: int, y: list[str]) -> tuple:
    return (x, y)


def writing(x):
    x += 2
    x *= x
    return x.add_(1)


@pytest.mark.parametrize("fn", [parameters, unpacking, annotated, writing], ids=lambda f: f.__name__)
def test_functions(fn):
    theirs, ours = both(lambda t: code(t, fn))
    assert ours == theirs


def test_concrete_arguments():
    def fn(x, flag, d):
        return x * d["a"] + d["b"][0] if flag else x
    theirs, ours = both(lambda t: code(t, fn, concrete_args={"flag": True, "d": {"a": t.fx.PH, "b": [t.fx.PH]}}))
    assert ours == theirs


@pytest.mark.parametrize("fn", [lambda x: x if x.sum() > 0 else -x, lambda x: [y + 1 for y in x], lambda x: len(x),
                                lambda x: {x: 1}], ids=["if", "for", "len", "key"])
def test_what_can_not_be_traced(fn):
    errors = []
    for name in ("torch", "jtorch"):
        with pytest.raises(Exception) as found:
            library(name).fx.symbolic_trace(fn)
        errors.append((type(found.value).__name__, str(found.value)))
    assert errors[0] == errors[1]


def test_replaced_patterns(torch_and_fx):
    t = torch_and_fx

    def model(x, y):
        a = t.relu(x) + y
        return t.relu(a + 1) + y

    m = t.fx.symbolic_trace(model)
    matches = t.fx.replace_pattern(m, lambda a, b: t.relu(a) + b, lambda a, b: t.tanh(a) - b)
    assert len(matches) == 2
    assert [n.target.__name__ for n in m.graph.nodes if n.op == "call_function"] == ["tanh", "sub", "add", "tanh", "sub"]


def test_graphs_are_changed(torch_and_fx):
    t = torch_and_fx
    m = t.fx.symbolic_trace(lambda x: t.relu(x) + 1)
    node = m.graph.find_nodes(op="call_function", target=t.relu)[0]
    with m.graph.inserting_after(node):
        new = m.graph.call_function(t.neg, (node,))
    node.replace_all_uses_with(new)
    new.args = (node,)
    m.graph.lint()
    m.recompile()
    assert m(t.tensor([2.0])).tolist() == [-1.0]
    with pytest.raises(RuntimeError, match="Tried to erase Node relu but it still had 1 users in the graph"):
        m.graph.erase_node(node)
    dead = m.graph.call_function(operator.add, (node, 1))
    m.graph.erase_node(dead)
    with m.graph.inserting_before(m.graph.output_node()):
        m.graph.call_function(operator.add, (node, 1))
    assert m.graph.eliminate_dead_code()
    assert not m.graph.eliminate_dead_code()


def test_copies_run(torch_and_fx):
    t = torch_and_fx
    net = block(t).eval()
    m, x = t.fx.symbolic_trace(net), t.rand(2, 3, 4, 4)
    for other in (copy.deepcopy(m), t.fx.Transformer(m).transform(), pickle.loads(pickle.dumps(m))):
        assert t.equal(other(x), net(x))
        assert other.code.replace("_assert", "") == m.code
    assert t.equal(t.fx.Interpreter(m).run(x), net(x))
