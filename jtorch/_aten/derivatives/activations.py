"""The derivatives of activations and losses."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jtorch._aten.context import Context
from jtorch._aten.derivatives.rules import RULES, F, by_operator, itself, rule
from jtorch._aten.operators import REDUCTIONS
from jtorch._library.namespaces import ops

aten = ops.aten


by_operator("relu", "threshold_backward", lambda c: {"self": c.result(), "threshold": 0})
by_operator("tanh", "tanh_backward", lambda c: {"output": c.result()})
by_operator("sigmoid", "sigmoid_backward", lambda c: {"output": c.result()})
by_operator("logit", "logit_backward", lambda c: {**itself(c), "eps": c.args.get("eps")})
by_operator(f"{F}relu6", "hardtanh_backward", lambda c: {**itself(c), "min_val": 0, "max_val": 6})
by_operator(f"{F}gelu", "gelu_backward", lambda c: {**itself(c), "approximate": c.approximate})
for _name in ("silu", "mish", "hardswish", "hardsigmoid"):
    by_operator(f"{F}{_name}", f"{_name}_backward", itself)
by_operator(f"{F}leaky_relu", "leaky_relu_backward",
             lambda c: {**itself(c), "negative_slope": c.negative_slope, "self_is_result": False})
by_operator(f"{F}hardtanh", "hardtanh_backward", lambda c: {**itself(c), "min_val": c.min_val, "max_val": c.max_val})
by_operator(f"{F}softplus", "softplus_backward", lambda c: {**itself(c), "beta": c.beta, "threshold": c.threshold})
by_operator(f"{F}glu", "glu_backward", lambda c: {**itself(c), "dim": c.dim})
by_operator(f"{F}elu", "elu_backward", lambda c: {"alpha": c.alpha, "scale": 1, "input_scale": 1, "is_result": False,
                                                    "self_or_result": c.args["input"]})
by_operator(f"{F}selu", "elu_backward", lambda c: {
    "alpha": 1.6732632423543772, "scale": 1.0507009873554805, "input_scale": 1, "is_result": False,
    "self_or_result": c.args["input"]})
by_operator(f"{F}logsigmoid", "log_sigmoid_backward",
             lambda c: {**itself(c), "buffer": c.kept(1) if c.has_kept() else (-c.args["input"].abs()).exp()})


def _softmaxes(log: bool) -> Callable:
    name = f"_{'log_' if log else ''}softmax_backward_data"

    def run(c: Context) -> Any:
        if c.args.get("dim") is None:
            return NotImplemented
        y = c.result()
        return c.operator(name, {"grad_output": c.grad(), "output": y, "dim": c.dim, "input_dtype": c.args["input"].dtype},
                          {"input": None})
    return run


for _name in ("softmax", "log_softmax"):
    RULES[_name] = RULES[F + _name] = _softmaxes(_name.startswith("log"))


# ---------------------------------------------------------------- losses

def _loss(name: str, *others: str) -> None:
    def given(c: Context) -> dict[str, Any]:
        return {**itself(c), "target": c.target, "reduction": REDUCTIONS[c.reduction],
                **{k: c.args[k] for k in others if c.args.get(k) is not None}}

    def run(c: Context) -> Any:
        if c.needs_of("target", "weight") or c.args.get("size_average") is not None or c.args.get("reduce") is not None:
            return NotImplemented
        return c.operator(f"{name}_backward", {"grad_output": c.grad(), **given(c)}, {"input": None})
    RULES[F + name] = run


for _name, *_others in (("mse_loss",), ("smooth_l1_loss", "beta"), ("huber_loss", "delta"), ("soft_margin_loss",),
                        ("binary_cross_entropy", "weight"), ("multi_margin_loss", "p", "margin", "weight")):
    _loss(_name, *_others)


@rule(f"{F}nll_loss")
def _nll_loss(c: Context) -> Any:
    x = c.args["input"]
    if x.dim() not in (1, 2, 4) or c.args.get("size_average") is not None or c.args.get("reduce") is not None:
        return NotImplemented
    total = c.kept(1) if c.has_kept() else (c.target != c.ignore_index).sum().to(x.dtype)
    return c.operator("nll_loss2d_backward" if x.dim() == 4 else "nll_loss_backward", {
        "grad_output": c.grad(), "self": x, "target": c.target, "weight": c.weight, "reduction": REDUCTIONS[c.reduction],
        "ignore_index": c.ignore_index, "total_weight": total}, {"input": None})


@rule(f"{F}binary_cross_entropy_with_logits")
def _bce_with_logits(c: Context) -> Any:
    if c.args.get("weight") is not None or c.args.get("pos_weight") is not None or c.needs_of("target") \
            or c.args.get("size_average") is not None or c.args.get("reduce") is not None:
        return NotImplemented
    x = c.args["input"]
    made = (x.sigmoid() - c.target) * c.grad()
    return {"input": aten.div.Scalar(made, x.numel()) if c.reduction == "mean" else made}
