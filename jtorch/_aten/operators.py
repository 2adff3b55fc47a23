"""The operators of ops whose name or arguments differ in ``torch.ops.aten``."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jtorch import storage
from jtorch._aten.fitting import LISTS, Named, arguments, bound, described, fitting, generic, overload
from jtorch.device import canonical, default_device, single
from jtorch.engine import Call
from jtorch.tensor import Tensor

# Maps an op to a function from its arguments to (operator, arguments). The function returns None for the default operator.
NAMES: dict[str, Callable[..., Named | None]] = {}


def exactly(name: str, given: dict[str, Any]) -> Named | None:
    """Return a call of this overload with arguments by their schema names, or None if they do not fit."""
    func = overload(name)
    found = bound(func._schema, given)
    return None if found is None else Named(func, *found)


# Ops for which no operator is used: PyTorch's operator of the same name is a different function.
UNSEEN = {"stft", "istft", "unique", "histogramdd", "nn.functional.max_unpool2d", "nn.functional.max_unpool3d"}


def of_call(c: Call, flat: Any, suffix: str = "", out: list | None = None) -> Named | None:
    """Return the operator of a call, or None."""
    if c.op.name in UNSEEN:
        return None
    special = NAMES.get(c.op.name + suffix)
    if special is not None and out is None:
        made = special(**arguments(c, flat))
        if made is not None:
            return made
    return generic(c, flat, suffix, None if out is None else _outs(c, out))


def _outs(c: Call, out: list) -> dict[str, Any]:
    """Return the ``out=`` tensors under the names of the schemas."""
    if len(out) == 1:
        return {"out": out[0]}
    return dict(zip(c.op.returns or [f"out{i}" for i in range(len(out))], out, strict=True))


def names(op: str) -> Callable:
    """Register a function that returns the operator of an op's calls."""
    def note(fn: Callable) -> Callable:
        NAMES[op] = fn
        return fn
    return note


def _given(**kwargs: Any) -> dict[str, Any]:
    return {k: v for k, v in kwargs.items() if v is not None}


def _listed(x: Any) -> Any:
    return list(x) if x.__class__ in LISTS else x


@names("sub")
def _sub(input: Any, other: Any, alpha: Any = 1) -> Named | None:
    if isinstance(input, Tensor):
        return None
    return exactly("rsub.Scalar", _given(self=other, other=input, alpha=None if alpha == 1 else alpha))


@names("add")
def _add(input: Any, other: Any, alpha: Any = 1) -> Named | None:
    return exactly("add.Tensor", {"self": other, "other": input}) if not isinstance(input, Tensor) else None


@names("mul")
def _mul(input: Any, other: Any) -> Named | None:
    return exactly("mul.Tensor", {"self": other, "other": input}) if not isinstance(input, Tensor) else None


@names("true_divide")
@names("div")
def _div(input: Any, other: Any, rounding_mode: Any = None) -> Named | None:
    if rounding_mode is None:
        return exactly("div.Tensor", {"self": input, "other": other})
    return exactly("div.Tensor_mode", {"self": input, "other": other, "rounding_mode": rounding_mode})


@names("true_divide_")
@names("div_")
def _div_(input: Any, other: Any, rounding_mode: Any = None) -> Named | None:
    if rounding_mode is None:
        return exactly("div_.Tensor", {"self": input, "other": other})
    return exactly("div_.Tensor_mode", {"self": input, "other": other, "rounding_mode": rounding_mode})


@names("invert")
def _invert(input: Tensor) -> Named | None:
    return fitting("bitwise_not", {"self": input})


@names("_to_dtype")
def _to_dtype(input: Tensor, dtype: Any) -> Named | None:
    return exactly("_to_copy", {"self": input, "dtype": dtype})


@names("_copy_over_")
def _copy_(**given: Any) -> Named | None:
    target, src = given.values()
    return exactly("copy_", {"self": target, "src": src})


@names("alias")
def _alias(input: Tensor) -> Named | None:
    return exactly("alias", {"self": input})


@names("split")
def _split(tensor: Tensor, split_size_or_sections: Any, dim: int = 0) -> Named | None:
    if split_size_or_sections.__class__ in LISTS:
        return exactly("split_with_sizes", {"self": tensor, "split_sizes": _listed(split_size_or_sections), "dim": dim})
    return exactly("split.Tensor", {"self": tensor, "split_size": split_size_or_sections, "dim": dim})


