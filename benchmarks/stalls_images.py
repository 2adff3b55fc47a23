"""Nets of depthwise and grouped convolutions, for ``stalls``."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchmarks.models import _labels, _numbers
from benchmarks.programs import _fit


def _separable(nn: Any, i: int, o: int, taps: int = 3, stride: int = 1) -> Any:
    """Return a depthwise and a pointwise convolution."""
    return nn.Sequential(nn.Conv2d(i, i, taps, stride, taps // 2, groups=i, bias=False), nn.BatchNorm2d(i), nn.SiLU(),
                         nn.Conv2d(i, o, 1, bias=False), nn.BatchNorm2d(o), nn.SiLU())


def _classify(torch: Any, body: list[Any], features: int, size: int, batch: int, count: int) -> Iterator[float]:
    nn = torch.nn
    model = nn.Sequential(*body, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(features, 10))
    x, y = torch.tensor(_numbers(batch, 3, size, size)), torch.tensor(_labels(batch, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    yield from _fit(optimizer, lambda: nn.functional.cross_entropy(model(x), y), count)


def separable_net(torch: Any, count: int = 60) -> Iterator[float]:
    """Train 12 layers of depthwise and pointwise convolutions."""
    torch.manual_seed(0)
    nn = torch.nn
    body = [nn.Conv2d(3, 24, 3, 1, 1)]
    body += [_separable(nn, 24 if k < 6 else 48, 24 if k < 5 else 48, 3, 2 if k == 6 else 1) for k in range(12)]
    yield from _classify(torch, body, 48, 16, 8, count)


def depthwise_net(torch: Any, count: int = 60) -> Iterator[float]:
    """Train 16 depthwise layers of 5x5 taps."""
    torch.manual_seed(0)
    nn = torch.nn
    body = [nn.Conv2d(3, 32, 1)]
    for _ in range(16):
        body += [nn.Conv2d(32, 32, 5, 1, 2, groups=32), nn.SiLU()]
    yield from _classify(torch, body, 32, 16, 4, count)


def convnext(torch: Any, count: int = 40) -> Iterator[float]:
    """Train six blocks of ConvNeXt, whose depthwise convolutions have 7x7 taps."""
    torch.manual_seed(0)
    nn = torch.nn

    class Block(nn.Module):     # type: ignore[name-defined]
        def __init__(self, width):
            super().__init__()
            self.depthwise, self.norm = nn.Conv2d(width, width, 7, padding=3, groups=width), nn.LayerNorm(width)
            self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
            self.scale = nn.Parameter(1e-6 * torch.ones(width))

        def forward(self, x):
            y = self.norm(self.depthwise(x).permute(0, 2, 3, 1))
            return x + (self.scale * self.narrow(nn.functional.gelu(self.wide(y)))).permute(0, 3, 1, 2)
    body = [nn.Conv2d(3, 32, 4, 4), Block(32), Block(32), nn.Conv2d(32, 64, 2, 2), Block(64), Block(64), Block(64), Block(64)]
    yield from _classify(torch, body, 64, 64, 4, count)


def mobile_net(torch: Any, count: int = 40) -> Iterator[float]:
    """Train inverted residuals with squeeze and excitation, as in MobileNetV3 and EfficientNet."""
    torch.manual_seed(0)
    nn = torch.nn

    class Block(nn.Module):     # type: ignore[name-defined]
        def __init__(self, i, o, taps, stride, expand=4):
            super().__init__()
            wide = i * expand
            self.same = stride == 1 and i == o
            self.expand = nn.Sequential(nn.Conv2d(i, wide, 1, bias=False), nn.BatchNorm2d(wide), nn.Hardswish())
            self.depthwise = nn.Sequential(nn.Conv2d(wide, wide, taps, stride, taps // 2, groups=wide, bias=False),
                                           nn.BatchNorm2d(wide), nn.Hardswish())
            self.excite = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(wide, i, 1), nn.ReLU(), nn.Conv2d(i, wide, 1),
                                        nn.Hardsigmoid())
            self.project = nn.Sequential(nn.Conv2d(wide, o, 1, bias=False), nn.BatchNorm2d(o))

        def forward(self, x):
            y = self.depthwise(self.expand(x))
            y = self.project(y * self.excite(y))
            return x + y if self.same else y
    body = [nn.Conv2d(3, 16, 3, 2, 1, bias=False), nn.BatchNorm2d(16), nn.Hardswish(),
            Block(16, 16, 3, 1), Block(16, 24, 3, 2), Block(24, 24, 3, 1), Block(24, 40, 5, 2), Block(40, 40, 5, 1)]
    yield from _classify(torch, body, 40, 64, 4, count)


def grouped_net(torch: Any, count: int = 40) -> Iterator[float]:
    """Train bottlenecks with 8 groups, as in ResNeXt."""
    torch.manual_seed(0)
    nn = torch.nn

    class Block(nn.Module):     # type: ignore[name-defined]
        def __init__(self, width):
            super().__init__()
            self.body = nn.Sequential(nn.Conv2d(width, width, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(),
                                      nn.Conv2d(width, width, 3, 1, 1, groups=8, bias=False), nn.BatchNorm2d(width), nn.ReLU(),
                                      nn.Conv2d(width, width, 1, bias=False), nn.BatchNorm2d(width))

        def forward(self, x):
            return nn.functional.relu(x + self.body(x))
    yield from _classify(torch, [nn.Conv2d(3, 64, 4, 4), *[Block(64) for _ in range(6)]], 64, 64, 4, count)


def small_yolo(torch: Any, count: int = 40) -> Iterator[float]:
    """Train a detector of three scales with depthwise blocks."""
    torch.manual_seed(0)
    nn, fn = torch.nn, torch.nn.functional

    class Detector(nn.Module):      # type: ignore[name-defined]
        def __init__(self):
            super().__init__()
            self.stem = nn.Sequential(nn.Conv2d(3, 16, 3, 2, 1, bias=False), nn.BatchNorm2d(16), nn.SiLU())
            widths = [16, 32, 64, 96]
            self.stages = nn.ModuleList([nn.Sequential(_separable(nn, i, o, 3, 2), _separable(nn, o, o, 5))
                                         for i, o in zip(widths, widths[1:], strict=False)])
            self.sides = nn.ModuleList([nn.Conv2d(w, 32, 1) for w in widths[1:]])
            self.heads = nn.ModuleList([nn.Sequential(_separable(nn, 32, 32), nn.Conv2d(32, 3 * 9, 1)) for _ in widths[1:]])

        def forward(self, x):
            x, levels = self.stem(x), []
            for stage in self.stages:
                x = stage(x)
                levels.append(x)
            out, above = [], None
            for x, side, head in zip(reversed(levels), reversed(self.sides), reversed(self.heads), strict=True):
                x = side(x)
                above = x if above is None else x + fn.interpolate(above, scale_factor=2.0, mode="nearest")
                out.append(head(above).view(x.shape[0], 3, 9, -1).permute(0, 3, 1, 2).reshape(x.shape[0], -1, 9))
            return torch.cat(out, 1)
    model = Detector()
    x = torch.tensor(_numbers(2, 3, 64, 64))
    with torch.no_grad():
        places = model(x).shape[1]
    target = torch.tensor(_numbers(2, places, 9)).sigmoid()

    def loss_of():
        found = model(x)
        inside = torch.sigmoid(found[..., :2]) * 2 - 0.5
        sizes = (torch.sigmoid(found[..., 2:4]) * 2) ** 2
        boxes = fn.smooth_l1_loss(torch.cat([inside, sizes], -1), target[..., :4])
        return boxes + fn.binary_cross_entropy_with_logits(found[..., 4:], target[..., 4:])
    yield from _fit(torch.optim.Adam(model.parameters(), lr=1e-3), loss_of, count)


IMAGES = {
    "12 separable layers, 60 steps": separable_net,
    "16 depthwise layers, 60 steps": depthwise_net,
    "ConvNeXt, 40 steps": convnext,
    "MobileNet with excitation, 40 steps": mobile_net,
    "8 groups, 40 steps": grouped_net,
    "small YOLO, 40 steps": small_yolo,
}
