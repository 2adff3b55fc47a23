"""The differences from PyTorch, name by name. docs/differences.md and ``python -m jtorch check`` show these statements."""
from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from jtorch.check.differences import DIFFERENCES

NOTHING, DIFFERS, REFUSED = "nothing", "differs", "refused"


@dataclass(frozen=True)
class Statement:
    """One statement about names.

    ``kind`` says that the names do "nothing", that a result "differs", or that a use is "refused" with an error. ``keyword`` is the
    argument that the statement is about, if it is about one, and ``unless`` are values of it for which all is as in PyTorch. With
    ``without`` the statement is about calls that lack the argument.
    ``example`` is code that a test runs: an example of "refused" must raise ``error``.
    """

    names: tuple[str, ...]          # paths, or `torch.x.*` for all names of a module
    kind: str
    says: str
    instead: str = ""
    keyword: str = ""
    unless: tuple[Any, ...] = (None, False)
    without: bool = False
    example: str = ""
    error: str = "NotImplementedError"

    def applies(self, keywords: Mapping[str, Any] | None) -> bool:
        """Return whether the statement is about a use with these keywords."""
        if not self.keyword:
            return True
        if self.without:
            return keywords is not None and self.keyword not in keywords
        value = (keywords or {}).get(self.keyword)
        return self.keyword in (keywords or {}) and not any(value is one for one in self.unless)


def _paths(names: str, before: str = "torch.") -> tuple[str, ...]:
    return tuple(before + name for name in names.split())


