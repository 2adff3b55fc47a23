"""Anomaly detection: backward that stops at the first nan and shows the forward call that it belongs to."""
from __future__ import annotations

from jtorch.no_grad import mode


class set_detect_anomaly:
    """Turns anomaly detection on or off, at once and, used as a context, until its end."""

    def __init__(self, mode_: bool = True, check_nan: bool = True, **kw):
        self.prev = (mode.anomaly, mode.anomaly_check_nan)
        mode.anomaly, mode.anomaly_check_nan = kw.get("mode", mode_), check_nan

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc) -> None:
        mode.anomaly, mode.anomaly_check_nan = self.prev


class detect_anomaly(set_detect_anomaly):
    """A context in which backward raises at a nan and names the forward call. See torch.autograd.detect_anomaly."""

    def __init__(self, check_nan: bool = True):
        import warnings
        warnings.warn("Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for "
                      "debugging.", UserWarning, stacklevel=2)
        super().__init__(True, check_nan)


def is_anomaly_enabled() -> bool:
    """Whether anomaly detection is on."""
    return mode.anomaly
