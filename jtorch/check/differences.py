"""Differences between jtorch's ops and PyTorch's, with reasons.

The op matrix in the tests, docs/differences.md and ``python -m jtorch check`` read this table.
"""
from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Difference:
    """One difference of an op from PyTorch, and its reason.

    ``op`` is the op's name, such as ``linalg.eigh``, with the name of its variant in PyTorch's OpInfo, if any: ``norm.nuc``.
    """

    op: str
    reason: str
    # Some of: value, gradient, second gradient, method, in-place, out, view, error, error text.
    checks: tuple[str, ...] = ("value",)
    dtypes: tuple[str, ...] = ()            # An empty tuple means all dtypes.
    says: str = ""                          # A part of the failure's text.
    always: bool = False                    # Every sample shows the difference, so a run without it shows that it is mended.

    def covers(self, op: str, dtype: str, check: str, text: str) -> bool:
        """Return whether a failure is this difference."""
        return self.op == op and check in self.checks and dtype in (self.dtypes or (dtype,)) and self.says in text


def _each(ops: str, reason: str, *checks: str, **more) -> tuple[Difference, ...]:
    return tuple(Difference(op, reason, checks or ("value",), **more) for op in ops.split())


UNSTABLE = "of equal elements PyTorch picks any; here always the first, as a stable sort does"
INDEXED = ("value", "method", "in-place", "out", "gradient", "second gradient")
SILENT = "the imaginary part is not dropped silently where out= is real: that raises"

# Differences of many ops alike. The op matrix does not check them.
GENERAL = (
    "`out=` of another dtype: jtorch casts if `torch.can_cast` allows the cast. For some ops (most reductions and linear algebra) "
    "PyTorch demands the result's dtype.",
    "`out=` of another shape: jtorch warns of the resize for all ops except factory functions. PyTorch does not warn for some ops.",
    "Functions of `torch.nn.functional` take no `out=`. Some of PyTorch's take an undocumented one.",
    "Methods take `out=` if the function does, so `np.sum(tensor)` works. PyTorch's methods refuse it.",
    "A compiled program on a CPU treats subnormal numbers (below 1.2e-38 in float32, 2.2e-308 in float64) as 0, because XLA sets the "
    "processor to do so. Calls that run one by one mostly keep subnormal numbers, as PyTorch does.",
    "The gradient of `conv3d` by its filters is right for filters larger than the padded volume (an input of depth 6, filters of depth "
    "7, padding 3, stride 2). PyTorch's has arbitrary numbers there on a CPU with AVX-512.",
    "`__torch_dispatch__` sees the operators of PyTorch's CPU build, with exceptions. It sees other operators for most of `torch.linalg` "
    "and `torch.fft`, `cdist`, `bilinear`, `cov`, `corrcoef`, `quantile`, `gradient` and some losses (the public name), for recurrent "
    "cells and networks (out of place), for `einsum` (without the permutations around `bmm`), and for indexing with a mask (the places). "
    "A function without an operator, and a backward without a formula in operators, is one operator of the namespace `jtorch`, such as "
    "`jtorch.acos_backward`.",
    "A mode with `__torch_dispatch__` does not see the updates of `torch.optim` (a class sees `jtorch._adam_step` and similar ones), nor "
    "`unique`, sparse tensors and DTensors. It sees an LSTM as `jtorch._recurrent`; PyTorch on the CPU calls an operator of oneDNN. "
    "Inside it `torch.is_grad_enabled()` is False, and a view of a tensor with `requires_grad` has it too.",
    "Autocast casts a weight with a gradient once in its context, as in PyTorch. After a write counted by the weight's version (an "
    "optimizer's step, `init`, `load_state_dict`, an in-place call under `no_grad`) jtorch casts the weight again. PyTorch keeps the old "
    "copy until the context ends or until `torch.clear_autocast_cache()`. Both keep the copy after writes through `.data` or NumPy.",
)

