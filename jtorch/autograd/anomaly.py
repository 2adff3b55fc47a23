"""Anomaly detection: backward stops at the first nan and shows the forward call that made the node."""
from __future__ import annotations

from jtorch._base import warned
from jtorch.no_grad import mode as modes


class _Restores:
    prev: tuple[bool, bool]

    def __exit__(self, *exc) -> None:
        modes.anomaly, modes.anomaly_check_nan = self.prev
        modes.refresh()


class set_detect_anomaly(_Restores):
    """Turn anomaly detection on or off: at once, and until the block's end if used as a context manager.

    Args:
        mode (bool): on or off.
        check_nan (bool): raises where a backward gives a nan.

    Example::

        >>> with torch.autograd.set_detect_anomaly(True):
        ...     torch.is_anomaly_enabled()
        True

    """

    def __init__(self, mode: bool, check_nan: bool = True):
        self.prev = (modes.anomaly, modes.anomaly_check_nan)
        modes.anomaly, modes.anomaly_check_nan = bool(mode), check_nan
        modes.refresh()

    def __enter__(self) -> None:
        pass


class detect_anomaly(_Restores):
    """A context in which backward raises at a nan and names the forward call. See torch.autograd.detect_anomaly.

    Args:
        check_nan (bool): raises where a backward gives a nan.

    Raises:
        RuntimeError: in a backward inside, at the first nan.

    Example::

        >>> x = torch.zeros(1, requires_grad=True)
        >>> with torch.autograd.detect_anomaly():
        ...     (torch.sqrt(x) * 0).sum().backward()
        Traceback (most recent call last):
        RuntimeError: Function 'SqrtBackward0' returned nan values in its 0th output.

    """

    def __init__(self, check_nan: bool = True):
        self.check_nan = check_nan
        warned.warn("Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for "
                    "debugging.")

    def __enter__(self) -> None:
        self.prev = (modes.anomaly, modes.anomaly_check_nan)
        modes.anomaly, modes.anomaly_check_nan = True, self.check_nan
        modes.refresh()


def is_anomaly_enabled() -> bool:
    """Return whether anomaly detection is on. See torch.is_anomaly_enabled."""
    return modes.anomaly


def is_anomaly_check_nan_enabled() -> bool:
    """Return whether anomaly detection looks for nan. See torch.is_anomaly_check_nan_enabled."""
    return modes.anomaly_check_nan


__all__ = ["detect_anomaly", "set_detect_anomaly"]

del _Restores      # PyTorch's module does not have this name.
