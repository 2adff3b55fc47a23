"""torch.autograd.DeviceType: the numbers that profiles use for device types."""
from __future__ import annotations

import enum


class DeviceType(enum.Enum):
    """A type of device by PyTorch's number. See torch.autograd.DeviceType."""

    CPU = 0
    CUDA = 1
    MKLDNN = 2
    OPENGL = 3
    OPENCL = 4
    IDEEP = 5
    HIP = 6
    FPGA = 7
    MAIA = 8
    XLA = 9
    Vulkan = 10
    Metal = 11
    XPU = 12
    MPS = 13
    Meta = 14
    HPU = 15
    VE = 16
    Lazy = 17
    IPU = 18
    MTIA = 19
    PrivateUse1 = 20
