"""Names that loaders, optimizers, exporters and test suites of packages use."""
from __future__ import annotations

import importlib
import importlib.util
import io

import pytest

IMPORTED = ("_prims_common", "_utils", "fx._pytree", "onnx.operators", "optim.optimizer", "serialization", "testing._internal.common_utils",
            "_dynamo.utils", "_dynamo.decorators", "_dynamo.config")


@pytest.fixture
def at(xp):
    """Return a module by its path in the library."""
    for path in IMPORTED:
        importlib.import_module(f"{xp.__name__}.{path}")
    return lambda path: importlib.import_module(f"{xp.__name__}.{path}")


def test_pieces_of_optimizers(xp, at):
    optimizer = at("optim.optimizer")
    assert (optimizer._get_scalar_dtype(), optimizer._stack_if_compiling([1])) == (xp.float32, [1])
    params, grads = [xp.ones(2, dtype=xp.complex64), xp.ones(2)], [xp.ones(2, dtype=xp.complex64), xp.ones(2)]
    optimizer._view_as_real(params, grads)
    assert ([list(t.shape) for t in params], list(grads[0].shape)) == ([[2, 2], [2]], [2, 2])
    assert optimizer._to_scalar(xp.ones(1)).dim() == 0
    optimizer._device_dtype_check_for_fused(xp.ones(1))
    with pytest.raises(RuntimeError, match=r"`fused=True` requires all the params to be floating point Tensors of supported devices"):
        optimizer._device_dtype_check_for_fused(xp.ones(1).long())
    assert optimizer._disable_dynamo_if_unsupported()(lambda params, state_steps: 3)([], []) == 3
    assert all(getattr(optimizer, f"_{name}_doc").startswith(name) for name in ("foreach", "fused", "maximize", "capturable", "differentiable"))


def test_groups_of_tensors_by_size(xp, at):
    tensors = [xp.ones(2), xp.ones(3), xp.ones(1).long(), xp.ones(4), xp.ones(9), xp.eye(2).to_sparse()]
    groups = list(at("_utils")._take_tensors(tensors, 20))
    assert [[list(t.shape) for t in group] for group in groups] == [[[2], [3]], [[4]], [[9]], [[1]], [[2, 2]]]


def test_pieces_of_loaders(xp, at, tmp_path):
    serialization, path = at("serialization"), tmp_path / "a.pt"
    xp.save({"a": 1}, path)
    with serialization._open_file_like(path, "rb") as file:
        assert (serialization._is_zipfile(file), file.tell()) == (True, 0)
    with serialization._open_file_like(io.BytesIO(b"abcd"), "rb") as buffer:
        assert serialization._is_zipfile(buffer) is False
    with pytest.raises(RuntimeError, match="Expected 'r' or 'w' in mode"):
        serialization._open_file_like(io.BytesIO(), "x").__enter__()
    assert (serialization._maybe_decode_ascii(b"a"), serialization._is_path(path), serialization._is_path(3)) == ("a", True, False)
    assert serialization.normalize_storage_type(xp.FloatStorage) is xp.FloatStorage
    restore = serialization._get_restore_location("cpu")
    assert restore(xp.ones(1).untyped_storage(), "cuda:0").device.type == "cpu"


def test_the_form_of_an_archive(at):
    class Reader:
        def get_all_records(self):
            return ["constants.pkl"]
    assert at("serialization")._is_torchscript_zip(Reader())


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
def test_storages_of_buffers(xp):
    assert list(xp.ByteStorage._from_buffer(b"ab")) == [97, 98]


