"""x-transformers: a decoder, an encoder and both."""

import torch
from x_transformers import (
    AutoregressiveWrapper,
    ContinuousTransformerWrapper,
    Decoder,
    Encoder,
    TransformerWrapper,
    ViTransformerWrapper,
    XTransformer,
)


def decoder():
    model = AutoregressiveWrapper(
        TransformerWrapper(
            num_tokens=50,
            max_seq_len=32,
            attn_layers=Decoder(dim=32, depth=2, heads=4, rotary_pos_emb=True, ff_glu=True, use_rmsnorm=True),
        )
    )
    tokens = torch.randint(0, 50, (2, 16))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    losses = []
    for _ in range(3):
        loss = model(tokens)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, model.generate(tokens[:, :4], 6, temperature=0.0), model.generate(tokens[:, :4], 6)


def encoder():
    model = TransformerWrapper(
        num_tokens=50,
        max_seq_len=32,
        attn_layers=Encoder(dim=32, depth=2, heads=4, alibi_pos_bias=True, alibi_num_heads=2),
    )
    return model(torch.randint(0, 50, (2, 16)), mask=torch.ones(2, 16).bool())


def both():
    model = XTransformer(
        dim=32,
        enc_num_tokens=20,
        enc_depth=1,
        enc_heads=2,
        enc_max_seq_len=16,
        dec_num_tokens=20,
        dec_depth=1,
        dec_heads=2,
        dec_max_seq_len=16,
        tie_token_emb=True,
    )
    source, target = torch.randint(0, 20, (2, 8)), torch.randint(0, 20, (2, 6))
    loss = model(source, target)
    loss.backward()
    return loss, [p.grad.norm() for p in model.parameters() if p.grad is not None]


def images():
    return ViTransformerWrapper(
        image_size=32, patch_size=8, num_classes=4, attn_layers=Encoder(dim=32, depth=1, heads=2)
    )(torch.randn(2, 3, 32, 32))


def continuous():
    return ContinuousTransformerWrapper(
        dim_in=4, dim_out=3, max_seq_len=16, attn_layers=Encoder(dim=32, depth=1, heads=2)
    )(torch.randn(2, 10, 4))
