"""The base class of transforms, and transforms composed of others. See torch.distributions.transforms."""
from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import Any

from jtorch._api import functions
from jtorch._base.size import Size
from jtorch.distributions import constraints
from jtorch.distributions.distribution import sum_last


class Transform:
    """A differentiable function from ``domain`` to ``codomain`` that knows the logarithm of its Jacobian's determinant.

    A subclass defines ``_call``, ``log_abs_det_jacobian`` and, if it has an inverse, ``_inverse``. See
    torch.distributions.transforms.Transform.

    Args:
        cache_size (int): 1 keeps the last argument and result, so that ``inv`` of the result is not computed; 0
            does not.

    Raises:
        ValueError: if ``cache_size`` is neither 0 nor 1.

    Example::

        >>> exp = torch.distributions.ExpTransform()
        >>> exp.inv(exp(torch.tensor([0.0, 0.0])))
        tensor([0., 0.])

    """

    bijective: Any = False
    domain: Any
    codomain: Any
    _cached: tuple = (None, None)       # class default, for pickles from PyTorch without the attribute

    def __init__(self, cache_size: int = 0):
        if cache_size not in (0, 1):
            raise ValueError("cache_size must be 0 or 1")
        self._cache_size = cache_size
        self._inv: Any = None
        self._cached = (None, None)

    def __getstate__(self) -> dict:
        return {**vars(self), "_inv": None}

    @property
    def event_dim(self) -> int:
        """Return the number of dims of an event, if argument and result have the same."""
        if self.domain.event_dim == self.codomain.event_dim:
            return self.domain.event_dim
        raise ValueError("Please use either .domain.event_dim or .codomain.event_dim")

    @property
    def inv(self) -> Any:
        """Return the inverse transform, whose ``inv`` is this transform."""
        if self._inv is None:
            self._inv = _InverseTransform(self)
        return self._inv

    @property
    def sign(self) -> Any:
        """Return the sign of the derivative of a monotonic function of numbers: 1 or -1."""
        raise NotImplementedError

    def with_cache(self, cache_size: int = 1) -> Any:
        """Return a transform that differs only in ``cache_size``."""
        return self if self._cache_size == cache_size else self._with_cache(cache_size)

    def _with_cache(self, cache_size: int) -> Any:
        if type(self).__init__ is Transform.__init__:
            return type(self)(cache_size=cache_size)
        raise NotImplementedError(f"{type(self)}.with_cache is not implemented")

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = None     # type: ignore[assignment]

    def __call__(self, x: Any) -> Any:
        if x is self._cached[0] and self._cache_size:
            return self._cached[1]
        return self._kept(x, self._call(x))[1]

    def _inv_call(self, y: Any) -> Any:
        if y is self._cached[1] and self._cache_size:
            return self._cached[0]
        return self._kept(self._inverse(y), y)[0]

    def _kept(self, x: Any, y: Any) -> tuple:
        if self._cache_size:
            self._cached = (x, y)
        return x, y

    def _call(self, x: Any) -> Any:
        raise NotImplementedError

    def _inverse(self, y: Any) -> Any:
        raise NotImplementedError

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """Return log |det dy/dx|, of the shape of x without the dims of an event."""
        raise NotImplementedError

    def forward_shape(self, shape: Any) -> Any:
        """Return the result's shape, given the argument's."""
        return shape

    def inverse_shape(self, shape: Any) -> Any:
        """Return the argument's shape, given the result's."""
        return shape

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class OfItsKind(Transform):
    """A transform without parameters: all instances of a class are equal."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self))

    __hash__ = None     # type: ignore[assignment]


class _InverseTransform(Transform):
    """The inverse of another transform."""

    def __init__(self, transform: Transform):
        super().__init__(transform._cache_size)
        self._inv = transform

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        return self._inv.codomain

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:
        return self._inv.domain

    @property
    def bijective(self) -> Any:         # type: ignore[override]
        return self._inv.bijective

    @property
    def sign(self) -> Any:
        return self._inv.sign

    def with_cache(self, cache_size: int = 1) -> Any:
        return self.inv.with_cache(cache_size).inv

    def __getstate__(self) -> dict:
        return vars(self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _InverseTransform) and self._inv == other._inv

    __hash__ = None     # type: ignore[assignment]

    def __call__(self, x: Any) -> Any:
        return self._inv._inv_call(x)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return -self._inv.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape: Any) -> Any:
        return self._inv.inverse_shape(shape)

    def inverse_shape(self, shape: Any) -> Any:
        return self._inv.forward_shape(shape)

    def __repr__(self) -> str:
        return f"_InverseTransform({self._inv!r})"


def _at_least(constraint: Any, event_dim: int) -> Any:
    """Return the constraint on events of at least ``event_dim`` dims."""
    more = event_dim - constraint.event_dim
    return constraints.independent(constraint, more) if more > 0 else constraint


class ComposeTransform(Transform):
    """Transforms applied one after the other. See torch.distributions.transforms.ComposeTransform.

    Args:
        parts (list of Transforms): in the order of application.
        cache_size (int): 1 keeps the last argument and result, so that ``inv`` of the result is not computed; 0
            does not.

    Example::

        >>> D = torch.distributions
        >>> D.ComposeTransform([D.ExpTransform(), D.AffineTransform(1.0, 2.0)])(torch.zeros(2))
        tensor([3., 3.])

    """

    def __init__(self, parts: list, cache_size: int = 0):
        super().__init__(cache_size)
        self.parts = [part.with_cache(cache_size) for part in parts] if cache_size else parts

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ComposeTransform) and self.parts == other.parts

    __hash__ = None     # type: ignore[assignment]

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        """Return the first transform's domain, with as many event dims as any transform needs."""
        if not self.parts:
            return constraints.real
        n = self.parts[-1].codomain.event_dim
        for part in reversed(self.parts):
            n = max(n + part.domain.event_dim - part.codomain.event_dim, part.domain.event_dim)
        return _at_least(self.parts[0].domain, n)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:
        """Return the last transform's codomain, with as many event dims as any transform gives."""
        if not self.parts:
            return constraints.real
        n = self.parts[0].domain.event_dim
        for part in self.parts:
            n = max(n + part.codomain.event_dim - part.domain.event_dim, part.codomain.event_dim)
        return _at_least(self.parts[-1].codomain, n)

    @property
    def bijective(self) -> Any:         # type: ignore[override]
        """Return whether all transforms are bijective."""
        return all([p.bijective for p in self.parts])

    @property
    def sign(self) -> Any:
        return functools.reduce(operator.mul, [p.sign for p in self.parts], 1)

    @property
    def inv(self) -> Any:
        if self._inv is None:
            self._inv = ComposeTransform([p.inv for p in reversed(self.parts)])
            self._inv._inv = self
        return self._inv

    def _with_cache(self, cache_size: int) -> Any:
        return ComposeTransform(self.parts, cache_size)

    def __call__(self, x: Any) -> Any:
        return functools.reduce(lambda value, part: part(value), self.parts, x)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        if not self.parts:
            return functions.zeros_like(x)
        terms, n = [], self.domain.event_dim
        for part in self.parts:
            after = y if part is self.parts[-1] else part(x)
            terms.append(sum_last(part.log_abs_det_jacobian(x, after), n - part.domain.event_dim))
            n, x = n + part.codomain.event_dim - part.domain.event_dim, after
        return functools.reduce(operator.add, terms)

    def forward_shape(self, shape: Any) -> Any:
        return functools.reduce(lambda s, part: part.forward_shape(s), self.parts, shape)

    def inverse_shape(self, shape: Any) -> Any:
        return functools.reduce(lambda s, part: part.inverse_shape(s), reversed(self.parts), shape)

    def __repr__(self) -> str:
        return "ComposeTransform(\n    " + ",\n    ".join([repr(p) for p in self.parts]) + "\n)"


