"""What PyTorch says where backward finds that a saved tensor was written to, cut off its graph, or freed."""
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
    """The text for a saved tensor, output ``number`` of a function of this name, that was written to since."""
    origin = f", which is output {number} of {made_by}," if made_by is not None else ""
    return ("one of the variables needed for gradient computation has been modified by an inplace operation: "
            f"[{type_name(aval.np)} {list(aval.shape)}]{origin} is at version {version}; expected version "
            f"{expected} instead. Hint: " + _HINT[mode.anomaly])


def describe_saved_tensor(aval: Any, edge: Edge | None, counter: Any) -> tuple[Any, str | None]:
    """The aval of a saved tensor, and the name of its function, as they are since it was written to.

    PyTorch's node holds the tensor itself. Ours holds its value, so where nobody else has the tensor any more, its function is
    the one that last wrote to its memory.
    """
    made_by = short_name(edge[0]) if edge is not None and edge[0].edges else None       # none by a leaf
    t = _tensor_of(counter, (edge is not None, made_by is not None))
    if t is not None:
        return aval_of(t), short_name(t.grad_fn)
    if counter.__class__ is SavedTensorRef:
        return aval, "AsStrided" if made_by and counter.view is not None else made_by
    return aval, short_name(counter.written_by and counter.written_by()) or made_by


def _tensor_of(counter: Any, history: tuple[bool, bool]) -> Any:
    """The tensor that was saved with this counter, if somebody has it.

    Aliases of it are told from it by their ``history``: whether they require grad, and whether a function made them.
    """
    if counter.__class__ is SavedTensorRef:
        return counter.tensor()
    whole = [t for t in sharing(counter) if t._base is None]
    return next((t for t in whole if (t._requires_grad, t._node is not None) == history), whole[0] if whole else None)


def short_name(node: Node | None) -> str | None:
    """The name that PyTorch's messages give the function that a node belongs to: ``MulBackward0`` -> ``Mul``.

    ``SumBackward1`` is ``Sum1``. None where there is no node.
    """
    return re.sub(r"Backward0?(\d*)$", r"\1", node.name()) if node is not None else None
