"""timm: forward and backward of models without their weights; optimizers, schedules, features and transforms."""

import timm
import timm.optim
import timm.scheduler
import torch


def _model(name, size=64, **options):
    torch.manual_seed(0)
    model = timm.create_model(name, num_classes=7, **options).train()
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    out = model(torch.randn(2, 3, size, size))
    torch.nn.functional.cross_entropy(out, torch.tensor([1, 5])).backward()
    return out, torch.stack([p.grad.double().norm() for p in model.parameters() if p.grad is not None][-8:])


def resnet18():
    return _model("resnet18")


def resnetv2_50():
    return _model("resnetv2_50")


def resnext26ts():
    return _model("resnext26ts")


def seresnet18():
    return _model("legacy_seresnet18")


def mobilenetv3():
    return _model("mobilenetv3_small_100")


def mobilenetv4():
    return _model("mobilenetv4_conv_small")


def efficientnet():
    return _model("efficientnet_b0")


def regnet():
    return _model("regnety_002")


def convnext():
    return _model("convnext_atto")


def densenet():
    return _model("densenet121")


def vit():
    return _model("vit_tiny_patch16_224", img_size=64)


def deit():
    return _model("deit_tiny_distilled_patch16_224", img_size=64)


def swin():
    return _model(
        "swin_tiny_patch4_window7_224", img_size=56, size=56, depths=(1, 1, 1), embed_dim=24, num_heads=(1, 2, 4)
    )


def mixer():
    return _model("mixer_s32_224", size=224)


def gmlp():
    return _model("gmlp_ti16_224", size=224)


def poolformer():
    return _model("poolformer_s12")


def coatnet():
    return _model("coatnet_pico_rw_224", size=224)


def ghostnet():
    return _model("ghostnet_050")


def hrnet():
    return _model("hrnet_w18_small")


def xcit():
    return _model("xcit_nano_12_p16_224", img_size=64)


def cait():
    return _model("cait_xxs24_224", img_size=64)


def levit():
    return _model("levit_128s", size=224)


def maxvit():
    return _model("maxvit_pico_rw_256", size=256)


def features():
    model = timm.create_model("resnet18", features_only=True, out_indices=(1, 3)).eval()
    return [f.mean((2, 3)) for f in model(torch.randn(1, 3, 64, 64))], model.feature_info.channels()


def optimizers():
    results = []
    for name in ("lamb", "adabelief", "madgrad", "nadamw", "lion", "adafactor", "rmsproptf"):
        torch.manual_seed(0)
        model = torch.nn.Linear(4, 2)
        optimizer = timm.optim.create_optimizer_v2(model, opt=name, lr=1e-2, weight_decay=1e-2)
        schedule = timm.scheduler.CosineLRScheduler(optimizer, 10, warmup_t=2)
        for step in range(3):
            optimizer.zero_grad()
            model(torch.randn(3, 4)).square().sum().backward()
            optimizer.step()
            schedule.step(step)
        results.append(model.weight)
    return results


def transforms():
    import numpy as np
    from PIL import Image

    model = timm.create_model("resnet18")
    config = timm.data.resolve_data_config({}, model=model)
    image = Image.fromarray(np.random.randint(0, 255, (100, 80, 3), dtype=np.uint8))
    return timm.data.create_transform(**config)(image), timm.data.create_transform(**config, is_training=True)(image)


def ema():
    model = torch.nn.Linear(3, 2)
    kept = timm.utils.ModelEmaV3(model, decay=0.9)
    with torch.no_grad():
        model.weight.add_(1.0)
    kept.update(model)
    return kept.module.weight
