"""Names of PyTorch's private modules used by packages: they give PyTorch's results, or raise NotImplementedError."""
import importlib
import pickle
import threading
import warnings

import pytest


def path(xp, name):
    return importlib.import_module(f"{xp.__name__}.{name}")


def outcome(run, *args, **kwargs):
    """Return the result of a call, or its error's type and text."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return run(*args, **kwargs)
    except Exception as error:  # noqa: BLE001
        return type(error).__name__, str(error)


def checks(xp):
    return [outcome(f, *args) for f, *args in (
        (xp._check, True), (xp._check, False), (xp._check, False, lambda: "why"), (xp._check, False, "why"), (xp._check, 3),
        (xp._check, xp.ones(1)), (xp._check_index, False, lambda: "at"), (xp._check_value, False), (xp._check_type, False),
        (xp._check_not_implemented, False), (xp._check_is_size, -1), (xp._check_is_size, 2), (xp._check_tensor_all, xp.tensor([True])),
        (xp._check_tensor_all, xp.tensor([False])), (xp._check_tensor_all, True), (xp._check_tensor_all, xp.ones(1)),
        (xp._assert, xp.tensor(False), "no"), (xp._assert_async, xp.tensor(0)), (xp._assert_async, xp.tensor(2), "no"))]


def guards(xp):
    sizes = [outcome(f, 3, **limits) for f in (xp.sym_constrain_range, xp.sym_constrain_range_for_size)
             for limits in ({}, {"min": 4}, {"max": 2}, {"min": 5, "max": 2}, {"min": 3, "max": 3})]
    return [*sizes, outcome(xp.sym_constrain_range_for_size, -1), outcome(xp._assert_scalar, 1, "no"),
            outcome(xp._assert_scalar, False, "no"), xp._is_all_true(xp.tensor([True, False])).item(),
            xp._is_any_true(xp.tensor([True, False])).item()]


def logs(xp):
    logging = xp._logging
    return [outcome(logging.set_logs, **kw) for kw in (
        {"dynamo": "x"}, {"recompiles": 3}, {"all": True}, {"modules": {"zzz": 10}}, {"recompiles_verbose": True, "dynamo": 30}, {})
        ] + [outcome(logging.getArtifactLogger, "a", "none"), logging.getArtifactLogger("a", "guards").name]


def parsed(xp):
    parse = xp._C._nn._parse_to
    return [str(x) for x in (parse("cpu"), parse("cpu", xp.float16, non_blocking=True), parse(xp.ones(1)), parse(xp.int8),
                             parse(dtype=xp.float64))]


def helpers(xp):
    utils, optim = path(xp, "_utils"), path(xp, "optim.optimizer")
    flat = utils._flatten_dense_tensors([xp.ones(2), xp.zeros(1, 2)])
    return [utils._element_size(xp.float16), outcome(utils._get_device_index, "cpu"), utils._get_device_index("cpu", allow_cpu=True),
            outcome(utils._get_device_index, None), utils._get_device_index(xp.device("cuda:1")), flat.tolist(),
            [t.tolist() for t in utils._unflatten_dense_tensors(flat, [xp.ones(2), xp.zeros(1, 2)])],
            optim._default_to_fused_or_foreach([xp.ones(1)], False, True), optim._default_to_fused_or_foreach([xp.ones(1)], True),
            optim._get_capturable_supported_devices(), path(xp, "nn.init")._calculate_correct_fan(xp.ones(3, 2), "fan_out"),
            xp._shape_as_tensor(xp.ones(2, 3)).tolist(), xp._cast_Long(xp.tensor([1.7])).tolist(), xp.nn.modules.module._EXTRA_STATE_KEY_SUFFIX,
            path(xp, "utils.data")._utils.worker._generate_state(7 << 33, 3), str(xp.jit.annotations.List[int])]


def scattered(xp):
    where = path(xp, "nn.parallel.scatter_gather")
    made, named = where.scatter_kwargs((1, [2]), {"a": "b"}, ["cpu", "cpu"])
    return [str(made), str(named), where.gather([{"a": [None]}, {"a": [None]}], "cpu")]


def streams(xp):
    stream = xp.Stream("cpu")
    return [str(stream), stream.query(), str(stream.device), stream == xp.Stream("cpu"), str(xp.Event("cpu")),
            outcome(xp.Event("cpu").record), str(xp.OutOfMemoryError.__mro__[1])]


def printed(xp):
    module = xp._tensor_str
    return [module._add_suffixes("tensor([1]", ["a=1", "b=2"], 7, False), module._add_suffixes("tensor([1]", ["a=1", "b=2"], 7, True),
            module._str_intern(xp.arange(3)), module._tensor_str(xp.arange(3), 0)]


def distributions(xp):
    utils = path(xp, "distributions.utils")
    normal = path(xp, "distributions.multivariate_normal").MultivariateNormal(xp.zeros(2), xp.eye(2))
    xp.manual_seed(0)
    return [utils._sum_rightmost(xp.ones(2, 3), 1).tolist(), utils._standard_normal((2,), xp.float32, "cpu").tolist(),
            normal._unbroadcasted_scale_tril.tolist()]


@pytest.mark.parametrize("what", [checks, guards, logs, parsed, helpers, scattered, streams, printed, distributions], ids=lambda f: f.__name__)
def test_like_pytorch(torch, what):
    import jtorch
    assert what(jtorch) == what(torch)


def test_futures(xp):
    futures = path(xp, "futures")
    first, order = futures.Future(), []
    second = first.then(lambda f: f.value() + 1)
    first.add_done_callback(lambda f: order.append(f.value()))
    setting = threading.Thread(target=first.set_result, args=[3])
    setting.start()
    assert second.wait() == 4
    setting.join()
    assert (first.done(), order) == (True, [3])
    with pytest.raises(RuntimeError, match="completed once"):
        first.set_result(1)
    failed = futures.Future()
    failed.set_exception(ValueError("no"))
    with pytest.raises(ValueError, match="no"):
        failed.wait()
    with pytest.raises(RuntimeError, match="ValueError: no"):
        failed.then(lambda f: f.value()).wait()
    assert futures.wait_all([first, second]) == [3, 4]
    assert [f.value() for f in futures.collect_all([first, second]).wait()] == [3, 4]
    with pytest.raises(ValueError, match="no"):
        futures.wait_all([first, failed])


def test_context_decorators(xp):
    seen = []

    class Block(path(xp, "utils._contextlib")._DecoratorContextManager):
        def __enter__(self):
            seen.append("in")

        def __exit__(self, *exc_info):
            seen.append("out")

    @Block()
    def numbers():
        yield 1
        seen.append("between")
        yield 2
    assert list(numbers()) == [1, 2]
    assert seen == ["in", "out", "in", "between", "out", "in", "out"]
    assert Block()(lambda: 3)() == 3


def test_weak_tables(xp):
    table = path(xp, "utils.weak").WeakIdKeyDictionary()
    key, other = xp.ones(2), xp.ones(2)
    table[key] = 1
    table[other] = 2
    assert (table[key], len(table), other in table, xp.ones(2) in table) == (1, 2, True, False)
    del other
    assert (len(table), list(table.values())) == (1, [1])


def test_weak_tables_are_joined(xp):
    make = path(xp, "utils.weak").WeakIdKeyDictionary
    a, b, c = xp.ones(1), xp.ones(1), xp.ones(1)
    one, two = make({a: 1, b: 2}), make({b: 3, c: 4})
    assert list((one | two).values()) == [1, 3, 4] and list((two | {a: 5}).values()) == [3, 4, 5]
    assert type({a: 1} | two) is make and list(({b: 1, a: 2} | two).values()) == [3, 2, 4]
    one |= two
    assert one.popitem() == (c, 4) and len(one) == 2
    with pytest.raises(TypeError):
        one | 3


def test_settings_are_patched(xp):
    config = path(xp, "_dynamo.config")
    before = config.recompile_limit
    with config.patch(recompile_limit=3):
        assert config.recompile_limit == 3
    assert config.patch("recompile_limit", 5)(lambda: config.recompile_limit)() == 5
    assert config.recompile_limit == before
    with pytest.raises(AttributeError):
        config.no_such_setting = 1


def test_batched_indices(xp):
    mode = path(xp, "_dynamo._trace_wrapped_higher_order_op").TransformGetItemToIndex
    table, seen = xp.arange(8.).reshape(2, 4), []
    for run in (lambda row: table[row], lambda row: table[row, 1], lambda row: table[:, row] + table[0, 1]):
        with mode() as made:
            seen.append(xp.vmap(run)(xp.tensor([1, 0, 1])).tolist())
    assert isinstance(made, xp.overrides.TorchFunctionMode)
    assert seen == [[[4, 5, 6, 7], [0, 1, 2, 3], [4, 5, 6, 7]], [5, 1, 5], [[2, 6], [1, 5], [2, 6]]]


def test_questions_and_marks(xp):
    dynamo = path(xp, "_dynamo")
    dynamo.mark_dynamic(xp.ones(2), 0)
    dynamo.graph_break()
    assert dynamo.disable(len)([1]) == 1
    assert not dynamo.is_compiling()
    assert not isinstance(xp.nn.Linear(1, 1), dynamo.OptimizedModule)
    assert not isinstance(3, (xp.SymInt, xp._C.ScriptObject, path(xp, "_subclasses.fake_tensor").FakeTensor))
    assert xp.max(xp.ones(1, 1), 0).__class__ is xp.return_types.max
    kind = xp.return_types.cummax
    assert (kind.n_fields, kind.n_sequence_fields, kind.n_unnamed_fields, kind.__match_args__) == (2, 2, 0, ("values", "indices"))
    assert xp._logging.trace_structured("artifact", payload_fn=lambda: "text") is None
    active = []
    xp.func.vmap(lambda x: active.append((xp._C._are_functorch_transforms_active(), xp._C._functorch.is_batchedtensor(x))) or x)(xp.ones(2))
    assert (active[0], xp._C._are_functorch_transforms_active()) == ((True, True), False)
    assert xp.torch is xp


def test_excluded_autocast(xp):
    keys = xp._C.DispatchKeySet(xp._C.DispatchKey.AutocastCPU)
    with xp.autocast("cpu", dtype=xp.bfloat16):
        with xp._C._ExcludeDispatchKeyGuard(keys):
            assert (xp.ones(1, 1) @ xp.ones(1, 1)).dtype is xp.float32
        assert (xp.ones(1, 1) @ xp.ones(1, 1)).dtype is xp.bfloat16


def test_subclasses_are_made(xp):
    class Own(xp.Tensor):
        pass
    made = xp.Tensor._make_subclass(Own, xp.ones(2), True)
    assert (type(made), made.requires_grad, made.tolist()) == (Own, True, [1.0, 1.0])


@pytest.mark.parametrize("use", [
    "_dynamo.OptimizedModule(None)", "_dynamo.explain(None)", "_inductor.compile(None)", "SymInt(None)", "cuda.CUDAGraph()",
    "cuda.graph(None)", "cuda.MemPool()", "autograd.profiler.emit_nvtx()",
    "_subclasses.FakeTensorMode().__enter__()",
    "zeros(1, dtype=qint8)", "ones(1).to(complex32)", "compiler.load_compiled_function()"])
def test_what_cannot_work_says_so(use):
    import jtorch
    for name in ("_functorch", "_inductor", "_subclasses"):
        path(jtorch, name)
    class Names(dict):
        def __missing__(self, key):
            return getattr(jtorch, key)
    with pytest.raises(NotImplementedError, match=r"not built|JAX has no|only quantized tensors have"):
        eval(use, {"__builtins__": {"None": None, "len": len}}, Names())


def test_names_of_dtypes(xp):
    for name in ("qint8", "quint4x2", "complex32", "uint4"):
        found = getattr(xp, name)
        assert (str(found), isinstance(found, xp.dtype), pickle.loads(pickle.dumps(found)) is found) == (f"torch.{name}", True, True)
    assert (xp.complex32.is_complex, xp.qint32.itemsize) == (True, 4)


def test_files_of_this_machine(xp, tmp_path, monkeypatch):
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "home"))
    assert xp.hub._get_torch_home() == str(tmp_path / "home")
    source = tmp_path / "weights.pt"
    xp.save({"w": xp.ones(2)}, source)
    made = xp.hub.load_state_dict_from_url(source.as_uri(), progress=False)
    assert made["w"].tolist() == [1, 1]
    assert (tmp_path / "home" / "hub" / "checkpoints" / "weights.pt").exists()
    wrong = tmp_path / "weights-0123abcd.pt"
    source.rename(wrong)
    with pytest.raises(RuntimeError, match="invalid hash value"):
        xp.hub.load_state_dict_from_url(wrong.as_uri(), check_hash=True, progress=False)


def test_compilers_of_functorch_can_be_imported():
    """A packaged function of one list of arguments works; what needs a graph of forward and backward says so."""
    import jtorch
    compilers = importlib.import_module("jtorch._functorch.aot_autograd")
    boxed = compilers.make_boxed_func(lambda a, b: a - b)
    assert (boxed([5, 3]), boxed._boxed_call) == (2, True)
    assert compilers.make_boxed_compiler(lambda graph, inputs: graph)(max, None)([1, 4]) == 4
    for name in ("_functorch.partitioners._is_primal", "_functorch.aot_autograd.aot_function", "_functorch.compilers.nop",
                 "_dynamo.backends.common.aot_autograd", "_decomp.core_aten_decompositions"):
        module, _, function = name.rpartition(".")
        with pytest.raises(NotImplementedError, match=rf"torch\.{name} is not built"):
            getattr(path(jtorch, module), function)()


@pytest.mark.parametrize("given", [{}, {"out_dims": 1}, {"out_dims": (1, 0, 0)}, {"in_dims": (1, None)}])
def test_the_older_vmap_passes_none_through(same, given):
    def run(xp):
        function = path(xp, "_vmap_internals")._vmap(lambda x, y: (x * y, None, y.sum() + x.sum()), allow_none_pass_through=True, **given)
        return function(xp.arange(6.0).reshape(2, 3), xp.tensor([2.0, 3.0]).reshape(2, 1) if "in_dims" not in given else xp.ones(2))
    same(run)


def test_the_older_vmap_takes_one_result(same):
    same(lambda xp: path(xp, "_vmap_internals")._vmap(lambda x: x * 2, allow_none_pass_through=True)(xp.arange(3.0)))


def test_helpers_of_jacobians(same):
    def run(xp):
        f = path(xp, "autograd.functional")
        x, y = xp.ones(2, requires_grad=True), xp.ones(1, dtype=xp.float64)
        nested = f._grad_postprocess(((x, x * 2), (x,)), create_graph=False)
        return (f._construct_standard_basis_for((x, y), (2, 1)), nested, [t.requires_grad for t in nested[0]],
                f._tuple_postprocess(((x, y), (y, x)), (True, False)), f._tuple_postprocess(((x, y),), (False, True)))
    same(run)


@pytest.mark.parametrize("start", [0.01, 1.0, 30.0])
def test_the_line_search_of_lbfgs(same, start):
    def run(xp):
        module = path(xp, "optim.lbfgs")
        x, d = xp.tensor([1.0, -2.0], dtype=xp.float64), xp.tensor([-1.0, 1.5], dtype=xp.float64)

        def evaluate(x, t, d):
            at = x + t * d
            return float((at ** 4 + at ** 2).sum()), 4 * at ** 3 + 2 * at
        loss, grad = evaluate(x, 0.0, d)
        found = module._strong_wolfe(evaluate, x, start, d, loss, grad, grad.dot(d))
        g = xp.tensor([-2.0, 0.5, 3.0], dtype=xp.float64)
        return [*found[:1], found[1], float(found[2]), found[3], *[float(module._cubic_interpolate(0.0, 1.0, g[0], 1.0, 0.4, b, limits))
                                                                   for b in g[1:] for limits in (None, (0.2, 0.3))]]
    same(run)


def test_scripting_is_off():
    """PyTorch has it on unless ``PYTORCH_JIT=0`` is set."""
    state = importlib.import_module("jtorch.jit._state")
    state.enable()
    assert not state._enabled
    state._clear_class_state()


@pytest.mark.parametrize("name", ["rpc", "autograd"])
def test_what_needs_rpc_is_not_available(name):
    assert not importlib.import_module(f"jtorch.distributed.{name}").is_available()


def test_helpers_of_layers(same):
    def run(xp):
        indent, repeat = path(xp, "nn.modules.module")._addindent, path(xp, "nn.modules.utils")._reverse_repeat_tuple
        return indent("a", 2), indent("a\nb\n \n  c", 3), repeat((1, 2), 2), repeat((3,), 0)
    same(run)
