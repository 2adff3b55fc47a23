"""Names used by packages and few programs: they work as PyTorch's, or raise NotImplementedError."""
from __future__ import annotations

import importlib
import pickle

import pytest

IMPORTED = ("_C", "_VF", "accelerator.memory", "cuda.nccl", "distributions.kl", "distributions.multivariate_normal",
            "distributions.transforms", "hub", "multiprocessing.reductions", "nn._reduction", "nn.attention", "nn.common_types",
            "nn.parameter", "nn.utils.parametrize", "nn.utils.stateless", "numa.binding", "torch_version", "utils._device",
            "utils._ordered_set", "utils._triton", "utils.hooks")


@pytest.fixture
def at(xp):
    """Return a module by its path in the library."""
    for path in IMPORTED:
        importlib.import_module(f"{xp.__name__}.{path}")
    return lambda path: importlib.import_module(f"{xp.__name__}.{path}")


# ---------------------------------------------------------------- torch, torch._C


def test_types_of_scripts(xp):
    assert [getattr(xp, name).__name__ for name in ("DeviceObjType", "FloatType", "Type", "OptionalType", "StreamObjType")] == [
        "DeviceObjType", "FloatType", "Type", "OptionalType", "StreamObjType"]
    assert issubclass(xp.IntType, xp.Type) and not isinstance(3, xp.IntType) and not hasattr(xp, "NoSuchType")


def test_layouts_and_schemes_have_names(xp):
    assert (str(xp.jagged), isinstance(xp.jagged, xp.layout)) == ("torch.jagged", True)
    scheme = xp.per_channel_symmetric
    assert (repr(scheme), isinstance(scheme, xp.qscheme)) == ("torch.per_channel_symmetric", True)


def test_a_scheme_is_pickled_by_name():
    import jtorch
    assert pickle.loads(pickle.dumps(jtorch.per_tensor_affine)) is jtorch.per_tensor_affine


@pytest.mark.parametrize("name", ["has_cuda", "has_mps", "has_cudnn"])
def test_deprecated_questions(xp, name):
    with pytest.warns(UserWarning, match=f"'{name}' is deprecated, please use 'torch.backends"):
        assert getattr(xp, name) is False or xp.cuda.is_available()


def test_functions_without_wrappers(at, xp):
    x, h = xp.ones(1, 2), xp.zeros(1, 3)
    weights = [xp.ones(9, 2), xp.ones(9, 3), xp.zeros(9), xp.zeros(9)]
    assert xp.equal(at("_VF").gru_cell(x, h, *weights), xp.gru_cell(x, h, *weights))
    assert xp.equal(xp._C._VariableFunctions.relu(x), x)


def test_questions_to_the_compiled_part(xp):
    assert (xp._C._is_tracing(), xp._C._get_cudnn_enabled(), xp._C._GLIBCXX_USE_CXX11_ABI) == (False, True, True)
    assert xp._C._show_config().startswith("PyTorch built with:")
    assert (xp._C._current_autograd_node(), len(xp._C._get_sdp_priority_order())) == (None, 5)


def test_what_the_compiled_part_refuses():
    import jtorch
    for call in (lambda: jtorch._C._storage_Use_Count(0), lambda: jtorch._C._distributed_c10d.Reducer(),
                 lambda: jtorch._C._distributed_rpc.PyRRef(), lambda: jtorch._C._set_tracing_state(1)):
        with pytest.raises(NotImplementedError, match="not built"):
            call()
    assert jtorch._C._distributed_rpc._is_current_rpc_agent_set() is False
    assert jtorch._C._distributed_c10d.ReduceOp is jtorch.distributed.ReduceOp


def test_settings_of_the_profiler(xp):
    assert xp._C._profiler._ExperimentalConfig(verbose=True) is not None


# ---------------------------------------------------------------- devices


def test_without_a_gpu(xp, at):
    if xp.cuda.is_available():
        pytest.skip("there is a GPU")
    assert (xp.cuda._initialized, at("utils._triton").has_triton()) == (False, False)
    with pytest.warns(FutureWarning, match="renamed"):
        assert xp.cuda.memory_cached() == 0
    assert callable(at("accelerator.memory").memory_allocated)
    q = xp.ones(1, 1, 2, 8)
    params = xp.backends.cuda.SDPAParams(q, q, q, None, 0.0, True, False)
    assert (params.is_causal, params.dropout, params.query is not None) == (True, 0.0, True)
    assert not any(getattr(xp.backends.cuda, f"can_use_{kind}_attention")(params) for kind in ("flash", "efficient", "cudnn"))


def test_events_of_other_processes_are_refused():
    import jtorch
    for use in (lambda: jtorch.cuda.Event.from_ipc_handle(0, b""), lambda: jtorch.cuda.memory._snapshot(),
                lambda: jtorch.cuda.nccl.all_reduce([])):
        with pytest.raises(NotImplementedError, match="not built"):
            use()


