"""Calls of functions with DTensors: by a rule on the ranks' shards, or on whole tensors where no rule exists."""
from __future__ import annotations

from collections.abc import Callable
from types import FunctionType, MethodWrapperType
from typing import Any

from jtorch._api.meshes import is_on_mesh
from jtorch._api.torch_function import as_written, switched_off
from jtorch._base.pytree import flatten, tree_map
from jtorch._parallel import dtensor
from jtorch._parallel.dtensor import DTensor, local_of, moved, wrapped
from jtorch._parallel.layout import Layout, whole_stride
from jtorch._parallel.placements import Replicate
from jtorch._parallel.redistribute import enter
from jtorch._parallel.rule import Rule, choose
from jtorch._parallel.rules import HANDLERS, RULES
from jtorch.nn import init
from jtorch.no_grad import no_grad
from jtorch.tensor import Tensor

# These functions run on a rank's shard without a rule: the shape does not matter to them, or they are about this rank's memory.
SAME_FOR_SHARD = set("requires_grad_ is_floating_point is_complex is_signed element_size get_device retain_grad is_inference "
                   "register_post_accumulate_grad_hook is_shared share_memory_ __hash__ __format__ __dir__ data_ptr "
                   "untyped_storage storage_offset _version is_pinned __setstate__ is_tensor "
                   "is_conj is_neg is_storage result_type get_device_module __cuda_array_interface__ has_names".split())

# The functions of nn.init consist of calls of Tensor's methods, and each method has a rule of its own.
INITIALIZERS = {f for f in vars(init).values() if isinstance(f, FunctionType)}


def name_of(func: Callable) -> str:
    """Return the name under which a function has its rule: ``add`` for ``add``, ``add_`` and ``__add__``."""
    name = getattr(func, "__name__", str(func))
    if name.startswith("__") and name.endswith("__"):
        return OPERATORS.get(name[2:-2], name)
    return name[:-1] if name.endswith("_") and not name.startswith("_") else name


OPERATORS = {"truediv": "div", "rtruediv": "div", "itruediv": "div", "floordiv": "floor_divide",
             "rfloordiv": "floor_divide", "ifloordiv": "floor_divide", "mod": "remainder", "rmod": "remainder",
             "imod": "remainder", "rmatmul": "matmul", "imatmul": "matmul", "and": "bitwise_and", "or": "bitwise_or",
             "xor": "bitwise_xor", "invert": "bitwise_not", "rpow": "pow", "ipow": "pow", "radd": "add", "iadd": "add",
             "rsub": "rsub", "isub": "sub", "rmul": "mul", "imul": "mul", "add": "add", "sub": "sub", "mul": "mul",
             "matmul": "matmul", "pow": "pow", "neg": "neg", "pos": "positive", "abs": "abs", "eq": "eq", "ne": "ne",
             "lt": "lt", "le": "le", "gt": "gt", "ge": "ge", "getitem": "getitem", "iand": "bitwise_and",
             "ior": "bitwise_or", "ixor": "bitwise_xor", "rand": "bitwise_and", "ror": "bitwise_or",
             "rxor": "bitwise_xor"}


def writes_first(func: Callable) -> bool:
    """Return whether a function is an in-place form, which writes to its first argument."""
    name = getattr(func, "__name__", "")
    if name.startswith("__"):
        return name[2:-2] in ("iadd", "isub", "imul", "itruediv", "ifloordiv", "ipow", "imod", "iand", "ior", "ixor")
    return name.endswith("_") and not name.startswith("_")


def run(func: Callable, args: tuple, kwargs: dict) -> Any:
    """Run a function with DTensors among its arguments."""
    if isinstance(func, MethodWrapperType) or getattr(func, "__name__", "") in SAME_FOR_SHARD:
        return _run_on_shard(func, args, kwargs)
    name = name_of(func)
    if func in INITIALIZERS and func.__name__ not in HANDLERS:
        return as_written(func)(*args, **kwargs)        # type: ignore[arg-type]
    if kwargs.get("out") is not None:
        return _write_to_out(func, args, dict(kwargs))
    replacement = HANDLERS.get(getattr(func, "__name__", ""), HANDLERS.get(name))
    if replacement is not None:
        made = replacement(func, args, kwargs)
        if made is not NotImplemented:
            return made
    check_not_mixed(name, args, kwargs)
    rule = RULES[name](func, args, kwargs) if name in RULES else None
    return by_rule(func, rule, args, kwargs) if rule is not None else on_full_tensors(func, args, kwargs)


def _write_to_out(func: Callable, args: tuple, kwargs: dict) -> DTensor:
    """Run a function and copy its result into the DTensor ``out=``, which keeps its placements."""
    out = kwargs.pop("out")
    made = func(*args, **kwargs)
    if not isinstance(out, DTensor) or not isinstance(made, DTensor) or made._spec.shape != out._spec.shape:
        raise NotImplementedError(f"torch.{name_of(func)}: out= other than a DTensor of the result's shape is not built")
    with no_grad(), switched_off():
        local_of(out).copy_(local_of(moved(made, out._spec.placements)))        # type: ignore[attr-defined]
    return out


def _run_on_shard(func: Callable, args: tuple, kwargs: dict) -> Any:
    with switched_off():
        return func(*args, **kwargs)


