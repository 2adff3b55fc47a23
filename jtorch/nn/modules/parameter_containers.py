"""Modules that hold parameters. See torch.nn.ParameterList and torch.nn.ParameterDict."""
from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from jtorch._api.settings import typename
from jtorch.nn.modules.container import _position
from jtorch.nn.modules.module import Module
from jtorch.tensor import Parameter, Tensor

__all__ = ["ParameterDict", "ParameterList"]


def _kept(value: Any) -> Any:
    """Convert a tensor to a parameter; return other objects unchanged."""
    return Parameter(value) if isinstance(value, Tensor) and not isinstance(value, Parameter) else value


def _described(name: Any, value: Any, type_name: Any) -> str:
    """Return one line of a container's repr."""
    if not isinstance(value, Tensor):
        return f"  ({name}): Object of type: {type(value).__name__}"
    kind = "Parameter" if isinstance(value, Parameter) else "Tensor"
    place = f" ({value.device})" if value.device.type == "cuda" else ""
    return f"  ({name}): {kind} containing: [{type_name(value)} of size {'x'.join(map(str, value.size()))}{place}]"


class ParameterList(Module):
    """A list whose tensors are parameters with the names 0, 1, 2, …. See torch.nn.ParameterList.

    Tensors become Parameters. Other objects are kept, but the state dict does not have them. Raises IndexError for a
    position that does not exist, and TypeError if ``extend`` gets an object that is not iterable.

    Shape: it is not called itself; parameters have any.

    Args:
        values (iterable or None): the initial values.

    Example::

        >>> params = nn.ParameterList([torch.zeros(2), torch.ones(3)])
        >>> len(params), [name for name, _ in params.named_parameters()]
        (2, ['0', '1'])

    """

    def __init__(self, values: Iterable | None = None):
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

    def _name(self, index: Any) -> str:
        return str(_position(index, self._size))

    def __getitem__(self, idx: Any) -> Any:
        if isinstance(idx, slice):
            return type(self)([self[i] for i in range(*idx.indices(self._size))])
        return getattr(self, self._name(idx))

    def __setitem__(self, idx: int, param: Any) -> None:
        setattr(self, self._name(idx), _kept(param))

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(self._size))

    def __iadd__(self, parameters: Iterable):
        return self.extend(parameters)

    def append(self, value: Any):
        """Add a value at the end."""
        setattr(self, str(self._size), _kept(value))
        self._size += 1
        return self

    def extend(self, values: Iterable):
        """Add values at the end."""
        if isinstance(values, Tensor) or not isinstance(values, Iterable):
            raise TypeError(f"ParameterList.extend should be called with an iterable, but got {type(values).__name__}")
        for value in list(values):
            self.append(value)
        return self

    def extra_repr(self) -> str:
        """Return a line for each value."""
        return "\n".join(_described(i, v, lambda t: t.dtype) for i, v in enumerate(self))

    def __call__(self, *args, **kwargs):
        raise RuntimeError("ParameterList should not be called.")


class ParameterDict(Module):
    """A dict whose tensors are parameters named by their keys. See torch.nn.ParameterDict.

    Tensors become Parameters. Other objects are kept, but the state dict does not have them. Keys keep their insertion
    order, but the keys of a plain dict are sorted, as in PyTorch. Raises TypeError for a key that is not a string, and
    KeyError for a missing key.

    Shape: it is not called itself; parameters have any.

    Args:
        parameters (mapping or None): the initial parameters.

    Example::

        >>> params = nn.ParameterDict({"a": torch.zeros(2)})
        >>> params["b"] = torch.ones(1)
        >>> list(params), [name for name, _ in params.named_parameters()]
        (['a', 'b'], ['a', 'b'])

    """

    def __init__(self, parameters: Any = None):
        super().__init__()
        self._keys: dict[str, None] = {}        # Checkpoints of whole modules contain this attribute name.
        if parameters is not None:
            self.update(parameters)

    def _attribute(self, key: Any) -> str:
        """Return the name of a value's attribute, which is its key."""
        if not isinstance(key, str):
            raise TypeError("Index given to ParameterDict cannot be used as a key as it is not a string (type is "
                            f"'{type(key).__name__}').")
        return key

    def __getitem__(self, key: str) -> Any:
        return getattr(self, self._attribute(key))

    def __setitem__(self, key: str, value: Any) -> None:
        setattr(self, self._attribute(key), _kept(value))
        self._keys[key] = None

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, self._attribute(key))

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._keys)

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def __or__(self, other: ParameterDict) -> ParameterDict:
        return _joined(self, other)

    def __ror__(self, other: ParameterDict) -> ParameterDict:
        return _joined(other, self)

    def __ior__(self, other: Any):      # type: ignore[misc]
        self.update(other)
        return self

    def copy(self) -> ParameterDict:
        """Return a new ParameterDict with the same values."""
        return ParameterDict(OrderedDict(self.items()))

    def setdefault(self, key: str, default: Any = None) -> Any:
        """Return the value of a key; store ``default`` for a missing key."""
        if key not in self:
            self[key] = default
        return self[key]

    def clear(self) -> None:
        """Remove all values."""
        for key in list(self._keys):
            del self[key]

    def pop(self, key: str) -> Any:
        """Remove a value and return it."""
        value = self[key]
        del self[key]
        return value

    def popitem(self) -> tuple[str, Any]:
        """Remove the last (key, value) and return it."""
        if not self._keys:
            raise KeyError("popitem(): dictionary is empty")
        key = next(reversed(self._keys))
        return key, self.pop(key)

    def get(self, key: str, default: Any = None) -> Any:
        """Return the value of a key, or ``default`` if it is missing."""
        return self[key] if key in self else default

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> ParameterDict:
        """Return a new ParameterDict in which all keys have one value."""
        return ParameterDict((key, default) for key in keys)

    def keys(self):
        """Return the keys."""
        return self._keys.keys()

    def items(self) -> Iterable[tuple[str, Any]]:
        """Return the pairs (key, value)."""
        return ((key, self[key]) for key in self._keys)

    def values(self) -> Iterable[Any]:
        """Return the values."""
        return (self[key] for key in self._keys)

    def update(self, parameters: Any) -> None:
        """Add values from a dict or from (key, value) pairs."""
        if not isinstance(parameters, Iterable):
            raise TypeError("ParametersDict.update should be called with an iterable of key/value pairs, but got "
                            f"{type(parameters).__name__}")
        if isinstance(parameters, (OrderedDict, ParameterDict)):
            pairs: Iterable = parameters.items()
        elif isinstance(parameters, Mapping):
            pairs = sorted(parameters.items())
        else:
            pairs = _checked(parameters)
        for key, value in list(pairs):
            self[key] = value

    def extra_repr(self) -> str:
        """Return a line for each value."""
        return "\n".join(_described(key, value, typename) for key, value in self.items())

    def __call__(self, input):
        raise RuntimeError("ParameterDict should not be called.")


def _joined(first: ParameterDict, second: Any) -> ParameterDict:
    made = first.copy()
    made.update(second)
    return made


def _checked(pairs: Iterable) -> Iterator[Any]:
    for i, pair in enumerate(pairs):
        if not isinstance(pair, Iterable):
            raise TypeError(f"ParameterDict update sequence element #{i} should be Iterable; is{type(pair).__name__}")
        if len(pair) != 2:      # type: ignore[arg-type]
            raise ValueError(f"ParameterDict update sequence element #{i} has length {len(pair)}; 2 is required")   # type: ignore[arg-type]
        yield pair
