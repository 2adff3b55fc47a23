"""torch.cuda.streams: queues of work and moments in them."""
from __future__ import annotations

from jtorch.cuda import Event as Event
from jtorch.cuda import Stream as Stream

__all__ = ["Event", "ExternalStream", "Stream"]


class ExternalStream(Stream):
    """A stream of another library: work is in one queue here, which others' streams are not.

    See torch.cuda.ExternalStream.
    """

    def __init__(self, *args: object, **kwargs: object):
        raise NotImplementedError("torch.cuda.ExternalStream is not built: JAX's work does not go to streams of other libraries; "
                                  "synchronize() before another library reads.")
