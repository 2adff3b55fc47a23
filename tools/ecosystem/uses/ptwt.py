"""ptwt: wavelet transforms."""

import ptwt
import torch


def signals():
    x = torch.randn(2, 64, requires_grad=True)
    parts = ptwt.wavedec(x, "db2", level=3, mode="zero")
    back = ptwt.waverec(parts, "db2")
    sum(p.square().sum() for p in parts).backward()
    packet = ptwt.WaveletPacket(x.detach(), "haar", mode="reflect", maxlevel=2)
    continuous, frequencies = ptwt.cwt(x.detach(), torch.arange(1, 6), "mexh")
    return parts, back, x.grad, [packet[node] for node in packet.get_level(2)], continuous, frequencies


def images():
    x = torch.randn(2, 16, 16)
    parts = ptwt.wavedec2(x, "haar", level=2)
    stationary = ptwt.swt(x[0], "haar", level=2)
    by_matrix = ptwt.MatrixWavedec2("db2", level=2)
    coefficients = by_matrix(x)
    back = ptwt.MatrixWaverec2("db2")(coefficients)
    return parts[0], list(parts[1]), ptwt.waverec2(parts, "haar"), stationary, coefficients[0], back
