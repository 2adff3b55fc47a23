"""torch._dynamo.decorators: marks for PyTorch's compiler, which is absent."""
from __future__ import annotations

from jtorch._dynamo import allow_in_graph as allow_in_graph
from jtorch._dynamo import assume_constant_result as assume_constant_result
from jtorch._dynamo import disable as disable
from jtorch._dynamo import disallow_in_graph as disallow_in_graph
from jtorch._dynamo import forbid_in_graph as forbid_in_graph
from jtorch._dynamo import graph_break as graph_break
from jtorch._dynamo import mark_dynamic as mark_dynamic
from jtorch._dynamo import mark_static as mark_static
from jtorch._dynamo import mark_static_address as mark_static_address
from jtorch._dynamo import mark_unbacked as mark_unbacked
from jtorch._dynamo import maybe_mark_dynamic as maybe_mark_dynamic
from jtorch._dynamo import run as run
from jtorch._dynamo import set_stance as set_stance
from jtorch._dynamo import substitute_in_graph as substitute_in_graph
