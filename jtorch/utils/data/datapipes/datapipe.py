"""IterDataPipe and MapDataPipe: datasets with methods that derive other datasets."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from jtorch.utils.data.dataset import Dataset, IterableDataset

_T = TypeVar("_T")


class _WithFunctions:
    functions: dict[str, Callable]
    getstate_hook: Callable | None = None
    reduce_ex_hook: Callable | None = None

    def __getattr__(self, name: str) -> Any:
        made = type(self).functions.get(name)
        if made is None:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}")
        return functools.partial(made, self)

    @classmethod
    def register_function(cls, function_name: str, function: Callable) -> None:
        """Register a function that all pipes of this kind have as a method."""
        cls.functions[function_name] = function

    @classmethod
    def register_datapipe_as_function(cls, function_name: str, cls_to_register: Callable,
                                       enable_df_api_tracing: bool = False) -> None:
        """Register a class of pipes, which all pipes of this kind can create by a method."""
        if function_name in cls.functions:
            raise Exception(f"Unable to add DataPipe function name {function_name} as it is already taken")
        cls.functions[function_name] = cls_to_register

    @classmethod
    def set_getstate_hook(cls, hook_fn: Callable | None) -> None:
        """Set the function ``hook_fn(state)`` that converts the state of a pickled pipe."""
        if cls.getstate_hook is not None and hook_fn is not None:
            raise RuntimeError("Attempt to override existing getstate_hook")
        cls.getstate_hook = staticmethod(hook_fn) if hook_fn is not None else None

    @classmethod
    def set_reduce_ex_hook(cls, hook_fn: Callable | None) -> None:
        """Set the function ``hook_fn(pipe)`` that reduces a pickled pipe; if it raises NotImplementedError the pipe is
        pickled as usual.
        """
        if cls.reduce_ex_hook is not None and hook_fn is not None:
            raise RuntimeError("Attempt to override existing reduce_ex_hook")
        cls.reduce_ex_hook = staticmethod(hook_fn) if hook_fn is not None else None

    def __getstate__(self) -> Any:
        return self.__dict__ if self.getstate_hook is None else self.getstate_hook(self.__dict__)

    def __setstate__(self, state: Any) -> None:
        self.__dict__.update(state)

    def __reduce_ex__(self, protocol: Any) -> Any:
        if self.reduce_ex_hook is not None:
            try:
                return self.reduce_ex_hook(self)
            except NotImplementedError:
                pass
        return super().__reduce_ex__(protocol)

    def __repr__(self):
        return type(self).__qualname__

    __str__ = __repr__

    def __dir__(self):
        return [*super().__dir__(), *self.functions]


class IterDataPipe(_WithFunctions, IterableDataset):
    """A pipe that is iterated over. See torch.utils.data.IterDataPipe.

    >>> pipe = torch.utils.data.datapipes.iter.IterableWrapper(range(4))
    >>> list(pipe.map(lambda x: 2 * x).batch(2))
    [[0, 2], [4, 6]]

    """

    functions: dict[str, Callable] = {}

    def __iter__(self) -> Any:
        return self

    def reset(self) -> None:
        """Do nothing: the standard pipes keep no samples between passes."""


class DFIterDataPipe(IterDataPipe):
    """A pipe of data frames, with the behaviour of an IterDataPipe."""


class MapDataPipe(_WithFunctions, Dataset[_T]):
    """A pipe whose samples have keys. See torch.utils.data.MapDataPipe."""

    functions: dict[str, Callable] = {}


class _DataPipeSerializationWrapper:
    def __init__(self, datapipe: Any):
        self._datapipe = datapipe

    def __len__(self) -> int:
        return len(self._datapipe)


class _IterDataPipeSerializationWrapper(_DataPipeSerializationWrapper, IterDataPipe):
    """Wraps an iterable pipe that is sent to another process."""

    def __iter__(self) -> Any:
        yield from self._datapipe


class _MapDataPipeSerializationWrapper(_DataPipeSerializationWrapper, MapDataPipe):
    """Wraps a pipe with keys that is sent to another process."""

    def __getitem__(self, index: Any) -> Any:
        return self._datapipe[index]


class functional_datapipe:  # noqa: N801
    """A class decorator that gives pipes a method which creates an instance of the class. See torch.utils.data."""

    def __init__(self, name: str, enable_df_api_tracing: bool = False):
        self.name = name

    def __call__(self, cls: Any) -> Any:
        kind = next((k for k in (IterDataPipe, MapDataPipe) if isinstance(cls, type) and issubclass(cls, k)), None)
        if kind is None:
            raise TypeError("functional_datapipe can only decorate IterDataPipe and MapDataPipe")
        kind.register_datapipe_as_function(self.name, cls)
        return cls


def argument_validation(f: Callable) -> Callable:
    """Return the function unchanged; types are not checked. See torch.utils.data.argument_validation."""
    return f


runtime_validation = argument_validation

del _WithFunctions      # PyTorch's module does not have this name.
