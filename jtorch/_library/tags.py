"""torch.Tag: properties of an operator that its author declares."""
from __future__ import annotations

import enum
from typing import Any

_NAMES = ("core cudagraph_unsafe data_dependent_output dynamic_output_shape flexible_layout generated inplace inplace_view "
          "maybe_aliasing_or_mutating needs_contiguous_strides needs_exact_strides needs_fixed_stride_order "
          "nondeterministic_bitwise nondeterministic_seeded out out_variant pointwise pt2_compliant_tag reduction view_copy")
_made: Any = enum.Enum("Tag", _NAMES, module="torch", start=0)      # type: ignore[misc]
Tag: Any = _made


def as_tags(given: Any) -> list:
    """Return a tag, several tags or None as a list."""
    if given is None:
        return []
    return [given] if isinstance(given, Tag) else list(given)
