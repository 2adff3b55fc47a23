"""local-attention: attention in windows."""

import torch
from local_attention import LocalAttention
from local_attention.transformer import LocalMHA, LocalTransformer


def attention():
    q, k, v = (torch.randn(2, 4, 32, 8, requires_grad=True) for _ in range(3))
    out = LocalAttention(dim=8, window_size=8, causal=True, look_backward=1, autopad=True)(q, k, v)
    out.square().sum().backward()
    return out, q.grad


def masked():
    q, k, v = (torch.randn(2, 4, 30, 8) for _ in range(3))
    mask = torch.arange(30)[None] < torch.tensor([[20], [30]])
    local = LocalAttention(dim=8, window_size=8, look_backward=1, look_forward=1, autopad=True, use_xpos=False)
    return local(q, k, v, mask=mask)


def heads():
    return LocalMHA(dim=16, window_size=8, heads=2, dim_head=8, causal=True)(torch.randn(2, 24, 16))


def transformer():
    model = LocalTransformer(num_tokens=20, dim=16, depth=2, max_seq_len=32, local_attn_window_size=8, causal=True)
    x = torch.randint(0, 20, (2, 32))
    loss = model(x, return_loss=True)
    loss.backward()
    return loss, model.token_emb.weight.grad, model(x)
