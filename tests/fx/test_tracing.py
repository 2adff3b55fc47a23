"""Tracing with subclasses of Tracer, wrapped functions and hand-made proxies."""
import pytest

import jtorch
import jtorch as torch
from jtorch import fx, nn


@fx.wrap
def halves(x, n):
    if n:       # A proxy has no truth value.
        return x[: len(x) // 2]
    return x


def test_wrapped_functions_are_one_node():
    m = fx.symbolic_trace(lambda x, n: halves(x, n) + 1)
    assert [n.op for n in m.graph.nodes] == ["placeholder", "placeholder", "call_function", "call_function", "output"]
    assert m(torch.ones(4), True).shape == (2,)


def test_functions_that_somebody_holds_are_traced():
    class Act(nn.Module):
        table = {"a": torch.tanh}

        def __init__(self):
            super().__init__()
            self.act = torch.relu

        def forward(self, x):
            return self.table["a"](self.act(x))
    assert [n.name for n in fx.symbolic_trace(Act()).graph.nodes] == ["x", "relu", "tanh", "output"]


def test_tracing_leaves_functions_as_they_were():
    before = torch.relu, torch.relu.__code__, nn.Module.__call__, nn.Module.__getattr__
    with pytest.raises(fx.proxy.TraceError):
        fx.symbolic_trace(lambda x: bool(torch.relu(x)))
    assert (torch.relu, torch.relu.__code__, nn.Module.__call__, nn.Module.__getattr__) == before


def test_leaf_modules_are_the_tracers_choice():
    class All(fx.Tracer):
        def is_leaf_module(self, m, name):
            return False
    net = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    graph = All().trace(net)
    assert [n.op for n in graph.nodes] == ["placeholder", "get_attr", "get_attr", "call_function", "call_function", "output"]
    assert torch.equal(fx.GraphModule(net, graph)(torch.ones(1, 2)), net(torch.ones(1, 2)))


def test_proxies_made_by_hand():
    graph = fx.Graph()
    x = fx.Proxy(graph.placeholder("x"))
    y = torch.nn.functional.relu(x) + torch.cat([x, x]).sum()
    graph.output(y.node)
    assert "torch.nn.functional.relu(x, inplace = False)" in fx.GraphModule({}, graph).code


def test_functions_that_take_no_tensors_refuse_proxies():
    with pytest.raises(TypeError, match=r"zeros\(\): argument of type Proxy"):
        fx.symbolic_trace(lambda x: torch.zeros(x.shape[0]))


def test_assertions_become_nodes():
    def fn(x):
        torch._assert(x.shape[0] == 2, "two")
        return x
    m = fx.symbolic_trace(fn)
    assert "torch._assert(eq, 'two')" in m.code
    m.graph.eliminate_dead_code()
    m.recompile()
    with pytest.raises(AssertionError, match="two"):
        m(torch.ones(3))


def test_errors_show_the_generated_line(capsys):
    m = fx.symbolic_trace(lambda x, y: x @ y)
    with pytest.raises(RuntimeError):
        m(torch.ones(2, 3), torch.ones(2, 3))
    assert "Call using an FX-traced Module, line 5 of the traced Module's generated forward function" in capsys.readouterr().err


def test_interpreter_names_the_node_of_an_error():
    m = fx.symbolic_trace(lambda x: x.relu().missing())
    with pytest.raises(AttributeError, match="While executing %missing"):
        fx.Interpreter(m).run(torch.ones(2))


def test_shapes():
    from jtorch.fx.passes.shape_prop import ShapeProp
    m = fx.symbolic_trace(nn.Sequential(nn.Linear(3, 2), nn.Softmax(-1)))
    ShapeProp(m).propagate(torch.ones(5, 3))
    assert [tuple(n.meta["tensor_meta"].shape) for n in m.graph.nodes] == [(5, 3), (5, 2), (5, 2), (5, 2)]
    assert '"f32[5, 2]"' in m.print_readable(print_output=False)


def test_immutable_arguments():
    node = next(n for n in fx.symbolic_trace(lambda x: torch.cat([x, x])).graph.nodes if n.op == "call_function")
    with pytest.raises(TypeError, match="does not support mutation"):
        node.args[0].append(1)


def test_to_folder(tmp_path):
    net = nn.Sequential(nn.Linear(3, 2), nn.GELU())
    m = fx.symbolic_trace(net)
    with pytest.warns(UserWarning, match="saved as pickled files"):
        m.to_folder(tmp_path / "made")
    assert "class FxModule" in (tmp_path / "made" / "module.py").read_text()


def test_it_is_loaded_when_it_is_asked_for(run_python):
    assert run_python("import jtorch, sys; print('jtorch.fx' in sys.modules, jtorch.fx.__name__)").split() == ["False", "jtorch.fx"]
    assert jtorch.fx is fx
