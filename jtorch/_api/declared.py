"""Functions whose arguments are checked against the signatures that PyTorch declares.

Functions made from op records check their arguments themselves. The functions of this file are written by hand, or have other
names in PyTorch than their ops have. None is called in loops that have to be fast.
"""
from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import jtorch.device as devices
import jtorch.dtype as dtypes
from jtorch._api import functions
from jtorch._api.argument_errors import type_name
from jtorch._api.names import put
from jtorch._api.sizes import begins_with_int, int_from, ints_of, symint_from
from jtorch._base.aten_schemas import is_symbolic
from jtorch.tensor import Tensor

# A line for each function: its overloads, separated by "|". An argument is a name and a type; "?" allows None, "=" says that
# it may be left out, and "*" that all further arguments are given by name.
SIGNATURES = """
alpha_dropout: input Tensor, p float, train bool
alpha_dropout_: input Tensor, p float, train bool
dropout: input Tensor, p float, train bool
dropout_: input Tensor, p float, train bool
feature_alpha_dropout: input Tensor, p float, train bool
feature_alpha_dropout_: input Tensor, p float, train bool
feature_dropout: input Tensor, p float, train bool
feature_dropout_: input Tensor, p float, train bool
native_dropout: input Tensor, p float, train bool?
can_cast: from_ dtype, to dtype
promote_types: type1 dtype, type2 dtype
result_type: tensor Tensor, other Tensor | tensor Tensor, other Number | scalar Number, tensor Tensor | scalar1 Number,
    scalar2 Number
convolution: input Tensor, weight Tensor, bias Tensor?, stride ints, padding ints, dilation ints, transposed bool,
    output_padding ints, groups int
batch_norm: input Tensor, weight Tensor?, bias Tensor?, running_mean Tensor?, running_var Tensor?, training bool, momentum
    float, eps float, cudnn_enabled bool
instance_norm: input Tensor, weight Tensor?, bias Tensor?, running_mean Tensor?, running_var Tensor?, use_input_stats bool,
    momentum float, eps float, cudnn_enabled bool
native_batch_norm: input Tensor, weight Tensor?, bias Tensor?, running_mean Tensor?, running_var Tensor?, training bool,
    momentum float, eps float, *, out Tensors?=
affine_grid_generator: theta Tensor, size ints, align_corners bool
grid_sampler: input Tensor, grid Tensor, interpolation_mode int, padding_mode int, align_corners bool
grid_sampler_2d: input Tensor, grid Tensor, interpolation_mode int, padding_mode int, align_corners bool
grid_sampler_3d: input Tensor, grid Tensor, interpolation_mode int, padding_mode int, align_corners bool
embedding_renorm_: input Tensor, indices Tensor, max_norm float, norm_type float
is_complex: input Tensor
is_conj: input Tensor
is_floating_point: input Tensor
is_inference: input Tensor
is_neg: input Tensor
is_nonzero: input Tensor
is_signed: input Tensor
is_same_size: input Tensor, other Tensor
equal: input Tensor, other Tensor
numel: input Tensor
detach: input Tensor
detach_: input Tensor
as_strided_: input Tensor, size ints, stride ints, storage_offset int?=
view_copy: input Tensor, size ints, *, out Tensor?= | input Tensor, dtype dtype, *, out Tensor?=
embedding_bag: weight Tensor, indices Tensor, offsets Tensor, scale_grad_by_freq bool=, mode int=, sparse bool=,
    per_sample_weights Tensor?=, include_last_offset bool= | weight Tensor, indices Tensor, offsets Tensor,
    scale_grad_by_freq bool, mode int, sparse bool, per_sample_weights Tensor?, include_last_offset bool, padding_idx int?
adaptive_max_pool1d: input Tensor, output_size ints
ravel: input Tensor
resolve_conj: input Tensor
resolve_neg: input Tensor
abs_: input Tensor
fill_: input Tensor, value Tensor | input Tensor, value Number
resize_as_: input Tensor, the_template Tensor, *, memory_format any=
constant_pad_nd: input Tensor, pad ints, value Number=
masked_select: input Tensor, mask Tensor, *, out Tensor?=
index_put: input Tensor, indices Tensors, values Tensor, accumulate bool=
index_put_: input Tensor, indices Tensors, values Tensor, accumulate bool=
dsplit: input Tensor, sections int | input Tensor, indices ints
hsplit: input Tensor, sections int | input Tensor, indices ints
vsplit: input Tensor, sections int | input Tensor, indices ints
bernoulli: input Tensor, *, generator any=, out Tensor?= | input Tensor, p float, *, generator any=
multinomial: input Tensor, num_samples int, replacement bool=, *, generator any=, out Tensor?=
cholesky_inverse: input Tensor, upper bool=, *, out Tensor?=
cholesky_solve: input Tensor, input2 Tensor, upper bool=, *, out Tensor?=
det: input Tensor
inverse: input Tensor, *, out Tensor?=
slogdet: input Tensor, *, out Tensors?=
lu_solve: input Tensor, LU_data Tensor, LU_pivots Tensor, *, out Tensor?=
matrix_exp: input Tensor
matrix_power: input Tensor, n int, *, out Tensor?=
orgqr: input Tensor, input2 Tensor, *, out Tensor?=
ormqr: input Tensor, input2 Tensor, input3 Tensor, left bool=, transpose bool=, *, out Tensor?=
triangular_solve: input Tensor, A Tensor, upper bool=, transpose bool=, unitriangular bool=, *, out Tensors?=
group_norm: input Tensor, num_groups int, weight Tensor?=, bias Tensor?=, eps float=, cudnn_enabled bool=
layer_norm: input Tensor, normalized_shape ints, weight Tensor?=, bias Tensor?=, eps float=, cudnn_enable bool=
tensor_split: input Tensor, sections int, dim int= | input Tensor, indices ints, dim int= | input Tensor,
    tensor_indices_or_sections Tensor, dim int=
gradient: input Tensor, *, spacing any=, dim any=, edge_order int=
batch_norm_update_stats: input Tensor, running_mean Tensor?, running_var Tensor?, momentum float
randint_like: input Tensor, high any, *, generator any=, memory_format any=, dtype dtype?=, layout any=, device any=,
    pin_memory bool?=, requires_grad bool= | input Tensor, low any, high any, *, generator any=, memory_format any=, dtype
    dtype?=, layout any=, device any=, pin_memory bool?=, requires_grad bool=
as_strided_scatter: input Tensor, src Tensor, size ints, stride ints, storage_offset int?=, *, out any=
bincount: input Tensor, weights Tensor?=, minlength int=
narrow: input Tensor, dim int, start Tensor, length int | input Tensor, dim int, start int, length int
kl_div: input Tensor, target Tensor, reduction int=, *, log_target bool=
repeat_interleave: repeats Tensor, *, output_size int?= | input Tensor, repeats Tensor, dim int?=, *, output_size int?= |
    input Tensor, repeats int, dim int?=, *, output_size int?=
histogramdd: input Tensor, bins int, range floats?=, weight Tensor?=, density bool= | input Tensor, bins ints, range
    floats?=, weight Tensor?=, density bool= | input Tensor, bins Tensors, range floats?=, weight Tensor?=, density bool=
rand_like: input Tensor, *, generator any=, memory_format any=, dtype dtype?=, layout any=, device any=, pin_memory bool?=,
    requires_grad bool=
randn_like: input Tensor, *, generator any=, memory_format any=, dtype dtype?=, layout any=, device any=, pin_memory bool?=,
    requires_grad bool=
"""
# The signatures of Tensor's methods, in the form of SIGNATURES. "ints*" are ints given one by one or as one sequence.
METHODS = """
set_: self Tensor | self Tensor, source storage | self Tensor, source storage, storage_offset int, size ints, stride ints=
apply_: self Tensor, callable any
map_: self Tensor, other Tensor, callable any
map2_: self Tensor, x Tensor, y Tensor, callable any
cauchy_: self Tensor, median float=, sigma float=, *, generator any=
exponential_: self Tensor, lambd float=, *, generator any=
geometric_: self Tensor, p float, *, generator any=
log_normal_: self Tensor, mean float=, std float=, *, generator any=
uniform_: self Tensor, from float=, to float=, *, generator any=
random_: self Tensor, *, generator any= | self Tensor, from int, to int?, *, generator any= | self Tensor, to int, *,
    generator any=
resize_: self Tensor, size ints*, *, memory_format any=
resize_as_: self Tensor, the_template Tensor, *, memory_format any=
squeeze_: self Tensor | self Tensor, dim int | self Tensor, dim ints*
swapaxes_: self Tensor, axis0 int, axis1 int
swapdims_: self Tensor, dim0 int, dim1 int
t_: self Tensor
transpose_: self Tensor, dim0 int, dim1 int
unsqueeze_: self Tensor, dim int
as_strided_: self Tensor, size ints, stride ints, storage_offset int?=
repeat_interleave: self Tensor, repeats Tensor, dim int?=, *, output_size int?= | self Tensor, repeats int, dim int?=, *,
    output_size int?=
dsplit: self Tensor, sections int | self Tensor, indices ints*
hsplit: self Tensor, sections int | self Tensor, indices ints*
vsplit: self Tensor, sections int | self Tensor, indices ints*
tensor_split: self Tensor, sections int, dim int= | self Tensor, indices ints, dim int= | self Tensor,
    tensor_indices_or_sections Tensor, dim int=
sum_to_size: self Tensor, size ints*
polygamma: self Tensor, n int
polygamma_: self Tensor, n int
cholesky_solve: self Tensor, input2 Tensor, upper bool=
orgqr: self Tensor, input2 Tensor
ormqr: self Tensor, input2 Tensor, input3 Tensor, left bool=, transpose bool=
bernoulli: self Tensor, *, generator any= | self Tensor, p float, *, generator any=
multinomial: self Tensor, num_samples int, replacement bool=, *, generator any=
masked_select: self Tensor, mask Tensor
is_same_size: self Tensor, other Tensor
index_put: self Tensor, indices Tensors, values Tensor, accumulate bool=
index_put_: self Tensor, indices Tensors, values Tensor, accumulate bool=
is_pinned: self Tensor, device device?=
bincount: self Tensor, weights Tensor?=, minlength int=
narrow: self Tensor, dim int, start Tensor, length int | self Tensor, dim int, start int, length int
is_set_to: self Tensor, tensor Tensor
type_as: self Tensor, other Tensor
sparse_mask: self Tensor, mask Tensor
"""
# Arguments of PyTorch's functions that only choose a kernel. jtorch's functions do not have them.
LEFT_OUT = {("group_norm", "cudnn_enabled"), ("layer_norm", "cudnn_enable")}