def _variance(op: str) -> None:
    def find(input: Tensor, dim: Any = None, unbiased: Any = None, correction: Any = None, keepdim: bool = False,
             **rest: Any) -> Named | None:
        if dim.__class__ is bool:
            dim, unbiased = None, dim
        if unbiased is not None:
            correction = int(unbiased)
        elif dim is not None and correction is None:
            correction = 1
        dims = None if dim is None else [dim] if dim.__class__ is int else _listed(dim)
        return exactly(f"{op}.correction", _given(self=input, dim=dims, correction=correction, keepdim=keepdim))
    NAMES[op] = find


for _name in ("var", "std", "var_mean", "std_mean"):
    _variance(_name)


@names("nn.functional.embedding")
def _embedding(input: Tensor, weight: Tensor, padding_idx: Any = None, scale_grad_by_freq: bool = False, sparse: bool = False,
               **rest: Any) -> Named | None:
    return exactly("embedding", {"weight": weight, "indices": input, "padding_idx": -1 if padding_idx is None else padding_idx,
                                 "scale_grad_by_freq": scale_grad_by_freq, "sparse": sparse})


@names("nn.functional.logsigmoid")
def _logsigmoid(input: Tensor) -> Named | None:
    return _first(exactly("log_sigmoid_forward", {"self": input}))


def _first(named: Named | None) -> Named | None:
    return None if named is None else named._replace(pick=lambda made: made[0])


@names("softmax")
@names("nn.functional.softmax")
def _softmax(input: Tensor, dim: Any, dtype: Any = None, **rest: Any) -> Named | None:
    return exactly("_softmax", {"self": input, "dim": dim, "half_to_float": False}) if dim is not None else None


@names("log_softmax")
@names("nn.functional.log_softmax")
def _log_softmax(input: Tensor, dim: Any, dtype: Any = None, **rest: Any) -> Named | None:
    return exactly("_log_softmax", {"self": input, "dim": dim, "half_to_float": False}) if dim is not None else None


REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}


def _plain_reduction(rest: dict) -> bool:
    return rest.get("size_average") is None and rest.get("reduce") is None


def _loss(name: str, *others: str) -> None:
    """Register a loss whose operator takes the reduction as a number, and the further arguments ``others``."""
    def find(input: Tensor, target: Tensor, reduction: str = "mean", **rest: Any) -> Named | None:
        if not _plain_reduction(rest):
            return None
        given = {"self": input, "target": target, "reduction": REDUCTIONS[reduction]}
        return exactly(name, {**given, **{k: rest[k] for k in others if rest.get(k) is not None}})
    NAMES[f"nn.functional.{name}"] = find


for _name, *_others in (("mse_loss",), ("smooth_l1_loss", "beta"), ("huber_loss", "delta"), ("soft_margin_loss",),
                        ("multi_margin_loss", "p", "margin", "weight"), ("binary_cross_entropy", "weight"),
                        ("binary_cross_entropy_with_logits", "weight", "pos_weight")):
    _loss(_name, *_others)


@names("nn.functional.nll_loss")
def _nll_loss(input: Tensor, target: Tensor, weight: Any = None, ignore_index: int = -100, reduction: str = "mean",
              **rest: Any) -> Named | None:
    if not _plain_reduction(rest) or input.dim() not in (1, 2, 4):
        return None
    name = "nll_loss2d_forward" if input.dim() == 4 else "nll_loss_forward"
    return _first(exactly(name, {"self": input, "target": target, "weight": weight, "reduction": REDUCTIONS[reduction],
                                 "ignore_index": ignore_index}))


