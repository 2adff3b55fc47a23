"""torch._custom_ops: PyTorch's earlier way to register operators; torch.library replaces it."""
from __future__ import annotations

from jtorch._base.refused import refused
from jtorch.library import get_ctx as get_ctx

custom_op = refused("_custom_ops.custom_op", "torch.library.custom_op is")
impl = refused("_custom_ops.impl", "torch.library.register_kernel is")
impl_abstract = refused("_custom_ops.impl_abstract", "torch.library.register_fake is")
impl_save_for_backward = refused("_custom_ops.impl_save_for_backward", "torch.library.register_autograd is")
impl_backward = refused("_custom_ops.impl_backward", "torch.library.register_autograd is")
