"""torch.nested._internal.ops: the rules of functions of nested tensors, by the function's name."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from jtorch.nested._internal import pointwise, products, reductions, shapes
from jtorch.ops.registry import OPS

_SHAPES = {name: getattr(shapes, name) for name in
           "transpose permute view flatten unflatten unsqueeze squeeze expand expand_as select narrow unbind split chunk cat "
           "stack".split()}
_OTHERS: dict[str, Callable] = {
    **_SHAPES, "swapaxes": shapes.transpose, "swapdims": shapes.transpose, "reshape": shapes.view, "__getitem__": shapes.getitem,
    "split_with_sizes": shapes.split, "concat": shapes.cat,
    "softmax": reductions.softmax, "log_softmax": reductions.softmax, "layer_norm": reductions.layer_norm,
    "rms_norm": reductions.rms_norm, "mean": reductions.mean,
    "linear": products.linear, "matmul": products.matmul, "__matmul__": products.matmul, "bmm": products.bmm,
    "__rmatmul__": lambda func, a, b: products.matmul(func, b, a), "embedding": products.embedding,
    "scaled_dot_product_attention": products.attention,
    "contiguous": pointwise.contiguous, "masked_select": pointwise.masked_select,
}
_REDUCTIONS = "sum prod any all max min amax amin argmax argmin".split()
_NEW = "empty_like ones_like zeros_like rand_like randn_like full_like randint_like".split()
_CONVERSIONS = "to type cpu cuda float double half bfloat16 int long short char byte bool type_as".split()
_ON_VALUES = "clone pin_memory dropout alpha_dropout feature_dropout native_dropout detach".split()
_CONVOLUTIONS = [f"conv{n}d" for n in (1, 2, 3)] + [f"conv_transpose{n}d" for n in (1, 2, 3)]
_IN_PLACE = "copy zero fill normal uniform bernoulli random exponential masked_fill".split()
_OPERATORS = ("add sub mul truediv floordiv mod pow radd rsub rmul rtruediv rfloordiv rmod rpow eq ne lt le gt ge and or xor "
              "rand ror rxor lshift rshift neg pos abs invert").split()


@functools.cache
def _rules() -> dict[str, Callable]:
    """Return the rules by name. Names with two underscores are operators."""
    names = {name.rpartition(".")[2] for name, op in OPS.items() if op.elementwise}
    rules: dict[str, Callable] = dict.fromkeys([*names, "where", "masked_fill", "clamp"], pointwise.pointwise)
    rules |= {f"{name}_": pointwise.in_place for name in [*names, *_IN_PLACE]}
    rules |= {f"__{name}__": pointwise.pointwise for name in _OPERATORS}
    rules |= {f"__i{name}__": pointwise.in_place for name in _OPERATORS}
    for group, rule in ((_REDUCTIONS, reductions.reduction), (_NEW, pointwise.new_like), (_CONVERSIONS, pointwise.converted),
                        (_ON_VALUES, pointwise.on_values), (_CONVOLUTIONS, products.convolution)):
        rules |= dict.fromkeys(group, rule)
    return rules | _OTHERS


def rule_of(func: Any) -> Callable | None:
    """Return the rule of a function, or None."""
    return _rules().get(getattr(func, "__name__", ""))
