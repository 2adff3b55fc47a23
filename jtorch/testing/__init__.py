"""torch.testing: comparison of results with expected values, and random test tensors."""
from jtorch.testing._comparison import assert_allclose, assert_close
from jtorch.testing._creation import make_tensor

__all__ = ["assert_allclose", "assert_close", "make_tensor"]
