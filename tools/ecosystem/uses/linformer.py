"""linformer: attention with projected keys."""

import torch
from linformer import Linformer, LinformerLM, LinformerSelfAttention


def language_model():
    model = LinformerLM(num_tokens=20, dim=16, seq_len=32, depth=2, heads=2, dim_head=8, k=8, one_kv_head=True)
    return model(torch.randint(0, 20, (2, 32)))


def layers():
    model = Linformer(dim=16, seq_len=24, depth=2, heads=2, k=6, share_kv=True)
    x = torch.randn(2, 24, 16, requires_grad=True)
    y = model(x)
    y.square().mean().backward()
    return y, x.grad


def attention():
    layer = LinformerSelfAttention(16, 24, heads=4, k=8)
    return layer(torch.randn(2, 24, 16), context=torch.randn(2, 24, 16))