DIFFERENCES: tuple[Difference, ...] = (
    Difference("chalf", "complex32 has a name and no tensors", ("value", "method", "view", "error", "gradient", "second gradient"),
               always=True),
    *_each("argsort sort topk kthvalue median nanmedian mode", UNSTABLE, *INDEXED),
    *_each("msort", "the gradient of equal elements goes to them in their order; in PyTorch in any", "gradient", "second gradient"),
    *_each("max.reduction_with_dim min.reduction_with_dim", UNSTABLE, *INDEXED, dtypes=("bool",)),

    *_each("conj H mH adjoint", "conjugates are computed at once; PyTorch marks the tensor and computes later, so that "
           "its result shares memory with the complex tensor", "view", dtypes=("complex64",), says="is a copy"),
    *_each("cartesian_prod", "of a single tensor PyTorch returns a view", "view", says="is a copy"),

    *_each("unsafe_chunk unsafe_split", "the parts are copies; in PyTorch they share memory without autograd's knowing", "view",
           says="is a copy"),
    *_each("masked.prod", "of a 0-dim tensor PyTorch returns the tensor itself", "view", says="is a copy"),

    *_each("nn.functional.local_response_norm", "an input of no elements is copied; PyTorch returns the tensor itself", "view",
           says="is a copy"),

    *_each("addbmm", "PyTorch lets addbmm_ change the shape of a tensor to that of the product", "in-place", says="output with shape"),
    *_each("fft.ihfft2 fft.ihfftn", "PyTorch leaves out= as it was", "out"),
    *_each("arange linspace linspace.tensor_overload logspace logspace.tensor_overload", "PyTorch leaves an out= of no elements in its "
           "shape, though it is not the result's", "out", says="shape (0,)"),
    *_each("logsumexp mean", SILENT, "out", dtypes=("complex64",), says="can't be cast"),
    *_each("linalg.lstsq lu native_batch_norm _native_batch_norm_legit", "takes no out=", "out", says="unexpected keyword argument 'out'", always=True),
    *_each("matmul", "PyTorch computes in a matrix first and warns that out= is resized to that", "out", dtypes=("float64",),
           says="no warning"),

    *_each("as_strided_scatter", "the gradient of input is 0 where src replaced it; PyTorch's is another where its strides "
           "overlap or it is not contiguous", "gradient", "second gradient"),
    *_each("logcumsumexp", "PyTorch's gradient in single precision is off by up to 1e-3, since it takes logarithms of gradients; "
           "this one is not", "gradient", "second gradient", says="differs by"),
    *_each("renorm", "PyTorch's gradient for complex tensors and the infinity norm is NaN; this one is not", "gradient",
           "second gradient", dtypes=("complex64",), says="nan"),
    *_each("logsumexp", "PyTorch's gradient for large complex numbers in single precision is off by up to 3e-2; this one is not",
           "gradient", "second gradient", dtypes=("complex64",), says="differs by"),
    *_each("linalg.norm.subgradients_at_zero", "PyTorch's second gradient at 0 is NaN for most norms, and 0 or another subgradient for "
           "others", "second gradient", says="differs by"),
    *_each("linalg.householder_product", "second gradients of thousands agree to 1e-3 in single precision", "second gradient",
           dtypes=("complex64",), says="differs by"),
    *_each("logcumsumexp", "the imaginary part of a complex result may differ by multiples of 2π, as logarithms of one number do",
           *INDEXED, dtypes=("complex64",), says="differs by"),
    *_each("svd_lowrank pca_lowrank", "second gradients in single precision keep few digits, in both libraries; in double precision "
           "they agree", "second gradient", dtypes=("complex64",), says="differs by"),
    *_each("scatter_reduce.prod index_reduce.prod", "second gradients where several factors are 0, which PyTorch refuses",
           "second gradient"),
    *_each("abs", "the direction of complex numbers below 1e-30 is not exact", "second gradient", dtypes=("complex64",)),
    *_each("matrix_exp", "computed in float32; PyTorch's bfloat16 steps overflow to NaN", *INDEXED, dtypes=("bfloat16",), says="nan"),
    *_each("ldexp nn.functional.normalize nn.functional.scaled_dot_product_attention nn.functional.grid_sample grid_sampler_2d "
           "grid_sampler_3d nn.functional.poisson_nll_loss", "sums of gradients are rounded to bfloat16 at "
           "other places", "gradient", dtypes=("bfloat16",)),
    *_each("cholesky_solve cholesky_inverse", "second gradients agree for the triangle that is read; the rest of L has none here", "second gradient"),

    *_each("complex gather aminmax", "an out= of another dtype is cast into", "error", says="out"),
    *_each("amax amin", "an out= to whose dtype the result can't be cast gets the message of all ops", "error text", says="can't be cast"),
    *_each("index_select", "an expanded out= of another shape is resized", "error", says="single memory location"),
    *_each("arange", "the step is checked before it is cast to the dtype of out=", "error", says="step must be nonzero"),
    *_each("narrow_copy", "the checks are those of narrow", "error", "error text"),
    *_each("__radd__ __rmul__ __rand__ __ror__ __rxor__ __rdiv__", "Tensor.__radd__(1, 2) is no operator's call; here it may find a meaning",
           "error", "error text"),
)
