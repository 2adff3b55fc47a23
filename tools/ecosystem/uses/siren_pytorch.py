"""siren-pytorch: networks with sine activations."""

import torch
from siren_pytorch import SirenNet, SirenWrapper


def net():
    model = SirenNet(dim_in=2, dim_hidden=32, dim_out=3, num_layers=3, final_activation=torch.nn.Sigmoid(), w0_initial=30.)
    x = torch.randn(5, 2, requires_grad=True)
    out = model(x)
    return out, torch.autograd.grad(out.sum(), x)[0]


def image():
    model = SirenNet(dim_in=2, dim_hidden=16, dim_out=3, num_layers=2, w0_initial=30.)
    wrapper = SirenWrapper(model, latent_dim=8, image_width=8, image_height=8)
    latent = torch.nn.Parameter(torch.zeros(8).normal_(0, 1e-2))
    loss = wrapper(torch.rand(1, 3, 8, 8), latent=latent)
    loss.backward()
    return loss, wrapper(latent=latent), latent.grad
