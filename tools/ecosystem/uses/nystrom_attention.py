"""nystrom-attention: attention by landmarks."""

import torch
from nystrom_attention import NystromAttention, Nystromformer


def attention():
    layer = NystromAttention(dim=16, dim_head=8, heads=2, num_landmarks=4, pinv_iterations=6, residual=True)
    x = torch.randn(2, 18, 16, requires_grad=True)
    mask = torch.ones(2, 18).bool()
    mask[0, 15:] = False
    y = layer(x, mask=mask)
    y.square().sum().backward()
    return y, x.grad


def transformer():
    return Nystromformer(dim=16, dim_head=8, heads=2, depth=2, num_landmarks=4)(torch.randn(1, 20, 16))
