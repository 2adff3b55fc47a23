"""performer-pytorch: attention by random features."""

import torch
from performer_pytorch import CrossAttention, Performer, PerformerLM, SelfAttention
from performer_pytorch.performer_pytorch import gaussian_orthogonal_random_matrix


def language_model():
    model = PerformerLM(
        num_tokens=20, max_seq_len=32, dim=16, depth=1, heads=2, dim_head=8, nb_features=16, causal=False
    )
    return model(torch.randint(0, 20, (2, 32)), mask=torch.ones(2, 32, dtype=torch.bool))


def layers():
    model = Performer(dim=16, depth=2, heads=2, dim_head=8, nb_features=12, generalized_attention=True)
    x = torch.randn(2, 24, 16, requires_grad=True)
    y = model(x)
    y.square().mean().backward()
    return y, x.grad


def attention():
    x, context = torch.randn(2, 12, 16), torch.randn(2, 9, 16)
    return SelfAttention(dim=16, heads=2, dim_head=8, nb_features=8)(x), CrossAttention(dim=16, heads=2, dim_head=8)(
        x, context=context
    )


def features():
    return gaussian_orthogonal_random_matrix(12, 8, scaling=1)
