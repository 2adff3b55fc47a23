"""A rearrangement of channels. See torch.nn.ChannelShuffle."""
from __future__ import annotations

from jtorch.nn import functional as F
from jtorch.nn.modules.module import Module

__all__ = ["ChannelShuffle"]



class ChannelShuffle(Module):
    """Interleaves the channels of ``groups`` groups: one of the first, one of the second, and so on.

    See torch.nn.ChannelShuffle.

    Shape: (N, C, ...), at least three dimensions, to the same.
    Raises RuntimeError for fewer dimensions and where the groups do not divide the channels.

    Args:
        groups (int): the number of groups into which the channels are divided.

    Example::

        >>> nn.ChannelShuffle(2)(torch.arange(4).reshape(1, 4, 1)).flatten()
        tensor([0, 2, 1, 3])

    """

    __constants__ = ["groups"]

    def __init__(self, groups: int):
        super().__init__()
        self.groups = groups

    def forward(self, input):
        """Return the rearranged input."""
        return F.channel_shuffle(input, self.groups)

    def extra_repr(self) -> str:
        """Return the number of groups."""
        return f"groups={self.groups}"
