"""efficientnet-pytorch: EfficientNets."""

import torch
from efficientnet_pytorch import EfficientNet
from efficientnet_pytorch.utils import Conv2dStaticSamePadding, drop_connect


def small():
    model = EfficientNet.from_name("efficientnet-b0", override_params={"num_classes": 5}).eval()
    with torch.no_grad():
        return model(torch.randn(1, 3, 64, 64)), sum(p.numel() for p in model.parameters())


def features():
    model = EfficientNet.from_name("efficientnet-b0").eval()
    with torch.no_grad():
        return model.extract_features(torch.randn(1, 3, 64, 64))


def layers():
    x = torch.randn(2, 4, 8, 8, requires_grad=True)
    conv = Conv2dStaticSamePadding(4, 6, 3, stride=2, image_size=8)
    y = drop_connect(torch.nn.functional.silu(conv(x)), 0.3, training=True)
    y.square().sum().backward()
    return y, x.grad
