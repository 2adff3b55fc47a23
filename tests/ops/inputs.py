"""Make arguments for every op from its signature: small float64 arrays, and a table for exceptions."""
from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter
from typing import Any

import numpy as np

from jtorch.ops.registry import NUMBERS, Op, T, freeze

Arguments = dict[str, Any]
DEFAULT_SHAPE = (3, 4)


def arguments_of(op: Op, rng: np.random.Generator) -> Arguments:
    """Return the arguments by name, from the table and from the signature."""
    given = SPECIAL[op.name](rng) if op.name in SPECIAL else {}
    for k, p in enumerate(op.params):
        if p.name in given or p.default is not Parameter.empty:
            continue
        if p.kind in ("tensor", "tensor_or_number"):
            given[p.name] = between(rng, 0.2, 0.8 + 0.01 * k)     # No two arguments have equal elements.
        elif p.kind == "tensors":
            given[p.name] = [between(rng, 0.2, 0.8) for _ in range(2)]
        elif p.kind == "number":
            given[p.name] = 0.5
        elif p.name == "dim":
            given[p.name] = 1
        else:
            raise LookupError(f"{op.name}: what is {p.name}: {p.annotation}?")
    return given


def between(rng: np.random.Generator, low: float, high: float, shape: tuple[int, ...] = DEFAULT_SHAPE) -> np.ndarray:
    """Draw distinct values between two bounds, away from ties and kinks."""
    n = int(np.prod(shape))
    return (low + (high - low) * (rng.permutation(n) + 0.5) / max(n, 1)).reshape(shape)


def template_of(op: Op, given: Arguments) -> tuple[tuple, list]:
    """Return the template of the call, with its arrays and numbers in order."""
    flat: list = []
    template = []
    for p in op.params:
        template.append(_mark(p.kind, given[p.name], flat) if p.name in given else freeze(p.default))
    return tuple(template), flat


def _mark(kind: str, value: Any, flat: list) -> Any:
    if kind == "tensors" or (isinstance(value, list) and any(isinstance(v, np.ndarray) for v in value)):
        return tuple(_mark("tensor", v, flat) for v in value)
    if isinstance(value, np.ndarray):
        flat.append(value)
        return T
    if kind in ("number", "tensor_or_number") and value is not None:
        flat.append(value)
        return NUMBERS[type(value)]
    return freeze(value)


# ---------------------------------------------------------------- what is not made from the signature

def _of(low: float, high: float, *shape: int) -> Callable:
    return lambda rng: between(rng, low, high, shape)


def _a(*shape: int) -> Callable:
    """Draw values around 0, of both signs."""
    return _of(-2.1, 2.0, *shape)


def _i(high: int, *shape: int) -> Callable:
    return lambda rng: rng.integers(0, high, shape)


def _permuted(count: int) -> Callable:
    return lambda rng: rng.permutation(count)


def _matrix(rng: np.random.Generator) -> np.ndarray:
    """Draw a well-conditioned matrix with distinct eigenvalues and singular values."""
    return 0.3 * rng.standard_normal((4, 4)) + np.diag([2.0, 3.0, 4.5, 6.0])


def _symmetric(rng: np.random.Generator) -> np.ndarray:
    a = _matrix(rng)
    return (a + a.T) / 2


def _triangle(rng: np.random.Generator) -> np.ndarray:
    return np.tril(_matrix(rng))


def _mask(rng: np.random.Generator) -> np.ndarray:
    return between(rng, 0, 1) > 0.5


def _coordinates(count: int) -> Callable:
    """Return coordinates with uneven steps upwards."""
    return lambda rng: np.sort(between(rng, 0, 3, (count,))) ** 1.5


def _pivots(rng: np.random.Generator) -> np.ndarray:
    return np.array([2, 2, 4, 4], np.int32)


def _with(**given: Any) -> Callable:
    """Return arguments, given or made by a function of the generator."""
    return lambda rng: {k: v(rng) if callable(v) else [x(rng) for x in v] if _is_recipe(v) else v for k, v in given.items()}


