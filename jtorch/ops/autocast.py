"""The autocast policy of each op: PyTorch's lists for the CPU and for accelerators, with jtorch's names of the ops.

An op that PyTorch composes of listed ops has the policy of these ops. The lists follow PyTorch's, so they stay in one file.
Each op's record takes its entry. A name without an op is an error once all ops are loaded (``Taxonomy``).
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from jtorch.ops.taxonomy import Taxonomy

LOWER, FP32, WIDEST, REFUSED = "lower precision", "float32", "widest type", "refused"
Policy = str | Callable[[Any, tuple, list], str | None]     # a name, or a function (op, template, tensors) -> name or None


@dataclass(frozen=True, slots=True, eq=False)
class Autocast:
    """The policies of an op: on the CPU, on accelerators, and on CUDA alone."""

    cpu: Policy | None = None
    accelerator: Policy | None = None
    cuda: Policy | None = None

    def of(self, device_type: str) -> Policy | None:
        """Return the policy for a device type."""
        if device_type == "cuda" and self.cuda is not None:
            return self.cuda
        return self.cpu if device_type == "cpu" else self.accelerator


def _static(op: Any, name: str, template: tuple) -> Any:
    """Return the argument called ``name`` in a call's template."""
    return next((t for p, t in zip(op.params, template, strict=True) if p.name == name), None)


def _if_no_dtype(op: Any, template: tuple, tensors: list) -> str | None:
    """Return float32 unless the call has a ``dtype``."""
    return FP32 if _static(op, "dtype", template) is None else None


def _if_not_constant(op: Any, template: tuple, tensors: list) -> str | None:
    return FP32 if _static(op, "mode", template) in ("reflect", "replicate") else None


def _recurrent(op: Any, template: tuple, tensors: list) -> str | None:
    """Return the lower precision for an LSTM or RNN, which PyTorch treats as a product, or for inputs of 16 bits."""
    low = tensors[0].dtype.itemsize == 2
    return LOWER if low or _static(op, "mode", template) in ("lstm", "rnn_tanh", "rnn_relu") else None


def _if_without_indices(op: Any, template: tuple, tensors: list) -> str | None:
    return FP32 if not _truth(_static(op, "return_indices", template)) else None


def _if_a_product(op: Any, template: tuple, tensors: list) -> str | None:
    """Return the lower precision, except for products of two vectors or of a number and a tensor."""
    dims = _static(op, "dims", template)
    summed = 1 if dims is None else len(dims[0]) if isinstance(dims, tuple) else dims
    ranks = [t.ndim for t in tensors]
    return None if ranks == [summed, summed] or 0 in ranks else LOWER


def _if_it_contracts(op: Any, template: tuple, tensors: list) -> str | None:
    """Return the lower precision if an einsum contracts several operands."""
    inputs, arrow, out = _static(op, "equation", template).replace(" ", "").partition("->")
    operands = inputs.split(",")
    shared = {c for c in inputs if c.isalpha() and sum(c in operand for operand in operands) > 1}
    return LOWER if (shared - set(out) if arrow else shared) else None


def _by_power(op: Any, template: tuple, tensors: list) -> str | None:
    n = _static(op, "n", template)
    return LOWER if n > 1 else FP32 if n < 0 else None


def _truth(static: Any) -> bool:
    """Return whether a static argument is true. A frozen argument is a pair (type, value)."""
    return bool(static[1] if isinstance(static, tuple) else static)


# The ops of PyTorch's list for the lower precision, and ops that PyTorch composes of these, such as chain_matmul.
_PRODUCTS = ("addbmm addmm baddbmm bmm linalg.vecdot matmul mm prelu "
             "chain_matmul linalg.multi_dot "
             "_attention_with_dropout_mask _multi_head_attention "
             "F.conv1d F.conv2d F.conv3d F.conv_transpose1d F.conv_transpose2d F.conv_transpose3d conv_tbc F.linear "
             "F.scaled_dot_product_attention")

