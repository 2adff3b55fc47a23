"""perceiver-pytorch: latents that attend to inputs of any kind."""

import torch
from perceiver_pytorch import Perceiver, PerceiverIO


def images():
    model = Perceiver(
        input_channels=3, input_axis=2, num_freq_bands=4, max_freq=8.0, depth=2, num_latents=8, latent_dim=16, cross_heads=1,
        latent_heads=2, cross_dim_head=8, latent_dim_head=8, num_classes=5, weight_tie_layers=True, self_per_cross_attn=1,
    )  # fmt: skip
    y = model(torch.randn(2, 8, 8, 3))
    y.square().sum().backward()
    return y, model.latents.grad


def queries():
    model = PerceiverIO(dim=12, queries_dim=8, logits_dim=6, depth=2, num_latents=8, latent_dim=16, latent_heads=2,
                        cross_dim_head=8, latent_dim_head=8)  # fmt: skip
    return model(torch.randn(2, 20, 12), queries=torch.randn(5, 8), mask=torch.ones(2, 20, dtype=torch.bool))


def features():
    model = Perceiver(input_channels=1, input_axis=1, num_freq_bands=2, max_freq=4.0, depth=1, num_latents=4, latent_dim=8,
                      cross_dim_head=4, latent_dim_head=4, latent_heads=2)  # fmt: skip
    return model(torch.randn(2, 16, 1), return_embeddings=True)
