"""The metadata that a transformation puts on new nodes. See torch.fx.traceback."""
from __future__ import annotations

import contextlib
import copy
import functools
import traceback
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jtorch.fx.node import Node

__all__ = ["annotate", "annotate_fn", "format_stack", "get_current_meta", "has_preserved_node_meta", "preserve_node_meta",
           "set_current_meta", "set_stack_trace"]

current_meta: dict[str, Any] = {}
_preserving = False
COPIED = ("nn_module_stack", "torch_fn", "source_fn_stack", "original_aten", "recompute", "from_node", "quantization_tag",
          "custom", "partitioner_tag")


@contextlib.contextmanager
def preserve_node_meta(enable: bool = True) -> Iterator[None]:
    """Copy the current metadata to new nodes in this block. See torch.fx.traceback.preserve_node_meta."""
    global _preserving, current_meta
    before = _preserving, current_meta
    _preserving, current_meta = enable, dict(current_meta)
    try:
        yield
    finally:
        _preserving, current_meta = before


def has_preserved_node_meta() -> bool:
    """Return whether new nodes get the current metadata."""
    return _preserving


def get_current_meta() -> dict[str, Any]:
    """Return the current metadata."""
    return current_meta


def set_stack_trace(stack: list[str]) -> None:
    """Set the stack trace of the current metadata."""
    if _preserving and stack:
        current_meta["stack_trace"] = "".join(stack)


@contextlib.contextmanager
def set_current_meta(node: Node, pass_name: str = "") -> Iterator[None]:
    """Make a node's metadata the current metadata in this block."""
    global current_meta
    if not _preserving or not node.meta:
        yield
        return
    before, current_meta = current_meta, copy.copy(node.meta)
    try:
        yield
    finally:
        current_meta = before


@contextlib.contextmanager
def annotate(annotation_dict: dict[str, Any]) -> Iterator[None]:
    """Add an annotation to new nodes in this block. See torch.fx.traceback.annotate."""
    before = current_meta.get("custom")
    current_meta["custom"] = {**(before or {}), **annotation_dict}
    try:
        yield
    finally:
        if before is None:
            current_meta.pop("custom", None)
        else:
            current_meta["custom"] = before


def annotate_fn(annotation_dict: dict[str, Any]) -> Callable[[Callable], Callable]:
    """Return a decorator that annotates the nodes which a function creates."""
    def decorate(fn: Callable) -> Callable:
        @functools.wraps(fn)
        def annotated(*args: Any, **kwargs: Any) -> Any:
            with annotate(annotation_dict):
                return fn(*args, **kwargs)
        return annotated
    return decorate


def format_stack() -> list[str]:
    """Return the stack trace of the current metadata, or the caller's."""
    if _preserving:
        return [current_meta.get("stack_trace", "")]
    return traceback.format_list(traceback.extract_stack()[:-1])


def note_on(node: Node) -> bool:
    """Copy the current metadata to a new node; return whether this is enabled."""
    if not _preserving:
        return False
    if current_meta.get("stack_trace"):
        node.stack_trace = current_meta["stack_trace"]
    for field in COPIED:
        if field in current_meta:
            node.meta[field] = copy.copy(current_meta[field])
    return True
