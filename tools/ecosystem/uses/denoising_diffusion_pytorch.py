"""denoising-diffusion-pytorch: diffusion of images and of sequences."""

import torch
from denoising_diffusion_pytorch import GaussianDiffusion, GaussianDiffusion1D, Unet, Unet1D
from denoising_diffusion_pytorch.elucidated_diffusion import ElucidatedDiffusion


def _unet(**options):
    return Unet(dim=8, dim_mults=(1, 2), channels=1, flash_attn=False, attn_heads=2, attn_dim_head=8, **options)


def losses():
    diffusion = GaussianDiffusion(_unet(), image_size=8, timesteps=20, objective="pred_v")
    loss = diffusion(torch.rand(2, 1, 8, 8))
    loss.backward()
    return loss, diffusion.model.init_conv.weight.grad


def samples():
    diffusion = GaussianDiffusion(_unet(), image_size=8, timesteps=6, sampling_timesteps=3)
    return diffusion.sample(batch_size=2)


def sequences():
    diffusion = GaussianDiffusion1D(Unet1D(dim=8, dim_mults=(1, 2), channels=2), seq_length=16, timesteps=6)
    loss = diffusion(torch.rand(2, 2, 16))
    return loss, diffusion.sample(batch_size=1)


def elucidated():
    diffusion = ElucidatedDiffusion(_unet(random_fourier_features=True), image_size=8, channels=1, num_sample_steps=3)
    return diffusion(torch.rand(2, 1, 8, 8)), diffusion.sample(batch_size=1)
