"""torch.cuda.streams: streams and events."""
from __future__ import annotations

from jtorch.cuda import Event as Event
from jtorch.cuda import Stream as Stream

__all__ = ["Event", "ExternalStream", "Stream"]


class ExternalStream(Stream):
    """A stream of another library. Not built, since JAX's work does not go to other libraries' streams.

    See torch.cuda.ExternalStream.
    """

    def __init__(self, *args: object, **kwargs: object):
        raise NotImplementedError("torch.cuda.ExternalStream is not built: JAX's work does not go to streams of other libraries; "
                                  "synchronize() before another library reads.")
