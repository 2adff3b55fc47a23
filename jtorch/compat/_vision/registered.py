"""Registers the kernels of this folder as torchvision's operators, with its schemas."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jtorch._api.generate import _call_dynamic as call_dynamic
from jtorch._library.libraries import Library
from jtorch._vision import bins, boxes, deform, regions
from jtorch.dispatch import call
from jtorch.engine import call_of
from jtorch.ops.registry import OPS, T, freeze
from jtorch.tensor import Tensor

_IMAGE = "SymInt batch_size, SymInt channels, SymInt height, SymInt width"
_BINS = "float spatial_scale, SymInt pooled_height, SymInt pooled_width"
_CONV = ("SymInt stride_h, SymInt stride_w, SymInt pad_h, SymInt pad_w, SymInt dilation_h, SymInt dilation_w, SymInt groups, "
         "SymInt offset_groups, bool use_mask")
_QUANTIZED = "float input_scale, int input_zero_point, float rois_scale, int rois_zero_point"
_CONVOLVED = "Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias"
SCHEMAS = (
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "box_iou_rotated(Tensor boxes1, Tensor boxes2) -> Tensor",
    f"roi_align(Tensor input, Tensor rois, {_BINS}, int sampling_ratio, bool aligned) -> Tensor",
    f"qroi_align(Tensor input, Tensor rois, {_QUANTIZED}, {_BINS}, int sampling_ratio, bool aligned) -> Tensor",
    f"_roi_align_backward(Tensor grad, Tensor rois, {_BINS}, {_IMAGE}, int sampling_ratio, bool aligned) -> Tensor",
    f"ps_roi_align(Tensor input, Tensor rois, {_BINS}, int sampling_ratio) -> (Tensor, Tensor)",
    f"_ps_roi_align_backward(Tensor grad, Tensor rois, Tensor channel_mapping, {_BINS}, int sampling_ratio, {_IMAGE}) -> Tensor",
    f"roi_pool(Tensor input, Tensor rois, {_BINS}) -> (Tensor, Tensor)",
    f"_roi_pool_backward(Tensor grad, Tensor rois, Tensor argmax, {_BINS}, {_IMAGE}) -> Tensor",
    f"ps_roi_pool(Tensor input, Tensor rois, {_BINS}) -> (Tensor, Tensor)",
    f"_ps_roi_pool_backward(Tensor grad, Tensor rois, Tensor channel_mapping, {_BINS}, {_IMAGE}) -> Tensor",
    f"deform_conv2d({_CONVOLVED}, {_CONV}) -> Tensor",
    f"_deform_conv2d_backward(Tensor grad, {_CONVOLVED}, {_CONV}) -> (Tensor, Tensor, Tensor, Tensor, Tensor)",
    "_cuda_version() -> int",
)


def _called(name: str) -> Callable:
    """Return a function that calls an op."""
    op = OPS[f"torchvision.{name}"]

    def run(*args: Any) -> Any:
        template = tuple([T if isinstance(a, Tensor) else freeze(a) for a in args])
        tensors = [a for a in args if isinstance(a, Tensor)]
        made = call_dynamic(op, template, tensors) if op.dynamic else call(call_of(op, template), tensors)
        return tuple(made) if isinstance(made, list) else made
    return run


def _grid(rois: Any, scale: float, height: int, width: int, ratio: int, smallest: float) -> tuple[int, int]:
    return regions.sampling_grid(None if ratio > 0 else rois.detach().cpu().numpy(), scale, height, width, ratio, smallest)


def roi_align(input: Any, rois: Any, scale: float, height: int, width: int, ratio: int, aligned: bool) -> Any:
    """Call the op with the sampling grid, which follows from the bins' size unless ``ratio`` gives it."""
    grid = _grid(rois, scale, height, width, ratio, 0 if aligned else 1)
    return _called("roi_align")(input, rois, scale, height, width, ratio, aligned, grid)


def roi_align_backward(grad: Any, rois: Any, scale: float, height: int, width: int, *image_ratio_aligned: Any) -> Any:
    """Return the image's gradient."""
    *_, ratio, aligned = image_ratio_aligned
    grid = _grid(rois, scale, height, width, ratio, 0 if aligned else 1)
    return _called("_roi_align_backward")(grad, rois, scale, height, width, *image_ratio_aligned, grid)


def ps_roi_align(input: Any, rois: Any, scale: float, height: int, width: int, ratio: int) -> Any:
    """Call the op with the sampling grid, like roi_align."""
    return _called("ps_roi_align")(input, rois, scale, height, width, ratio, _grid(rois, scale, height, width, ratio, 0))


def ps_roi_align_backward(grad: Any, rois: Any, mapping: Any, scale: float, height: int, width: int, ratio: int,
                          *image: Any) -> Any:
    """Return the image's gradient."""
    grid = _grid(rois, scale, height, width, ratio, 0)
    return _called("_ps_roi_align_backward")(grad, rois, scale, height, width, ratio, *image, grid)


def _geometry(rest: tuple) -> tuple:
    return tuple(rest[:2]), tuple(rest[2:4]), tuple(rest[4:6])


def deform_conv2d(*args: Any) -> Any:
    """Call the op with stride, padding and dilation as one argument."""
    return _called("deform_conv2d")(*args[:5], _geometry(args[5:]), *args[11:])


def deform_conv2d_backward(*args: Any) -> Any:
    """Return the gradients of all five tensors."""
    return _called("_deform_conv2d_backward")(*args[:6], _geometry(args[6:]), *args[12:])


def _register() -> Library:
    lib = Library("torchvision", "DEF")
    for schema in SCHEMAS:
        lib.define(schema)
    kernels: dict[str, Callable] = {
        "roi_align": roi_align, "_roi_align_backward": roi_align_backward, "ps_roi_align": ps_roi_align,
        "_ps_roi_align_backward": ps_roi_align_backward, "deform_conv2d": deform_conv2d,
        "_deform_conv2d_backward": deform_conv2d_backward, "_cuda_version": lambda: -1}
    for name in ("nms", "box_iou_rotated", "roi_pool", "_roi_pool_backward", "ps_roi_pool", "_ps_roi_pool_backward"):
        kernels[name] = _called(name)
    for name, kernel in kernels.items():
        lib.impl(name, kernel, "CompositeExplicitAutograd")
    return lib


LIBRARY = _register()
FILES = (bins, boxes, deform)      # Importing these modules registers the ops that ``_called`` finds by name.
