"""rtdl-revisiting-models: networks for tables."""

import torch
from rtdl_revisiting_models import MLP, FTTransformer, ResNet


def _trained(model, *inputs):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    losses = []
    for _ in range(4):
        optimizer.zero_grad()
        loss = (model(*inputs).squeeze(-1) - inputs[0].sum(1)).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def perceptron_and_residual():
    x = torch.randn(16, 6)
    perceptron = MLP(d_in=6, d_out=1, n_blocks=2, d_block=16, dropout=0.0)
    residual = ResNet(
        d_in=6, d_out=1, n_blocks=2, d_block=16, d_hidden=None, d_hidden_multiplier=2.0, dropout1=0.0, dropout2=0.0
    )
    return _trained(perceptron, x), _trained(residual, x)


def transformer():
    model = FTTransformer(
        n_cont_features=3,
        cat_cardinalities=[4, 7],
        d_out=1,
        n_blocks=2,
        d_block=16,
        attention_n_heads=4,
        attention_dropout=0.0,
        ffn_d_hidden=None,
        ffn_d_hidden_multiplier=4 / 3,
        ffn_dropout=0.0,
        residual_dropout=0.0,
    )
    categories = torch.stack([torch.randint(0, 4, (16,)), torch.randint(0, 7, (16,))], 1)
    losses = _trained(model, torch.randn(16, 3), categories)
    groups = [len(group["params"]) for group in model.make_parameter_groups()]
    return losses, groups