def _is_tensor(v: Any) -> bool:
    return isinstance(v, Tensor) or hasattr(v, "__torch_function__")


def _is_number(v: Any) -> bool:
    return isinstance(v, (int, float, complex, np.generic)) or (isinstance(v, Tensor) and not v.dim()) or hasattr(v, "node")


def _is_int(v: Any) -> bool:
    return int_from(v) is not None


def _is_symint(v: Any) -> bool:
    return symint_from(v, takes_bool_tensors=True) is not None


def _is_list_of_ints(v: Any) -> bool:
    return isinstance(v, (list, tuple)) and (not v or begins_with_int(v))


def _is_float(v: Any) -> bool:
    return hasattr(v, "__float__") and not isinstance(v, str)


TYPES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "Tensor": (_is_tensor, "Tensor"), "Number": (_is_number, "Number"), "int": (_is_int, "int"), "float": (_is_float, "float"),
    "bool": (lambda v: isinstance(v, (bool, np.bool_)) or hasattr(v, "node"), "bool"),
    "ints": (lambda v: _is_list_of_ints(v) or _is_symint(v), "tuple of ints"),
    "ints*": (lambda v: _is_list_of_ints(v), "tuple of ints"),
    "floats": (lambda v: isinstance(v, (list, tuple)), "tuple of floats"),
    "Tensors": (lambda v: isinstance(v, (list, tuple)), "tuple of Tensors"),
    "storage": (lambda v: isinstance(v, Tensor) or "Storage" in type(v).__name__, "Storage"),
    "device": (lambda v: isinstance(v, (str, int, devices.device)), "torch.device"),
    "dtype": (lambda v: isinstance(v, (dtypes.dtype, type)), "torch.dtype"), "any": (lambda v: True, "object"),
}


