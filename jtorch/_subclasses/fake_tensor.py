"""torch._subclasses.fake_tensor: tensors without data. ``device="meta"`` makes those here."""
from __future__ import annotations

from typing import Any, NoReturn

from jtorch._base.refused import refused
from jtorch.tensor import Tensor

_INSTEAD = 'is not built; tensors of device="meta" have no data, and jax.eval_shape gives the shapes of a function\'s results.'


class UnsupportedFakeTensorException(RuntimeError):
    """What cannot be done without data."""


class DataDependentOutputException(RuntimeError):
    """A result that depends on values."""


class DynamicOutputShapeException(RuntimeError):
    """A result whose shape depends on values."""


class FakeTensor(Tensor):
    """A tensor without data, of which there are none here."""

    @staticmethod
    def __new__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(f"torch._subclasses.FakeTensor {_INSTEAD}")


class FakeTensorMode:
    """A block in which tensors have no data: entering it raises."""

    def __init__(self, *args: Any, **kwargs: Any):
        self.args, self.kwargs = args, kwargs

    def __enter__(self) -> NoReturn:
        raise NotImplementedError(f"torch._subclasses.FakeTensorMode {_INSTEAD}")

    def __exit__(self, *exc_info: object) -> None:
        """Nothing."""

    def from_tensor(self, tensor: Any, **kwargs: Any) -> NoReturn:
        """Not built."""
        raise NotImplementedError(f"torch._subclasses.FakeTensorMode {_INSTEAD}")


class FakeTensorConverter(FakeTensorMode):
    """What makes fake tensors: not built."""


def is_fake(x: object) -> bool:
    """False: there are no fake tensors."""
    return False


def unset_fake_temporarily() -> Any:
    """Return a block with nothing to switch off."""
    import contextlib
    return contextlib.nullcontext()


def maybe_get_fake_mode(t: object) -> None:
    """None: there are no fake tensors."""


_is_tensor_constructor = refused("_subclasses.fake_tensor._is_tensor_constructor",
                                 "torch.utils._device._device_constructors() has them")
