"""Functions of torch.nn.functional that draw random numbers: dropouts, rrelu, gumbel_softmax."""
from __future__ import annotations

import functools
from typing import Any

import jax

import jtorch.dtype as dtypes
from jtorch._api import functions, nn_functions, overridden
from jtorch._api.conversion import clone
from jtorch._api.names import put
from jtorch._api.typed_tensors import MemoryFormat
from jtorch._base import late_bindings, warned
from jtorch.dispatch import call, call_inplace, sample_random
from jtorch.engine import call_of
from jtorch.ops import random as draw
from jtorch.ops.check import broadcast_shapes
from jtorch.ops.layout import preserved
from jtorch.ops.registry import NUMBERS, OPS, T, freeze
from jtorch.random import drawn
from jtorch.storage import aval_of, geometry_of, lay_out
from jtorch.tensor import Tensor, wrap


def _check_p(p: float) -> None:
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def _mask(input: Tensor, shape: tuple[int, ...], p: float, dtype: dtypes.dtype | None = None) -> Tensor:
    d = dtype or aval_of(input).dtype

    def of_size(lead: tuple[int, ...]) -> Tensor:
        size = (*lead, *shape)
        return wrap(drawn(size, d, aval_of(input).device, None, lambda s: draw.dropout_mask(s, size, d.np, p),
                          lambda k: jax.random.bernoulli(k, 1 - p, size)))
    return sample_random.for_samples(of_size)


def _mask_like(input: Tensor, p: float) -> Tensor:
    """Draw a mask for each element of ``input``, in the order of its memory."""
    shape, d = tuple(aval_of(input).shape), aval_of(input).dtype
    if input._view is None or aval_of(input).traced:
        return _mask(input, shape, p)
    stride = preserved(*geometry_of(input)[:2])
    made = wrap(drawn(shape, d, aval_of(input).device, None,
                      lambda s: draw.place(draw.dropout_mask(s, shape, d.np, p), shape, stride),
                      lambda k: jax.random.bernoulli(k, 1 - p, shape)))
    lay_out(made, stride)
    return made


def _dropped(input: Tensor, p: float, training: bool, inplace: bool, shape: tuple[int, ...] | None = None) -> Tensor:
    """Apply dropout with a mask of ``shape``, by default the input's shape."""
    if not training or p == 0 or not aval_of(input).numel:
        return input
    if late_bindings.aten is not None:
        made = late_bindings.aten.dropout(input, p, inplace, shape)
        if made is not None:
            return made
    c = call_of(OPS["_dropout_with_mask"], (T, T, NUMBERS[float]))
    shape = () if p == 1 else shape
    flat = [input, _mask_like(input, p) if shape is None else _mask(input, shape, p), 1.0 / (1.0 - p) if p < 1 else 0.0]
    return call_inplace(c, flat) if inplace else call(c, flat)


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zero elements with probability p and scale the others by 1/(1-p). See torch.nn.functional.dropout."""
    _check_p(p)
    return _dropped(input, p, training, inplace)


def feature_dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Apply dropout to whole channels. See torch.nn.functional.dropout2d."""
    _check_p(p)
    return _dropped(input, p, training, inplace, draw.feature_dropout_size(tuple(aval_of(input).shape)))


