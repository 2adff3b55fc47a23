"""piq: measures of the quality of images."""

import piq
import torch


def _images():
    x = torch.rand(2, 3, 96, 96)
    return x, (x + 0.1 * torch.randn(2, 3, 96, 96)).clamp(0, 1)


def with_reference():
    x, y = _images()
    return {
        "psnr": piq.psnr(x, y),
        "ssim": piq.ssim(x, y),
        "vif": piq.vif_p(x, y),
        "fsim": piq.fsim(x, y),
        "gmsd": piq.gmsd(x, y),
        "vsi": piq.vsi(x, y),
        "haarpsi": piq.haarpsi(x, y),
        "mdsi": piq.mdsi(x, y),
        "srsim": piq.srsim(x, y),
        "dss": piq.dss(x, y),
    }


def without_reference():
    x, _ = _images()
    return piq.total_variation(x), piq.total_variation(x, norm_type="l1")


def losses():
    x, y = _images()
    x.requires_grad_()
    loss = piq.SSIMLoss()(x, y) + piq.GMSDLoss()(x, y) + piq.VIFLoss()(x, y) + piq.HaarPSILoss()(x, y)
    loss.backward()
    return loss, x.grad


def features():
    x, y = torch.rand(30, 8), torch.rand(30, 8)
    return piq.FID()(x, y), piq.KID(average=True, n_subsets=2, subset_size=10)(x, y), piq.PR()(x, y), piq.IS()(x, y)
