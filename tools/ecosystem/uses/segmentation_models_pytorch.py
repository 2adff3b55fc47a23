"""segmentation-models-pytorch: decoders over encoders, and losses."""

import segmentation_models_pytorch as smp
import torch


def _decoder(name, **options):
    torch.manual_seed(0)
    model = getattr(smp, name)("resnet18", encoder_weights=None, in_channels=3, classes=3, **options).train()
    out = model(torch.randn(2, 3, 64, 64))
    smp.losses.DiceLoss("multiclass")(out, torch.randint(0, 3, (2, 64, 64))).backward()
    return out[:, :, ::8, ::8], torch.stack([p.grad.norm() for p in model.segmentation_head.parameters()])


def unet():
    return _decoder("Unet")


def unet_plus_plus():
    return _decoder("UnetPlusPlus")


def fpn():
    return _decoder("FPN", decoder_dropout=0.0)


def deeplab():
    return _decoder("DeepLabV3Plus", decoder_aspp_dropout=0.0)


def linknet():
    return _decoder("Linknet")


def losses_and_metrics():
    logits, target = torch.randn(2, 3, 16, 16, requires_grad=True), torch.randint(0, 3, (2, 16, 16))
    values = [
        smp.losses.DiceLoss("multiclass"),
        smp.losses.JaccardLoss("multiclass"),
        smp.losses.FocalLoss("multiclass"),
        smp.losses.LovaszLoss("multiclass"),
        smp.losses.TverskyLoss("multiclass"),
    ]
    values = [loss(logits, target) for loss in values]
    sum(values).backward()
    counts = smp.metrics.get_stats(logits.argmax(1), target, mode="multiclass", num_classes=3)
    return values, logits.grad, counts, smp.metrics.iou_score(*counts, reduction="micro")


def save_and_load():
    model = smp.Unet("resnet18", encoder_weights=None).eval()
    model.save_pretrained("unet")
    x = torch.randn(1, 3, 32, 32)
    return smp.from_pretrained("unet").eval()(x), model(x)
