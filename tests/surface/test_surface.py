"""Names around the core: functions without an effect, missing features, comparisons and measurements."""
from __future__ import annotations

import importlib
import json
import re

import pytest

import jtorch
from jtorch._api.lazy_modules import MODULES
from jtorch._base.config import ENGINE_MODE
from jtorch._base.not_built import MODULES as NOT_BUILT

# ---------------------------------------------------------------- compile, jit

def test_compile(xp):
    """All three forms accept their arguments. Mode with options, or an unknown mode, raises."""
    with pytest.raises(RuntimeError, match="Either mode or options can be specified"):
        xp.compile(xp.sin, mode="default", options={})
    with pytest.raises(RuntimeError, match="Unrecognized mode=fast"):
        xp.compile(xp.sin, mode="fast")
    assert xp.compiler.is_compiling() is False


def test_compiled_is_the_argument():
    net = jtorch.nn.Linear(2, 1)
    assert jtorch.compile(net, mode="max-autotune", fullgraph=True, dynamic=False, backend="inductor") is net

    @jtorch.compile
    def one(x):
        return x + 1

    @jtorch.compile(dynamic=True, options={"a": 1})
    def two(x):
        return x + 2
    assert (one(jtorch.zeros(1)) + two(jtorch.zeros(1))).tolist() == [3.0]


@pytest.mark.filterwarnings("ignore:`torch.jit")
def test_jit():
    net = jtorch.nn.Linear(2, 1)
    assert jtorch.jit.script(net) is net
    assert jtorch.jit.trace(net, jtorch.ones(1, 2)) is net
    assert jtorch.jit.ignore(drop=True)(len) is len
    assert jtorch.jit.isinstance([1], list[int])
    with pytest.raises(NotImplementedError, match=r"torch.jit.save writes what torch.jit.trace\(m, example_inputs\) was given"):
        jtorch.jit.save(jtorch.nn.Linear(2, 1), "file")


@pytest.mark.filterwarnings("ignore:`torch.jit")
def test_modules_of_jit(xp):
    net = xp.nn.Sequential(xp.nn.Linear(2, 1))
    for name in ("ScriptModule", "RecursiveScriptModule", "TracedModule", "TopLevelTracedModule", "ScriptFunction"):
        assert not isinstance(net, getattr(xp.jit, name))
        assert not isinstance(len, getattr(xp.jit, name))
    assert not issubclass(xp.nn.Sequential, xp.jit.ScriptModule)
    assert issubclass(xp.jit.TopLevelTracedModule, xp.jit.ScriptModule)
    assert issubclass(xp.jit.RecursiveScriptModule, xp.jit.ScriptModule)
    assert issubclass(xp.jit.ScriptModule, xp.nn.Module)
    with pytest.raises((TypeError, NotImplementedError)):
        xp.jit.TracedModule()


def test_a_script_module():
    class Scaled(jtorch.jit.ScriptModule):
        def __init__(self):
            super().__init__()
            self.w = jtorch.nn.Parameter(jtorch.ones(2))

        @jtorch.jit.script_method
        def forward(self, x):
            return x * self.w

    net = Scaled()
    assert isinstance(net, jtorch.jit.ScriptModule)
    assert net(jtorch.tensor([1.0, 2.0])).tolist() == [1.0, 2.0]
    assert list(net.state_dict()) == ["w"]


# ---------------------------------------------------------------- what is not built

@pytest.mark.parametrize("name", sorted(NOT_BUILT))
def test_not_built(name):
    """The module and its names can be imported. A call raises an error with an alternative."""
    module = importlib.import_module(f"jtorch.{name}")
    with pytest.raises(NotImplementedError, match=re.escape(f"torch.{name}.Something is not built. {NOT_BUILT[name]}")):
        module.Something(1, key=2)


def test_not_built_names_can_stand_around():
    """The names work as a default argument, as a base class, in isinstance, and as an attribute of an attribute."""
    rpc = importlib.import_module("jtorch.distributed.rpc")

    class Mine(rpc.RRef):
        def f(self, kind=rpc.BackendType.TENSORPIPE):
            return kind
    assert not isinstance(1, rpc.RpcBackendOptions)
    assert not hasattr(rpc, "__wrapped__")
    with pytest.raises(NotImplementedError, match=r"torch.distributed.rpc.RRef is not built"):
        Mine()


def test_missing_names():
    assert not hasattr(jtorch, "empty_quantized")
    with pytest.raises(NotImplementedError, match="quantized tensors are not built"):
        jtorch.empty_quantized((2,), jtorch.ones(2))
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        jtorch.nonsense


