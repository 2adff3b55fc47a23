"""The backward operators of ``torch.ops.aten``, such as ``gelu_backward``, as gradients of the forward functions."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jtorch._api import functions, nn_functions
from jtorch._library.aten_forms import FORMS, REDUCTIONS
from jtorch.autograd import grad as autograd_grad
from jtorch.no_grad import enable_grad, mode
from jtorch.tensor import Tensor

GRADIENTS: dict[str, Callable] = {}


def gradients(function: Callable, inputs: Sequence[Any], grad: Any) -> list:
    """Return the gradients of a function's inputs, None for inputs that are None.

    They can be differentiated if gradients are on and an input or ``grad`` requires one.
    """
    tracks = mode.grad and any([isinstance(t, Tensor) and t.requires_grad for t in [*inputs, grad]])
    with enable_grad():
        given = [t if t is None or (tracks and t.requires_grad) else t.detach().requires_grad_() for t in inputs]
        made = function(*given)
    wanted = [t for t in given if t is not None]
    found = iter(autograd_grad(made, wanted, grad, create_graph=tracks, allow_unused=True))
    return [None if t is None else next(found) for t in given]


def gradient(name: str) -> Callable:
    """Register a function as the kernel of an operator."""
    def note(fn: Callable) -> Callable:
        GRADIENTS[name] = fn
        return fn
    return note


def _of_one(name: str, function: Callable) -> None:
    """Register the operator ``name(grad, x, *rest)``, the gradient of ``function(x, *rest)`` by ``x``."""
    def kernel(grad: Any, x: Any, *rest: Any, **named: Any) -> Any:
        return gradients(lambda t: function(t, *rest, **named), [x], grad)[0]
    GRADIENTS[name] = kernel


def _nn(name: str) -> Callable:
    return lambda *args, **kwargs: getattr(nn_functions, name)(*args, **kwargs)


for _name in ("gelu", "silu", "mish", "hardswish", "hardsigmoid", "hardtanh", "softplus", "glu"):
    _of_one(f"{_name}_backward", _nn(_name))
_of_one("logit_backward", lambda x, eps=None: functions.logit(x, eps))
_of_one("hardshrink_backward", _nn("hardshrink"))
_of_one("softshrink_backward", _nn("softshrink"))
for _n in (2, 3):
    _of_one(f"avg_pool{_n}d_backward", FORMS[f"avg_pool{_n}d"])
    _of_one(f"max_pool{_n}d_with_indices_backward", lambda x, *rest, _pool=FORMS[f"max_pool{_n}d_with_indices"]:
            _pool(x, *rest[:-1])[0])
for _kind in ("reflection", "replication"):
    for _n in (1, 2, 3):
        _of_one(f"{_kind}_pad{_n}d_backward", FORMS[f"{_kind}_pad{_n}d"])
for _name in ("mse_loss", "smooth_l1_loss", "huber_loss", "soft_margin_loss", "binary_cross_entropy", "multi_margin_loss"):
    _of_one(f"{_name}_backward", FORMS[_name])


@gradient("threshold_backward")
def _threshold(grad: Any, x: Any, threshold: Any) -> Any:
    return grad.masked_fill(x <= threshold, 0)


@gradient("tanh_backward")
def _tanh(grad: Any, output: Any) -> Any:
    return grad * (1 - output * output)


@gradient("sigmoid_backward")
def _sigmoid(grad: Any, output: Any) -> Any:
    return grad * (output * (1 - output))


@gradient("leaky_relu_backward")
def _leaky_relu(grad: Any, x: Any, negative_slope: Any, self_is_result: bool) -> Any:
    return functions.where(x > 0, grad, grad * negative_slope)


@gradient("elu_backward")
def _elu(grad: Any, alpha: Any, scale: Any, input_scale: Any, is_result: bool, x: Any) -> Any:
    slope = (x + alpha * scale) * input_scale if is_result else alpha * scale * input_scale * functions.exp(x * input_scale)
    return grad * functions.where(x > 0, functions.full_like(x, scale), slope)


@gradient("log_sigmoid_backward")
def _log_sigmoid(grad: Any, x: Any, buffer: Any) -> Any:
    return grad * functions.sigmoid(-x)      # type: ignore[operator]


@gradient("_prelu_kernel_backward")
def _prelu(grad: Any, x: Any, weight: Any) -> tuple[Any, Any]:
    zero = functions.zeros_like(grad)
    return functions.where(x > 0, grad, weight * grad), functions.where(x > 0, zero, x * grad)


@gradient("_log_softmax_backward_data")
def _log_softmax(grad: Any, output: Any, dim: int, input_dtype: Any) -> Any:
    return (grad - output.exp() * grad.sum(dim, keepdim=True)).to(input_dtype)


def _nll(grad: Any, x: Any, target: Any, weight: Any, reduction: int, ignore_index: int, total_weight: Any) -> Any:
    return gradients(lambda t: nn_functions.nll_loss(t, target, weight, ignore_index=ignore_index,
                                                     reduction=REDUCTIONS[reduction]), [x], grad)[0]


GRADIENTS["nll_loss_backward"] = GRADIENTS["nll_loss2d_backward"] = _nll


@gradient("embedding_dense_backward")
def _embedding(grad: Any, indices: Any, num_weights: int, padding_idx: int, scale_grad_by_freq: bool) -> Any:
    weight = grad.new_zeros((num_weights, grad.shape[-1]))
    return gradients(lambda w: FORMS["embedding"](w, indices, padding_idx, scale_grad_by_freq), [weight], grad)[0]


def _masked(found: list, mask: Sequence[bool]) -> tuple:
    return tuple([g if wanted else None for g, wanted in zip(found, mask, strict=True)])


@gradient("convolution_backward")
def _convolution(grad: Any, x: Any, weight: Any, bias_sizes: Any, stride: Any, padding: Any, dilation: Any, transposed: bool,
                 output_padding: Any, groups: int, output_mask: Any) -> tuple:
    def run(a: Any, b: Any) -> Any:
        return functions.convolution(a, b, None, stride, padding, dilation, transposed, output_padding, groups)   # type: ignore[attr-defined]
    found = gradients(run, [x, weight], grad)
    bias = grad.sum([0, *range(2, grad.dim())]) if output_mask[2] else None
    return _masked([*found, bias], output_mask)


def _normalized(grad: Any, x: Any, mean: Any, rstd: Any, weight: Any, dims: tuple[int, ...]) -> tuple[Any, Any]:
    """Return (the gradient of a normalization's input over ``dims``, the normalized values)."""
    wide, g = (t.float() if t.dtype.itemsize < 4 else t for t in (x, grad))
    values = (wide - mean) * rstd
    g = g if weight is None else g * weight
    along = values * (g * values).mean(dims, keepdim=True)
    return (rstd * (g - g.mean(dims, keepdim=True) - along)).to(x.dtype), values


@gradient("native_layer_norm_backward")
def _layer_norm(grad: Any, x: Any, normalized_shape: Any, mean: Any, rstd: Any, weight: Any, bias: Any,
                output_mask: Any) -> tuple:
    dims = tuple(range(-len(normalized_shape), 0))
    made, values = _normalized(grad, x, mean, rstd, weight, dims)
    rest = list(range(x.dim() - len(normalized_shape)))

    def total(t: Any) -> Any:
        return t.sum(rest) if rest else t
    return _masked([made, total(grad * values).to(x.dtype) if output_mask[1] else None,
                    total(grad) if output_mask[2] else None], output_mask)


@gradient("native_batch_norm_backward")
def _batch_norm(grad: Any, x: Any, weight: Any, running_mean: Any, running_var: Any, save_mean: Any, save_invstd: Any,
                train: bool, eps: float, output_mask: Any) -> tuple:
    mean, var = (None, None) if train else (running_mean, running_var)
    bias = x.new_zeros(x.shape[1]) if output_mask[2] else None
    found = gradients(lambda a, w, b: nn_functions.batch_norm(a, mean, var, w, b, train, 0.0, eps), [x, weight, bias], grad)
    return _masked(found, output_mask)


@gradient("native_group_norm_backward")
def _group_norm(grad: Any, x: Any, mean: Any, rstd: Any, weight: Any, N: int, C: int, HxW: int, group: int,
                output_mask: Any) -> tuple:
    shape = (N, group, C // group, HxW)
    scale = None if weight is None else weight.view(1, group, C // group, 1)
    rows, g = x.reshape(shape), grad.reshape(shape)
    made, values = _normalized(g, rows, mean.view(N, group, 1, 1), rstd.view(N, group, 1, 1), scale, (2, 3))
    return _masked([made.view(x.shape), (g * values).sum((0, 3)).view(C).to(x.dtype) if output_mask[1] else None,
                    g.sum((0, 3)).view(C) if output_mask[2] else None], output_mask)


@gradient("_scaled_dot_product_flash_attention_for_cpu_backward")
def _flash_attention(grad: Any, query: Any, key: Any, value: Any, out: Any, logsumexp: Any, dropout_p: float, is_causal: bool,
                     *, attn_mask: Any = None, scale: Any = None) -> tuple:
    return tuple(gradients(lambda q, k, v: nn_functions.scaled_dot_product_attention(
        q, k, v, attn_mask, 0.0, is_causal, scale=scale, enable_gqa=q.shape[-3] != k.shape[-3]), [query, key, value], grad))


for _n in (2, 3):
    def _adaptive_avg(grad: Any, x: Any, _name: str = f"adaptive_avg_pool{_n}d", _n: int = _n) -> Any:
        return gradients(lambda t: getattr(nn_functions, _name)(t, tuple(grad.shape[-_n:])), [x], grad)[0]

    def _adaptive_max(grad: Any, x: Any, indices: Any, _name: str = f"adaptive_max_pool{_n}d", _n: int = _n) -> Any:
        return gradients(lambda t: getattr(nn_functions, _name)(t, tuple(grad.shape[-_n:])), [x], grad)[0]
    GRADIENTS[f"_adaptive_avg_pool{_n}d_backward"] = _adaptive_avg
    GRADIENTS[f"adaptive_max_pool{_n}d_backward"] = _adaptive_max


def _upsampled(name: str) -> None:
    def kernel(grad: Any, output_size: Any, input_size: Any, *rest: Any) -> Any:
        return gradients(lambda t: FORMS[name](t, output_size, *rest), [grad.new_zeros(tuple(input_size))], grad)[0]
    GRADIENTS[f"{name}_backward"] = kernel


for _name in [n for n in FORMS if "upsample" in n]:
    _upsampled(_name)


# ---------------------------------------------------------------- views

@gradient("select_backward")
def _select(grad: Any, input_sizes: Any, dim: int, index: int) -> Any:
    made = grad.new_zeros(tuple(input_sizes))
    return made.select_scatter(grad, dim, index)


@gradient("slice_backward")
def _slice(grad: Any, input_sizes: Any, dim: int, start: int, end: int, step: int) -> Any:
    return grad.new_zeros(tuple(input_sizes)).slice_scatter(grad, dim, start, end, step)


@gradient("diagonal_backward")
def _diagonal(grad: Any, input_sizes: Any, offset: int, dim1: int, dim2: int) -> Any:
    return grad.new_zeros(tuple(input_sizes)).diagonal_scatter(grad, offset, dim1, dim2)


@gradient("unfold_backward")
def _unfold(grad: Any, input_sizes: Any, dim: int, size: int, step: int) -> Any:
    exact = not (grad.is_floating_point() or grad.is_complex())       # integers or bools, such as the gradient of a mask
    given = grad.double() if exact else grad
    made = gradients(lambda t: t.unfold(dim, size, step), [given.new_zeros(tuple(input_sizes))], given)[0]
    return made.to(grad.dtype) if exact else made
