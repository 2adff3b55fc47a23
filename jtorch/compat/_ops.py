"""torch._ops: the classes of the objects in torch.ops."""
from __future__ import annotations

from jtorch._library.dispatch_keys import DispatchKey as DispatchKey
from jtorch._library.namespaces import OperatorBase as OperatorBase
from jtorch._library.namespaces import OpOverload as OpOverload
from jtorch._library.namespaces import OpOverloadPacket as OpOverloadPacket
from jtorch._library.namespaces import _OpNamespace as _OpNamespace
from jtorch._library.namespaces import _Ops as _Ops
from jtorch._library.namespaces import ops as ops


class HigherOrderOperator(OperatorBase):
    """PyTorch's class of operators that take functions. It has no instances in jtorch: torch.cond and torch.while_loop are
    functions.
    """
