"""Products of matrices: rows, columns and the summed dim can be split."""
from __future__ import annotations

from typing import Any

from jtorch._parallel.dtensor import DTensor, moved
from jtorch._parallel.placements import Partial, Replicate, Shard
from jtorch._parallel.rule import Rule
from jtorch._parallel.rules.arguments import argument, dtensors, handler, rule
from jtorch._parallel.rules.elementwise import broadcast_labels

_ONE_OF_TWO = ((True, False), (False, True))


def _batch(labels: tuple) -> tuple:
    return tuple([None if x is None else ("batch", x) for x in labels])


@rule("mm", "matmul", "bmm", "mv", "dot", "inner", "vdot")
def product(func: Any, args: tuple, kwargs: dict) -> Rule | None:
    """Return the rule of products of matrices, batches of matrices and vectors."""
    given = dtensors(args, kwargs)
    if len(given) != 2:
        return None
    a, b = [t._spec.shape for t in given]
    batch, out = broadcast_labels([a[:-2], b[:-2]])
    rows, columns = ("m",) if len(a) > 1 else (), ("n",) if len(b) > 1 else ()
    left, right = (*_batch(batch[0]), *rows, "k"), (*_batch(batch[1]), "k", *columns)
    result = (*_batch(out), *rows, *columns)
    return Rule([left, right], [result], "sum", _ONE_OF_TWO)


@handler("linear")
def linear_in_terms(func: Any, args: tuple, kwargs: dict) -> Any:
    """Compute ``linear`` with a bias if the features are split: each rank adds its term of the bias to its product."""
    x, weight, bias = args[0], argument(args, kwargs, 1, "weight"), argument(args, kwargs, 2, "bias")
    if not (isinstance(x, DTensor) and isinstance(weight, DTensor) and isinstance(bias, DTensor)):
        return NotImplemented
    last = len(x._spec.shape) - 1
    if not any(p == Shard(last) or q == Shard(1) for p, q in zip(x._spec.placements, weight._spec.placements, strict=True)):
        return NotImplemented
    terms = func(x, weight)
    wanted = tuple([p if isinstance(p, Partial) else Replicate() for p in terms._spec.placements])
    return terms + moved(bias, wanted)


@rule("linear")
def linear(func: Any, args: tuple, kwargs: dict) -> Rule | None:
    """Return the rule of x Wᵀ + b."""
    given = dtensors(args, kwargs)
    x, weight = given[:2]
    batch = tuple([("batch", d) for d in range(len(x._spec.shape) - 1)])
    ins: list = [(*batch, "k"), ("n", "k") if len(weight._spec.shape) == 2 else ("k",)]
    out = (*batch, "n") if len(weight._spec.shape) == 2 else batch
    if len(given) == 3:
        return Rule([*ins, ("n",)], [out])
    return Rule(ins, [out], "sum", _ONE_OF_TWO)


@rule("addmm", "baddbmm", "addmv", "addbmm")
def with_sum(func: Any, args: tuple, kwargs: dict) -> Rule | None:
    """Return the rule of a product that is added to a tensor."""
    given = dtensors(args, kwargs)
    name = getattr(func, "__name__", "").rstrip("_")
    if len(given) != 3 or name not in ("addmm", "baddbmm"):
        return None
    batch = ("batch",) if name == "baddbmm" else ()
    added = given[0]._spec.shape
    out = (*batch, "m", "n")
    wide = (*([given[1]._spec.shape[0]] if batch else []), given[1]._spec.shape[-2], given[2]._spec.shape[-1])
    labels = tuple([out[d + 3 - len(added) - (3 - len(out))] if n == wide[d + len(out) - len(added)] and n != 1 else None
                    for d, n in enumerate(added)])
    return Rule([labels, (*batch, "m", "k"), (*batch, "k", "n")], [out])


@rule("einsum")
def einsum(func: Any, args: tuple, kwargs: dict) -> Rule | None:
    """Return the rule of an einsum, whose letters are the labels."""
    equation = args[0]
    given = dtensors(args, kwargs)
    if not isinstance(equation, str) or "->" not in equation or "." in equation or len(given) != equation.count(",") + 1:
        return None
    left, right = equation.replace(" ", "").split("->")
    ins: list[Any] = [tuple(part) for part in left.split(",")]
    if any(len(set(part)) != len(part) for part in ins):
        return None
    linear = tuple([tuple([i == j for j in range(len(ins))]) for i in range(len(ins))])
    return Rule(ins, [tuple(right)], "sum", linear)


@rule("scaled_dot_product_attention")
def attention(func: Any, args: tuple, kwargs: dict) -> Rule | None:
    """Return the rule of attention, which is split by batch and head."""
    given = dtensors(args, kwargs)
    if len(given) != 3 or argument(args, kwargs, 3, "attn_mask") is not None or any(len(t._spec.shape) != 4 for t in given) \
            or len({t._spec.shape[1] for t in given}) != 1:
        return None
    labels = ("batch", "head", None, None)
    return Rule([labels] * 3, [labels])


@rule("conv1d", "conv2d", "conv3d")
def convolution(func: Any, args: tuple, kwargs: dict) -> Rule | None:
    """Return the rule of convolutions, which are split by batch or output channels."""
    given = dtensors(args, kwargs)
    ndim = len(given[0]._spec.shape)
    if ndim != len(given[1]._spec.shape):
        return None
    rest = (None,) * (ndim - 2)
    out = "n" if argument(args, kwargs, 6, "groups", default=1) == 1 else None
    ins: list = [("batch", None, *rest), (out, None, *rest), (out,)]
    return Rule(ins[:len(given)], [("batch", out, *rest)])