@names("nn.functional.layer_norm")
def _layer_norm(input: Tensor, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Named | None:
    return _first(exactly("native_layer_norm", {"input": input, "normalized_shape": list(normalized_shape), "weight": weight,
                                                "bias": bias, "eps": eps}))


@names("nn.functional.group_norm")
def _group_norm(input: Tensor, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Named | None:
    n, channels, *size = input.shape
    return _first(exactly("native_group_norm", {"input": input, "weight": weight, "bias": bias, "N": n, "C": channels,
                                                "HxW": _product(size), "group": num_groups, "eps": eps}))


def _product(size: Any) -> int:
    made = 1
    for n in size:
        made *= n
    return made


@names("nn.functional.batch_norm")
def _batch_norm(input: Tensor, running_mean: Any, running_var: Any, weight: Any = None, bias: Any = None, training: bool = False,
                momentum: float = 0.1, eps: float = 1e-5) -> Named | None:
    if not input.numel():
        return exactly("clone", {"self": input})._replace(pick=lambda made: [made])        # type: ignore[union-attr]
    found = exactly("native_batch_norm", {"input": input, "weight": weight, "bias": bias, "running_mean": running_mean,
                                          "running_var": running_var, "training": training, "momentum": momentum, "eps": eps})
    return None if found is None else found._replace(pick=lambda made: [made[0]])


@names("nn.functional.scaled_dot_product_attention")
def _attention(query: Tensor, key: Tensor, value: Tensor, attn_mask: Any = None, dropout_p: float = 0.0, is_causal: bool = False,
               scale: Any = None, enable_gqa: bool = False) -> Named | None:
    return _first(exactly("_scaled_dot_product_flash_attention_for_cpu", _given(
        query=query, key=key, value=value, dropout_p=dropout_p, is_causal=is_causal, attn_mask=attn_mask, scale=scale)))


def sizes(value: Any, n: int) -> list[int]:
    """Return an int or a list of ints as a list with one int for each dim."""
    if value.__class__ in LISTS:
        return list(value) * n if len(value) == 1 else list(value)
    return [value] * n


def padding_of(padding: Any, weight: Any, dilation: Any, n: int) -> list[int]:
    """Return a convolution's padding, possibly "valid" or "same", as numbers."""
    if padding == "valid":
        return [0] * n
    if padding == "same":
        return [d * (k - 1) // 2 for d, k in zip(sizes(dilation, n), weight.shape[2:], strict=True)]
    return sizes(padding, n)


def _convolution(n: int, transposed: bool) -> Callable:
    def find(input: Tensor, weight: Tensor, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
             groups: int = 1, output_padding: Any = 0) -> Named | None:
        if input.dim() != n + 2:
            return None
        return exactly("convolution", {
            "input": input, "weight": weight, "bias": bias, "stride": sizes(stride, n),
            "padding": padding_of(padding, weight, dilation, n), "dilation": sizes(dilation, n), "transposed": transposed,
            "output_padding": sizes(output_padding, n), "groups": groups})
    return find


for _n in (1, 2, 3):
    NAMES[f"nn.functional.conv{_n}d"] = _convolution(_n, False)
    NAMES[f"nn.functional.conv_transpose{_n}d"] = _convolution(_n, True)


def _max_pool(n: int) -> Callable:
    def find(input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False,
             return_indices: bool = False) -> Named | None:
        found = exactly(f"max_pool{n}d_with_indices", {
            "self": input, "kernel_size": sizes(kernel_size, n), "stride": [] if stride is None else sizes(stride, n),
            "padding": sizes(padding, n), "dilation": sizes(dilation, n), "ceil_mode": ceil_mode})
        return found if return_indices else _first(found)
    return find


def _avg_pool(n: int) -> Callable:
    def find(input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
             count_include_pad: bool = True, divisor_override: Any = None) -> Named | None:
        return exactly(f"avg_pool{n}d", {
            "self": input, "kernel_size": sizes(kernel_size, n), "stride": [] if stride is None else sizes(stride, n),
            "padding": sizes(padding, n), "ceil_mode": ceil_mode, "count_include_pad": count_include_pad,
            "divisor_override": divisor_override})
    return find


def _adaptive(name: str, n: int, first: bool) -> Callable:
    def find(input: Tensor, output_size: Any, return_indices: bool = False) -> Named | None:
        wanted = [have if want is None else want for want, have in zip(sizes(output_size, n), input.shape[-n:], strict=True)]
        found = exactly(name, {"self": input, "output_size": wanted})
        return _first(found) if first and not return_indices else found
    return find


for _n in (2, 3):
    NAMES[f"nn.functional.max_pool{_n}d"] = _max_pool(_n)
    NAMES[f"nn.functional.avg_pool{_n}d"] = _avg_pool(_n)
    NAMES[f"nn.functional.adaptive_avg_pool{_n}d"] = _adaptive(f"_adaptive_avg_pool{_n}d", _n, False)
    NAMES[f"nn.functional.adaptive_max_pool{_n}d"] = _adaptive(f"adaptive_max_pool{_n}d", _n, True)
NAMES["nn.functional.adaptive_max_pool1d"] = _adaptive("adaptive_max_pool1d", 1, True)


_UPSAMPLED = {"bilinear": "upsample_bilinear2d", "bicubic": "upsample_bicubic2d", "linear": "upsample_linear1d",
              "trilinear": "upsample_trilinear3d"}


@names("nn.functional.interpolate")
def _interpolate(input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: Any = None,
                 recompute_scale_factor: Any = None, antialias: bool = False) -> Named | None:
    if antialias or mode == "area":
        return None
    n = input.dim() - 2
    factors = None if scale_factor is None or recompute_scale_factor else [float(f) for f in sizes(scale_factor, n)]
    wanted = sizes(size, n) if size is not None else [int(d * f) for d, f in zip(
        input.shape[2:], sizes(scale_factor, n), strict=True)]
    scales: list[Any] = factors or [None] * n
    given: dict[str, Any] = {"self": input, "output_size": wanted}
    keys = ["scales"] if n == 1 else ["scales_d", "scales_h", "scales_w"][3 - n:]
    given.update({k: s for k, s in zip(keys, scales, strict=True) if s is not None})
    if mode in _UPSAMPLED:
        return exactly(_UPSAMPLED[mode], {**given, "align_corners": bool(align_corners)})
    return exactly(f"upsample_{'nearest' if mode == 'nearest' else '_nearest_exact'}{n}d".replace("upsample__", "_upsample_"),
                   given)


@names("nn.functional.unfold")
def _unfold(input: Tensor, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Named | None:
    return exactly("im2col", {"self": input, "kernel_size": sizes(kernel_size, 2), "dilation": sizes(dilation, 2),
                              "padding": sizes(padding, 2), "stride": sizes(stride, 2)})


@names("nn.functional.fold")
def _fold(input: Tensor, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0,
          stride: Any = 1) -> Named | None:
    return exactly("col2im", {"self": input, "output_size": sizes(output_size, 2), "kernel_size": sizes(kernel_size, 2),
                              "dilation": sizes(dilation, 2), "padding": sizes(padding, 2), "stride": sizes(stride, 2)})


@names("nn.functional.pad")
def _pad(input: Tensor, pad: Any, mode: str = "constant", value: Any = None) -> Named | None:
    if mode == "constant":
        return exactly("constant_pad_nd", {"self": input, "pad": list(pad), "value": 0.0 if value is None else value})
    kind = {"reflect": "reflection", "replicate": "replication"}.get(mode)
    return kind and exactly(f"{kind}_pad{len(pad) // 2}d", {"self": input, "padding": list(pad)})      # type: ignore[return-value]


@names("nn.functional.elu")
def _elu(input: Tensor, alpha: Any = 1.0) -> Named | None:
    return exactly("elu", {"self": input, "alpha": alpha})


@names("nn.functional.relu6")
def _relu6(input: Tensor) -> Named | None:
    return exactly("hardtanh", {"self": input, "min_val": 0, "max_val": 6})


@names("nn.functional.selu")
def _selu(input: Tensor) -> Named | None:
    return exactly("elu", {"self": input, "alpha": 1.6732632423543772, "scale": 1.0507009873554805})


@names("arange")
def _arange(start: Any, end: Any = None, step: Any = None, dtype: Any = None) -> Named | None:
    place = _given(dtype=dtype, device=canonical(default_device()), pin_memory=False)
    if end is None:
        return fitting("arange", {"end": start, **place})
    if step is None:
        return exactly("arange.start", {"start": start, "end": end, **place})
    return exactly("arange.start_step", {"start": start, "end": end, "step": step, **place})


@names("square")
def _square(input: Tensor) -> Named | None:
    return exactly("pow.Tensor_Scalar", {"self": input, "exponent": 2})


def _extreme(op: str, of_two: str) -> None:
    def find(input: Tensor, other: Any = None, **rest: Any) -> Named | None:
        return None if other is None else exactly(of_two, {"self": input, "other": other})
    NAMES[op] = find


_extreme("max", "maximum")
_extreme("min", "minimum")


@names("masked_fill")
def _masked_fill(input: Tensor, mask: Tensor, value: Any) -> Named | None:
    kind = "Tensor" if isinstance(value, Tensor) else "Scalar"
    return exactly(f"masked_fill.{kind}", {"self": input, "mask": mask, "value": value})


@names("norm")
def _norm(input: Tensor, p: Any = "fro", dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Named | None:
    if p not in ("fro", 2, None) and not isinstance(p, (int, float)):
        return None
    dims = None if dim is None else [dim] if dim.__class__ is int else _listed(dim)
    return exactly("linalg_vector_norm", _given(self=input, ord=2 if p in ("fro", None) else p, dim=dims, keepdim=keepdim,
                                                dtype=dtype))


def options(t: Tensor) -> dict[str, Any]:
    """Return a tensor's dtype, layout and device as keyword arguments."""
    return described(t.dtype, single(storage.aval_of(t).device))
