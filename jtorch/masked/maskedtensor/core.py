"""MaskedTensor: a tensor with a mask that is True for valid elements."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from jtorch._api import functions as torch
from jtorch._base import warned
from jtorch._base.layout import sparse_coo, sparse_csr, strided
from jtorch.dtype import named
from jtorch.masked.maskedtensor import functions
from jtorch.masked.maskedtensor.text import text_of
from jtorch.tensor import Tensor

_PROTOTYPE = ("The PyTorch API of MaskedTensors is in prototype stage and will change in the near future. Please open a Github "
              "issue for features requests and see our documentation on the torch.masked module for further information about "
              "the project.")
_WITH_GRAD = ("It is not recommended to create a MaskedTensor with a tensor that requires_grad. To avoid this, you can use "
              "data.detach().clone()")
_DTYPES = frozenset([named(n) for n in "float16 float32 float64 bool int8 int16 int32 int64".split()])


def is_masked_tensor(obj: Any, /) -> bool:
    """Return whether an object is a masked tensor. See torch.masked.is_masked_tensor."""
    return isinstance(obj, MaskedTensor)


class MaskedTensor(Tensor):
    """A tensor with a mask that is True for valid elements. See torch.masked.MaskedTensor.

    It has no memory of its own: operators compute on the data and the mask, which are copied.

    Example:
        >>> import jtorch as torch
        >>> t = torch.masked.MaskedTensor(torch.arange(3.0), torch.tensor([True, False, True]))
        >>> t.mean(), t.to_tensor(-1.0)
        (MaskedTensor(  1.0000, True), tensor([ 0., -1.,  2.]))

    """

    _masked_data: Tensor
    _masked_mask: Tensor

    @staticmethod
    def __new__(cls, data: Tensor, mask: Tensor, requires_grad: bool = False) -> Any:
        """Return a tensor without memory, of the data's shape, dtype and device."""
        for name, given in (("data", data), ("mask", mask)):
            if is_masked_tensor(given) or not isinstance(given, Tensor):
                raise TypeError(f"{name} must be a Tensor")
        warned.warn(_PROTOTYPE)
        if data.requires_grad:
            warned.warn(_WITH_GRAD)
        if requires_grad and not (data.is_floating_point() or data.is_complex()):
            raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
        make: Any = Tensor._make_wrapper_subclass
        return make(cls, data.size(), dtype=data.dtype, device=data.device, requires_grad=requires_grad)

    def __init__(self, data: Tensor, mask: Tensor, requires_grad: bool = False):
        if data.layout is not mask.layout:
            raise TypeError("data and mask must have the same layout.")
        data, mask = _with_equal_places(data, mask)
        self._set_data_mask(data.clone(), mask.clone())

    def _set_data_mask(self, data: Tensor, mask: Tensor) -> None:
        _check(data, mask)
        self._masked_data, self._masked_mask = data, mask

    @staticmethod
    def _from_values(data: Tensor, mask: Tensor) -> MaskedTensor:
        return functions.Constructor.apply(data, mask)

    # ------------------------------------------------------------ parts

    def get_data(self) -> Tensor:
        """Return the data without the mask. The gradient of the masked tensor is masked."""
        return functions.GetData.apply(self)

    def get_mask(self) -> Tensor:
        """Return the mask itself."""
        return self._masked_mask

    def to_tensor(self, value: Any) -> Tensor:
        """Return the data with ``value`` in the elements that are not valid."""
        return self.get_data().masked_fill(~self.get_mask(), value)

    # ------------------------------------------------------------ layouts

    layout = property(lambda self: self._masked_data.layout if "_masked_data" in vars(self) else strided)    # type: ignore[assignment]
    is_sparse = property(lambda self: self.is_sparse_coo() or self.is_sparse_csr())      # type: ignore[assignment]

    def is_sparse_coo(self) -> bool:
        """Return whether the data's layout is COO."""
        return self.layout is sparse_coo

    def is_sparse_csr(self) -> bool:        # type: ignore[override]
        """Return whether the data's layout is CSR."""
        return self.layout is sparse_csr

    # ------------------------------------------------------------ calls

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: tuple = (), kwargs: Any = None) -> Any:
        """Use the class's rule of a function, if there is one."""
        from jtorch.masked.maskedtensor._ops_refs import function_rule
        rule = function_rule(func)
        if rule is not None:
            return rule(*args, **(kwargs or {}))
        return super().__torch_function__(func, types, args, kwargs)      # type: ignore[misc]

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: tuple = (), kwargs: Any = None) -> Any:
        """Use the class's rule of an operator. If there is none, warn and return NotImplemented."""
        from jtorch.masked.maskedtensor._ops_refs import DISPATCH
        rule = DISPATCH.get(func.overloadpacket)
        if rule is not None:
            return rule(*args, **(kwargs or {}))
        warned.warn(without_rule(f"{func.overloadpacket.__name__} is not implemented in __torch_dispatch__ for MaskedTensor."))
        return NotImplemented

    def __lt__(self, other: Any) -> MaskedTensor:
        return MaskedTensor(self.get_data() < data_of(other), self.get_mask())

    def __repr__(self, **options: Any) -> str:      # type: ignore[override]
        data, mask = self._masked_data.detach(), self._masked_mask
        return text_of(data, mask) if self.layout is strided else text_of(data.to_dense(), mask.to_dense())

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return object.__format__(self, spec)


