"""monai: networks, losses, metrics, transforms and sliding windows for medical images."""

import numpy as np
import torch
from monai import inferers, losses, metrics, networks, transforms


def unet():
    torch.manual_seed(0)
    model = networks.nets.UNet(
        spatial_dims=3, in_channels=1, out_channels=2, channels=(4, 8), strides=(2,), num_res_units=1
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    values = []
    for _ in range(2):
        loss = losses.DiceCELoss(to_onehot_y=True, softmax=True)(
            model(torch.randn(2, 1, 8, 8, 8)), torch.randint(0, 2, (2, 1, 8, 8, 8))
        )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        values.append(loss.item())
    return values


def networks_2d():
    nets = networks.nets
    torch.manual_seed(0)
    made = [
        nets.DenseNet121(spatial_dims=2, in_channels=1, out_channels=3),
        nets.SegResNet(2, 8, 1, 2),
        nets.VNet(2, 1, 2, dropout_prob_down=None),
        nets.UNETR(1, 2, 32, 16, 32, 64, 4, spatial_dims=2),
        nets.AttentionUnet(2, 1, 2, (4, 8), (2,)),
    ]
    return [model.eval()(torch.randn(1, 1, 32, 32)) for model in made]


def dictionary_transforms():
    data = {
        "image": np.random.rand(20, 24).astype(np.float32),
        "label": (np.random.rand(20, 24) > 0.5).astype(np.float32),
    }
    both = ["image", "label"]
    chain = transforms.Compose(
        [
            transforms.EnsureChannelFirstd(both, channel_dim="no_channel"),
            transforms.ScaleIntensityd("image"),
            transforms.Resized(both, (16, 16)),
            transforms.RandFlipd(both, prob=1.0, spatial_axis=0),
            transforms.RandRotated(both, 0.3, prob=1.0),
            transforms.RandGaussianNoised("image", 1.0),
            transforms.EnsureTyped(both),
        ]
    ).set_random_state(0)
    found = chain(data)
    return found["image"].as_tensor(), found["label"].as_tensor(), type(found["image"]).__name__


def sliding_window():
    torch.manual_seed(0)
    model = torch.nn.Conv2d(1, 2, 3, padding=1)
    with torch.no_grad():
        return inferers.sliding_window_inference(
            torch.randn(1, 1, 20, 20), (8, 8), 2, model, overlap=0.25, mode="gaussian"
        )


def scores():
    a, b = (torch.rand(2, 3, 8, 8) > 0.5).float(), (torch.rand(2, 3, 8, 8) > 0.5).float()
    made = [metrics.DiceMetric(), metrics.MeanIoU(), metrics.ConfusionMatrixMetric(), metrics.HausdorffDistanceMetric()]
    return [(m(a, b), m.aggregate()) for m in made]


def losses_of_masks():
    x, y = torch.randn(2, 2, 8, 8, requires_grad=True), torch.randint(0, 2, (2, 1, 8, 8))
    made = [
        losses.DiceLoss(to_onehot_y=True, softmax=True),
        losses.FocalLoss(to_onehot_y=True),
        losses.TverskyLoss(to_onehot_y=True, softmax=True),
        losses.GeneralizedDiceLoss(to_onehot_y=True, softmax=True),
    ]
    values = [loss(x, y) for loss in made]
    sum(values).backward()
    return values, x.grad
