"""rotary-embedding-torch: rotations of queries and keys."""

import torch
from rotary_embedding_torch import RotaryEmbedding, apply_rotary_emb


def rotate():
    made = RotaryEmbedding(dim=8)
    q, k = torch.randn(1, 2, 10, 16), torch.randn(1, 2, 10, 16)
    return made.rotate_queries_or_keys(q), made.rotate_queries_with_cached_keys(q[:, :, -1:], k)


def axial():
    made = RotaryEmbedding(dim=4, freqs_for="pixel", max_freq=16)
    return apply_rotary_emb(made.get_axial_freqs(3, 4, 5), torch.randn(1, 3, 4, 5, 16))


def scaled():
    made = RotaryEmbedding(dim=8, use_xpos=True)
    return made.rotate_queries_and_keys(torch.randn(1, 2, 6, 16), torch.randn(1, 2, 6, 16))
