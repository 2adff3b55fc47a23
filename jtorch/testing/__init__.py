"""torch.testing: comparing what a program computes with what it should, and tensors to try it with."""
from jtorch.testing._comparison import assert_allclose, assert_close
from jtorch.testing._creation import make_tensor

__all__ = ["assert_allclose", "assert_close", "make_tensor"]
