"""torch.nn.utils.prune: parameters whose elements are partly masked.

Before each forward, a pruned ``weight`` is set to ``weight_orig`` (the parameter) times ``weight_mask`` (a buffer).

    >>> m = torch.nn.Linear(4, 1)
    >>> l1_unstructured(m, "weight", amount=0.5).weight_mask.sum()
    tensor(2.)
    >>> remove(m, "weight").weight.eq(0).sum()
    tensor(2)
"""
from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any

from jtorch._api import functions
from jtorch.nn.utils.convert_parameters import parameters_to_vector


def _find(module: Any, name: str) -> list:
    """Return the keys of the hooks that prune a parameter."""
    hooks = module._forward_pre_hooks.items()
    return [k for k, h in hooks if isinstance(h, BasePruningMethod) and h._tensor_name == name]


class BasePruningMethod(ABC):
    """A method that chooses the elements to keep. It is a forward pre-hook of the modules that it prunes.

    See torch.nn.utils.prune.BasePruningMethod.

    A subclass defines ``PRUNING_TYPE`` (``unstructured``, ``structured`` with a ``dim``, or ``global``) and ``compute_mask``.
    """

    _tensor_name: str
    PRUNING_TYPE = ""

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """Return the mask for the scores ``t``, within ``default_mask``."""

    def apply_mask(self, module: Any) -> Any:
        """Return the pruned tensor."""
        original = getattr(module, f"{self._tensor_name}_orig")
        return getattr(module, f"{self._tensor_name}_mask").to(dtype=original.dtype) * original

    @classmethod
    def apply(cls, module: Any, name: str, *args: Any, importance_scores: Any = None, **kwargs: Any) -> BasePruningMethod:
        """Prune a parameter, or prune it further."""
        method = cls._composed(module, name, *args, **kwargs)
        original, again = getattr(module, name), isinstance(method, PruningContainer)
        if importance_scores is None:
            importance_scores = original
        elif importance_scores.shape != original.shape:
            raise AssertionError(f"importance_scores should have the same shape as parameter {name} of {module}, got "
                                 f"{importance_scores.shape} vs {original.shape}")
        before = getattr(module, f"{name}_mask").detach().clone() if again else functions.ones_like(original)
        mask = method.compute_mask(importance_scores, default_mask=before)
        if not again:
            module.register_parameter(f"{name}_orig", original)
            del module._parameters[name]
        module.register_buffer(f"{name}_mask", mask)
        setattr(module, name, method.apply_mask(module))
        for key in _find(module, name):
            del module._forward_pre_hooks[key]
        module.register_forward_pre_hook(method)
        return method

    @classmethod
    def _composed(cls, module: Any, name: str, *args: Any, **kwargs: Any) -> BasePruningMethod:
        """Return the method, in a container if the parameter has earlier methods."""
        found = _find(module, name)
        if len(found) > 1:
            raise AssertionError(f"Avoid adding multiple pruning hooks to the same tensor {name} of module {module}. Use a "
                                 "PruningContainer.")
        method = cls(*args, **kwargs)
        method._tensor_name = name
        if not found:
            return method
        old = module._forward_pre_hooks[found[0]]
        container = PruningContainer(*(old if isinstance(old, PruningContainer) else (old,)))
        container.add_pruning_method(method)
        return container

    def prune(self, t: Any, default_mask: Any = None, importance_scores: Any = None) -> Any:
        """Return the pruned tensor."""
        if importance_scores is not None and importance_scores.shape != t.shape:
            raise AssertionError(f"importance_scores should have the same shape as tensor t, got {importance_scores.shape} vs "
                                 f"{t.shape}")
        mask = functions.ones_like(t) if default_mask is None else default_mask
        return t * self.compute_mask(t if importance_scores is None else importance_scores, default_mask=mask)

    def remove(self, module: Any) -> None:
        """Replace the parameter by the pruned tensor."""
        name = self._tensor_name
        weight = self.apply_mask(module)
        delattr(module, name)
        original = module._parameters.pop(f"{name}_orig")
        original.data = weight.data
        del module._buffers[f"{name}_mask"]
        setattr(module, name, original)