def test_shapes_strides_and_dtypes(xp, at):
    common = at("_prims_common")
    x = xp.ones(2, 3, 4, 5)
    assert [common.is_contiguous(t) for t in (x, x.mT, x[:1, :1, :1, :1])] == [True, False, True]
    assert common.is_contiguous_or_false(x)
    last = x.contiguous(memory_format=xp.channels_last)
    assert [common.is_channels_last_contiguous(t) for t in (x, last)] == [False, True]
    assert [str(common.suggest_memory_format(t)) for t in (x, last)] == ["torch.contiguous_format", "torch.channels_last"]
    assert common.make_contiguous_strides_for((2, 0, 3)) == (3, 3, 1)
    assert common.make_contiguous_strides_for((2, 5, 3), row_major=False) == (15, 1, 5)
    assert (common.canonicalize_dim(3, -1), common.canonicalize_dims(3, (-1, 0)), common.canonicalize_dim(0, -1)) == (2, (2, 0), 0)
    for rank, dim, says in ((2, 2, r"expected to be in range of \[-2, 1\], but got 2"), (-1, 0, "Rank cannot be negative but got -1")):
        with pytest.raises(IndexError, match=says):
            common.canonicalize_dim(rank, dim)
    with pytest.raises(IndexError, match="tensor has no dimensions"):
        common.canonicalize_dim(0, 0, wrap_scalar=False)
    assert (common.get_computation_dtype(xp.bfloat16), common.get_computation_dtype(xp.int8)) == (xp.float32, xp.int8)
    assert [bool(common.is_integer_dtype(d)) for d in (xp.int8, xp.bool, xp.float32)] == [True, False, False]


def test_what_is_not_deterministic(xp, at):
    alert = at("_prims_common").alert_not_deterministic
    alert("f")
    xp.use_deterministic_algorithms(True)
    try:
        with pytest.raises(RuntimeError, match="f does not have a deterministic implementation"):
            alert("f")
        xp.use_deterministic_algorithms(True, warn_only=True)
        with pytest.warns(UserWarning, match="f does not have a deterministic implementation"):
            alert("f")
    finally:
        xp.use_deterministic_algorithms(False)


def test_leaves_of_a_class_of_ones_own(at):
    flat, tree = at("fx._pytree"), at("utils._pytree")

    class Pair:
        def __init__(self, a, b):
            self.parts = [a, b]
    tree.register_pytree_node(Pair, lambda p: (p.parts, None), lambda parts, _: Pair(*parts))
    flat.register_pytree_flatten_spec(Pair, lambda p, spec: [p.parts[1], p.parts[0]])
    try:
        spec = tree.tree_flatten({"x": Pair(1, [2, 3])})[1]
        assert flat.tree_flatten_spec({"x": Pair([4, 5], 6)}, tree.tree_flatten({"x": Pair(1, [2, 3])})[1]) == [6, 4, 5] and spec
    finally:
        tree._deregister_pytree_node(Pair)
        flat.SUPPORTED_NODES.pop(Pair)


def test_test_cases(xp, at):
    common = at("testing._internal.common_utils")

    class Case(common.TestCase):
        def runTest(self):
            """Nothing."""
    case = Case()
    equal, unequal = case.assertEqual, case.assertNotEqual
    case.setUp()
    first = xp.rand(2)
    case.setUp()
    equal(xp.rand(2), first)
    equal(first, first + 1e-8)
    equal([xp.ones(3), 2, "a"], [xp.ones(3), 2, "a"])
    equal(xp.ones(2), [1.0, 1.0])
    equal(xp.ones(()), 1)
    equal(1.0, 1)
    equal(xp.ones(1), xp.ones(1) + 0.1, atol=0.2, rtol=0)
    equal({"a": xp.ones(1)}, {"a": xp.ones(1)})
    unequal("a", "b")
    for x, y in ((xp.ones(1), xp.zeros(1)), ("a", "b"), ([1, 2], [1, 3]), (xp.ones(1), xp.ones(1).double()), (None, 1)):
        with pytest.raises(AssertionError):
            equal(x, y)
    assert common.make_tensor((2,), dtype=xp.float32, device="cpu").shape == (2,)


def test_marks_for_a_compiler(xp, at):
    before = at("_dynamo.config").recompile_limit
    with at("_dynamo.utils").disable_cache_limit():
        assert at("_dynamo.config").recompile_limit > before
    assert (at("_dynamo.config").recompile_limit, xp._disable_dynamo(lambda x: x)(1)) == (before, 1)
    at("_dynamo.decorators").mark_unbacked(xp.ones(2), 0)


def test_tensors_whose_data_can_be_exchanged(xp):
    same = xp._has_compatible_shallow_copy_type
    assert (same(xp.ones(1), xp.ones(2).double()), same(xp.ones(2), xp.ones(2).to_sparse())) == (True, False)


