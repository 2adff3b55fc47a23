"""The Python functions that the extension replaces. ``tests/core/test_mirrors.py`` runs both on the same calls."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

MIRRORS = {     # maps the extension's functions to the Python functions that they replace
    "record": "jtorch.engine.trace:record",
    "record_over": "jtorch.engine.trace:record_over",
    "liveness_of": "jtorch.engine.program:liveness_of",
    "run_held": "jtorch.engine.interpreter:run_held",
    "value_of": "jtorch.storage:value_of",
    "values_of": "jtorch.storage:values_of",
    "write_all": "jtorch.storage:write_all",
    "restore_grad": "jtorch.no_grad:restore_grad",
    "wrap": "jtorch.tensor:wrap",
    "call": "jtorch.dispatch.calls:call",
    "make_node": "jtorch.dispatch.calls:make_node",
    "view_of": "jtorch.dispatch.views:view_of",
    "plain_view": "jtorch.dispatch.views:plain_view",
    "call_view": "jtorch.dispatch.views:call_view",
    "row_of": "jtorch.dispatch.views:row_of",
    "call_inplace": "jtorch.dispatch.writes:call_inplace",
    "follow": "jtorch._backward.backward:follow",
    "hand_on": "jtorch._backward.backward:hand_on",
}

INSIDE = {      # maps internal C functions (file:name) to the Python functions with the same behaviour
    "trace.c:new_value": "jtorch.engine.values:Value.__init__",
    "trace.c:forget": "jtorch.engine.trace:Trace.roll_back",
    "host.c:run_unnoted": "jtorch.engine.trace:_run_unnoted",
    "host.c:slots_behind": "jtorch.engine.trace:_outs_of",
    "host.c:unnoted": "jtorch.engine.trace:_unnoted",
    "host.c:run_one_held": "jtorch.engine.interpreter:_run",
    "host.c:is_there": "jtorch.engine.interpreter:_is_there",
    "states.c:may_stray": "jtorch.engine.trace:_strays",
    "states.c:new_state": "jtorch.engine.trie:State.__init__",
    "states.c:slots_of": "jtorch.engine.trace:_described",
    "states.c:users_line": "jtorch._base.caller:line",
    "tensors.c:new_storage": "jtorch.storage:Storage.__init__",
    "tensors.c:requires_grad": "jtorch._backward.view_history:requires_grad",
    "tensors.c:will_be_written": "jtorch.storage:will_be_written",
    "tensors.c:write_value": "jtorch.storage:write",
    "tensors.c:count_saved": "jtorch.storage:count_saved",
    "nodes.c:noted": "jtorch.dispatch.calls:saved_ref",
    "nodes.c:edge_from": "jtorch._backward.view_history:edge_of",
    "nodes.c:class_of_node": "jtorch.dispatch.calls:_class_of",
    "nodes.c:kept_versions": "jtorch.tape:PartialVersionCheckNode.__init__",
    "nodes.c:new_node": "jtorch.tape:OpNode.__init__",
    "nodes.c:tracked": "jtorch.dispatch.calls:_with_node",
    "nodes.c:wrap_saved": "jtorch.dispatch.calls:_saving_result",
    "tensors.c:new_view": "jtorch.storage:View.__init__",
    "tensors.c:start_history": "jtorch._backward.view_history:start_history",
    "views.c:shown_before": "jtorch.dispatch.views:_what_is_shown",
    "views.c:note_creation": "jtorch.dispatch.views:_creation_of",
    "calls.c:is_plain_update": "jtorch.dispatch.writes:_is_plain",
    "steps.c:deliver": "jtorch._backward.backward:PlainTask.deliver",
    "walks.c:is_in_place": "jtorch._nodes.replay:Walk._enters",
    "walks.c:enter": "jtorch._nodes.replay:Walk._enter",
    "walks.c:is_unwatched": "jtorch._nodes.replay:is_watched",
    "walks.c:are_unchanged": "jtorch._backward.backward:_unchanged",
    "walks.c:accumulate": "jtorch._backward.backward:_accumulate",
    "walks.c:shape_only_value_for": "jtorch.engine.values:shape_only_value",
    "walks.c:release": "jtorch.tape:OpNode.release",
}

PYTHON: dict[str, Callable[..., Any]] = {}      # the original Python functions of MIRRORS
