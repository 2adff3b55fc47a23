"""pytorch-crf: conditional random fields, their likelihood and decoding."""

import torch
from torchcrf import CRF


def train():
    model = CRF(4, batch_first=True)
    emissions, tags = torch.randn(2, 5, 4, requires_grad=True), torch.randint(0, 4, (2, 5))
    mask = torch.tensor([[1] * 5, [1] * 3 + [0] * 2]).bool()
    loss = -model(emissions, tags, mask=mask, reduction="mean")
    loss.backward()
    return loss, emissions.grad, model.transitions.grad, model.decode(emissions, mask=mask)
