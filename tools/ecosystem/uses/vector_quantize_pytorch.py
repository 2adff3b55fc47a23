"""vector-quantize-pytorch: codebooks of several kinds."""

import torch
from vector_quantize_pytorch import FSQ, LFQ, RandomProjectionQuantizer, ResidualVQ, VectorQuantize


def vector():
    model = VectorQuantize(
        dim=8, codebook_size=16, decay=0.8, kmeans_init=True, kmeans_iters=3, threshold_ema_dead_code=1
    )
    x = torch.randn(2, 20, 8, requires_grad=True)
    found = [model(x) for _ in range(2)]
    (found[1][0].sum() + found[1][2].sum()).backward()
    return found, x.grad


def cosine():
    return VectorQuantize(dim=8, codebook_size=16, use_cosine_sim=True, rotation_trick=True)(torch.randn(2, 20, 8))


def residual():
    return ResidualVQ(dim=8, num_quantizers=3, codebook_size=16)(torch.randn(2, 20, 8))


def scalar():
    model = FSQ([8, 5, 5])
    quantized, indices = model(torch.randn(2, 20, 3))
    return quantized, indices, model.indices_to_codes(indices)


def lookup_free():
    return list(LFQ(codebook_size=16, dim=4)(torch.randn(2, 4, 6, 6)))


def random_projection():
    return RandomProjectionQuantizer(dim=8, num_codebooks=2, codebook_dim=4, codebook_size=16)(torch.randn(2, 20, 8))
