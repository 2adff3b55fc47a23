"""Functions with the names of PyTorch's kernels, such as ``torch.native_layer_norm``, built from public functions.

They also return what the kernels save for backward (means, reciprocal deviations, masks), without gradients.
"""
from __future__ import annotations

from typing import Any

import jtorch.dtype as dtypes
from jtorch._api import functions, nn_functions
from jtorch._api.names import put
from jtorch.no_grad import no_grad
from jtorch.tensor import Tensor, class_of

_MODES, _PADDINGS = ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection")


def _statistics(input: Any, dims: tuple[int, ...], eps: float, dtype: Any) -> tuple[Tensor, Tensor]:
    """Return the mean and the reciprocal standard deviation over ``dims``, keeping these dims with size 1."""
    with no_grad():
        x = input.float() if input.dtype.itemsize < 4 else input
        var, mean = functions.var_mean(x, dims, correction=0, keepdim=True)
        if not input.numel():
            mean = functions.zeros_like(mean)
        return mean.to(dtype), (var + eps).rsqrt().to(dtype)


def native_layer_norm(input: Tensor, normalized_shape: Any, weight: Tensor | None, bias: Tensor | None, eps: float):
    """Return layer_norm and each row's mean and reciprocal deviation. See torch.nn.functional.layer_norm."""
    shape = tuple(normalized_shape)
    made = nn_functions.layer_norm(input, shape, weight, bias, eps)
    kept = next((t.dtype for t in (weight, bias) if t is not None), input.dtype)
    return made, *_statistics(input, tuple(range(-len(shape), 0)), eps, kept)


def native_batch_norm(input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None,
                      running_var: Tensor | None, training: bool, momentum: float, eps: float):
    """Return batch_norm and, in training, each channel's mean and reciprocal deviation. See torch.nn.functional.batch_norm."""
    if training and not input.numel():
        raise RuntimeError(f"input tensor must have at least one element, but got input_sizes = {list(input.shape)}")
    made = nn_functions.batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)
    d = next((t.dtype for t in (running_mean, weight) if t is not None), input.dtype)
    if not training:
        return made, *(input.new_empty((0,), dtype=d) for _ in range(2))        # type: ignore[attr-defined]
    mean, invstd = _statistics(input, (0, *range(2, input.dim())), eps, d)
    return made, mean.reshape(-1), invstd.reshape(-1)       # type: ignore[attr-defined]


def native_dropout(input: Tensor, p: float, train: bool | None):
    """Return dropout and the mask of kept elements. See torch.nn.functional.dropout."""
    if train is False:
        return input.clone(), functions.ones_like(input, dtype=dtypes.bool_)        # type: ignore[attr-defined]
    if not (input.is_floating_point() or input.is_complex()):
        raise RuntimeError(f"result type Float can't be cast to the desired output type {input.dtype.scalar_name}")
    scale = 1.0 / (1.0 - p) if p != 1 else 0.0
    kept = functions.empty_like(input, dtype=dtypes.bool_).bernoulli_(1 - p)
    return input * kept * scale, kept     # type: ignore[operator]


def native_channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """Interleave the channels of ``groups`` groups. See torch.nn.functional.channel_shuffle."""
    return nn_functions.channel_shuffle(input, groups)


def grid_sampler(input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool) -> Tensor:
    """Return grid_sample with modes given as numbers. See torch.nn.functional.grid_sample."""
    return nn_functions.grid_sample(input, grid, _MODES[interpolation_mode], _PADDINGS[padding_mode], align_corners)


def constant_pad_nd(input: Tensor, pad: Any, value: float = 0) -> Tensor:
    """Pad ``input`` with a constant. Negative padding crops it. See torch.nn.functional.pad."""
    if len(pad) % 2:
        raise RuntimeError(f"Length of pad must be even but instead it equals {len(pad)}")
    if len(pad) > 2 * input.dim():
        raise RuntimeError("Length of pad should be no more than twice the number of dimensions of the input. Pad length is "
                           f"{len(pad)}while the input has {input.dim()}dimensions.")
    return nn_functions.pad(input, pad, value=value)


def native_dropout_backward(grad_output: Tensor, mask: Tensor, scale: float) -> Tensor:
    """Return the gradient of native_dropout's input."""
    return grad_output * mask * scale       # type: ignore[operator]


def _native_batch_norm_legit(input: Tensor, weight: Tensor | None, bias: Tensor | None, *rest: Any, **named: Any):
    """Return native_batch_norm. The running statistics may be omitted."""
    statistics = (None, None) if len(rest) + len(named) == 3 else ()
    return native_batch_norm(input, weight, bias, *statistics, *rest, **named)


def _batch_norm_with_update(input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor, running_var: Tensor,
                            momentum: float, eps: float):
    """Return native_batch_norm in training mode, and an empty tensor for cuDNN's reserve memory."""
    made = native_batch_norm(input, weight, bias, running_mean, running_var, True, momentum, eps)
    return *made, input.new_empty((0,), dtype=dtypes.uint8)       # type: ignore[attr-defined]


