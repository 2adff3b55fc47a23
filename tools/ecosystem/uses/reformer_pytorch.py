"""reformer-pytorch: attention by hashes, and reversible layers."""

import torch
from reformer_pytorch import LSHAttention, LSHSelfAttention, Reformer, ReformerLM


def language_model():
    model = ReformerLM(num_tokens=20, dim=16, depth=2, max_seq_len=64, heads=2, bucket_size=8, n_hashes=2, causal=True)
    x = torch.randint(0, 20, (1, 64))
    y = model(x)
    y.square().mean().backward()
    return y, model.token_emb.weight.grad


def layers():
    model = Reformer(dim=16, depth=1, heads=2, bucket_size=8, n_hashes=2).eval()
    return model(torch.randn(1, 32, 16))


def attention():
    qk, v = torch.randn(2, 64, 8), torch.randn(2, 64, 8)
    out, _weights, buckets = LSHAttention(bucket_size=16, n_hashes=2, causal=True)(qk, v)
    return out, buckets, LSHSelfAttention(dim=16, heads=2, bucket_size=8, n_hashes=2)(torch.randn(1, 32, 16))