def test_nothing_of_it_is_imported_with_the_package(run_python):
    shown = run_python(f"import sys, jtorch; print([n for n in {MODULES} if f'jtorch.{{n}}' in sys.modules])\n"
                       f"for n in {MODULES}: getattr(jtorch, n)\nprint(jtorch.compile(len) is len)")
    assert shown.split() == ["[]", "True"]


def test_accelerator(xp):
    """PyTorch's tutorials begin with this line."""
    found = xp.accelerator.current_accelerator()
    device = found.type if xp.accelerator.is_available() else "cpu"
    assert xp.ones(1, device=device).device.type == device
    assert (xp.accelerator.device_count() > 0) == xp.accelerator.is_available()


# ---------------------------------------------------------------- testing, trees, benchmarks, traces

def _message(xp, actual, expected, **options):
    with pytest.raises((AssertionError, TypeError, ValueError)) as caught:
        xp.testing.assert_close(actual, expected, **options)
    return f"{caught.type.__name__}: {caught.value}"


@pytest.mark.conformance
@pytest.mark.filterwarnings("ignore:Sparse")
def test_assert_close_says_what_pytorch_says(torch):
    cases = [lambda xp: (xp.tensor([1.0, 2, 3]), xp.tensor([1.0, 2, 4])), lambda xp: (xp.ones(2, 2), xp.zeros(2, 2)),
             lambda xp: (xp.tensor([1, 2]), xp.tensor([1, 3])), lambda xp: (xp.ones(2), xp.ones(3)),
             lambda xp: (xp.ones(2), xp.ones(2).double()), lambda xp: ([1.0, {"a": xp.ones(2)}], [1.0, {"a": xp.zeros(2)}]),
             lambda xp: ([1], [1, 2]), lambda xp: ({"a": 1}, {"b": 1}), lambda xp: (1.0, 1.1), lambda xp: (1, 1.0),
             lambda xp: (None, 1), lambda xp: (True, False)]
    sparse = [lambda xp, x: (x.to_sparse(), x), lambda xp, x: (x.to_sparse(), x.to_sparse_csr()), lambda xp, x: (x.to_sparse(), x[:1].to_sparse()),
              lambda xp, x: (x.to_sparse(), (x * 2).to_sparse()), lambda xp, x: (x.to_sparse_csc(), (x * 2).to_sparse_csc()),
              lambda xp, x: (x.to_sparse_csr(), x.flip(0).to_sparse_csr()), lambda xp, x: (x.to_sparse(), x.flip(0).to_sparse()),
              lambda xp, x: (x.to_sparse(), (x * xp.tensor([1.0, 0.0])).to_sparse()), lambda xp, x: (x[0, 0], x[0, 1])]
    for case in [*cases, *[lambda xp, case=case: case(xp, xp.tensor([[1.0, 0.0], [0.0, 2.0]])) for case in sparse]]:
        assert _message(jtorch, *case(jtorch)) == _message(torch, *case(torch))
    for xp in (torch, jtorch):
        x = xp.tensor([[1.0, 0.0], [0.0, 2.0]])
        xp.testing.assert_close(x.to_sparse_csr(), (x * (1 + 1e-7)).to_sparse_csr())
        xp.testing.assert_close(x.to_sparse(), x, check_layout=False)
        xp.testing.assert_close(xp.empty(2, device="meta"), xp.empty(2, device="meta"))
        for other in (x.numpy(), xp.nn.Parameter(x)):
            assert "No comparison pair was able" in _message(xp, x, other, allow_subclasses=False)
        xp.testing.assert_close(xp.tensor([1.0, 2.0]), xp.tensor([1.0, 2.0 + 1e-6]))
        xp.testing.assert_close((xp.ones(1), 2.0), (xp.ones(1), 2.0 + 1e-9))
        assert _message(xp, 1.0, 2.0, rtol=1.0).startswith("ValueError: Both 'rtol' and 'atol' must be either specified")
        assert _message(xp, 1.0, 2.0, msg=lambda m: f"Head\n{m}").startswith("AssertionError: Head\nScalars are not close!")


def _csr(xp, rows=(0, 1, 2), values=(1., 2.)):
    return xp.sparse_csr_tensor(rows, (0, 1), values, size=(2, 2))


@pytest.mark.filterwarnings("ignore:Sparse:UserWarning")
@pytest.mark.parametrize(("pair", "text"), [
    (lambda xp: (_csr(xp), _csr(xp, (0, 2, 2))), "Sparse CSR crow_indices are not equal!\n\nMismatched elements: 1 / 3 (33.3%)"),
    (lambda xp: (_csr(xp), _csr(xp, values=(1., 3.))), "Sparse CSR values are not close!\n\nMismatched elements: 1 / 2 (50.0%)"),
    (lambda xp: (_csr(xp), _csr(xp).to_dense()), "'layout' do not match: torch.sparse_csr != torch.strided."),
    (lambda xp: (xp.eye(2).to_sparse(), xp.eye(2).flip(0).to_sparse()), "Sparse COO indices are not equal!"),
    (lambda xp: (xp.eye(2).to_sparse(), xp.ones(2, 2).to_sparse()),
     "The number of specified values in sparse COO tensors does not match: 2 != 4"),
    (lambda xp: (xp.eye(2).to_sparse(), xp.eye(2).to_sparse(1)),
     "The number of sparse dimensions in sparse COO tensors does not match: 2 != 1")])