def _softmax_backward_data(grad_output: Tensor, output: Tensor, dim: int, input_dtype: Any) -> Tensor:
    """Return the gradient of softmax's input."""
    weighted = grad_output * output     # type: ignore[operator]
    return (weighted - output * weighted.sum(dim, keepdim=True)).to(input_dtype)


def _check_chunks(tensors: Any, dim: int, num_chunks: int) -> None:
    """Raise PyTorch's errors for tensors that cannot be chunked and concatenated."""
    shapes = [tuple(t.shape) for t in tensors]
    same_ndim, before = len({len(s) for s in shapes}) == 1, {s[:dim % max(len(s), 1)] for s in shapes}
    for holds, message in (
            (shapes, "expects a non-empty input tensor list"), (num_chunks >= 1, "expects positive num_chunks"),
            (dim >= 0 or same_ndim, "expects non-negative dim when input tensors have different ndims"),
            (all(-len(s) <= dim < len(s) for s in shapes), "expects dim < ndim for all input tensors"),
            (all(0 not in s for s in shapes), "expects non-empty tensor"),
            (len(before) <= 1, "expects same sizes of 0,...,dim-1 dimensions for all tensors")):
        if not holds:
            raise RuntimeError(f"_chunk_cat {message}")


def _chunk_cat(tensors: Any, dim: int, num_chunks: int, *, out: Tensor | None = None) -> Tensor:
    """Pad each tensor with zeros, cut it into ``num_chunks`` along ``dim``, flatten the chunks and concatenate them."""
    _check_chunks(tensors, dim, num_chunks)
    parts = []
    for t in tensors:
        missing = -t.shape[dim] % num_chunks
        last = t.dim() - dim % t.dim() - 1
        whole = nn_functions.pad(t, (0, 0) * last + (0, missing)) if missing else t
        parts.append(whole.reshape(*t.shape[:dim % t.dim()], num_chunks, -1))
    return functions.cat(parts, dim=parts[0].dim() - 1, out=out)


def _unsafe_masked_index(input: Tensor, mask: Tensor, indices: Any, fill: Any) -> Tensor:
    """Return ``input[indices]`` where the mask is True, else ``fill``. Indices may be invalid where it is False."""
    return functions.where(mask, input[_inside(input, indices)], functions.full((), fill, dtype=input.dtype, device=input.device))


def _unsafe_masked_index_put_accumulate(input: Tensor, mask: Tensor, indices: Any, values: Tensor) -> Tensor:
    """Return ``input`` with the values added at the indices where the mask is True."""
    return input.index_put(_inside(input, indices), values * mask, accumulate=True)     # type: ignore[attr-defined, operator]


def _inside(input: Tensor, indices: Any) -> tuple:
    return tuple(slice(None) if i is None else i.clamp(-n, n - 1) for i, n in zip(indices, input.shape, strict=False))


def frobenius_norm(input: Tensor, dim: Any, keepdim: bool = False, *, out: Tensor | None = None) -> Tensor:
    """Return the root of the sum of squares. See torch.linalg.vector_norm."""
    return functions.linalg.vector_norm(input, 2, dim, keepdim, out=out)


def nuclear_norm(input: Tensor, dim: Any = (-2, -1), keepdim: bool = False, *, out: Tensor | None = None) -> Tensor:
    """Return the sum of the singular values. See torch.linalg.matrix_norm."""
    if isinstance(dim, bool):
        dim, keepdim = (-2, -1), dim
    return functions.linalg.matrix_norm(input, "nuc", tuple(dim), keepdim, out=out)


def _of_method(name: str, doc: str) -> Any:
    """Return a method of Tensor as a function of ``torch``."""
    def function(input: Tensor, *args: Any, **named: Any) -> Any:
        return getattr(class_of(input), name)(input, *args, **named)
    function.__name__, function.__doc__ = name, doc
    return function


NAMES = ("native_layer_norm native_batch_norm native_dropout native_channel_shuffle grid_sampler constant_pad_nd "
         "native_dropout_backward _native_batch_norm_legit _batch_norm_with_update _softmax_backward_data "
         "_chunk_cat _unsafe_masked_index _unsafe_masked_index_put_accumulate frobenius_norm nuclear_norm").split()
METHODS = {"detach": "The tensor without its graph.", "detach_": "Cuts the tensor off its graph.",
           "get_device": "The device's index.", "as_strided_": "The tensor shown with other strides, in place.",
           "is_signed": "Whether the dtype has negative numbers."}


def bind() -> None:
    """Add the functions of this module to the package."""
    put(functions, {**{n: globals()[n] for n in NAMES}, "grid_sampler_2d": grid_sampler, "grid_sampler_3d": grid_sampler,
                    **{n: _of_method(n, f"{doc} See torch.Tensor.{n}.") for n, doc in METHODS.items()}})
    put(nn_functions, {"native_channel_shuffle": native_channel_shuffle})
