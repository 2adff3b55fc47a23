"""Modules that hold modules."""
from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from jtorch._base import warned
from jtorch.nn.modules.module import Module, _addindent


def _position(i: Any, n: int) -> int:
    i = operator.index(i)
    if not -n <= i < n:
        raise IndexError(f"index {i} is out of range")
    return i % n


class _Numbered(Module):
    """Modules with the names 0, 1, 2, …"""

    def _renumber(self, modules: Iterable) -> None:
        self._modules.clear()
        self._modules.update((str(i), m) for i, m in enumerate(modules))

    def __getitem__(self, i: Any) -> Any:
        values = list(self._modules.values())
        if not isinstance(i, slice):
            return values[_position(i, len(values))]
        if type(self) is ModuleList or isinstance(self, ModuleList):
            return type(self)(values[i])
        return type(self)(OrderedDict(list(self._modules.items())[i]))

    def __setitem__(self, i: int, module: Module) -> None:
        setattr(self, list(self._modules)[_position(i, len(self))], module)

    def __delitem__(self, i: Any) -> None:
        values = list(self._modules.values())
        del values[i if isinstance(i, slice) else _position(i, len(values))]
        self._renumber(values)

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._modules.values())

    def append(self, module: Module):
        """Add a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def insert(self, index: int, module: Module):
        """Add a module before a position."""
        values = list(self._modules.values())
        values.insert(index, module)
        self._renumber(values)
        return self

    def extend(self, modules: Iterable):
        """Add modules at the end."""
        for module in list(modules):
            self.append(module)
        return self

    def pop(self, key: Any) -> Any:
        """Remove a module and return it."""
        found = self[key]
        del self[key]
        return found


class Container(Module):
    """Modules with given names. PyTorch deprecates this class in favor of Module.

    Shape: whatever ``forward`` takes and gives.

    Example::

        >>> with warnings.catch_warnings(action="ignore"):
        ...     model = nn.Container(layer=nn.ReLU())
        >>> model.layer
        ReLU()
    """

    def __init__(self, **kwargs: Any):
        warned.warn("`nn.Container` is deprecated. All of its functionality is now implemented in `nn.Module`. Subclass that "
                    "instead.", FutureWarning)
        super().__init__()
        for name, module in kwargs.items():
            self.add_module(name, module)


def _check_factor(modules: Module, factor: Any) -> None:
    if not isinstance(factor, int):
        raise TypeError(f"unsupported operand type(s) for *: {type(modules)} and {type(factor)}")
    if factor <= 0:
        raise ValueError(f"Non-positive multiplication factor {factor} for {type(modules)}")


class Sequential(_Numbered):
    """A sequence of modules, each called with the previous one's result. See torch.nn.Sequential.

    Shape: what the first module takes, to what the last one gives.

    Example::

        >>> model = nn.Sequential(nn.Linear(3, 4), nn.ReLU())
        >>> model(torch.randn(2, 3)).shape
        torch.Size([2, 4])
    """

    def __init__(self, *args: Any):
        super().__init__()
        given = len(args) == 1 and isinstance(args[0], OrderedDict)
        named = args[0].items() if given else ((str(i), m) for i, m in enumerate(args))
        for name, module in named:
            self.add_module(name, module)

    def extend(self, sequential: Iterable):
        """Add modules at the end."""
        return super().extend(sequential)

    def __add__(self, other: Any) -> Sequential:
        return Sequential(*self).__iadd__(other)

    def __iadd__(self, other: Any):
        if not isinstance(other, Sequential):
            raise ValueError(f"add operator supports only objects of Sequential class, but {type(other)} is given.")
        return self.extend(other)

    def __mul__(self, other: Any) -> Sequential:
        _check_factor(self, other)
        return Sequential(*list(self) * other)

    __rmul__ = __mul__

    def __imul__(self, other: Any):
        _check_factor(self, other)
        return self.extend(list(self) * (other - 1))

    def forward(self, input):
        """Call each module with the last one's result."""
        for module in self._modules.values():
            input = module(input)
        return input


class ModuleList(_Numbered):
    """A list of modules. See torch.nn.ModuleList.

    Shape: it is not called itself.

    Args:
        modules (Modules): the initial modules.

    Example::

        >>> layers = nn.ModuleList([nn.ReLU(), nn.Tanh()])
        >>> len(layers), layers[1]
        (2, Tanh())

    """

    def __init__(self, modules: Iterable | None = None):
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def __iadd__(self, modules: Iterable):
        return self.extend(modules)

    def __add__(self, other: Iterable) -> ModuleList:
        return ModuleList([*self, *other])

    def __repr__(self):
        runs: list[list] = []
        for i, text in enumerate(repr(m) for m in self):
            if runs and runs[-1][2] == text:
                runs[-1][1] = i
            else:
                runs.append([i, i, text])
        if not runs:
            return f"{self._get_name()}()"
        lines = [f"({a}): {t}" if a == b else f"({a}-{b}): {b - a + 1} x {t}" for a, b, t in runs]
        return f"{self._get_name()}(\n  " + "\n  ".join(_addindent(line, 2) for line in lines) + "\n)"


def _of_the_dict(name: str) -> Any:
    """Return a method that calls the method ``name`` of the dict of modules."""
    def method(self, *args):
        return getattr(self._modules, name)(*args)
    method.__name__, method.__qualname__ = name, f"ModuleDict.{name}"
    return method


class ModuleDict(Module):
    """A dict of modules. See torch.nn.ModuleDict.

    Shape: it is not called itself.

    Args:
        modules (Modules): the initial modules.

    Example::

        >>> layers = nn.ModuleDict({"a": nn.ReLU()})
        >>> layers["a"]
        ReLU()

    """

    __getitem__ = _of_the_dict("__getitem__")
    __delitem__ = _of_the_dict("__delitem__")
    __len__ = _of_the_dict("__len__")
    __iter__ = _of_the_dict("__iter__")
    __contains__ = _of_the_dict("__contains__")

    def __init__(self, modules: Any = None):
        super().__init__()
        if modules is not None:
            self.update(modules)

    def keys(self):
        """Return the names."""
        return self._modules.keys()

    def values(self):
        """Return the modules."""
        return self._modules.values()

    def items(self):
        """Return the pairs (name, module)."""
        return self._modules.items()

    def clear(self):
        """Remove all modules."""
        self._modules.clear()

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def pop(self, key: str) -> Any:
        """Remove a module and return it."""
        return self._modules.pop(key)

    def update(self, modules: Any) -> None:
        """Add modules from a dict or pairs; raise TypeError or ValueError for other objects, before adding any."""
        for key, module in _pairs(modules):
            self[key] = module


def _pairs(modules: Any) -> list[tuple[str, Module]]:
    if not isinstance(modules, Iterable):
        raise TypeError("ModuleDict.update should be called with an iterable of key/value pairs, but got "
                        + type(modules).__name__)
    if isinstance(modules, (Mapping, ModuleDict)):
        return list(modules.items())
    return [_pair(i, item) for i, item in enumerate(modules)]


def _pair(i: int, item: Any) -> tuple[str, Module]:
    where = f"ModuleDict update sequence element #{i}"
    if not isinstance(item, Iterable):
        raise TypeError(f"{where} should be Iterable; is{type(item).__name__}")
    if len(parts := tuple(item)) != 2:
        raise ValueError(f"{where} has length {len(parts)}; 2 is required")
    return parts

del _Numbered      # PyTorch's module does not have this name