_LOSSES = ("F.binary_cross_entropy_with_logits F.cosine_embedding_loss F.hinge_embedding_loss F.huber_loss F.kl_div F.l1_loss "
           "F.margin_ranking_loss F.mse_loss F.multi_margin_loss F.multilabel_margin_loss F.nll_loss F.poisson_nll_loss "
           "F.smooth_l1_loss F.soft_margin_loss F.triplet_margin_loss cdist")

_LISTS: dict[str, dict[str, str]] = {
    "cpu": {
        LOWER: _PRODUCTS,
        FP32: _LOSSES + " " + (
            "F.adaptive_avg_pool3d F.adaptive_max_pool3d F.avg_pool3d F.binary_cross_entropy F.cross_entropy F.ctc_loss "
            "F.grid_sample F.max_unpool1d F.max_unpool2d F.max_unpool3d _fractional_max_pool2d _fractional_max_pool3d "
            "cholesky cholesky_inverse cholesky_solve fake_quantize_per_tensor_affine geqrf lu lu_solve nanquantile "
            "ormqr pinverse polar prod qr quantile stft svd trace triangular_solve "
            "fft.fft fft.fft2 fft.fftn fft.hfft fft.ifft fft.ifft2 fft.ifftn fft.ihfft fft.irfft fft.irfft2 fft.irfftn fft.rfft "
            "fft.rfft2 fft.rfftn "
            "linalg.cholesky linalg.cholesky_ex linalg.cond linalg.eig linalg.eigh linalg.eigvals linalg.eigvalsh "
            "linalg.householder_product linalg.inv linalg.inv_ex linalg.lstsq linalg.matrix_rank linalg.pinv linalg.qr "
            "linalg.solve linalg.svd linalg.svdvals linalg.tensorinv linalg.tensorsolve"),
        WIDEST: "cat column_stack dstack hstack index_copy stack vstack",
    },
    "accelerator": {
        LOWER: _PRODUCTS + " addmv addr einsum gru_cell lstm_cell mv rnn_relu_cell rnn_tanh_cell",
        FP32: _LOSSES + " " + (
            "F.cosine_similarity F.cross_entropy F.group_norm F.interpolate F.layer_norm F.pdist F.rms_norm F.softmin F.softplus "
            "F.upsample F.upsample_bilinear F.upsample_nearest _upsample_bilinear2d_aa "
            "acos asin cosh dist erfinv exp expm1 linalg.norm log log10 log1p log2 logsumexp norm pow reciprocal renorm rsqrt "
            "sinh tan"),
        WIDEST: ("F.bilinear F.grid_sample addcdiv addcmul atan2 cross dot index_put inner linalg.cross scatter_add tensordot "
                 "vdot"),
    },
}
_CHOSEN: dict[str, dict[str, Policy]] = {
    "cpu": {"F.max_pool3d": _if_without_indices, "F.pad": _if_not_constant, "einsum": _if_it_contracts, "inner": _if_a_product,
            "linalg.matrix_power": _by_power, "tensordot": _if_a_product,
            **dict.fromkeys(("_recurrent", "_recurrent_solved", "gru_cell", "lstm_cell", "rnn_relu_cell", "rnn_tanh_cell"),
                            _recurrent)},
    "accelerator": {**dict.fromkeys(("F.log_softmax", "F.softmax", "cumprod", "cumsum", "linalg.matrix_norm",
                                     "linalg.vector_norm", "log_softmax", "prod", "softmax", "sum"), _if_no_dtype),
             "linalg.matrix_power": _by_power, "_recurrent": LOWER, "_recurrent_solved": LOWER},
}
_CHOSEN["cuda"] = {"F.binary_cross_entropy": REFUSED}


def _policies() -> dict[str, Autocast]:
    found: dict[str, dict[str, Policy]] = {}
    for kind in ("cpu", "accelerator", "cuda"):
        listed = {name: policy for policy, names in _LISTS.get(kind, {}).items() for name in names.split()}
        for name, policy in {**listed, **_CHOSEN[kind]}.items():
            found.setdefault(name.replace("F.", "nn.functional."), {})[kind] = policy
    return {name: Autocast(**kinds) for name, kinds in found.items()}


POLICIES = Taxonomy("autocast", _policies())