identity_transform = ComposeTransform([])


def too_few(shape: Any, n: int) -> None:
    """Raise ValueError for a shape with fewer than ``n`` dims."""
    if len(shape) < n:
        raise ValueError("Too few dimensions on input")


class IndependentTransform(Transform):
    """A transform whose last batch dims count as dims of one event: its log determinant sums over them.

    See torch.distributions.transforms.IndependentTransform.

    Args:
        base_transform (Transform): the transform of the elements.
        reinterpreted_batch_ndims (int): the number of dims to move into the event.
        cache_size (int): 1 keeps the last argument and result, so that ``inv`` of the result is not computed; 0
            does not.

    Raises:
        ValueError: for an argument with too few dims.

    Example::

        >>> D = torch.distributions
        >>> x = torch.zeros(3)
        >>> D.IndependentTransform(D.ExpTransform(), 1).log_abs_det_jacobian(x, x.exp())
        tensor(0.)

    """

    def __init__(self, base_transform: Any, reinterpreted_batch_ndims: int, cache_size: int = 0):
        super().__init__(cache_size)
        self.base_transform = base_transform.with_cache(cache_size)
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    def _with_cache(self, cache_size: int) -> Any:
        return IndependentTransform(self.base_transform, self.reinterpreted_batch_ndims, cache_size)

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        """Return the base's constraint, on larger events."""
        return constraints.independent(self.base_transform.domain, self.reinterpreted_batch_ndims)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:
        """Return the base's constraint, on larger events."""
        return constraints.independent(self.base_transform.codomain, self.reinterpreted_batch_ndims)

    @property
    def bijective(self) -> Any:         # type: ignore[override]
        """Return whether the base transform is bijective."""
        return self.base_transform.bijective

    @property
    def sign(self) -> Any:
        return self.base_transform.sign

    def _call(self, x: Any) -> Any:
        too_few(x.shape, self.domain.event_dim)
        return self.base_transform(x)

    def _inverse(self, y: Any) -> Any:
        too_few(y.shape, self.codomain.event_dim)
        return self.base_transform.inv(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return sum_last(self.base_transform.log_abs_det_jacobian(x, y), self.reinterpreted_batch_ndims)

    def forward_shape(self, shape: Any) -> Any:
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape: Any) -> Any:
        return self.base_transform.inverse_shape(shape)

    def __repr__(self) -> str:
        return f"IndependentTransform({self.base_transform!r}, {self.reinterpreted_batch_ndims})"


