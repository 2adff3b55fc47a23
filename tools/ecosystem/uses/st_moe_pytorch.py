"""st-moe-pytorch: mixtures of experts."""

import torch
from st_moe_pytorch import MoE, SparseMoEBlock


def moe():
    net = MoE(dim=16, num_experts=4, gating_top_n=2, threshold_train=0.2, threshold_eval=0.2, capacity_factor_train=1.25,
              capacity_factor_eval=2., balance_loss_coef=1e-2, router_z_loss_coef=1e-3)
    net.eval()
    x = torch.randn(2, 12, 16, requires_grad=True)
    out, total, balance, router = net(x)
    (out.sum() + total).backward()
    return out, total, balance, router, x.grad


def block():
    block = SparseMoEBlock(MoE(dim=16, num_experts=4), add_ff_before=True, add_ff_after=True)
    block.eval()
    return block(torch.randn(1, 8, 16))[0]
