"""torch._higher_order_ops: operators that take functions or other operators. They run eagerly."""
from __future__ import annotations

from jtorch._api.control_flow import cond as cond
from jtorch._api.control_flow import while_loop as while_loop
from jtorch._higher_order_ops.associative_scan import associative_scan as associative_scan
from jtorch._higher_order_ops.out_dtype import out_dtype as out_dtype
