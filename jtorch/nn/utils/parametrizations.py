"""torch.nn.utils.parametrizations: orthogonal weights, spectral norm and weight norm."""
from __future__ import annotations

from typing import Any

from jtorch._api import functions
from jtorch._base.dtype_info import finfo
from jtorch.nn import functional as F
from jtorch.nn.modules.module import Module
from jtorch.nn.utils import _old_keys
from jtorch.nn.utils.parametrize import register_parametrization
from jtorch.no_grad import no_grad
from jtorch.tensor import Tensor

_MAPS = ("matrix_exp", "cayley", "householder")


def _weight_of(module: Any, name: str) -> Any:
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    return weight


# ---------------------------------------------------------------- orthogonal

def _is_orthogonal(q: Any) -> bool:
    rows, columns = q.shape[-2:]
    eye = functions.eye(columns, dtype=q.dtype, device=q.device)
    return functions.allclose(q.mH @ q, eye, atol=10.0 * rows * finfo(q.dtype).eps)


def _orthogonalized(a: Any) -> Any:
    """Return the Q of a QR decomposition whose R has a positive diagonal."""
    x, tau = functions.geqrf(a)
    return functions.linalg.householder_product(x, tau) * x.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)


class _Orthogonal(Module):
    """A matrix made orthogonal by one of three maps; ``base`` is the matrix that it starts from (a trivialization)."""

    base: Any

    def __init__(self, weight: Any, orthogonal_map: str, *, use_trivialization: bool = True):
        super().__init__()
        if weight.is_complex() and orthogonal_map == "householder":
            raise ValueError("The householder parametrization does not support complex tensors.")
        self.shape, self.orthogonal_map = weight.shape, orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, x: Any) -> Any:
        """Return the orthogonal matrix."""
        wide = x.size(-2) < x.size(-1)
        x = x.mT if wide else x
        q = self._householder(x) if self.orthogonal_map == "householder" else self._of_skew(x)
        if hasattr(self, "base"):
            q = self.base @ q
        return q.mT if wide else q

    def _of_skew(self, x: Any) -> Any:
        """Apply the orthogonal map to the skew-symmetric matrix with the lower triangle of ``x``."""
        n, k = x.shape[-2:]
        x = x.tril()
        if n != k:
            x = functions.cat([x, x.new_zeros(n, n - k).expand(*x.shape[:-2], -1, -1)], dim=-1)
        a = x - x.mH
        if self.orthogonal_map == "matrix_exp":
            return a.matrix_exp()[..., :k]
        eye = functions.eye(n, dtype=a.dtype, device=a.device)
        return functions.linalg.solve(eye.add(a, alpha=-0.5), eye.add(a, alpha=0.5))[..., :k]

    @staticmethod
    def _householder(x: Any) -> Any:
        a = x.tril(diagonal=-1)
        tau = 2.0 / (1.0 + (a * a).sum(dim=-2))
        q = functions.linalg.householder_product(a, tau)
        return q * x.diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)

    @no_grad()
    def right_inverse(self, q: Any) -> Any:
        """Return the parameter for which the map gives ``q``."""
        if q.shape != self.shape:
            raise ValueError(f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of shape {q.shape}.")
        tall = q.mT if q.size(-2) < q.size(-1) else q
        if hasattr(self, "base"):
            self.base = self._base_of(tall)
            start = functions.zeros_like(q)
            start.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
            return start
        if self.orthogonal_map != "householder":
            raise NotImplementedError("It is not possible to assign to the matrix exponential or the Cayley parametrizations "
                                      "when use_trivialization=False.")
        a, tau = functions.geqrf(tall)
        a.diagonal(dim1=-2, dim2=-1).sign_()
        a.diagonal(dim1=-2, dim2=-1)[tau == 0.0] *= -1
        return a if tall is q else a.mT

    @staticmethod
    def _base_of(q: Any) -> Any:
        """Complete ``q`` to a square orthogonal matrix."""
        n, k = q.shape[-2:]
        if n != k:
            more = functions.randn(*q.shape[:-2], n, n - k, dtype=q.dtype, device=q.device)
            return _orthogonalized(functions.cat([q, more], dim=-1))
        return q.clone() if _is_orthogonal(q) else _orthogonalized(q)


def orthogonal(module: Module, name: str = "weight", orthogonal_map: str | None = None, *,
               use_trivialization: bool = True) -> Module:
    """Keep a matrix (or batch of matrices) orthogonal. See torch.nn.utils.parametrizations.orthogonal.

    ``orthogonal_map`` is ``matrix_exp`` (of a skew-symmetric matrix; the default for square matrices), ``cayley`` or
    ``householder`` (the default otherwise). ``use_trivialization`` starts from the current matrix (Lezcano-Casado 2019,
    https://arxiv.org/abs/1909.09501).

        >>> m = orthogonal(torch.nn.Linear(4, 3))
        >>> torch.dist(m.weight @ m.weight.T, torch.eye(3)) < 1e-4
        tensor(True)
    """
    weight = _weight_of(module, name)
    if weight.ndim < 2:
        raise ValueError(f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions.")
    if orthogonal_map is None:
        square = weight.size(-2) == weight.size(-1) or weight.is_complex()
        orthogonal_map = "matrix_exp" if square else "householder"
    if orthogonal_map not in _MAPS:
        raise ValueError(f'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: {orthogonal_map}')
    made = _Orthogonal(weight, orthogonal_map, use_trivialization=use_trivialization)
    return register_parametrization(module, name, made, unsafe=True)


# ---------------------------------------------------------------- weight norm

class _WeightNorm(Module):
    def __init__(self, dim: int | None = 0):
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        """Return the weight."""
        return functions._weight_norm(weight_v, weight_g, self.dim)

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        """Return the weight's length and direction."""
        return functions.norm_except_dim(weight, 2, self.dim), weight


def weight_norm(module: Module, name: str = "weight", dim: int = 0) -> Module:
    """Parametrize a weight as lengths (``original0``) times directions (``original1``).

    See torch.nn.utils.parametrizations.weight_norm.

    Each index of ``dim`` has its own norm; None gives one norm for the whole weight. Source: Salimans and Kingma,
    https://arxiv.org/abs/1602.07868.

        >>> m = weight_norm(torch.nn.Linear(4, 3))
        >>> m.parametrizations.weight.original0.shape
        torch.Size([3, 1])
    """
    register_parametrization(module, name, _WeightNorm(dim), unsafe=True)
    module._register_load_state_dict_pre_hook(_old_keys.OldKeys(name))
    return module


# ---------------------------------------------------------------- spectral norm

class _SpectralNorm(Module):
    """Divides a weight by its largest singular value, estimated by power iterations; vectors by their norm."""

    _u: Any
    _v: Any

    def __init__(self, weight: Any, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12):
        super().__init__()
        ndim = weight.ndim
        if not -ndim <= dim < ndim:
            raise IndexError(f"Dimension out of range (expected to be in range of [-{ndim}, {ndim - 1}] but got {dim})")
        if n_power_iterations <= 0:
            raise ValueError(f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}")
        self.dim, self.eps = dim % ndim, eps
        if ndim > 1:
            self.n_power_iterations = n_power_iterations
            matrix = self._matrix(weight)
            u, v = (matrix.new_empty(n).normal_(0, 1) for n in matrix.shape)
            self.register_buffer("_u", F.normalize(u, dim=0, eps=eps))
            self.register_buffer("_v", F.normalize(v, dim=0, eps=eps))
            self._iterate(matrix, 15)

    def _matrix(self, weight: Any) -> Any:
        return weight.movedim(self.dim, 0).flatten(1)

    @no_grad()
    def _iterate(self, matrix: Any, n: int) -> None:
        u, v = self._u, self._v
        for _ in range(n):
            u = F.normalize(matrix.mv(v), dim=0, eps=self.eps)
            v = F.normalize(matrix.mH.mv(u), dim=0, eps=self.eps)
        self._u.copy_(u)
        self._v.copy_(v)

    def forward(self, weight: Any) -> Any:
        """Return the normalized weight."""
        if weight.ndim == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = self._matrix(weight)
        if self.training:
            self._iterate(matrix, self.n_power_iterations)
        # The next iteration writes to u and v, but this iteration's backward needs their values.
        u, v = self._u.clone(), self._v.clone()
        return weight / u.vdot(matrix.mv(v))

    def right_inverse(self, value: Tensor) -> Tensor:
        """Return the value unchanged."""
        return value


def output_dim(module: Any) -> int:
    """Return the dim of the output features in a layer's weight."""
    return 1 if "ConvTranspose" in "".join(cls.__name__ for cls in type(module).__mro__) else 0


def spectral_norm(module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12,
                  dim: int | None = None) -> Module:
    """Keep the largest singular value of a weight at 1. See torch.nn.utils.parametrizations.spectral_norm.

    In training each use of the weight runs ``n_power_iterations``. ``dim`` is the dimension of the outputs. Source:
    Miyato et al., https://arxiv.org/abs/1802.05957.

        >>> m = spectral_norm(torch.nn.Linear(20, 40))
        >>> round(torch.linalg.matrix_norm(m.weight, 2).item(), 1)
        1.0
    """
    made = _SpectralNorm(_weight_of(module, name), n_power_iterations, output_dim(module) if dim is None else dim, eps)
    return register_parametrization(module, name, made)


__all__ = ["orthogonal", "spectral_norm", "weight_norm"]
