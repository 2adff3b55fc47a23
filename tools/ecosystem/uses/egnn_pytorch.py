"""egnn-pytorch: equivariant networks of points."""

import torch
from egnn_pytorch import EGNN, EGNN_Network


def layer():
    net, feats, coors = EGNN(dim=16), torch.randn(1, 8, 16), torch.randn(1, 8, 3, requires_grad=True)
    feats, moved = net(feats, coors)
    (feats.sum() + moved.pow(2).sum()).backward()
    return feats, moved, coors.grad


def with_edges():
    net = EGNN(dim=16, edge_dim=4, num_nearest_neighbors=3)
    feats, coors, edges = torch.randn(1, 8, 16), torch.randn(1, 8, 3), torch.randn(1, 8, 8, 4)
    return net(feats, coors, edges)


def network():
    net = EGNN_Network(num_tokens=21, num_positions=32, dim=16, depth=2, num_nearest_neighbors=4, coor_weights_clamp_value=2.)
    feats, coors = torch.randint(0, 21, (1, 32)), torch.randn(1, 32, 3)
    mask = torch.ones_like(feats).bool()
    return net(feats, coors, mask=mask)
