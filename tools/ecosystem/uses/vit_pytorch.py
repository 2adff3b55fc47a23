"""vit-pytorch: vision transformers of several kinds."""

import torch
from vit_pytorch import ViT
from vit_pytorch.cait import CaiT
from vit_pytorch.simple_vit import SimpleViT


def _step(model, size=32):
    out = model(torch.randn(2, 3, size, size))
    torch.nn.functional.cross_entropy(out, torch.tensor([0, 3])).backward()
    return out, [p.grad.norm() for p in model.parameters() if p.grad is not None]


def vit():
    return _step(
        ViT(
            image_size=32,
            patch_size=8,
            num_classes=4,
            dim=32,
            depth=2,
            heads=2,
            mlp_dim=64,
            dropout=0.1,
            emb_dropout=0.1,
        )
    )


def simple():
    return _step(SimpleViT(image_size=32, patch_size=8, num_classes=4, dim=32, depth=2, heads=2, mlp_dim=64))


def cait():
    return _step(CaiT(image_size=32, patch_size=8, num_classes=4, dim=32, depth=1, cls_depth=1, heads=2, mlp_dim=64))
