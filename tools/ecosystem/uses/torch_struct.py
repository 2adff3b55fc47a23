"""torch-struct: structured distributions."""

import torch
import torch_struct


def chain():
    potentials = torch.randn(2, 6, 3, 3, requires_grad=True)
    dist = torch_struct.LinearChainCRF(potentials, lengths=torch.tensor([7, 5]))
    return dist.partition, dist.marginals, dist.argmax, dist.entropy, dist.max



def segments():
    dist = torch_struct.SemiMarkovCRF(torch.randn(2, 5, 3, 2, 2))
    return dist.partition, dist.argmax


def grammar():
    dist = torch_struct.TreeCRF(torch.randn(2, 5, 5, 3))
    return dist.partition, dist.marginals
