"""kornia: filters, geometry, colour, augmentation and losses."""

import kornia as K
import torch


def filters():
    x = torch.rand(1, 3, 24, 24, requires_grad=True)
    f = K.filters
    out = [
        f.gaussian_blur2d(x, (5, 5), (1.5, 1.5)),
        f.sobel(x),
        f.median_blur(x, 3),
        f.laplacian(x, 3),
        f.unsharp_mask(x, (3, 3), (1.0, 1.0)),
        f.bilateral_blur(x, (3, 3), 0.1, (1.5, 1.5)),
        f.box_blur(x, 3),
        f.motion_blur(x, 5, 35.0, 0.5),
    ]
    sum(o.mean() for o in out).backward()
    return out, x.grad, f.canny(x.detach())


def geometry():
    x = torch.rand(1, 3, 20, 20)
    g = K.geometry
    points = torch.tensor([[[0.0, 0], [19, 0], [19, 19], [0, 19]]])
    m = g.transform.get_perspective_transform(points, points + torch.tensor([1.0, 2.0]))
    return (
        g.transform.rotate(x, torch.tensor([30.0])),
        g.transform.resize(x, (10, 12)),
        g.transform.warp_perspective(x, m, (20, 20)),
        g.transform.translate(x, torch.tensor([[1.0, 2.0]])),
        g.transform.scale(x, torch.tensor([1.2])),
        m,
        g.transform.pyrdown(x),
        g.conversions.axis_angle_to_rotation_matrix(torch.tensor([[0.1, 0.2, 0.3]])),
    )


def colour():
    x = torch.rand(2, 3, 8, 8)
    c = K.color
    return [
        f(x)
        for f in (
            c.rgb_to_grayscale,
            c.rgb_to_hsv,
            c.rgb_to_lab,
            c.rgb_to_ycbcr,
            c.rgb_to_xyz,
            c.rgb_to_yuv,
            c.rgb_to_hls,
        )
    ]


def augmentation():
    x = torch.rand(2, 3, 24, 24)
    a = K.augmentation
    chain = a.AugmentationSequential(
        a.RandomHorizontalFlip(p=0.5),
        a.ColorJitter(0.2, 0.2, 0.2, 0.1, p=1.0),
        a.RandomAffine(15.0, p=1.0),
        a.RandomErasing(p=1.0),
        data_keys=["input", "mask"],
    )
    return chain(x, (x > 0.5).float())


def losses():
    a, b = torch.rand(2, 3, 16, 16, requires_grad=True), torch.rand(2, 3, 16, 16)
    values = [
        K.losses.ssim_loss(a, b, 5),
        K.losses.psnr_loss(a, b, 1.0),
        K.losses.total_variation(a).mean(),
        K.losses.dice_loss(a, torch.randint(0, 3, (2, 16, 16))),
        K.losses.focal_loss(a, torch.randint(0, 3, (2, 16, 16)), 0.5, reduction="mean"),
    ]
    sum(values).backward()
    return values, a.grad


def features():
    x = torch.rand(1, 1, 32, 32)
    f = K.feature
    return f.harris_response(x), f.gftt_response(x), f.hessian_response(x), f.SIFTDescriptor(32)(x)


def morphology_and_enhance():
    x, kernel = torch.rand(1, 1, 12, 12), torch.ones(3, 3)
    m, e = K.morphology, K.enhance
    return (
        m.dilation(x, kernel),
        m.erosion(x, kernel),
        m.opening(x, kernel),
        m.gradient(x, kernel),
        e.adjust_gamma(x, 2.0),
        e.equalize(x),
        e.adjust_contrast(x, 0.7),
        e.normalize(x, torch.tensor([0.5]), torch.tensor([0.2])),
        e.equalize_clahe(x),
    )