def _with_equal_places(data: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """Return data and mask. Sparse data that stores another number of elements than the mask gets the mask's indices."""
    if data.layout is sparse_coo:
        data, mask = data.coalesce(), mask.coalesce()
    elif data.layout is not sparse_csr:
        return data, mask
    sparse: Any = data
    return (sparse.sparse_mask(mask), mask) if sparse._nnz() != cast(Any, mask)._nnz() else (data, mask)


def _check(data: Tensor, mask: Tensor) -> None:
    """Raise PyTorch's errors for data and mask that do not fit."""
    if type(data) is not type(mask):
        raise TypeError(f"data and mask must have the same type. Got {type(data)} and {type(mask)}")
    if data.layout not in (strided, sparse_coo, sparse_csr):
        raise TypeError(f"data layout of {data.layout} is not supported.")
    if data.layout is sparse_coo and not tensors_match(data.indices(), mask.indices()):
        raise ValueError("data and mask are both sparse COO tensors but do not have the same indices.")
    if data.layout is sparse_csr and not _same_places(data, mask):
        raise ValueError("data and mask are both sparse CSR tensors but do not share either crow or col indices.")
    if mask.dtype is not named("bool"):
        raise TypeError("mask must have dtype bool.")
    if data.dtype not in _DTYPES:
        raise TypeError(f"{data.dtype} is not supported in MaskedTensor.")
    if data.dim() != mask.dim():
        raise ValueError("data.dim() must equal mask.dim()")
    if data.size() != mask.size():
        raise ValueError("data.size() must equal mask.size()")


def _same_places(a: Tensor, b: Tensor) -> bool:
    return tensors_match(a.crow_indices(), b.crow_indices()) and tensors_match(a.col_indices(), b.col_indices())


def tensors_match(a: Tensor, b: Tensor, exact: bool = True, rtol: float = 1e-5, atol: float = 1e-8) -> bool:
    """Return whether two tensors of one layout have equal elements, stored in the same places."""
    if is_masked_tensor(a) or is_masked_tensor(b):
        raise ValueError("Neither `a` nor `b` can be a MaskedTensor.")
    if a.layout is not b.layout:
        raise ValueError(f"`a` and `b` must have the same layout. Got {a.layout} and {b.layout}")
    b = b if a.dtype is b.dtype else b.type(a.dtype)
    if a.layout is sparse_coo:
        return tensors_match(a.values(), b.values(), exact) and tensors_match(a.indices(), b.indices(), exact)
    if a.layout is sparse_csr:
        return _same_places(a, b) and tensors_match(a.values(), b.values(), exact)
    if a.dim() != b.dim():
        return False
    return bool(torch.eq(a, b).all().item()) if exact else torch.allclose(a, b, rtol=rtol, atol=atol)


def masks_match(a: Any, b: Any) -> bool:
    """Return whether two masked tensors have equal masks; True if one is not masked."""
    return not (is_masked_tensor(a) and is_masked_tensor(b)) or tensors_match(a.get_mask(), b.get_mask())


_tensors_match, _masks_match = tensors_match, masks_match


def data_of(x: Any) -> Any:
    """Return the stored data of a masked tensor; anything else unchanged."""
    return x._masked_data if is_masked_tensor(x) else x


def mask_of(x: Any) -> Any:
    """Return the mask of a masked tensor; None for anything else."""
    return x._masked_mask if is_masked_tensor(x) else None


def mapped(part: Callable[[Any], Any], value: Any) -> Any:
    """Return a value with each masked tensor replaced by ``part`` of it, also inside lists."""
    if is_masked_tensor(value):
        return part(value)
    if value.__class__ in (list, tuple):
        return type(value)([mapped(part, v) for v in value])
    return value


def wrapped(data: Any, mask: Any) -> Any:
    """Return masked tensors of results and their masks, also inside lists."""
    if data.__class__ in (list, tuple):
        return type(data)([wrapped(d, m) for d, m in zip(data, mask, strict=True)])
    return MaskedTensor(data, mask) if isinstance(data, Tensor) else NotImplemented


def without_rule(first: str) -> str:
    """Return PyTorch's text about a missing operator; ``first`` is its first sentence."""
    return (f"{first}\nIf you would like this operator to be supported, please file an issue for a feature request at "
            "https://github.com/pytorch/maskedtensor/issues with a minimal reproducible code snippet.\nIn the case that the "
            "semantics for the operator are not trivial, it would be appreciated to also include a proposal for the semantics.")