def check_not_mixed(name: str, args: tuple, kwargs: dict) -> None:
    """Raise PyTorch's error if plain tensors of more than one element are mixed with DTensors."""
    for t in flatten((args, kwargs))[0]:
        if isinstance(t, Tensor) and not isinstance(t, DTensor) and not is_on_mesh(t) and not (t.numel() == 1 and t.dim() <= 1):
            kind = "Tensor" if name in ("add", "sub", "mul", "div", "eq", "ne", "lt", "le", "gt", "ge") else "default"
            raise RuntimeError(f"aten.{name}.{kind} got mixed torch.Tensor and DTensor, need to convert all torch.Tensor to "
                               "DTensor before calling distributed operators! Please see https://docs.pytorch.org/docs/main/"
                               "distributed.tensor.html#mixed-tensor-and-dtensor-operations for more details.")


def _mesh_of(func: Callable, given: list[DTensor]) -> Any:
    """Return the first argument's mesh; NotImplementedError if this rank is not in it."""
    mesh = given[0]._spec.mesh
    if mesh.get_coordinate() is None:
        raise NotImplementedError(f"torch.{name_of(func)} of DTensors is not built on a rank that is not in their mesh: call it "
                                  "where mesh.get_coordinate() is not None")
    return mesh


# ---------------------------------------------------------------- calls with a rule

def by_rule(func: Callable, rule: Rule, args: tuple, kwargs: dict) -> Any:
    """Redistribute the arguments as a rule needs them, and run the function on this rank's shards."""
    given = [t for t in flatten((args, kwargs))[0] if isinstance(t, DTensor)]
    mesh = _mesh_of(func, given)
    if any(t._spec.mesh != mesh for t in given):
        raise RuntimeError(f"{name_of(func)}: got DTensors on different meshes, which is not supported yet!")
    writes = writes_first(func)
    chosen = choose(rule, given, mesh, writes)
    locals_ = [enter(local_of(moved(t, to)), mesh, dims) for t, to, dims in zip(given, chosen.ins, chosen.entered, strict=True)]
    args, kwargs = _replaced((args, kwargs), locals_)
    if rule.localize is not None:
        args, kwargs = rule.localize(args, kwargs, chosen.outs, mesh)
    with switched_off():
        made = func(*args, **kwargs)
    return given[0] if writes else _wrapped(made, rule, chosen.outs, mesh)


def _replaced(tree: Any, parts: list[Tensor]) -> Any:
    left = iter(parts)
    return tree_map(lambda t: next(left) if isinstance(t, DTensor) else t, tree)


def _wrapped(made: Any, rule: Rule, outs: list, mesh: Any) -> Any:
    if not isinstance(made, Tensor):
        parts = [_wrapped_one(t, rule, i, outs[i], mesh) for i, t in enumerate(made)]
        return type(made)(*parts) if hasattr(made, "_fields") else _same_kind(made, parts)
    return _wrapped_one(made, rule, 0, outs[0], mesh)


def _same_kind(made: Any, parts: list) -> Any:
    try:
        return type(made)(parts)
    except TypeError:
        return tuple(parts)


def _wrapped_one(t: Tensor, rule: Rule, i: int, placements: Any, mesh: Any) -> Any:
    if not isinstance(t, Tensor):
        return t
    labels = rule.outs[min(i, len(rule.outs) - 1)]
    shape = list(t.shape)
    for d, label in enumerate(labels):
        if label is not None and d < len(shape):
            shape[d] = rule.sizes[label]
    return wrapped(_plain_tensor(t), Layout(mesh, placements, tuple(shape), whole_stride(t.stride(), shape)))


def _plain_tensor(t: Tensor) -> Tensor:
    """Return ``t`` as a plain Tensor, whose class can be changed."""
    return t if type(t) is Tensor else local_of(t)


# ---------------------------------------------------------------- calls without a rule

def on_full_tensors(func: Callable, args: tuple, kwargs: dict) -> Any:
    """Run a function on whole tensors, on every rank."""
    mesh = _mesh_of(func, [t for t in flatten((args, kwargs))[0] if isinstance(t, DTensor)])
    everywhere = (Replicate(),) * mesh.ndim
    parts = tree_map(lambda t: local_of(moved(t, everywhere)) if isinstance(t, DTensor) else t, (args, kwargs))
    with switched_off():
        made = func(*parts[0], **parts[1])
    if writes_first(func):
        return _written_back(args[0], parts[0][0])
    return tree_map(lambda t: _whole(t, mesh) if isinstance(t, Tensor) else t, made)


def _written_back(target: DTensor, new: Tensor) -> DTensor:
    everywhere = (Replicate(),) * target._spec.mesh.ndim
    if target._spec.placements != everywhere:
        spec = target._spec
        part = moved(wrapped(new, Layout(spec.mesh, everywhere, spec.shape, spec.stride)), spec.placements)
        with switched_off():
            local_of(target).copy_(local_of(part))
    return target


def _whole(t: Tensor, mesh: Any) -> DTensor:
    return wrapped(_plain_tensor(t), Layout(mesh, (Replicate(),) * mesh.ndim, tuple(t.shape), tuple(t.stride())))


dtensor.runner["run"] = run
