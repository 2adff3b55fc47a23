"""facenet-pytorch: networks that find and describe faces."""

import torch
from facenet_pytorch import InceptionResnetV1, fixed_image_standardization
from facenet_pytorch.models.mtcnn import ONet, PNet, RNet


def descriptions():
    model = InceptionResnetV1(pretrained=None).eval()
    with torch.no_grad():
        return model(fixed_image_standardization(torch.rand(1, 3, 96, 96) * 255))


def classifier():
    model = InceptionResnetV1(pretrained=None, classify=True, num_classes=4)
    found = model(torch.randn(2, 3, 80, 80))
    return found.shape, sum(p.numel() for p in model.parameters())


def finders():
    with torch.no_grad():
        return (
            PNet(pretrained=False)(torch.randn(1, 3, 24, 24)),
            RNet(pretrained=False)(torch.randn(1, 3, 24, 24)),
            ONet(pretrained=False)(torch.randn(1, 3, 48, 48)),
        )
