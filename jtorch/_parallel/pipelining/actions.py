"""Actions, of which schedules consist: what a rank does in a step of a pipeline."""
from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import NamedTuple


class _ComputationType(str, Enum):      # noqa: UP042  (messages contain the class's name, as PyTorch's do)
    """The kinds of actions."""

    FORWARD = "F"
    BACKWARD_INPUT = "I"            # Computes the gradients of a stage's inputs only.
    BACKWARD_WEIGHT = "W"           # Computes the gradients of a stage's parameters, later.
    UNSHARD = "UNSHARD"
    RESHARD = "RESHARD"
    SEND_F = "SEND_F"
    RECV_F = "RECV_F"
    SEND_B = "SEND_B"
    RECV_B = "RECV_B"
    FULL_BACKWARD = "B"
    OVERLAP_F_B = "OVERLAP_F_B"     # A forward and a backward of two microbatches.
    REDUCE_GRAD = "REDUCE_GRAD"     # Follows a stage's last backward.

    @staticmethod
    def from_str(action: str) -> _ComputationType:
        """Return the kind with this sign; RuntimeError if there is none."""
        try:
            return _ComputationType(action)
        except ValueError as error:
            raise RuntimeError(f"Invalid computation type {action}") from error


FORWARD = F = _ComputationType.FORWARD
BACKWARD_INPUT = I = _ComputationType.BACKWARD_INPUT        # noqa: E741
BACKWARD_WEIGHT = W = _ComputationType.BACKWARD_WEIGHT
FULL_BACKWARD = B = _ComputationType.FULL_BACKWARD
UNSHARD, RESHARD = _ComputationType.UNSHARD, _ComputationType.RESHARD
SEND_F, RECV_F = _ComputationType.SEND_F, _ComputationType.RECV_F
SEND_B, RECV_B = _ComputationType.SEND_B, _ComputationType.RECV_B
OVERLAP_F_B, REDUCE_GRAD = _ComputationType.OVERLAP_F_B, _ComputationType.REDUCE_GRAD

_COMPUTED = frozenset([FORWARD, FULL_BACKWARD, BACKWARD_INPUT, BACKWARD_WEIGHT, OVERLAP_F_B])
_WRITTEN = re.compile(r"(\d+)(F|I|B|W|UNSHARD|RESHARD|REDUCE_GRAD|SEND_F|RECV_F|SEND_B|RECV_B)(\d*)")


class _Action(NamedTuple):
    """One action: a kind, with its stage and microbatch. Some actions consist of several."""

    stage_index: int
    computation_type: _ComputationType
    microbatch_index: int | None = None
    sub_actions: tuple[_Action, ...] | None = None

    def __str__(self) -> str:
        return self.__repr__()

    def __repr__(self) -> str:
        if self.sub_actions is not None:
            return f"({';'.join(map(repr, self.sub_actions))}){self.computation_type.value}"
        microbatch = "" if self.microbatch_index is None else self.microbatch_index
        return f"{self.stage_index}{self.computation_type.value}{microbatch}"

    @property
    def is_compute_op(self) -> bool:
        """Whether the action is a forward or a backward. Others exchange messages, gather parameters or reduce gradients."""
        return self.computation_type in _COMPUTED

    @property
    def parts(self) -> tuple[_Action, ...]:
        """The actions of an overlapped action. Other actions consist of themselves."""
        return (self,) if self.sub_actions is None else self.sub_actions

    @staticmethod
    def from_str(action_string: str) -> _Action | None:
        """Parse an action such as ``2F0`` or ``1UNSHARD``; None for an empty text, RuntimeError for one that is no action."""
        text = action_string.strip()
        if not text:
            return None
        if text.startswith("(") and ")" in text:
            within, _, kind = text[1:].partition(")")
            found = tuple(a for part in within.split(";") if (a := _Action.from_str(part)) is not None)
            return _Action(-1, _ComputationType.from_str(kind), None, found or None)
        match = _WRITTEN.match(text)
        if match is None:
            raise RuntimeError(f"Invalid action string: {text}, should be formatted as [stage][action type][(microbatch)] "
                               "e.g. 2F0")
        stage, kind, microbatch = match.groups()
        return _Action(int(stage), _ComputationType.from_str(kind), int(microbatch) if microbatch else None)


Order = dict[int, list[_Action | None]]      # Maps each rank to its actions, with None where the rank waits.


def _format_pipeline_order(pipeline_order: Mapping[int, Sequence[_Action | None]], error_step_number: int | None = None) -> str:
    """Return a table with a row for each step and a column for each rank, which marks the step of an error."""
    ranks = [["" if a is None else str(a) for a in pipeline_order[rank]] for rank in sorted(pipeline_order)]
    steps = list(itertools.zip_longest(*ranks, fillvalue=""))
    digits = len(str(len(steps) - 1))
    labels = [f"Step {str(i).zfill(digits)}" for i in range(len(steps))]
    widths = [max(len(labels[0]), *map(len, actions)) for actions in ranks]
    lines = [" " * (len(labels[0]) + 2) + " ".join([f"{f'Rank {r}':<{width}}" for r, width in enumerate(widths)])]
    for i, (label, row) in enumerate(zip(labels, steps, strict=True)):
        cells = " ".join([f"{x:<{width}}" for x, width in zip(row, widths, strict=True)])
        lines.append(f"{label}: {cells}{' <-- ERROR HERE' if i == error_step_number else ''}")
    return "\n".join(lines) + "\n"
