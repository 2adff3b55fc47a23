"""pytorch-fid: the distance between the features of two sets of images."""

import numpy as np
import torch
from PIL import Image
from pytorch_fid.fid_score import ImagePathDataset, calculate_activation_statistics, calculate_frechet_distance
from pytorch_fid.inception import FIDInceptionA, FIDInceptionC, FIDInceptionE_1


def distance():
    a, b = np.random.randn(50, 6), np.random.randn(50, 6) + 0.5
    return calculate_frechet_distance(a.mean(0), np.cov(a, rowvar=False), b.mean(0), np.cov(b, rowvar=False))


def statistics():
    files = []
    for i in range(6):
        Image.fromarray((np.random.rand(16, 16, 3) * 255).astype("uint8")).save(f"{i}.png")
        files.append(f"{i}.png")

    class Features(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = torch.nn.Conv2d(3, 8, 3)

        def forward(self, x):
            return [torch.nn.functional.adaptive_avg_pool2d(self.conv(x), 1)]

    return calculate_activation_statistics(files, Features(), batch_size=3, dims=8, num_workers=0), len(ImagePathDataset(files))


def blocks():
    with torch.no_grad():
        return (
            FIDInceptionA(16, pool_features=8).eval()(torch.randn(1, 16, 8, 8)).shape,
            FIDInceptionC(16, channels_7x7=8).eval()(torch.randn(1, 16, 8, 8)),
            FIDInceptionE_1(16).eval()(torch.randn(1, 16, 4, 4)).mean(1),
        )
