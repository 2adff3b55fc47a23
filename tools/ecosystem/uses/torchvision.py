"""torchvision: models, transforms, operators, datasets and utilities."""

import numpy as np
import torch
import torchvision
from PIL import Image
from torchvision import models, ops, transforms
from torchvision.models.feature_extraction import create_feature_extractor
from torchvision.transforms import v2


def _classifier(name, size=64):
    torch.manual_seed(0)
    model = models.get_model(name, num_classes=7).eval()
    out = model(torch.randn(2, 3, size, size))
    torch.nn.functional.cross_entropy(out, torch.tensor([1, 5])).backward()
    return out, torch.stack([p.grad.double().norm() for p in model.parameters() if p.grad is not None][-8:])


def resnet18():
    return _classifier("resnet18")


def alexnet():
    return _classifier("alexnet")


def vgg11():
    return _classifier("vgg11_bn", 32)


def squeezenet():
    return _classifier("squeezenet1_1")


def densenet():
    return _classifier("densenet121")


def googlenet():
    torch.manual_seed(0)
    model = models.googlenet(num_classes=7, init_weights=False, aux_logits=False).eval()
    return model(torch.randn(2, 3, 64, 64))


def mobilenet():
    return _classifier("mobilenet_v3_small")


def shufflenet():
    return _classifier("shufflenet_v2_x0_5")


def mnasnet():
    return _classifier("mnasnet0_5")


def efficientnet():
    return _classifier("efficientnet_b0")


def regnet():
    return _classifier("regnet_y_400mf")


def convnext():
    return _classifier("convnext_tiny")


def vit():
    torch.manual_seed(0)
    model = models.VisionTransformer(32, 8, 2, 4, 64, 128, num_classes=7).eval()
    model.heads.head.weight.data.normal_()
    return model(torch.randn(2, 3, 32, 32))


def swin():
    torch.manual_seed(0)
    model = models.SwinTransformer([4, 4], 24, [1, 1], [2, 4], [4, 4], num_classes=7).eval()
    out = model(torch.randn(2, 3, 32, 32))
    out.sum().backward()
    return out, model.head.weight.grad


def segmentation():
    torch.manual_seed(0)
    model = models.segmentation.lraspp_mobilenet_v3_large(weights=None, weights_backbone=None, num_classes=4).eval()
    other = models.segmentation.fcn_resnet50(weights=None, weights_backbone=None, num_classes=4).eval()
    x = torch.randn(1, 3, 64, 64)
    with torch.no_grad():
        return model(x)["out"], other(x)["out"]


def detection():
    torch.manual_seed(0)
    model = models.detection.fasterrcnn_mobilenet_v3_large_320_fpn(
        weights=None, weights_backbone=None, num_classes=3, min_size=96, max_size=96
    )
    images = [torch.rand(3, 96, 96), torch.rand(3, 80, 96)]
    targets = [
        {"boxes": torch.tensor([[10.0, 10, 50, 60]]), "labels": torch.tensor([1])},
        {"boxes": torch.tensor([[5.0, 20, 40, 70]]), "labels": torch.tensor([2])},
    ]
    losses = model.train()(images, targets)
    sum(losses.values()).backward()
    with torch.no_grad():
        found = model.eval()(images)
    return losses, [len(f["boxes"]) for f in found], model.roi_heads.box_predictor.cls_score.weight.grad.norm()


def video():
    torch.manual_seed(0)
    model = models.video.r3d_18(weights=None, num_classes=5).eval()
    return model(torch.randn(1, 3, 4, 32, 32))


