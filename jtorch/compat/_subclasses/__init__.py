"""torch._subclasses: the tensor classes with which PyTorch traces."""
from __future__ import annotations

from jtorch._subclasses.fake_tensor import DynamicOutputShapeException as DynamicOutputShapeException
from jtorch._subclasses.fake_tensor import FakeTensor as FakeTensor
from jtorch._subclasses.fake_tensor import FakeTensorMode as FakeTensorMode
from jtorch._subclasses.fake_tensor import UnsupportedFakeTensorException as UnsupportedFakeTensorException