class PruningContainer(BasePruningMethod):
    """A sequence of methods, each applied to the elements that the previous ones kept."""

    def __init__(self, *args: BasePruningMethod):
        self._pruning_methods: tuple[BasePruningMethod, ...] = ()
        if args:
            self._tensor_name = args[0]._tensor_name
        for method in args:
            self.add_pruning_method(method)

    def add_pruning_method(self, method: Any) -> None:
        """Add a method for the same tensor."""
        if not isinstance(method, BasePruningMethod):
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if self._tensor_name != method._tensor_name:
            raise ValueError(f"Can only add pruning methods acting on the parameter named '{self._tensor_name}' to "
                             f"PruningContainer {self}. Found '{method._tensor_name}'")
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Iterator[BasePruningMethod]:
        return iter(self._pruning_methods)

    def __getitem__(self, idx: Any) -> Any:
        return self._pruning_methods[idx]

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """Return the last method's mask, within the previous mask."""
        method, mask = self._pruning_methods[-1], default_mask.to(dtype=t.dtype).clone()
        part = _left(method, t, default_mask)
        mask[part] = method.compute_mask(t[part], default_mask=default_mask[part]).to(dtype=mask.dtype)
        return mask


def _left(method: Any, t: Any, mask: Any) -> Any:
    """Return the index of what a method chooses from: unpruned elements, channels with such elements, or (``global``) all."""
    if method.PRUNING_TYPE == "unstructured":
        return mask == 1
    everything = [slice(None)] * t.dim()
    if method.PRUNING_TYPE == "structured":
        if not hasattr(method, "dim"):
            raise AttributeError('Pruning methods of PRUNING_TYPE "structured" need to have the attribute `dim` defined.')
        dim = method.dim % t.dim()
        everything[dim] = mask.sum(dim=[d for d in range(t.dim()) if d != dim]) != 0
    elif method.PRUNING_TYPE != "global":
        raise ValueError(f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}")
    return tuple(everything)


# ---------------------------------------------------------------- pruning methods

