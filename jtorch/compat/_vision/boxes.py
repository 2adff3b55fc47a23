"""nms and box_iou_rotated, computed by NumPy on the host: their Python loops depend on the values of the boxes."""
from __future__ import annotations

from typing import Any

import numpy as np

from jtorch.ops import check
from jtorch.ops.registry import Tensor, op

_FACTS: dict[str, Any] = {"function": False, "method": False, "out": False, "tested": False, "differentiable": False,
                          "dynamic": True}


def _check(boxes: Any, scores: Any) -> None:
    check.require(boxes.ndim == 2, f"boxes should be a 2d tensor, got {boxes.ndim}D")
    check.require(boxes.shape[1] == 4, f"boxes should have 4 elements in dimension 1, got {boxes.shape[1]}")
    check.require(scores.ndim == 1, f"scores should be a 1d tensor, got {scores.ndim}D")
    check.require(len(boxes) == len(scores), "boxes and scores should have same number of elements in dimension 0, got "
                                             f"{len(boxes)} and {len(scores)}")
    check.require(boxes.dtype == scores.dtype, "dets should have the same type as scores")


@op(name="torchvision.nms", **_FACTS)
def nms(dets: Tensor, scores: Tensor, iou_threshold: float):
    """Return the boxes that no box of a higher score overlaps by more than the threshold, the best first.

    See torchvision.ops.nms.
    """
    _check(dets, scores)
    boxes = np.asarray(dets)
    order = np.argsort(-np.asarray(scores), kind="stable")
    left, top, right, bottom = boxes[order].T
    areas = (right - left) * (bottom - top)
    dropped = np.zeros(len(order), bool)
    kept = []
    for i in range(len(order)):
        if dropped[i]:
            continue
        kept.append(order[i])
        rest = slice(i + 1, None)
        w = np.maximum(np.minimum(right[i], right[rest]) - np.maximum(left[i], left[rest]), 0)
        h = np.maximum(np.minimum(bottom[i], bottom[rest]) - np.maximum(top[i], top[rest]), 0)
        inter = w * h
        with np.errstate(invalid="ignore", divide="ignore"):
            dropped[rest] |= inter / (areas[i] + areas[rest] - inter) > iou_threshold
    return np.asarray(kept, np.int64)


def _corners(boxes: np.ndarray) -> np.ndarray:
    """Return the four corners of boxes (x, y, w, h, degrees), counterclockwise."""
    x, y, w, h, angle = boxes.T
    theta = np.deg2rad(angle)
    c, s = np.cos(theta) * 0.5, np.sin(theta) * 0.5
    first = np.stack([x + s * h + c * w, y + c * h - s * w], -1)
    second = np.stack([x - s * h + c * w, y - c * h - s * w], -1)
    center = np.stack([x, y], -1)
    return np.stack([first, second, 2 * center - first, 2 * center - second], 1)


def _clipped(polygon: list, a: np.ndarray, b: np.ndarray) -> list:
    """Return the part of a convex polygon on the inner side of the line from ``a`` to ``b``."""
    def side(p: np.ndarray) -> float:
        return (b[0] - a[0]) * (p[1] - a[1]) - (b[1] - a[1]) * (p[0] - a[0])
    kept = []
    for p, q in zip(polygon, [*polygon[1:], *polygon[:1]], strict=True):
        at_p, at_q = side(p), side(q)
        if at_p <= 0:
            kept.append(p)
        if (at_p < 0 < at_q) or (at_q < 0 < at_p):
            kept.append(p + (q - p) * (at_p / (at_p - at_q)))
    return kept


def _area(polygon: list) -> float:
    if len(polygon) < 3:
        return 0.0
    points = np.asarray(polygon) - polygon[0]
    x, y = points[:, 0], points[:, 1]
    return abs(float(x @ np.roll(y, -1) - y @ np.roll(x, -1))) / 2


def _overlap(first: np.ndarray, second: np.ndarray) -> float:
    polygon = list(first)
    for i in range(4):
        polygon = _clipped(polygon, second[i], second[(i + 1) % 4]) if polygon else polygon
    return _area(polygon)


@op(name="torchvision.box_iou_rotated", **_FACTS)
def box_iou_rotated(boxes1: Tensor, boxes2: Tensor):
    """Return the intersection over union of each pair of rotated boxes. See torchvision.ops.box_iou."""
    first, second = (np.asarray(b).astype(np.float64) for b in (boxes1, boxes2))
    areas = first[:, None, 2] * first[:, None, 3], second[None, :, 2] * second[None, :, 3]
    corners = _corners(first), _corners(second)
    inter = np.asarray([[_overlap(p, q) for q in corners[1]] for p in corners[0]]).reshape(len(first), len(second))
    small = (areas[0] < 1e-14) | (areas[1] < 1e-14)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(small, 0, inter / (areas[0] + areas[1] - inter)).astype(np.float32)
