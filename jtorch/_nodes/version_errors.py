"""PyTorch's messages for saved tensors that were written to, detached or freed before backward."""
from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from jtorch.no_grad import mode
from jtorch.ops.check import type_name
from jtorch.storage import SavedTensorRef, aval_of, sharing

if TYPE_CHECKING:
    from jtorch.tape import Edge, Node

FREED = ("Trying to backward through the graph a second time (or directly access saved tensors after they have already "
         "been freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). "
         "Specify retain_graph=True if you need to backward through the graph a second time or if you need to access "
         "saved tensors after calling backward.")
DETACHED_IN_PLACE = ("Trying to use a saved tensor that has been detached in-place, i.e. with .detach_().This is not supported, "
                     "please use out-of-place `.detach()` instead")
_HINT = {False: "enable anomaly detection to find the operation that failed to compute its gradient, with "
                "torch.autograd.set_detect_anomaly(True, check_nan=False).",
         True: "the backtrace further above shows the operation that failed to compute its gradient. The variable in "
               "question was changed in there or anywhere later. Good luck!"}


def modified_message(aval: Any, made_by: str | None, number: int, version: int, expected: int) -> str:
    """Return the message for a modified saved tensor, output ``number`` of the function ``made_by``."""
    origin = f", which is output {number} of {made_by}," if made_by is not None else ""
    return ("one of the variables needed for gradient computation has been modified by an inplace operation: "
            f"[{type_name(aval.np)} {list(aval.shape)}]{origin} is at version {version}; expected version "
            f"{expected} instead. Hint: " + _HINT[mode.anomaly])


def describe_saved_tensor(aval: Any, edge: Edge | None, counter: Any) -> tuple[Any, str | None]:
    """Return the present aval of a modified saved tensor and the name of its function.

    PyTorch's node holds the tensor itself. This node holds its value, so if the tensor is gone, its function is the one that
    last wrote to its memory.
    """
    made_by = short_name(edge[0]) if edge is not None and edge[0].edges else None       # None for a leaf
    t = _tensor_of(counter, (edge is not None, made_by is not None))
    if t is not None:
        return aval_of(t), short_name(t.grad_fn)
    if counter.__class__ is SavedTensorRef:
        return aval, "AsStrided" if made_by and counter.view is not None else made_by
    return aval, short_name(counter.written_by and counter.written_by()) or made_by


def _tensor_of(counter: Any, history: tuple[bool, bool]) -> Any:
    """Return the tensor that was saved with this counter, or None if it is gone.

    ``history``, (requires grad, was made by a function), distinguishes the tensor from its aliases.
    """
    if counter.__class__ is SavedTensorRef:
        return counter.tensor()
    whole = [t for t in sharing(counter) if t._base is None]
    return next((t for t in whole if (t._requires_grad, t._node is not None) == history), whole[0] if whole else None)


def short_name(node: Node | None) -> str | None:
    """Return a node's name as in PyTorch's messages: ``MulBackward0`` is ``Mul``, ``SumBackward1`` is ``Sum1``."""
    return re.sub(r"Backward0?(\d*)$", r"\1", node.name()) if node is not None else None