def _check_amount(amount: Any) -> None:
    if not isinstance(amount, numbers.Real):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    number = float(amount)
    if number < 0 or (not isinstance(amount, numbers.Integral) and number > 1.0):
        raise ValueError(f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer")


def _how_many(amount: Any, size: int) -> int:
    n = int(amount) if isinstance(amount, numbers.Integral) else round(amount * size)
    if n > size:
        raise ValueError(f"amount={n} should be smaller than the number of parameters to prune={size}")
    return n


def _channels(method: Any, t: Any) -> tuple[int, int]:
    """Return (the size of the method's dim, the number of its channels to prune)."""
    if t.dim() <= 1:
        raise ValueError(f"Structured pruning can only be applied to multidimensional tensors. Found tensor of shape {t.shape} "
                         f"with {t.dim()} dims")
    if method.dim >= t.dim():
        raise IndexError(f"Invalid index {method.dim} for tensor of size {t.shape}")
    size = t.shape[method.dim]
    return size, _how_many(method.amount, size)


def _only(t: Any, dim: int, channels: Any, mask: Any) -> Any:
    """Return the mask, with zeros outside ``channels`` of a dim."""
    chosen = functions.zeros_like(t)
    index: list = [slice(None)] * t.dim()
    index[dim] = channels
    chosen[tuple(index)] = 1
    return chosen * mask.to(dtype=chosen.dtype)


class Identity(BasePruningMethod):
    """Prunes nothing."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """Return the previous mask."""
        return default_mask


class _Amount(BasePruningMethod):
    PRUNING_TYPE = "unstructured"

    def __init__(self, amount: float):
        _check_amount(amount)
        self.amount = amount

    def _without(self, mask: Any, scores: Any, n: int, *, largest: bool) -> Any:
        mask = mask.clone()
        mask.view(-1)[scores.view(-1).topk(n, largest=largest).indices] = 0
        return mask


class RandomUnstructured(_Amount):
    """Prunes elements at random."""

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """Return the mask with zeros at random positions."""
        n = _how_many(self.amount, t.numel())
        return self._without(default_mask, functions.rand_like(t), n, largest=True) if n else default_mask.clone()


class L1Unstructured(_Amount):
    """Prunes the elements with the smallest magnitudes."""

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """Return the mask with zeros for the smallest elements."""
        n = _how_many(self.amount, t.numel())
        return self._without(default_mask, t.abs(), n, largest=False) if n else default_mask.clone()


class RandomStructured(_Amount):
    """Prunes channels at random."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount: float, dim: int = -1):
        super().__init__(amount)
        self.dim = dim

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """Return the mask with zeros in random channels."""
        size, n = _channels(self, t)
        if not n:
            return default_mask
        drawn = functions.rand(size)
        return _only(t, self.dim, drawn > drawn.kthvalue(n).values, default_mask)


class LnStructured(_Amount):
    """Prunes the channels with the smallest n-norms."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount: float, n: Any, dim: int = -1):
        super().__init__(amount)
        self.n, self.dim = n, dim

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """Return the mask with zeros in the channels with the smallest norms."""
        size, n = _channels(self, t)
        if not n:
            return default_mask
        norms = functions.norm(t, p=self.n, dim=[d for d in range(t.dim()) if d != self.dim % t.dim()])
        return _only(t, self.dim, norms.topk(size - n).indices, default_mask)


class CustomFromMask(BasePruningMethod):
    """Prunes where a mask is 0."""

    PRUNING_TYPE = "global"

    def __init__(self, mask: Any):
        self.mask = mask

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """Return the product of both masks."""
        if default_mask.shape != self.mask.shape:
            raise AssertionError(f"default_mask shape {default_mask.shape} must match self.mask shape {self.mask.shape}")
        return default_mask * self.mask.to(dtype=default_mask.dtype)


# ---------------------------------------------------------------- public functions

def identity(module: Any, name: str) -> Any:
    """Add the pruning hook to a parameter without pruning elements. See torch.nn.utils.prune.identity."""
    Identity.apply(module, name)
    return module


def random_unstructured(module: Any, name: str, amount: float) -> Any:
    """Prune elements at random: a number of them, or a fraction. See torch.nn.utils.prune.random_unstructured."""
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module: Any, name: str, amount: float, importance_scores: Any = None) -> Any:
    """Prune the smallest elements, or those with the smallest scores. See torch.nn.utils.prune.l1_unstructured."""
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module: Any, name: str, amount: float, dim: int) -> Any:
    """Prune random channels of a dim. See torch.nn.utils.prune.random_structured."""
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(module: Any, name: str, amount: float, n: Any, dim: int, importance_scores: Any = None) -> Any:
    """Prune the channels with the smallest n-norms. See torch.nn.utils.prune.ln_structured."""
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module: Any, name: str, mask: Any) -> Any:
    """Prune where a mask is 0. See torch.nn.utils.prune.custom_from_mask."""
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(parameters: Any, pruning_method: Any, importance_scores: Any = None, **kwargs: Any) -> None:
    """Prune several parameters (module, name) as one vector. See torch.nn.utils.prune.global_unstructured."""
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    scores = {} if importance_scores is None else importance_scores
    if not isinstance(scores, dict):
        raise TypeError("global_unstructured(): importance_scores must be of type dict")
    method, parameters = pruning_method(**kwargs), list(parameters)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError('Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method '
                        f"{pruning_method} of type {method.PRUNING_TYPE}")
    method._tensor_name = "temp"
    tensors = [getattr(m, n) for m, n in parameters]
    masks = [getattr(m, f"{n}_mask", functions.ones_like(t)) for (m, n), t in zip(parameters, tensors, strict=True)]
    given = parameters_to_vector([scores.get(p, t) for p, t in zip(parameters, tensors, strict=True)])
    mask: Any = PruningContainer(method).compute_mask(given, parameters_to_vector(masks))
    parts = mask.split([t.numel() for t in tensors])
    for (module, name), t, part in zip(parameters, tensors, parts, strict=True):
        custom_from_mask(module, name, part.view_as(t))


def remove(module: Any, name: str) -> Any:
    """Make pruning permanent: the pruned tensor becomes the parameter. See torch.nn.utils.prune.remove."""
    found = _find(module, name)
    if not found:
        raise ValueError(f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed")
    module._forward_pre_hooks.pop(found[0]).remove(module)
    return module


def is_pruned(module: Any) -> bool:
    """Return whether a module or a submodule is pruned. See torch.nn.utils.prune.is_pruned."""
    return any([isinstance(h, BasePruningMethod) for m in module.modules() for h in m._forward_pre_hooks.values()])


__all__ = ["BasePruningMethod", "CustomFromMask", "Identity", "L1Unstructured", "LnStructured", "PruningContainer",
           "RandomStructured", "RandomUnstructured", "custom_from_mask", "global_unstructured", "identity", "is_pruned",
           "l1_unstructured", "ln_structured", "random_structured", "random_unstructured", "remove"]

del _Amount      # PyTorch's module does not have this name