class _OfParts(Transform):
    """Transforms of the parts of a value along ``dim``; subclasses split and join the parts."""

    def __init__(self, tseq: Sequence[Any], dim: int = 0, cache_size: int = 0):
        if not all([isinstance(t, Transform) for t in tseq]):
            raise AssertionError("All elements of tseq must be Transform instances")
        super().__init__(cache_size)
        self.transforms = [t.with_cache(cache_size) for t in tseq] if cache_size else list(tseq)
        self.dim = dim

    @property
    def bijective(self) -> Any:         # type: ignore[override]
        """Return whether all transforms are bijective."""
        return all([t.bijective for t in self.transforms])

    def _call(self, x: Any) -> Any:
        return self._join([t(v) for t, v in zip(self.transforms, self._parts(x, "tensor", "x"), strict=True)])

    def _inverse(self, y: Any) -> Any:
        return self._join([t.inv(v) for t, v in zip(self.transforms, self._parts(y, "tensor", "y"), strict=True)])

    def _log_dets(self, x: Any, y: Any) -> list:
        parts = zip(self.transforms, self._parts(x, "x", "x"), self._parts(y, "y", "y"), strict=True)
        return [t.log_abs_det_jacobian(a, b) for t, a, b in parts]

    def _join(self, parts: list) -> Any:
        raise NotImplementedError

    def _parts(self, value: Any, who: str, name: str) -> Any:
        raise NotImplementedError

    def _check(self, value: Any, who: str, name: str, size: int, what: str) -> None:
        if not -value.dim() <= self.dim < value.dim():
            raise AssertionError(f"dim {self.dim} out of range for {who} with {value.dim()} dimensions")
        if value.size(self.dim) != size:
            raise AssertionError(f"{name}.size({self.dim}) = {value.size(self.dim)} must equal {what} {size}")


class CatTransform(_OfParts):
    """Transforms of consecutive pieces along ``dim``. See torch.distributions.transforms.CatTransform.

    Args:
        tseq (sequence of Transforms): one for each piece.
        dim (int): the dim that is split.
        lengths (sequence of ints or None): the pieces' lengths; None means 1 each.
        cache_size (int): 1 keeps the last argument and result, so that ``inv`` of the result is not computed; 0
            does not.

    Raises:
        AssertionError: for lengths that do not fit.

    Example::

        >>> D = torch.distributions
        >>> D.CatTransform([D.ExpTransform(), D.AbsTransform()], 0, [1, 2])(torch.tensor([0.0, -1.0, -2.0]))
        tensor([1., 1., 2.])

    """

    def __init__(self, tseq: Sequence[Any], dim: int = 0, lengths: Sequence[int] | None = None, cache_size: int = 0):
        super().__init__(tseq, dim, cache_size)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise AssertionError(f"lengths ({len(self.lengths)}) must match transforms ({len(self.transforms)})")

    @property
    def event_dim(self) -> int:
        return max([t.event_dim for t in self.transforms])

    @property
    def length(self) -> int:
        """Return the total length of the pieces."""
        return sum(self.lengths)

    def _with_cache(self, cache_size: int) -> Any:
        return CatTransform(self.transforms, self.dim, self.lengths, cache_size)

    def _parts(self, value: Any, who: str, name: str) -> Any:
        self._check(value, who, name, self.length, "length")
        return value.split(self.lengths, self.dim)

    def _join(self, parts: list) -> Any:
        return functions.cat(parts, dim=self.dim)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        n = self.event_dim
        dets = [sum_last(d, n - t.event_dim) for t, d in zip(self.transforms, self._log_dets(x, y), strict=True)]
        dim = (self.dim - x.dim() if self.dim >= 0 else self.dim) + n
        return functions.cat(dets, dim=dim) if dim < 0 else sum(dets)

    @constraints.dependent_property
    def domain(self) -> Any:
        """Return the combination of the transforms' constraints."""
        return constraints.cat([t.domain for t in self.transforms], self.dim, self.lengths)

    @constraints.dependent_property
    def codomain(self) -> Any:
        """Return the combination of the transforms' constraints."""
        return constraints.cat([t.codomain for t in self.transforms], self.dim, self.lengths)