def _of_channels(n: int):
    """Return dropout1d, dropout2d or dropout3d, for inputs with ``n`` spatial dims."""
    def of_channels(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
        _check_p(p)
        _check_channels(n, input.dim())
        if n == 2 or input.dim() == n + 2:
            return feature_dropout(input, p, training, inplace)
        if not inplace:     # The input has no batch dim.
            return feature_dropout(input.unsqueeze(0), p, training).squeeze(0)      # type: ignore[attr-defined]
        return _dropped(input, p, training, inplace, draw.feature_dropout_size((1, *input.shape))[1:])
    of_channels.__name__ = of_channels.__qualname__ = f"dropout{n}d"
    of_channels.__doc__ = f"Dropout of whole channels of {n}-dimensional data. See torch.nn.functional.dropout{n}d."
    return of_channels


def _check_channels(n: int, ndim: int) -> None:
    """Raise PyTorch's error or warn if an input's number of dims does not fit dropout1d, 2d or 3d."""
    made_for = (f"Note that dropout{n}d exists to provide channel-wise dropout on inputs with {n} spatial "
                f"dimension{'s' if n > 1 else ''}, a channel dimension, and an optional batch dimension (i.e. {n + 1}D or "
                f"{n + 2}D inputs).")
    if ndim not in (n + 1, n + 2):
        if n == 1:
            raise RuntimeError(f"dropout1d: Expected 2D or 3D input, but received a {ndim}D input. {made_for}")
        warned.warn(f"dropout{n}d: Received a {ndim}-D input to dropout{n}d, which is deprecated and will result in an error "
                    "in a future release. To retain the behavior and silence this warning, please use dropout instead. "
                    f"{made_for}")
    if n == 2 and ndim == 3:
        warned.warn("dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout behavior is desired "
                    "- input is interpreted as shape (N, C, L), where C is the channel dim. This behavior will change in a "
                    "future release to interpret the input as one without a batch dimension, i.e. shape (C, H, W). To "
                    "maintain the 1D channel-wise dropout behavior, please switch to using dropout1d instead.")


def torch_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """Apply dropout, with torch.dropout's arguments."""
    draw.check_dropout(p)
    return _dropped(input, p, train, inplace=False)


def _alpha(input: Tensor, p: float, training: bool, inplace: bool, shape: tuple[int, ...] | None = None) -> Tensor:
    _check_p(p)
    if not training or p in (0, 1) or not aval_of(input).numel:
        return _dropped(input, p, training, inplace)
    c = call_of(OPS["_alpha_dropout_with_mask"], (T, T, freeze(float(p))))
    flat = [input, _mask_like(input, p) if shape is None else _mask(input, shape, p)]
    return call_inplace(c, flat) if inplace else call(c, flat)


def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Apply dropout that keeps mean and variance, for selu. See torch.nn.functional.alpha_dropout."""
    return _alpha(input, p, training, inplace)


def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Apply alpha dropout to whole channels. See torch.nn.functional.feature_alpha_dropout."""
    return _alpha(input, p, training, inplace, draw.feature_dropout_size(tuple(aval_of(input).shape)) if training and p else None)


def rrelu(input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False,
          inplace: bool = False) -> Tensor:
    """Apply leaky relu with random slopes in training. See torch.nn.functional.rrelu."""
    return _rrelu(input, lower, upper, training, inplace, None)


def _rrelu(input: Tensor, lower: float, upper: float, training: bool, inplace: bool, generator: Any) -> Tensor:
    if not training:
        return overridden.rrelu(input, lower, upper, False, inplace=inplace)
    sample_random.refuse_all("rrelu")
    shape, d = tuple(aval_of(input).shape), aval_of(input).dtype
    noise = wrap(drawn(shape, d, aval_of(input).device, generator,
                       lambda s: draw.rrelu_noise(s, input._numpy_copy(), lower, upper),
                       lambda k: jax.random.uniform(k, shape, d.np, lower, upper)))
    c = call_of(OPS["_rrelu_with_noise"], (T, T))
    return call_inplace(c, [input, noise]) if inplace else call(c, [input, noise])


def rrelu_(input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False) -> Tensor:
    """Apply rrelu in place. See torch.nn.functional.rrelu_."""
    return rrelu(input, lower, upper, training, inplace=True)


def _rrelu_of_torch(inplace: bool) -> Any:
    """Return ``torch.rrelu`` or ``torch.rrelu_``, which take a generator."""
    def function(input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False,
                 generator: Any = None) -> Tensor:
        return _rrelu(input, lower, upper, training, inplace, generator)
    function.__name__ = function.__qualname__ = "rrelu_" if inplace else "rrelu"
    place = ", in place" if inplace else ""
    function.__doc__ = f"Apply leaky relu with random slopes in training{place}. See torch.nn.functional.rrelu."
    return function


def _contiguous(like: Tensor) -> Any:
    """Return a contiguous copy, which the caller fills with random numbers."""
    return clone(like.detach(), memory_format=MemoryFormat("contiguous_format"))


def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """Sample from the Gumbel-softmax distribution; ``hard`` makes the samples one-hot.

    See torch.nn.functional.gumbel_softmax.
    """
    if eps != 1e-10:
        warned.warn("`eps` parameter is deprecated and has no effect.")
    gumbels = -_contiguous(logits).exponential_().log()
    soft = ((logits + gumbels) / tau).softmax(dim)
    if not hard:
        return soft
    index = soft.max(dim, keepdim=True)[1]
    one_hot = _contiguous(logits).zero_().scatter_(dim, index, 1.0)
    return one_hot - soft.detach() + soft


def scaled_dot_product_attention(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None,
                                 dropout_p: float = 0.0, is_causal: bool = False, scale: float | None = None,
                                 enable_gqa: bool = False) -> Tensor:
    """Compute attention, with dropout of its weights. See torch.nn.functional.scaled_dot_product_attention."""
    if dropout_p == 0:
        return overridden.scaled_dot_product_attention(query, key, value, attn_mask, 0.0, is_causal, scale=scale,
                                                     enable_gqa=enable_gqa)
    batch = query.shape[:-2] if enable_gqa else broadcast_shapes(query.shape[:-2], key.shape[:-2])
    shape = (*batch, query.shape[-2], key.shape[-2])
    kept = _mask(query, shape, dropout_p, dtypes.bool_)
    marks = (T, T, T, T, T if attn_mask is not None else None, freeze(float(dropout_p)), bool(is_causal), freeze(scale),
             bool(enable_gqa))
    return call(call_of(OPS["_attention_with_dropout_mask"], marks),
                [query, key, value, kept, *([attn_mask] if attn_mask is not None else [])])


def _of_torch(function: Any) -> Any:
    """Return ``function`` with the check and the errors of the function of the same name in ``torch``."""
    @functools.wraps(function)
    def checked(input: Tensor, p: float, train: bool, inplace: bool = False) -> Tensor:
        draw.check_dropout(p)
        return function(input, p, train, inplace)
    del checked.__wrapped__     # type: ignore[attr-defined]
    return checked


def bind() -> None:
    """Bind the functions of this file to PyTorch's names."""
    both = {"alpha_dropout": alpha_dropout, "feature_alpha_dropout": feature_alpha_dropout}
    rrelus = {"rrelu": rrelu, "rrelu_": rrelu_}
    put(nn_functions, {"dropout": dropout, **both, **{f"dropout{n}d": _of_channels(n) for n in (1, 2, 3)},
                       "gumbel_softmax": gumbel_softmax})
    put(nn_functions, {**rrelus, "scaled_dot_product_attention": scaled_dot_product_attention}, replaces=True)
    others = {**both, "feature_dropout": feature_dropout}
    put(functions, {"dropout": torch_dropout, **{n: _of_torch(f) for n, f in others.items()}})
    put(functions, {"rrelu": _rrelu_of_torch(False), "rrelu_": _rrelu_of_torch(True)}, replaces=True)
