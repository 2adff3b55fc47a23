"""titans-pytorch: memories that learn while they are used."""

import torch
from titans_pytorch import MemoryAsContextTransformer, MemoryMLP, NeuralMemory


def memory():
    net = NeuralMemory(dim=16, chunk_size=8)
    out, state = net(torch.randn(2, 32, 16))
    return out, state.seq_index


def two_layers():
    net = NeuralMemory(dim=16, chunk_size=4, model=MemoryMLP(16, depth=2), momentum=True)
    x = torch.randn(1, 16, 16, requires_grad=True)
    out, _ = net(x)
    out.sum().backward()
    return out, x.grad


def transformer():
    net = MemoryAsContextTransformer(num_tokens=32, dim=16, depth=2, segment_len=8, num_persist_mem_tokens=2,
                                     num_longterm_mem_tokens=4, heads=2, dim_head=8)
    loss = net(torch.randint(0, 32, (1, 33)), return_loss=True)
    loss.backward()
    return loss
