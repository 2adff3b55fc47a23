"""loralib: adapters of low rank."""

import loralib as lora
import torch


def _model():
    return torch.nn.Sequential(lora.Embedding(10, 8, r=2), lora.Linear(8, 8, r=2, lora_alpha=4), lora.Linear(8, 3, r=0))


def train():
    model = _model()
    lora.mark_only_lora_as_trainable(model, bias="lora_only")
    optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=0.05)
    losses = []
    for _ in range(4):
        x = torch.randint(0, 10, (6,))
        loss = torch.nn.functional.cross_entropy(model(x), x % 3)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, lora.lora_state_dict(model)


def merged():
    model = _model()
    with torch.no_grad():
        model[1].lora_B.normal_()
    x = torch.randint(0, 10, (4,))
    before = model(x)
    return before, model.eval()(x), model[1].weight


def convolution_and_parts():
    conv = lora.Conv2d(4, 6, 3, r=2)
    parts = lora.MergedLinear(8, 12, r=2, enable_lora=[True, False, True])
    with torch.no_grad():
        conv.lora_B.normal_()
        parts.lora_B.normal_()
    return conv(torch.randn(1, 4, 6, 6)), parts(torch.randn(2, 8))