def test_assert_close_compares_sparse_tensors_by_parts(xp, pair, text):
    actual, expected = pair(xp)
    xp.testing.assert_close(actual, actual.clone())
    assert text in _message(xp, actual, expected)
    xp.testing.assert_close(_csr(xp), _csr(xp).to_dense(), check_layout=False)


def test_make_tensor(xp):
    for dtype in (xp.float32, xp.int64, xp.uint8, xp.bool, xp.complex64):
        t = xp.testing.make_tensor((4, 3), dtype=dtype, device="cpu", noncontiguous=True)
        assert (t.dtype, tuple(t.shape), t.is_contiguous()) == (dtype, (4, 3), False)
    t = xp.testing.make_tensor(50, dtype=xp.float64, device="cpu", low=2, high=3, requires_grad=True)
    assert t.requires_grad
    assert t.min() >= 2
    assert t.max() < 3
    with pytest.raises(ValueError, match="`low` must be less than `high`"):
        xp.testing.make_tensor(2, dtype=xp.int64, device="cpu", low=3, high=3)


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_pytree(xp):
    tree = importlib.import_module(f"{xp.__name__}.utils._pytree")
    leaves, spec = tree.tree_flatten({"b": [1, 2], "a": (3, None)})
    assert leaves[:3] == [1, 2, 3]
    assert tree.tree_unflatten(leaves, spec) == {"b": [1, 2], "a": (3, None)}
    assert tree.tree_map(lambda x, y: x + y, [1, (2,)], [10, (20,)]) == [11, (22,)]
    assert tree.tree_map_only(int, str, [1, 2.0]) == ["1", 2.0]


def test_benchmark_timer(xp):
    benchmark = importlib.import_module(f"{xp.__name__}.utils.benchmark")
    timer = benchmark.Timer("x * 2", setup="y = 1", globals={"x": xp.ones(3)}, label="twice")
    found = timer.timeit(5)
    assert (found.number_per_run, len(found.times)) == (5, 1)
    assert found.median > 0
    assert "twice" in repr(found)
    assert len(timer.blocked_autorange(min_run_time=0.01).times) >= 1


def test_profiler_writes_a_trace(tmp_path):
    profiler = importlib.import_module("jtorch.profiler")
    with profiler.profile(activities=[profiler.ProfilerActivity.CPU]) as p, profiler.record_function("my_part"):
        (jtorch.ones(4, 4) @ jtorch.ones(4, 4)).sum().item()
    p.export_chrome_trace(str(tmp_path / "trace.json"))
    assert any(e.get("name") == "my_part" for e in json.loads((tmp_path / "trace.json").read_text())["traceEvents"])
    assert "my_part" in p.key_averages().table(sort_by="self_cpu_time_total")


def test_schedule(xp):
    make = importlib.import_module(f"{xp.__name__}.profiler").schedule
    follow = make(wait=1, warmup=1, active=2, repeat=2, skip_first=1)
    assert [follow(i).name for i in range(11)] == [
        "NONE", *["NONE", "WARMUP", "RECORD", "RECORD_AND_SAVE"] * 2, "NONE", "NONE"]


def test_hub(tmp_path, monkeypatch):
    hub = importlib.import_module("jtorch.hub")
    (tmp_path / "hubconf.py").write_text("def net(n):\n    return n + 1\n")
    assert hub.load(str(tmp_path), "net", 2, source="local") == 3
    with pytest.raises(NotImplementedError, match="nothing is downloaded"):
        hub.load("pytorch/vision", "resnet18")


def test_older_name_of_the_profiler(xp):
    with xp.autograd.profiler.record_function("part"), xp.autograd.profiler.profile(enabled=False):
        assert xp.ones(2).sum() == 2
    assert not hasattr(xp.autograd, "nonsense")


def test_the_older_profiler_has_its_table(xp):
    if xp is jtorch and ENGINE_MODE == "hot":
        pytest.skip("what is held back and dropped is never called")
    with xp.autograd.profiler.profile() as p:
        assert str(p) == "<unfinished torch.autograd.profile>"
        xp.ones(3) + 1
    assert any(e.name.endswith("add") for e in p.function_events)
    assert str(p) == p.table() and "Self CPU time total" in str(p)
    assert p.self_cpu_time_total > 0 and p.total_average().count >= 2
