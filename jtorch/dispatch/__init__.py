"""The one way through which every call goes."""
from jtorch.dispatch import calls
from jtorch.dispatch.calls import NUMBER_TYPES, call, call_kept, call_restrided, make_node, refuse_unusable, zero_node
from jtorch.dispatch.outs import call_out, warn_of_resizing, write_resized
from jtorch.dispatch.returns import named, return_type
from jtorch.dispatch.views import call_view, row_of, view_of
from jtorch.dispatch.writes import (
    call_inplace,
    call_writing,
    cast_value,
    check_inplace,
    fit,
    rebase,
    write_with_history,
)

__all__ = ["NUMBER_TYPES", "call", "call_inplace", "call_kept", "call_out", "call_restrided", "call_view", "call_writing",
           "calls", "cast_value", "check_inplace", "fit", "make_node", "named", "rebase", "refuse_unusable", "return_type",
           "row_of", "view_of", "warn_of_resizing", "write_resized", "write_with_history", "zero_node"]