_COMPILED = "what repeats is compiled without being asked"
_CHOOSES = "XLA chooses how to compute"
STATED: tuple[Statement, ...] = (
    Statement(_paths("compile"), NOTHING, f"gives back what it is given: {_COMPILED}",
              "keep it, or leave it out; `torch.engine.report()` says what was compiled",
              example="f = lambda x: x\nassert torch.compile(f, mode='max-autotune') is f"),
    Statement(_paths("script script_if_tracing script_method freeze optimize_for_inference ignore unused export", "torch.jit."), NOTHING,
              f"gives back what it is given: {_COMPILED}", "`torch.jit.trace` keeps an example, by which `torch.jit.save` writes a program",
              example="net = torch.nn.Linear(2, 1)\nassert torch.jit.script(net) is net is torch.jit.freeze(net)"),
    Statement(_paths("trace trace_module", "torch.jit."), NOTHING, "gives back what it is given and keeps the example for `torch.jit.save`",
              example="net = torch.nn.Linear(2, 1)\nassert torch.jit.trace(net, torch.ones(1, 2)) is net"),
    Statement(_paths("disable allow_in_graph assume_constant_result cudagraph_mark_step_begin reset set_default_backend set_stance",
                     "torch.compiler."), NOTHING, f"there is nothing to tell a compiler: {_COMPILED}",
              example="f = lambda x: x\nassert torch.compiler.disable(f) is f and torch.compiler.cudagraph_mark_step_begin() is None"),
    Statement(_paths("disable reset mark_dynamic maybe_mark_dynamic mark_static mark_static_address allow_in_graph graph_break",
                     "torch._dynamo."), NOTHING, f"there is nothing to tell a compiler: {_COMPILED}",
              example="import torch._dynamo\nassert torch._dynamo.mark_dynamic(torch.ones(2), 0) is None"),
    Statement(_paths("_dynamo.config.* _inductor.config.* _functorch.config.*"), NOTHING, "the options can be set and change nothing",
              example="import torch._dynamo\ntorch._dynamo.config.cache_size_limit = 64\ntorch._functorch.config.enable_autograd_cache = True"),
    Statement(_paths("benchmark benchmark_limit deterministic enabled", "torch.backends.cudnn."), NOTHING, f"the setting is kept: {_CHOOSES}",
              example="torch.backends.cudnn.benchmark = True"),
    Statement(_paths("nn.attention.sdpa_kernel backends.cuda.sdp_kernel backends.cuda.enable_flash_sdp backends.cuda.enable_math_sdp "
                     "backends.cuda.enable_mem_efficient_sdp backends.cuda.enable_cudnn_sdp"), NOTHING,
              f"the choice is kept: {_CHOOSES} attention",
              example="from torch.nn.attention import SDPBackend, sdpa_kernel\nwith sdpa_kernel(SDPBackend.MATH): pass"),
    Statement(_paths("cuda.empty_cache cuda.memory.empty_cache"), NOTHING, "JAX's allocator keeps what it has for the next array",
              "`XLA_PYTHON_CLIENT_PREALLOCATE=false` lets it take less from the start", example="torch.cuda.empty_cache()"),
    Statement(_paths("set_flush_denormal"), NOTHING, "returns False: XLA's programs take subnormal numbers for 0 in any case",
              example="assert torch.set_flush_denormal(True) is False"),
    Statement(_paths("set_num_interop_threads"), NOTHING, "the number is kept: XLA has one pool of threads", example="torch.set_num_interop_threads(1)"),
    Statement(_paths("set_multithreading_enabled grad_mode.set_multithreading_enabled", "torch.autograd."), NOTHING,
              "a backward runs in the thread that calls it", example="with torch.autograd.set_multithreading_enabled(False): pass"),
    Statement(_paths("Tensor.pin_memory"), NOTHING, "gives back the tensor: JAX copies to the GPU in its own way",
              example="x = torch.ones(2)\nassert x.pin_memory() is x"),
    Statement(_paths("utils.data.DataLoader utils.data.dataloader.DataLoader"), NOTHING, "tensors stay where they are", keyword="pin_memory",
              example="torch.utils.data.DataLoader([1.0], pin_memory=True)"),
    Statement(_paths("func.jacrev"), NOTHING, "rows are computed one at a time", keyword="chunk_size",
              example="torch.func.jacrev(torch.sin, chunk_size=1)(torch.ones(2))"),
    Statement(_paths("nn.utils.clip_grad_norm_ nn.utils.clip_grad.clip_grad_norm_"), NOTHING, "the calls are compiled together in any case",
              keyword="foreach", example="torch.nn.utils.clip_grad_norm_([torch.ones(1, requires_grad=True)], 1.0, foreach=True)"),
    Statement(_paths("nn.parallel.DistributedDataParallel"), REFUSED, "is not built with `mixed_precision`", "`torch.autocast` around the forward",
              keyword="mixed_precision"),
    Statement(_paths("distributed.fsdp.FullyShardedDataParallel"), REFUSED, "is not built with `param_init_fn`",
              "make the parameters before, or use `fully_shard` and `to_empty()`", keyword="param_init_fn"),
    Statement(_paths("distributed.optim.ZeroRedundancyOptimizer"), REFUSED, "is not built with `overlap_with_ddp=True`",
              "call `step()` after backward", keyword="overlap_with_ddp"),
    Statement(_paths("onnx.export"), REFUSED, "writes ONNX's own operators only", keyword="custom_translation_table"),
    Statement(_paths("onnx.export"), REFUSED, "writes parameters as constants", keyword="export_params", unless=(None, True)),
    Statement(_paths("nn.functional.*"), REFUSED, "takes no `out=`", "assign the result", keyword="out", unless=(None,),
              example="torch.nn.functional.avg_pool2d(torch.ones(1, 1, 2, 2), 2, out=torch.empty(1, 1, 1, 1))", error="TypeError"),
    Statement(_paths("empty_quantized"), REFUSED, "is not built", "`torch.quantize_per_tensor` makes quantized tensors",
              example="torch.empty_quantized((2,), torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.qint8))"),
    Statement(_paths("ao.quantization.* quantization.*"), REFUSED, "only dynamic quantization is built",
              "`torch.ao.quantization.quantize_dynamic`",
              example="import torch.ao.quantization\ntorch.ao.quantization.prepare(torch.nn.Linear(2, 1))"),
    Statement(_paths("nested.nested_tensor nested.as_nested_tensor"), REFUSED, "nested tensors of the strided layout are not built",
              "pass `layout=torch.jagged`", keyword="layout", without=True,
              example="torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])"),
    Statement(_paths("utils.cpp_extension.*"), REFUSED, "C++ and CUDA extensions are not built", "`jax.ffi` calls compiled code",
              example="import torch.utils.cpp_extension\ntorch.utils.cpp_extension.load(name='x', sources=[])"),
    Statement(_paths("cuda.CUDAGraph cuda.graph cuda.make_graphed_callables"), REFUSED, f"CUDA graphs are not built: {_COMPILED}",
              "leave it out", example="torch.cuda.CUDAGraph()"),
    Statement(_paths("distributed.rpc.*"), REFUSED, "calls of functions on other processes are not built",
              "`torch.distributed` has collectives and point-to-point messages",
              example="import torch.distributed.rpc\ntorch.distributed.rpc.init_rpc('a', rank=0, world_size=1)"),
    Statement(_paths("classes.load_library"), REFUSED, "libraries compiled for PyTorch cannot be loaded",
              "`jax.ffi` calls compiled code; `torch.library.custom_op` takes any Python function",
              example="torch.classes.load_library('classes.so')", error="OSError"),
    Statement(_paths("library.triton_op library.wrap_triton"), REFUSED, "Triton's kernels do not run on JAX",
              "`torch.library.custom_op` takes any Python function; `jax.experimental.pallas` writes kernels",
              example="import torch.library\ntorch.library.triton_op('a::b', mutates_args=())"),
    Statement(_paths("draft_export unflatten register_dataclass", "torch.export."), REFUSED, "a program of `torch.export` is StableHLO, without a graph",
              "`torch.export.export`", example="import torch.export\ntorch.export.draft_export(torch.nn.Linear(2, 1), (torch.ones(1, 2),))"),
    Statement(_paths("fx.experimental.proxy_tensor.make_fx"), REFUSED, "graphs of ATen operators are not built",
              "`torch.fx.symbolic_trace` of a module, or `jax.make_jaxpr`",
              example="from torch.fx.experimental.proxy_tensor import make_fx\nmake_fx(torch.sin)"),
)
# Maps a missing name to its replacement, or to the reason. The longest matching path counts.
INSTEAD = {
    "torch._C": "a private part of PyTorch's compiled library",
    "torch._dynamo": "a private part of PyTorch's compiler; what repeats is compiled without it",
    "torch._inductor": "a private part of PyTorch's compiler; XLA compiles here",
    "torch._export": "`torch.export.export`",
    "torch._higher_order_ops": "`jax.lax` has control flow for `jax.jit`; a Python loop runs as it is",
    "torch.cuda.comm": "`torch.distributed`'s collectives",
    "torch.cuda.gds": "`torch.save` and `torch.load`",
    "torch.cuda.jiterator": "`jax.experimental.pallas` writes kernels",
    "torch.cuda.tunable": "leave it out: XLA tunes its kernels itself",
    "torch.distributed.algorithms": "DistributedDataParallel's default reduction",
    "torch.distributed.autograd": "`loss.backward()` in each process",
    "torch.distributed.checkpoint": "`torch.distributed.checkpoint.save` and `load`",
    "torch.distributed.elastic": "`torch.distributed.run` starts processes",
    "torch.export": "`torch.export.export` writes StableHLO",
    "torch.fx.experimental": "`torch.fx.symbolic_trace`",
    "torch.fx.passes": "`torch.fx.GraphModule` and its graph, changed by hand",
    "torch.nativert": "`torch.export.load`",
    "torch.onnx": "`torch.onnx.export`",
    "torch.profiler": "`torch.profiler.profile`",
    "torch.testing._internal": "`torch.testing.assert_close` and `make_tensor`",
    "torch.Tensor.record_stream": "leave it out: JAX frees memory after its last use",
    "torch.Tensor.to_mkldnn": "leave it out",
}
# Ops of DIFFERENCES that are only methods, so `torch.<name>` is something else: `torch.float`, for example, is a dtype.
_METHODS = frozenset("to float double half bfloat16 int long short char byte bool cfloat cdouble chalf H mH".split())
_SHOWN = {"value", "gradient", "in-place", "view"}      # checks whose differences any call may show, even without `out=`


def instead_of(path: str) -> str:
    """Return what to use instead of a missing name; "" if nothing is known."""
    while path:
        if path in INSTEAD:
            return INSTEAD[path]
        path = path.rpartition(".")[0]
    return ""


def _of_ops() -> Iterator[Statement]:
    """Yield the differences of single ops that a program may notice."""
    for one in DIFFERENCES:
        # Sources seldom show the dtype, so differences of single dtypes are left out.
        if one.op in _METHODS or one.op.startswith("_") or one.dtypes:
            continue
        path = f"torch.{one.op.partition('.')[0]}" if one.op.count(".") and one.op.split(".")[0] not in _SPACES else f"torch.{one.op}"
        if _SHOWN & set(one.checks):
            yield Statement((path,), DIFFERS, one.reason)
        elif "out" in one.checks:
            yield Statement((path,), DIFFERS, f"with `out=`: {one.reason}", keyword="out", unless=(None,))


_SPACES = {"fft", "linalg", "masked", "nn", "special"}
STATEMENTS: tuple[Statement, ...] = (*STATED, *_of_ops())