def operators():
    boxes = torch.tensor([[0.0, 0, 10, 10], [1, 1, 11, 11], [20, 20, 30, 30]])
    scores = torch.tensor([0.9, 0.8, 0.7])
    x = torch.randn(1, 4, 16, 16, requires_grad=True)
    pooled = ops.roi_align(x, [boxes], (3, 3), 0.5, 2)
    pooled.sum().backward()
    offset = torch.randn(1, 18, 14, 14)
    return (
        ops.nms(boxes, scores, 0.5),
        ops.batched_nms(boxes, scores, torch.tensor([0, 1, 0]), 0.5),
        ops.box_iou(boxes, boxes),
        ops.generalized_box_iou(boxes, boxes),
        pooled,
        x.grad,
        ops.roi_pool(x, [boxes], 2),
        ops.deform_conv2d(x, offset, torch.ones(2, 4, 3, 3)),
        ops.sigmoid_focal_loss(x, (x > 0).float(), reduction="mean"),
        ops.box_convert(boxes, "xyxy", "cxcywh"),
        ops.StochasticDepth(0.5, "row")(x),
    )


def _image():
    return Image.fromarray(np.random.RandomState(0).randint(0, 255, (60, 48, 3), dtype=np.uint8))


def transforms_of_images():
    chain = transforms.Compose(
        [
            transforms.RandomResizedCrop(32),
            transforms.RandomHorizontalFlip(),
            transforms.ColorJitter(0.4, 0.4, 0.4, 0.1),
            transforms.RandomRotation(10),
            transforms.ToTensor(),
            transforms.Normalize([0.5] * 3, [0.2] * 3),
            transforms.RandomErasing(p=1.0),
        ]
    )
    return [chain(_image()) for _ in range(3)]


def transforms_of_tensors():
    x = (torch.rand(3, 40, 40) * 255).to(torch.uint8)
    chain = [
        transforms.Resize(24, antialias=True),
        transforms.CenterCrop(20),
        transforms.Pad(3),
        transforms.Grayscale(3),
        transforms.GaussianBlur(3, 1.0),
        transforms.RandomAffine(10, (0.1, 0.1)),
        transforms.RandAugment(),
        transforms.AutoAugment(),
        transforms.RandomPerspective(p=1.0),
        transforms.RandomSolarize(128, p=1.0),
        transforms.RandomEqualize(p=1.0),
    ]
    return [t(x) for t in chain]


def transforms_v2():
    image = torchvision.tv_tensors.Image((torch.rand(3, 40, 40) * 255).to(torch.uint8))
    boxes = torchvision.tv_tensors.BoundingBoxes(
        torch.tensor([[4, 4, 20, 20], [10, 12, 30, 34]]), format="XYXY", canvas_size=(40, 40)
    )
    chain = v2.Compose(
        [
            v2.RandomHorizontalFlip(p=1.0),
            v2.RandomResizedCrop(32, antialias=True),
            v2.RandomRotation(15),
            v2.ToDtype(torch.float32, scale=True),
            v2.Normalize([0.5] * 3, [0.5] * 3),
            v2.SanitizeBoundingBoxes(),
        ]
    )
    a, b = chain(image, {"boxes": boxes, "labels": torch.tensor([1, 2])})
    mixed = v2.MixUp(num_classes=3)(torch.rand(4, 3, 8, 8), torch.tensor([0, 1, 2, 0]))
    return a, b, type(b["boxes"]).__name__, mixed


def feature_extraction():
    torch.manual_seed(0)
    model = create_feature_extractor(models.resnet18(weights=None).eval(), {"layer1": "a", "layer3.0.relu": "b"})
    return {k: v.mean((2, 3)) for k, v in model(torch.randn(1, 3, 64, 64)).items()}


def utilities():
    grid = torchvision.utils.make_grid(torch.rand(6, 3, 8, 8), nrow=3, normalize=True)
    torchvision.utils.save_image(grid, "grid.png")
    image = (torch.rand(3, 32, 32) * 255).to(torch.uint8)
    drawn = torchvision.utils.draw_bounding_boxes(image, torch.tensor([[3, 3, 20, 20]]), labels=["a"], colors="red")
    return (
        grid,
        np.array(Image.open("grid.png")),
        drawn,
        torchvision.utils.draw_segmentation_masks(image, image[0] > 100),
    )


def datasets():
    data = torchvision.datasets.FakeData(8, (3, 16, 16), 4, transforms.ToTensor())
    loader = torch.utils.data.DataLoader(data, 4, shuffle=True)
    return [[x.mean((1, 2, 3)), y] for x, y in loader]