class StackTransform(_OfParts):
    """Transforms of the slices along ``dim``. See torch.distributions.transforms.StackTransform.

    Args:
        tseq (sequence of Transforms): one for each slice.
        dim (int): the dim that is split.
        cache_size (int): 1 keeps the last argument and result, so that ``inv`` of the result is not computed; 0
            does not.

    Raises:
        AssertionError: for a dim of another size.

    Example::

        >>> D = torch.distributions
        >>> D.StackTransform([D.ExpTransform(), D.AbsTransform()])(torch.tensor([0.0, -1.0]))
        tensor([1., 1.])

    """

    def _with_cache(self, cache_size: int) -> Any:
        return StackTransform(self.transforms, self.dim, cache_size)

    def _parts(self, value: Any, who: str, name: str) -> Any:
        self._check(value, who, name, len(self.transforms), "len(transforms)")
        return value.unbind(self.dim)

    def _join(self, parts: list) -> Any:
        return functions.stack(parts, dim=self.dim)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return self._join(self._log_dets(x, y))

    @constraints.dependent_property
    def domain(self) -> Any:
        """Return the combination of the transforms' constraints."""
        return constraints.stack([t.domain for t in self.transforms], self.dim)

    @constraints.dependent_property
    def codomain(self) -> Any:
        """Return the combination of the transforms' constraints."""
        return constraints.stack([t.codomain for t in self.transforms], self.dim)


class ReshapeTransform(Transform):
    """A transform that gives events another shape. See torch.distributions.transforms.ReshapeTransform.

    Args:
        in_shape (sequence of ints): the events' shape in the argument.
        out_shape (sequence of ints): the events' shape in the result.
        cache_size (int): 1 keeps the last argument and result, so that ``inv`` of the result is not computed; 0
            does not.

    Raises:
        ValueError: for shapes of different numbers of elements.

    Example::

        >>> torch.distributions.ReshapeTransform((4,), (2, 2))(torch.arange(4.0))
        tensor([[0., 1.],
                [2., 3.]])

    """

    bijective = True

    def __init__(self, in_shape: Any, out_shape: Any, cache_size: int = 0):
        self.in_shape, self.out_shape = Size(in_shape), Size(out_shape)
        if self.in_shape.numel() != self.out_shape.numel():
            raise ValueError("in_shape, out_shape have different numbers of elements")
        super().__init__(cache_size)

    @constraints.dependent_property
    def domain(self) -> Any:
        """Return the constraint: arrays of real numbers."""
        return constraints.independent(constraints.real, len(self.in_shape))

    @constraints.dependent_property
    def codomain(self) -> Any:
        """Return the constraint: arrays of real numbers."""
        return constraints.independent(constraints.real, len(self.out_shape))

    def _with_cache(self, cache_size: int) -> Any:
        return ReshapeTransform(self.in_shape, self.out_shape, cache_size)

    def _call(self, x: Any) -> Any:
        return x.reshape(x.shape[:x.dim() - len(self.in_shape)] + self.out_shape)

    def _inverse(self, y: Any) -> Any:
        return y.reshape(y.shape[:y.dim() - len(self.out_shape)] + self.in_shape)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return x.new_zeros(x.shape[:x.dim() - len(self.in_shape)])

    def forward_shape(self, shape: Any) -> Any:
        return _replaced(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape: Any) -> Any:
        return _replaced(shape, self.out_shape, self.in_shape)


def _replaced(shape: Any, old: Size, new: Size) -> Size:
    too_few(shape, len(old))
    cut = len(shape) - len(old)
    if tuple(shape[cut:]) != tuple(old):
        raise ValueError(f"Shape mismatch: expected {shape[cut:]} but got {old}")
    return Size((*shape[:cut], *new))
