"""The path of every call: plain calls, views, in-place calls and ``out=``."""
from jtorch.dispatch import calls, forward, sample_random, samples
from jtorch.dispatch.calls import (
    NUMBER_TYPES,
    call,
    call_preserving_strides,
    call_with_output_strides,
    make_node,
    refuse_unusable,
    zero_node,
)
from jtorch.dispatch.outs import call_out, warn_of_resizing, write_resized
from jtorch.dispatch.returns import named, return_type
from jtorch.dispatch.views import call_view, restrict, row_of, view_of
from jtorch.dispatch.writes import (
    call_inplace,
    call_writing,
    cast_value,
    check_inplace,
    fit,
    rebase,
    write_with_history,
)

__all__ = ["NUMBER_TYPES", "call", "call_inplace", "call_out", "call_preserving_strides", "call_view",
           "call_with_output_strides", "call_writing", "calls", "cast_value", "check_inplace", "fit", "forward", "make_node",
           "named", "rebase", "refuse_unusable", "restrict", "return_type", "row_of", "sample_random", "samples", "view_of",
           "warn_of_resizing",           "write_resized", "write_with_history", "zero_node"]