def _complex(rng: np.random.Generator) -> np.ndarray:
    return between(rng, -2, 2) + 1j * between(rng, -2, 2)


def _signs(rng: np.random.Generator) -> np.ndarray:
    return np.array([1, -1, 1])


def _is_recipe(v: Any) -> bool:
    return isinstance(v, list) and bool(v) and callable(v[0])


def _each(names: str, **given: Any) -> dict[str, Callable]:
    return {name: _with(**given) for name in names.split()}


F, L = "nn.functional.", "linalg."
SPECIAL: dict[str, Callable[[np.random.Generator], Arguments]] = {
    # shapes and parts
    **_each("view expand broadcast_to", size=(3, 4)), **_each("reshape", shape=(4, 3)), **_each("unflatten", dim=1, sizes=(2, 2)),
    **_each("permute", dims=(1, 0)), **_each("transpose swapdims", dim0=0, dim1=1), **_each("swapaxes", axis0=0, axis1=1),
    **_each("movedim", source=0, destination=1), **_each("narrow", dim=1, start=1, length=2), **_each("select", dim=1, index=2),
    **_each("unfold", dimension=1, size=2, step=1), **_each("as_strided", size=(2, 2), stride=(3, 1), storage_offset=1),
    **_each("split", split_size_or_sections=2), **_each("split_with_sizes", split_sizes=(1, 2)), **_each("chunk", chunks=2),
    **_each("tensor_split hsplit", indices_or_sections=2), **_each("vsplit", indices_or_sections=3),
    **_each("dsplit", input=_a(2, 2, 4), indices_or_sections=2), **_each("repeat", repeats=(2, 1)), **_each("tile", dims=(2, 1)),
    **_each("repeat_interleave", repeats=2), **_each("flip", dims=(0,)), **_each("roll", shifts=1), **_each("vander", x=_a(4)),
    **_each("view_as_real imag", input=_complex), **_each("view_as_complex", input=_a(3, 2)), **_each("meshgrid", tensors=[_a(3), _a(2)], indexing="ij"),
    **_each("cartesian_prod", tensors=[_a(3), _a(2)]), **_each("combinations", input=_a(4)), **_each("sum_to_size", size=(1, 4)),
    # copies of what views show
    **_each("view_copy expand_copy", size=(3, 4)), **_each("permute_copy", dims=(1, 0)), **_each("transpose_copy", dim0=0, dim1=1),
    **_each("select_copy", dim=1, index=2), **_each("narrow_copy", dim=1, start=1, length=2), **_each("unsafe_chunk", chunks=2),
    **_each("split_copy unsafe_split", split_size=2), **_each("unfold_copy", dimension=1, size=2, step=1),
    **_each("split_with_sizes_copy unsafe_split_with_sizes", split_sizes=(1, 2)), **_each("view_as_complex_copy", input=_a(3, 2)),
    **_each("as_strided_copy", size=(2, 2), stride=(3, 1), storage_offset=1), **_each("view_as_real_copy", input=_complex),
    # products
    **_each("mm", input=_a(3, 4), mat2=_a(4, 2)), **_each("bmm", input=_a(2, 3, 4), mat2=_a(2, 4, 2)),
    **_each("matmul", input=_a(3, 4), other=_a(4, 2)), **_each("mv", input=_a(3, 4), vec=_a(4)),
    **_each("dot", input=_a(4), tensor=_a(4)), **_each("vdot", input=_a(4), other=_a(4)), **_each("outer", input=_a(3), vec2=_a(4)),
    **_each("addmm", input=_a(3, 2), mat1=_a(3, 4), mat2=_a(4, 2)), **_each("addmv", input=_a(3), mat=_a(3, 4), vec=_a(4)),
    **_each("addbmm", input=_a(3, 2), batch1=_a(2, 3, 4), batch2=_a(2, 4, 2)),
    **_each("baddbmm", input=_a(2, 3, 2), batch1=_a(2, 3, 4), batch2=_a(2, 4, 2)), **_each("addr", vec1=_a(3), vec2=_a(4)),
    **_each(L + "multi_dot", tensors=[_a(3, 4), _a(4, 2), _a(2, 5)]), **_each("chain_matmul", matrices=[_a(3, 4), _a(4, 2)]),
    **_each(L + "cross cross", input=_a(4, 3), other=_a(4, 3)), **_each("einsum", equation="ij,jk->ik", operands=[_a(3, 4), _a(4, 2)]),
    # matrices
    **_each("linalg.det linalg.slogdet linalg.inv linalg.inv_ex linalg.matrix_exp linalg.eig linalg.eigvals linalg.lu linalg.lu_factor "
            "linalg.lu_factor_ex linalg.qr linalg.svd linalg.svdvals linalg.pinv", A=_matrix),
    **_each("logdet pinverse qr svd", input=_matrix), **_each("linalg.cholesky linalg.cholesky_ex linalg.eigh linalg.eigvalsh", A=_symmetric),
    **_each("cholesky", input=_symmetric), **_each("lu", A=_matrix), **_each("geqrf", input=_matrix),
    **_each("linalg.solve linalg.solve_ex", A=_matrix, B=_a(4, 2)), **_each("linalg.lstsq", A=_matrix, B=_a(4, 2)),
    **_each("linalg.solve_triangular", input=_triangle, B=_a(4, 2), upper=False),
    **_each("triangular_solve", b=_a(4, 2), A=_triangle, upper=False), **_each("linalg.matrix_power", A=_matrix, n=3),
    **_each("linalg.tensorinv", A=lambda rng: _matrix(rng).reshape(2, 2, 4), ind=2),
    **_each("linalg.tensorsolve", A=lambda rng: _matrix(rng).reshape(4, 2, 2), B=_a(4)),
    **_each("linalg.cond linalg.matrix_norm", A=_matrix), **_each("cholesky_solve", B=_a(4, 2), L=_triangle),
    **_each("cholesky_inverse", L=_triangle), **_each("linalg.lu_solve", LU=_matrix, pivots=_pivots, B=_a(4, 2)),
    **_each("lu_solve", b=_a(4, 2), LU_data=_matrix, LU_pivots=_pivots), **_each("lu_unpack", LU_data=_matrix, LU_pivots=_pivots),
    **_each("linalg.householder_product", A=_a(4, 3), tau=_a(3)), **_each("ormqr", input=_a(4, 3), tau=_a(3), other=_a(4, 2)),
    # signals, statistics, steps
    **_each("stft", input=_a(2, 9), n_fft=4, hop_length=2, window=_of(0.4, 1, 4), return_complex=True),
    **_each("istft", input=lambda rng: _complex(rng)[:, :3].T, n_fft=4, hop_length=1, window=_of(0.4, 1, 4)),
    **_each("gradient", spacing=[_coordinates(3), _coordinates(4)]), **_each("masked.normalize", ord=2.0, dim=1, mask=_mask),
    **_each("segment_reduce", data=_a(5, 2), reduce="mean", lengths=lambda rng: np.array([2, 1, 2])),
    **_each("conv_tbc", input=_a(4, 2, 3), weight=_a(2, 3, 2), bias=_a(2), pad=1),
    **_each("lstm_cell", input=_a(2, 3), hx=[_a(2, 2), _a(2, 2)], w_ih=_a(8, 3), w_hh=_a(8, 2)),
    # numbers that are static, values where a function is defined
    **_each("pow float_power", exponent=2.5), **_each("renorm", p=2.0, dim=0, maxnorm=0.5), **_each("fill", value=1.5),
    **_each("clamp", input=_a(3, 4), min=-0.83, max=0.77), **_each("polygamma", n=2), **_each("mvlgamma", input=_of(2, 4, 3, 4), p=2),
    **_each("topk", k=2), **_each("kthvalue", k=2), **_each("quantile nanquantile", q=0.37), **_each("acosh", input=_of(1.2, 3, 3, 4)),
    **_each("special.zeta", input=lambda rng: rng.integers(2, 5, (3, 4)), other=_of(1, 2, 3, 4)), **_each("dist", input=_a(3, 4), other=_a(3, 4)),
    **_each("fake_quantize_per_tensor_affine", scale=0.07, zero_point=6, quant_min=5, quant_max=25),
    **_each("fake_quantize_per_channel_affine", scale=_of(0.05, 0.2, 4), zero_point=_i(3, 4), axis=1, quant_min=0, quant_max=12),
    **_each("nn.functional.grouped_mm", mat_a=_a(2, 3, 4), mat_b=_a(2, 4, 2)),
    **_each("native_group_norm", input=_a(2, 4, 3), weight=_a(4), bias=_a(4), N=2, C=4, HxW=3, group=2, eps=1e-5),
    **_each("_upsample_bilinear2d_aa", input=_a(1, 2, 4, 4), output_size=(3, 2), align_corners=False),
    # indices
    **_each("take", index=_i(12, 5)), **_each("put", index=_permuted(12), source=_a(12)), **_each("index_select", dim=1, index=_i(4, 3)),
    **_each("index_add", dim=1, index=_i(4, 3), source=_a(3, 3)), **_each("index_copy", dim=1, index=_permuted(4), source=_a(3, 4)),
    **_each("index_fill", dim=1, index=_i(4, 2), value=1.5), **_each("gather", dim=1, index=_i(4, 3, 2)),
    **_each("take_along_dim", indices=_i(4, 3, 4), dim=1), **_each("where", condition=_mask), **_each("masked_fill", mask=_mask, value=1.5),
    **_each("masked_scatter", mask=_mask, source=_a(12)), **_each("select_scatter", src=_a(3), dim=1, index=2),
    **_each("slice_scatter", src=_a(1, 4), start=1, end=2), **_each("diagonal_scatter", src=_a(3)),
    **_each("as_strided_scatter", src=_a(2, 2), size=(2, 2), stride=(4, 1), storage_offset=1),
    **_each("index index_put", indices=[_permuted(3)], values=_a(3, 4)),
    **_each("scatter scatter_add", input=_a(4), dim=0, index=_permuted(4), src=_a(4)),
    **_each("scatter_reduce", input=_a(4), dim=0, index=_i(4, 6), src=_a(6), reduce="prod"),
    **_each("index_reduce", dim=0, index=_i(3, 5), source=_a(5, 4), reduce="mean"),
    # nn.functional
    **_each("prelu", input=_a(2, 3), weight=_a(3)), **_each(F + "threshold", threshold=0.5, value=0.1),
    **_each(f"{F}adaptive_avg_pool1d {F}adaptive_max_pool1d", input=_a(2, 3, 6), output_size=2),
    **_each(f"{F}adaptive_avg_pool2d {F}adaptive_max_pool2d", input=_a(1, 2, 4, 5), output_size=2),
    **_each(f"{F}adaptive_avg_pool3d {F}adaptive_max_pool3d", input=_a(1, 2, 4, 4, 5), output_size=2),
    **_each(F + "max_unpool1d", input=_a(1, 1, 2), indices=lambda rng: np.array([[[0, 3]]]), kernel_size=2),
    **_each(F + "max_unpool2d", input=_a(1, 1, 1, 2), indices=lambda rng: np.array([[[[0, 6]]]]), kernel_size=2),
    **_each(F + "max_unpool3d", input=_a(1, 1, 1, 1, 2), indices=lambda rng: np.array([[[[[0, 6]]]]]), kernel_size=2),
    **{f"{F}{kind}_pool{n}d": _with(input=_a(1, 2, *(4,) * n), kernel_size=2) for kind in ("max", "avg") for n in (1, 2, 3)},
    **{f"{F}lp_pool{n}d": _with(input=_of(0.2, 2, 1, 2, *(4,) * n), norm_type=2.0, kernel_size=2) for n in (1, 2, 3)},
    **{f"{F}conv{n}d": _with(input=_a(1, 2, *(4,) * n), weight=_a(3, 2, *(2,) * n), bias=_a(3)) for n in (1, 2, 3)},
    **{f"{F}conv_transpose{n}d": _with(input=_a(1, 2, *(3,) * n), weight=_a(2, 3, *(2,) * n), bias=_a(3)) for n in (1, 2, 3)},
    **_each(F + "nll_loss", target=_i(4, 3)), **_each(F + "cross_entropy", target=_i(4, 3)),
    **_each(F + "ctc_loss", log_probs=_of(-3, -1, 5, 2, 4), targets=lambda rng: np.array([[1, 2], [3, 1]]), input_lengths=(5, 5),
            target_lengths=(2, 2)),
    **_each(f"{F}embedding", input=_i(5, 3), weight=_a(5, 2)), **_each(f"{F}embedding_bag", input=_i(5, 2, 3), weight=_a(5, 2)),
    **_each(f"{F}interpolate {F}upsample {F}upsample_nearest", input=_a(1, 2, 3), scale_factor=2.0),
    **_each(f"{F}upsample_bilinear", input=_a(1, 2, 3, 3), scale_factor=2.0),
    **_each(F + "grid_sample", input=_a(1, 2, 4, 4), grid=_of(-0.83, 0.79, 1, 3, 3, 2), align_corners=False),
    **_each(F + "affine_grid", theta=_a(1, 2, 3), size=(1, 1, 3, 3), align_corners=False), **_each(F + "glu", input=_a(3, 4)),
    **_each(F + "bilinear", input1=_a(2, 3), input2=_a(2, 4), weight=_a(5, 3, 4)), **_each(F + "gaussian_nll_loss", var=_of(0.5, 1, 3, 4)),
    **_each(F + "cosine_embedding_loss", target=_signs),
    **_each(F + "margin_ranking_loss", input1=_a(3), input2=_of(-1, 1, 3), target=_signs),
    **_each(F + "hinge_embedding_loss", input=_a(3), target=_signs),
    **_each(F + "multi_margin_loss", target=_i(4, 3)), **_each(F + "multilabel_margin_loss", target=_permuted(4), input=_a(4)),
    **_each(f"{F}layer_norm {F}rms_norm", normalized_shape=(4,)), **_each(F + "group_norm", input=_a(2, 4, 3), num_groups=2),
    **_each(F + "batch_norm", input=_a(3, 4), running_mean=None, running_var=None, training=True),
    **_each(F + "instance_norm", input=_a(2, 3, 4)), **_each(F + "local_response_norm", input=_a(2, 3, 4), size=2),
    **_each(F + "pad", pad=(1, 1)), **_each(F + "pixel_shuffle", input=_a(1, 4, 2, 2), upscale_factor=2),
    **_each(F + "pixel_unshuffle", input=_a(1, 1, 4, 4), downscale_factor=2),
    **_each(F + "channel_shuffle", input=_a(1, 4, 2, 2), groups=2), **_each(F + "unfold", input=_a(1, 2, 4, 4), kernel_size=2),
    **_each(F + "fold", input=_a(1, 8, 4), output_size=3, kernel_size=2), **_each(F + "linear", input=_a(3, 4), weight=_a(2, 4)),
    **_each(F + "scaled_dot_product_attention", query=_a(1, 2, 3, 4), key=_a(1, 2, 3, 4), value=_a(1, 2, 3, 4)),
    **_each(f"{F}softmax {F}log_softmax {F}softmin", dim=1), **_each(F + "kl_div", reduction="batchmean"),
    **_each(F + "normalize", input=_a(3, 4)), **_each(F + "triplet_margin_loss", anchor=_a(3, 4), positive=_a(3, 4), negative=_a(3, 4)),
}