@dataclass(frozen=True)
class Parameter:
    """One declared argument."""

    function: str
    name: str
    kind: str
    may_be_none: bool
    optional: bool
    by_name: bool

    def takes(self, value: Any) -> bool:
        """Return whether the argument may have this value."""
        if (value is None and self.may_be_none) or TYPES[self.kind][0](value):
            return True
        return self.kind == "int" and is_symbolic(self.function, self.name) and _is_symint(value)


def parse(function: str, text: str) -> list[Parameter]:
    """Return the parameters of one overload of a function."""
    found, by_name = [], False
    for part in text.split(","):
        if part.strip() == "*":
            by_name = True
            continue
        name, kind = part.split()
        found.append(Parameter(function, name, kind.rstrip("=").rstrip("?"), "?" in kind, kind.endswith("="), by_name))
    return found


class Refused(Exception):
    """A call does not fit an overload; the text is PyTorch's."""


def fit(name: str, declared: Sequence[Parameter], args: tuple, kwargs: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments by name. Raise Refused if the call does not fit."""
    positional = [p for p in declared if not p.by_name]
    args = _gathered(positional, args)
    if len(args) > len(positional):
        plural = "s" if len(positional) != 1 else ""
        raise Refused(f"{name}() takes {len(positional)} positional argument{plural} but {len(args)} were given")
    given = dict(zip([p.name for p in positional], args, strict=False))
    for key, value in kwargs.items():
        if key in given:
            raise Refused(f"{name}() got multiple values for argument '{key}'")
        given[_own_name(name, declared, key)] = value
    lacking = [f'"{p.name}"' for p in declared if not p.optional and p.name not in given]
    if lacking:
        plural = "s" * (len(lacking) == 1)      # PyTorch writes "arguments" for one, and "argument" for several
        raise Refused(f"{name}() missing {len(lacking)} required positional argument{plural}: {', '.join(lacking)}")
    for at, p in enumerate(declared, 1):
        if p.name in given and not p.takes(given[p.name]):
            where = f" (position {at})" if at <= len(args) else ""
            raise Refused(f"{name}(): argument '{p.name}'{where} must be {TYPES[p.kind][1]}, not {type_name(given[p.name])}")
        if p.kind in ("ints", "ints*") and isinstance(given.get(p.name), (list, tuple)):
            given[p.name] = ints_of(given[p.name], name, p.name, at, True)
    return given


def _gathered(positional: Sequence[Parameter], args: tuple) -> tuple:
    """Return the arguments with ints that are given one by one as a tuple."""
    at = next((k for k, p in enumerate(positional) if p.kind == "ints*"), len(args))
    if len(args) > at and not isinstance(args[at], (list, tuple)):
        return (*args[:at], tuple(args[at:]))
    return args


NUMPY_NAMES = {"x": "input", "a": "input", "x1": "input", "x2": "other", "axis": "dim", "keepdims": "keepdim"}


def _own_name(name: str, declared: Sequence[Parameter], key: str) -> str:
    names = [p.name for p in declared]
    own = key if key in names else NUMPY_NAMES.get(key)
    if own not in names:
        raise Refused(f"{name}() got an unexpected keyword argument '{key}'")
    return own


def checking(function: Callable, name: str, overloads: Sequence[Sequence[Parameter]]) -> Callable:
    """Return a function that checks its arguments and passes them on, by position where that is possible."""
    only_a_tensor = len(overloads) == 1 and len(overloads[0]) == 1

    @functools.wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        if only_a_tensor and len(args) == 1 and not kwargs and args[0].__class__ is Tensor:
            return function(args[0])
        declared, given = _first_fitting(name, overloads, args, kwargs)
        return _call(function, [p for p in declared if (name, p.name) not in LEFT_OUT], given)
    checked.__name__ = checked.__qualname__ = name
    return checked


def _first_fitting(name: str, overloads: Sequence[Sequence[Parameter]], args: tuple, kwargs: dict) -> tuple[Any, dict[str, Any]]:
    reasons = []
    for declared in overloads:
        try:
            return declared, fit(name, declared, args, kwargs)
        except Refused as reason:
            reasons.append(str(reason))
    is_method = bool(overloads[0]) and overloads[0][0].name == "self"
    got = ", ".join([*map(type_name, args[is_method:]), *[f"{k}={type_name(v)}" for k, v in kwargs.items()]])
    raise TypeError(reasons[0] if len(reasons) == 1 else f"{name}() received an invalid combination of arguments - got ({got})")


def _call(function: Callable, declared: Sequence[Parameter], given: dict[str, Any]) -> Any:
    args: list[Any] = []
    named: dict[str, Any] = {}
    for p in declared:
        if p.name not in given:
            continue
        if p.by_name or len(args) < declared.index(p):
            named[p.name] = given[p.name]
        else:
            args.append(given[p.name])
    return function(*args, **named)


def bind() -> None:
    """Replace the functions and methods by those that check their arguments."""
    for space, lines in ((functions, SIGNATURES), (Tensor, METHODS)):
        made = {}
        for line in lines.strip().replace("\n    ", " ").splitlines():
            name, _, text = line.partition(":")
            made[name] = checking(getattr(space, name), name, [parse(name, part) for part in text.split("|")])
        put(space, made, replaces=True)
