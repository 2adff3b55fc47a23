"""coral-pytorch: ranks as ordered labels."""

import torch
from coral_pytorch.dataset import corn_label_from_logits, levels_from_labelbatch, proba_to_label
from coral_pytorch.layers import CoralLayer
from coral_pytorch.losses import coral_loss, corn_loss


def _trained(model, loss_of):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    for _ in range(4):
        optimizer.zero_grad()
        loss = loss_of()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def coral():
    x, y = torch.randn(16, 6), torch.randint(0, 5, (16,))
    model = CoralLayer(size_in=6, num_classes=5)
    levels = levels_from_labelbatch(y, num_classes=5)
    losses = _trained(model, lambda: coral_loss(model(x), levels))
    return levels, losses, proba_to_label(model(x).sigmoid())


def corn():
    x, y = torch.randn(16, 6), torch.randint(0, 5, (16,))
    model = torch.nn.Linear(6, 4)
    losses = _trained(model, lambda: corn_loss(model(x), y, 5))
    return losses, corn_label_from_logits(model(x))