def test_libraries_that_are_not_there(xp):
    before = xp.backends.nnpack.set_flags(False)
    assert xp.backends.nnpack.set_flags(*before) == (False,)
    importlib.import_module(f"{xp.__name__}.backends.xnnpack")
    assert xp.backends.xnnpack.enabled in (True, False)
    with pytest.raises(RuntimeError, match="Assignment not supported"):
        xp.backends.xnnpack.enabled = True


def test_the_default_device_of_functions(xp, at):
    device = at("utils._device")
    assert {xp.ones, xp.tensor, xp.fft.fftfreq, xp.empty_strided, xp.sparse_coo_tensor} <= device._device_constructors()
    assert device.set_device("meta")(lambda: xp.ones(2).device.type)() == "meta"
    with device.DeviceContext("meta"):
        assert (str(device.CURRENT_DEVICE), xp.zeros(1).device.type) == ("meta", "meta")
    assert device.CURRENT_DEVICE is None


def test_a_mode_finds_the_functions_of_devices(xp, at):
    class OnMeta(xp.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            moved = {"device": "meta"} if func in at("utils._device")._device_constructors() else {}
            return func(*args, **{**(kwargs or {}), **moved})
    with OnMeta():
        assert [xp.ones(2).device.type, xp.tensor([1]).device.type, xp.nn.Linear(2, 2).weight.device.type] == ["meta"] * 3


def test_numa(at):
    options = at("numa.binding").NumaOptions(at("numa.binding").AffinityMode("node"))
    assert options.affinity_mode.value == "node" and not options.should_fall_back_if_binding_fails


# ---------------------------------------------------------------- nn


def test_masks_and_shapes_of_attention(xp):
    functional = xp.nn.functional
    mask = functional._canonical_mask(xp.tensor([True, False]), "mask", None, "", xp.float32)
    assert (mask.tolist(), functional._canonical_mask(None, "mask", None, "", xp.float32)) == ([float("-inf"), 0.0], None)
    with pytest.warns(UserWarning, match="Support for mismatched mask and other is deprecated"):
        functional._canonical_mask(xp.ones(2), "mask", xp.bool, "other", xp.float32)
    with pytest.raises(AssertionError, match="only bool and floating types of mask are supported"):
        functional._canonical_mask(xp.ones(2).long(), "mask", None, "", xp.float32)
    assert (functional._none_or_dtype(xp.ones(1)), functional._none_or_dtype(None)) == (xp.float32, None)
    x = xp.ones(2, 3, 4)
    assert functional._mha_shape_check(x, x, x, None, None, 2) is True
    assert functional._mha_shape_check(x[0], x[0], x[0], None, None, 2) is False
    with pytest.raises(AssertionError, match=r"key_padded_mask.shape\[1\] to be 5, but got 3"):
        functional._check_key_padding_mask(xp.ones(2, 3), 5, 2)
    with pytest.raises(ValueError, match="Expected more than 1 value per channel"):
        functional._verify_batch_size([1, 3, 1])


def test_projections_of_attention(xp):
    xp.manual_seed(0)
    q, k, v, w, b = xp.randn(2, 4), xp.randn(3, 4), xp.randn(3, 4), xp.randn(12, 4), xp.randn(12)
    functional, parts = xp.nn.functional, list(zip(w.chunk(3), b.chunk(3), strict=True))
    for given in ((q, q, q), (q, k, k), (q, k, v)):
        made = functional._in_projection_packed(*given, w, b)
        wanted = [functional.linear(x, *part) for x, part in zip(given, parts, strict=True)]
        assert all(xp.allclose(a, b, atol=1e-6) for a, b in zip(made, wanted, strict=True))
        single = functional._in_projection(*given, *w.chunk(3), *b.chunk(3))
        assert all(xp.allclose(a, b, atol=1e-6) for a, b in zip(single, wanted, strict=True))
    with pytest.raises(AssertionError, match=r"expecting key weights shape of \(4, 4\)"):
        functional._in_projection(q, k, v, xp.ones(4, 4), xp.ones(4, 3), xp.ones(4, 4))


def test_reductions_have_numbers(xp, at):
    assert xp.nn.functional._Reduction.get_enum("sum") == 2
    with pytest.raises(ValueError, match="x is not a valid value for reduction"):
        at("nn._reduction").get_enum("x")
    with pytest.warns(UserWarning, match="please use reduction='sum' instead"):
        assert at("nn._reduction").legacy_get_enum(False, None) == 2


def test_parts_of_modules(xp, at):
    up = xp.nn.ConvTranspose1d(1, 1, 3, stride=2)
    assert list(up._output_padding(xp.ones(1, 1, 4), [10], up.stride, up.padding, up.kernel_size, 1, up.dilation)) == [1]
    assert type(xp.nn.Parameter) is at("nn.parameter")._ParameterMeta
    assert xp.nn.factory_kwargs({"device": "cpu"}) == {"device": "cpu"}
    assert (xp.nn.factory_kwargs(None), at("nn.common_types")._size_2_t) == ({}, int | tuple[int, int])
    for wrong in ({"a": 1}, {"dtype": 1, "factory_kwargs": {"dtype": 2}}):
        with pytest.raises(TypeError):
            xp.nn.factory_kwargs(wrong)


def test_a_module_with_other_tensors(xp, at):
    layer = xp.nn.Linear(1, 1)
    own = layer.weight
    with at("nn.utils.stateless")._reparametrize_module(layer, {"weight": xp.ones(1, 1)}):
        assert layer.weight.tolist() == [[1.0]]
    assert layer.weight is own
    with xp.nn.utils.parametrize.cached():
        assert at("nn.utils.parametrize")._cache_enabled == 1
    assert (at("nn.utils.parametrize")._cache_enabled, at("nn.utils.parametrize")._cache) == (0, {})


def test_implementations_of_attention(xp, at):
    attention, removed = at("nn.attention"), []

    class Handle:
        def remove(self):
            removed.append(1)
    attention.register_flash_attention_impl("own", register_fn=Handle)
    attention.activate_flash_attention_impl("own")
    assert attention.current_flash_attention_impl() == "own" and "own" in attention.list_flash_attention_impls()
    attention.restore_flash_attention_impl()
    assert (attention.current_flash_attention_impl(), removed) == (None, [1])
    with pytest.raises(ValueError, match="Unknown flash attention impl 'x'"):
        attention.activate_flash_attention_impl("x")
    assert attention._backend_names["flash"] == "FLASH_ATTENTION"


# ---------------------------------------------------------------- distributions, utils


def test_pieces_of_distributions(xp, at):
    kl, matrices = at("distributions.kl"), at("distributions.multivariate_normal")
    assert (xp.distributions.Normal, xp.distributions.Normal) in kl._KL_REGISTRY
    assert at("distributions.transforms")._clipped_sigmoid(xp.tensor([0.0, 100.0])).tolist() == [0.5, 1 - xp.finfo(xp.float32).eps]
    precision = xp.tensor([[2.0, 1.0], [1.0, 3.0]])
    factor = matrices._precision_to_scale_tril(precision)
    assert xp.allclose(factor @ factor.mT @ precision, xp.eye(2), atol=1e-6)
    assert matrices._batch_mv(precision, xp.ones(2)).tolist() == [3.0, 4.0]
    squares = matrices._batch_mahalanobis(xp.stack([xp.eye(2), 2 * xp.eye(2)]), xp.ones(3, 2, 2))
    assert squares.tolist() == [[2.0, 0.5]] * 3


def test_references_that_keep_nothing_alive(xp, at):
    reductions = at("multiprocessing.reductions")
    t = xp.ones(3)
    ref, same = reductions.StorageWeakRef(t.untyped_storage()), reductions.StorageWeakRef(t[1:].untyped_storage())
    assert (ref == same, hash(ref) == hash(same), ref.expired()) == (True, True, False)
    assert ref != reductions.StorageWeakRef(xp.ones(3).untyped_storage())
    del t
    assert ref.expired()
    make, arguments = reductions.reduce_tensor(xp.ones(2))
    assert callable(make) and isinstance(arguments, tuple)


def test_ordered_sets(at):
    make = at("utils._ordered_set").OrderedSet
    a, b = make([3, 1, 2]), make([2, 5])
    assert [list(x) for x in (a | b, a & b, a - b, a.union([7], [3]), a.difference([1]), a.intersection([2, 3]), reversed(a))] == [
        [3, 1, 2, 5], [2], [3, 1], [3, 1, 2, 7], [3, 2], [3, 2], [2, 1, 3]]
    a.add(3)
    a.discard(1)
    a.update([9])
    assert (list(a), a == make([9, 2, 3]), make([2]).issubset(a), a.issuperset([2]), repr(b)) == ([3, 2, 9], True, True, True, "OrderedSet([2, 5])")
    assert (a.pop(), list(pickle.loads(pickle.dumps(a)))) == (9, [3, 2])
    with pytest.raises(KeyError):
        make().pop()


def test_hooks_that_are_not_saved(xp, at):
    t = xp.ones(1, requires_grad=True)
    t.register_hook(at("utils.hooks").unserializable_hook(lambda g: g))
    at("utils.hooks").warn_if_has_hooks(t)
    t.register_hook(lambda g: g)
    with pytest.warns(UserWarning, match="on tensor will not be serialized"):
        at("utils.hooks").warn_if_has_hooks(t)


def test_versions(xp, at):
    version = at("torch_version")
    assert isinstance(version.__version__, version.TorchVersion) and version.TorchVersion("2.10") > "2.9"
    assert xp.__version__ >= (2, 1) and xp.__version__ > "2.9" and isinstance(xp.__version__, version.TorchVersion)


def test_progress_without_tqdm(at, capsys):
    bar = at("hub")._Faketqdm(total=4)
    with bar:
        bar.update(1)
    assert capsys.readouterr().err == "\r25.0%\n" and at("hub").tqdm is not None
