"""The derivatives of convolutions, pooling, normalization, attention, ``prelu``, padding, ``interpolate`` and ``unfold``."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from jtorch._aten.composites.shapes import summed_to
from jtorch._aten.context import Context
from jtorch._aten.derivatives.rules import RULES, F, Grads, by_operator, itself, rule
from jtorch._aten.history import note_saved
from jtorch._aten.operators import NAMES, padding_of, sizes
from jtorch._library.namespaces import ops

aten = ops.aten


def _convolution(n: int, transposed: bool) -> Callable:
    def run(c: Context) -> Any:
        x, weight = c.args["input"], c.weight
        if x.dim() != n + 2:
            return NotImplemented
        mask = [c.needs_of(name) for name in ("input", "weight", "bias")]
        return c.operator("convolution_backward", {
            "grad_output": c.grad(), "input": x, "weight": weight,
            "bias_sizes": None if c.bias is None else [c.bias.shape[0]], "stride": sizes(c.stride, n),
            "padding": padding_of(c.padding, weight, c.dilation, n), "dilation": sizes(c.dilation, n), "transposed": transposed,
            "output_padding": sizes(c.args.get("output_padding", 0), n), "groups": c.groups, "output_mask": mask},
            {"input": 0, "weight": 1, "bias": 2})
    return run


def _max_pool(n: int) -> Callable:
    def run(c: Context) -> Any:
        if not c.has_kept():
            return NotImplemented
        return c.operator(f"max_pool{n}d_with_indices_backward", {
            "grad_output": c.grad(), **itself(c), "kernel_size": sizes(c.kernel_size, n),
            "stride": [] if c.stride is None else sizes(c.stride, n), "padding": sizes(c.padding, n),
            "dilation": sizes(c.dilation, n), "ceil_mode": c.ceil_mode, "indices": c.kept(1)}, {"input": None})
    return run


def _avg_pool(n: int) -> Callable:
    def run(c: Context) -> Any:
        return c.operator(f"avg_pool{n}d_backward", {
            "grad_output": c.grad(), **itself(c), "kernel_size": sizes(c.kernel_size, n),
            "stride": [] if c.stride is None else sizes(c.stride, n), "padding": sizes(c.padding, n), "ceil_mode": c.ceil_mode,
            "count_include_pad": c.count_include_pad, "divisor_override": c.divisor_override}, {"input": None})
    return run


for _n in (1, 2, 3):
    RULES[f"{F}conv{_n}d"] = _convolution(_n, False)
    RULES[f"{F}conv_transpose{_n}d"] = _convolution(_n, True)
for _n in (2, 3):
    RULES[f"{F}max_pool{_n}d"] = _max_pool(_n)
    RULES[f"{F}avg_pool{_n}d"] = _avg_pool(_n)
    by_operator(f"{F}adaptive_avg_pool{_n}d", f"_adaptive_avg_pool{_n}d_backward", itself)


@rule(f"{F}adaptive_max_pool2d")
def _adaptive_max_pool2d(c: Context) -> Any:
    return c.operator("adaptive_max_pool2d_backward", {"grad_output": c.grad(), **itself(c), "indices": c.kept(1)},
                      {"input": None}) if c.has_kept() else NotImplemented


@rule(f"{F}layer_norm")
def _layer_norm(c: Context) -> Any:
    if not c.has_kept():
        return NotImplemented
    return c.operator("native_layer_norm_backward", {
        "grad_out": c.grad(), "input": c.args["input"], "normalized_shape": list(c.normalized_shape), "mean": c.kept(1),
        "rstd": c.kept(2), "weight": c.weight, "bias": c.bias,
        "output_mask": [c.needs_of(n) for n in ("input", "weight", "bias")]}, {"input": 0, "weight": 1, "bias": 2})


@rule(f"{F}batch_norm")
def _batch_norm(c: Context) -> Any:
    if not c.has_kept():
        return NotImplemented
    return c.operator("native_batch_norm_backward", {
        "grad_out": c.grad(), "input": c.args["input"], "weight": c.weight, "running_mean": c.running_mean,
        "running_var": c.running_var, "save_mean": c.kept(1), "save_invstd": c.kept(2), "train": c.training, "eps": c.eps,
        "output_mask": [c.needs_of(n) for n in ("input", "weight", "bias")]}, {"input": 0, "weight": 1, "bias": 2})


@rule(f"{F}group_norm")
def _group_norm(c: Context) -> Any:
    if not c.has_kept():
        return NotImplemented
    x = c.args["input"]
    return c.operator("native_group_norm_backward", {
        "grad_out": c.grad().contiguous(), "input": x, "mean": note_saved(c.kept(1)), "rstd": note_saved(c.kept(2)),
        "weight": c.weight, "N": x.shape[0], "C": x.shape[1], "HxW": math.prod(x.shape[2:]), "group": c.num_groups,
        "output_mask": [c.needs_of(n) for n in ("input", "weight", "bias")]}, {"input": 0, "weight": 1, "bias": 2})


@rule("prelu")
def _prelu(c: Context) -> Any:
    x, weight = c.args["input"], c.weight
    shape = [weight.numel() if d == 1 else 1 for d in range(x.dim())]
    if x.dim() < 2:
        return NotImplemented
    made = c.operator("_prelu_kernel_backward", {"grad_output": c.grad(), "self": x, "weight": weight.view(shape)},
                      {"input": 0, "weight": 1})
    if c.needs_of("weight"):
        made["weight"] = summed_to(made["weight"], tuple(shape)).view(tuple(weight.shape))
    return made


@rule(f"{F}scaled_dot_product_attention")
def _attention(c: Context) -> Any:
    if not c.has_kept() or len(c.node.kept) != 2 or c.needs_of("attn_mask"):
        return NotImplemented
    given = {"grad_out": c.grad(), "query": c.query, "key": c.key, "value": c.value, "out": c.result(), "logsumexp": c.kept(1),
             "dropout_p": c.dropout_p, "is_causal": c.is_causal}
    given.update({k: c.args[k] for k in ("attn_mask", "scale") if c.args.get(k) is not None})
    return c.operator("_scaled_dot_product_flash_attention_for_cpu_backward", given, {"query": 0, "key": 1, "value": 2})


@rule(f"{F}pad")
def _pad(c: Context) -> Any:
    x, mode = c.args["input"], c.mode
    if mode == "constant":
        return {"input": aten.constant_pad_nd.default(c.grad(), [-p for p in c.pad])}
    kind = {"reflect": "reflection", "replicate": "replication"}.get(mode)
    if kind is None:
        return NotImplemented
    return c.operator(f"{kind}_pad{len(c.pad) // 2}d_backward", {"grad_output": c.grad(), "self": x, "padding": list(c.pad)},
                      {"input": None})


@rule(f"{F}interpolate")
def _interpolate(c: Context) -> Any:
    named = NAMES[f"{F}interpolate"](**c.args)
    if named is None:
        return NotImplemented
    given = dict(zip([a.name for a in named.func._schema.arguments], named.args, strict=False))
    x = given.pop("self")
    return c.operator(f"{named.func._opname}_backward", {"grad_output": c.grad(), **given, "input_size": list(x.shape)},
                      {"input": None})


@rule(f"{F}unfold")
def _unfold(c: Context) -> Grads:
    x = c.args["input"]
    return {"input": aten.col2im.default(c.grad(), list(x.shape[-2:]), *[sizes(c.args[k], 2) for k in (
        "kernel_size", "dilation", "padding", "stride")])}
