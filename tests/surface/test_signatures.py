"""The signatures of public functions and methods, as ``inspect.signature`` shows them, are PyTorch's."""
from __future__ import annotations

import importlib
import inspect
import warnings

import pytest

import jtorch as torch
from tools.pytorch_signatures import recorded, signature_at

SIGNATURES = recorded()
# Functions whose signature differs from PyTorch's, by reason.
OTHER = {
    "takes more": """
        Tensor.norm cdist nn.functional.sigmoid nn.functional.tanh no_grad.__init__ autograd.graph.RemovableHandle.__init__
        onnx.export""",
    "gives out by name only": "nn.functional.normalize norm tensordot",
    "is the function": "Tensor.split",
    "has its default as a name": "nn.Transformer.__init__ nn.TransformerEncoderLayer.__init__ nn.TransformerDecoderLayer.__init__",
    "raises that it was removed": "Tensor.eig Tensor.lstsq Tensor.solve Tensor.symeig",
    "is not made by users": """
        autograd.profiler.FunctionEvent.__init__ autograd.NestedIOFunction.backward autograd.NestedIOFunction.save_for_backward
        distributed.DeviceMesh.__init__ distributed.pipelining.Pipe.__init__ export.ExportGraphSignature.__init__
        export.ExportedProgram.__init__ jit.RecursiveScriptModule.__init__ jit.ScriptModule.__init__ library.OpOverload.__init__
        onnx.ONNXProgram.__init__ distributed.fsdp.StateDictSettings.__init__""",
    "takes the arguments of another function": """
        nn.utils.prune.CustomFromMask.apply nn.utils.prune.Identity.apply nn.utils.prune.L1Unstructured.apply
        nn.utils.prune.LnStructured.apply nn.utils.prune.RandomStructured.apply nn.utils.prune.RandomUnstructured.apply
        distributed.pipelining.Schedule1F1B.__init__""",
    "has no private parameters, or others in their place": """
        jit.trace jit.trace_module utils.data.MapDataPipe.register_datapipe_as_function fx.GraphModule.print_readable library.opcheck distributed.checkpoint.FileSystemReader.__init__
        distributed.checkpoint.FileSystemWriter.__init__ distributed.checkpoint.HuggingFaceStorageWriter.finish
        distributed.checkpoint.async_save distributed.fsdp.FullyShardedDataParallel.__init__
        distributed.fsdp.MixedPrecision.__init__ distributed.rendezvous distributed.tensor.zeros""",
    "lacks parameters": """
        autograd.profiler.profile.__init__ autograd.profiler.profile.export_chrome_trace profiler.profile.__init__
        distributed.barrier distributed.new_group distributed.recv_object_list distributed.send_object_list""",
}
KNOWN = {f"torch.{name}" for names in OTHER.values() for name in names.split()}


def _is_known(name: str) -> bool:
    return name in KNOWN or name.startswith("torch.TypedStorage.")      # PyTorch warns of each use of this class


@pytest.mark.parametrize("path", SIGNATURES)
def test_signatures_are_pytorchs(path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = importlib.import_module(path.replace("torch", "jtorch", 1))
        differ = {}
        for name, expected in SIGNATURES[path].items():
            found = signature_at(module, name.removeprefix(f"{path}."))
            if found is not None and found != expected and not _is_known(name):
                differ[name] = expected, found
    assert not differ


def test_a_function_shows_its_own_parameters():
    assert str(inspect.signature(torch.cumsum)) == "(input, dim, *, dtype=None, out=None)"
    assert str(inspect.signature(torch.nn.functional.celu)) == "(input, alpha=1.0, inplace=False)"
    assert "by_name_only" not in str(inspect.signature(torch.sum))
    assert torch.sum(torch.ones(2, 3), axis=1).tolist() == [3.0, 3.0]


def test_the_list_of_reasons_has_no_more_than_it_needs():
    for name in KNOWN:
        path = max([p for p in SIGNATURES if name.startswith(f"{p}.") and name in SIGNATURES[p]], key=len)
        module = importlib.import_module(path.replace("torch", "jtorch", 1))
        assert signature_at(module, name.removeprefix(f"{path}.")) != SIGNATURES[path][name], name