def test_numbers_of_dtypes_in_onnx(xp, at):
    assert (int(xp.onnx.TensorProtoDataType.FLOAT), int(xp.onnx.TensorProtoDataType.INT64)) == (1, 7)
    assert at("onnx.operators").shape_as_tensor(xp.ones(2, 3)).tolist() == [2, 3]
    assert at("onnx.operators").reshape_from_tensor_shape(xp.ones(6), xp.tensor([2, 3])).shape == (2, 3)


def test_pieces_of_checkpoints(xp, at):
    checkpoint = at("utils.checkpoint")
    assert checkpoint._policy_from_bool(True).name == "MUST_SAVE" and checkpoint._policy_from_bool(False).name == "PREFER_RECOMPUTE"
    kinds = checkpoint._infer_device_type(xp.ones(1), [2]), checkpoint._infer_device_type([xp.ones(1, device="meta")])
    assert kinds == ("cuda" if xp.cuda.is_available() else "cpu", "meta")
    with xp.autocast("cpu", dtype=xp.bfloat16):
        assert checkpoint._get_autocast_kwargs("cpu")[1] == {"enabled": True, "dtype": xp.bfloat16, "cache_enabled": True}


def test_elements_are_printed_alike(xp, at):
    shown = at("_tensor_str")._Formatter(xp.tensor([1.5, -20.25]))
    assert (shown.format(1.5), shown.format(-20.25), shown.width()) == ("  1.5000", "-20.2500", 8)
    counted = at("_tensor_str")._Formatter(xp.tensor([1, 100]))
    assert (counted.format(1), counted.width()) == ("  1", 3)


def test_numbers_of_devices_and_parts(xp, at):
    assert (xp.autograd.DeviceType.CUDA.value, xp.autograd.DeviceType.PrivateUse1.value) == (1, 20)
    assert at("distributed.tensor.placement_types").Shard(0)._local_shard_size_and_offset(5, 2, 1) == (2, 3)


def test_options_of_a_compiler_of_backwards(at):
    config = at("_functorch.config")
    with config.patch(activation_memory_budget=0.5):
        assert config.activation_memory_budget == 0.5
    assert config.activation_memory_budget == 1.0


@pytest.mark.parametrize("use", [
    "nn.utils._per_sample_grad.call_for_per_sample_grads()",
    "_subclasses.fake_tensor._is_tensor_constructor()", "distributed.fsdp._traversal_utils._get_fsdp_states()",
    "onnx.symbolic_opset9.softmax()", "onnx.symbolic_opset12.dropout()", "export._trace._export()", "export.decomp_utils.CustomDecompTable()",
    "_nested_view_from_buffer", "empty_quantized", "serialization._open_zipfile_reader()",
    "jit.ScriptModule().save('a')"])
def test_what_cannot_work_says_so(use):
    import jtorch
    for path in ("_subclasses.fake_tensor", "distributed.fsdp._traversal_utils", "onnx.symbolic_opset9", "onnx.symbolic_opset12", "export._trace", "export.decomp_utils", "utils.tensorboard"):
        importlib.import_module(f"jtorch.{path}")
    with pytest.raises(NotImplementedError, match="not built|no TorchScript"):
        eval(f"jtorch.{use}", {"jtorch": jtorch})


@pytest.mark.skipif(importlib.util.find_spec("tensorboardX") is None, reason="tensorboardX is not installed")
def test_modules_of_tensorboard():
    from jtorch.utils import tensorboard
    assert tensorboard.writer.SummaryWriter is tensorboard.SummaryWriter and tensorboard.writer.FileWriter is not None
    assert len(tensorboard.summary.hparams({"a": 1}, {"b": 2.0})) == 3


def test_a_compiler_for_extensions(monkeypatch):
    from jtorch._inductor import cpp_builder, exc
    monkeypatch.setattr(cpp_builder.shutil, "which", lambda name: None)
    with pytest.raises(exc.InvalidCxxCompiler, match="No working C"):
        cpp_builder.get_cpp_compiler()
    monkeypatch.setattr(cpp_builder.shutil, "which", lambda name: f"/bin/{name}")
    monkeypatch.setenv("CXX", "own")
    assert cpp_builder.get_cpp_compiler() == "own"
