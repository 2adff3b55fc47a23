"""torch-kmeans: clusters of points."""

import torch
from torch_kmeans import ConstrainedKMeans, KMeans, SoftKMeans


def _points():
    return torch.cat([torch.randn(1, 10, 2) + 4 * k for k in range(3)], 1)


def clusters():
    x = _points()
    found = KMeans(n_clusters=3, init_method="k-means++", seed=1, verbose=False)(x)
    model = KMeans(n_clusters=3, seed=1, verbose=False).fit(x)
    return found.labels, found.centers, found.inertia, model.predict(x + 0.1)


def soft_and_constrained():
    x = _points().requires_grad_()
    soft = SoftKMeans(n_clusters=3, seed=1, verbose=False)(x)
    soft.inertia.sum().backward()
    weights = torch.full((1, 30), 0.05)
    constrained = ConstrainedKMeans(n_clusters=3, seed=1, verbose=False)(x.detach(), weights=weights)
    return soft.soft_assignment, soft.inertia, x.grad, constrained.labels
