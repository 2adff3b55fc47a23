"""tensorboardX: scalars, histograms and images to an events file."""

from pathlib import Path

import torch
from tensorboardX import SummaryWriter


def events():
    with SummaryWriter("runs") as writer:
        for step in range(3):
            writer.add_scalar("loss", torch.tensor(1.0 / (step + 1)), step)
            writer.add_histogram("weights", torch.randn(100), step)
        writer.add_image("image", torch.rand(3, 8, 8), 0)
        writer.add_embedding(torch.randn(4, 3), metadata=["a", "b", "c", "d"])
        written = writer.file_writer.get_logdir()
    return (
        written,
        sorted(p.name.split(".")[0] for p in Path("runs").iterdir()),
        Path("runs/00000/default/tensors.tsv").read_text(),
    )


def graph():
    with SummaryWriter("runs") as writer:
        writer.add_graph(torch.nn.Linear(3, 2), torch.randn(1, 3))
    return len(list(Path("runs").iterdir()))
