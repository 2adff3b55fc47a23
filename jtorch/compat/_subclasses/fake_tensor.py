"""torch._subclasses.fake_tensor: tensors without data, which are not built; use ``device="meta"``."""
from __future__ import annotations

from typing import Any, NoReturn

from jtorch._base.refused import refused
from jtorch.tensor import Tensor

_INSTEAD = 'is not built; tensors of device="meta" have no data, and jax.eval_shape gives the shapes of a function\'s results.'


class UnsupportedFakeTensorException(RuntimeError):
    """An operation that needs data."""


class DataDependentOutputException(RuntimeError):
    """A result that depends on values."""


class DynamicOutputShapeException(RuntimeError):
    """A result whose shape depends on values."""


class FakeTensor(Tensor):
    """PyTorch's class of tensors without data; it has no instances in jtorch."""

    @staticmethod
    def __new__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(f"torch._subclasses.FakeTensor {_INSTEAD}")


class FakeTensorMode:
    """A block in which tensors have no data; entering it raises NotImplementedError."""

    def __init__(self, *args: Any, **kwargs: Any):
        self.args, self.kwargs = args, kwargs

    def __enter__(self) -> NoReturn:
        raise NotImplementedError(f"torch._subclasses.FakeTensorMode {_INSTEAD}")

    def __exit__(self, *exc_info: object) -> None:
        """Do nothing."""

    def from_tensor(self, tensor: Any, **kwargs: Any) -> NoReturn:
        """Raise NotImplementedError: fake tensors are not built."""
        raise NotImplementedError(f"torch._subclasses.FakeTensorMode {_INSTEAD}")


class FakeTensorConverter(FakeTensorMode):
    """A converter to fake tensors, which is not built."""


def is_fake(x: object) -> bool:
    """Return False: there are no fake tensors."""
    return False


def unset_fake_temporarily() -> Any:
    """Return a block without effect."""
    import contextlib
    return contextlib.nullcontext()


def maybe_get_fake_mode(t: object) -> None:
    """Return None: there are no fake tensors."""


_is_tensor_constructor = refused("_subclasses.fake_tensor._is_tensor_constructor",
                                 "torch.utils._device._device_constructors() has them")
