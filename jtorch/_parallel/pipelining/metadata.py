"""Metadata of the tensors that stages exchange, and the assignment of stages to ranks."""
from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from jtorch._api.creation import empty_strided
from jtorch._base.pytree import flatten, unflatten
from jtorch._parallel.dtensor import DTensor
from jtorch.tensor import Tensor


class PipeliningMetadataError(RuntimeError):
    """A tensor does not match the metadata of its stage."""


@dataclass(frozen=True, slots=True)
class _TensorMeta:
    """A tensor's shape, strides, dtype and ``requires_grad``, from which a receive buffer is made."""

    shape: Any
    stride: tuple[int, ...]
    dtype: Any
    requires_grad: bool

    @staticmethod
    def from_tensor(tensor: Tensor) -> _TensorMeta:
        """Return a tensor's metadata; NotImplementedError for a DTensor."""
        if isinstance(tensor, DTensor):
            raise NotImplementedError("torch.distributed.pipelining: DTensors between stages are not built. Give stages tensors "
                                      "(`to_local`), of which they make DTensors inside (`DTensor.from_local`)")
        return _TensorMeta(tensor.shape, tensor.stride(), tensor.dtype, tensor.requires_grad)

    def to_tensor(self, device: Any) -> Tensor:
        """Return a tensor with this metadata."""
        made = _make_tensor_from_meta(self, device)
        return made.requires_grad_(self.requires_grad) if made.is_floating_point() else made

    def get_diff(self, other: _TensorMeta) -> list[str]:
        """Return the differences to other metadata, without ``requires_grad``, which depends on the grad mode."""
        return [f"{name} mismatch: {mine} vs {theirs}" for name in ("shape", "stride", "dtype")
                if (mine := getattr(self, name)) != (theirs := getattr(other, name))]


Metas = tuple[_TensorMeta | None, ...]


@dataclass(slots=True)
class _StageMeta:
    """The metadata of a stage's tensors, as far as it is known."""

    inputs: Metas | None = None
    outputs: Metas | None = None
    input_grads: Metas | None = None
    output_grads: Metas | None = None

    def is_complete_for_forward(self) -> bool:
        """Return whether the inputs and outputs are known."""
        return self.inputs is not None and self.outputs is not None


@dataclass(frozen=True, slots=True)
class _StageForwardMeta:
    """The metadata of a stage's outputs, which it sends to the next stage."""

    forward_metas: Metas


class InferenceMode(Enum):
    """Whether the metadata of all stages is given, or inferred in the first step."""

    STATIC = "static"
    DYNAMIC = "dynamic"

    @classmethod
    def needs_dynamic(cls, meta: _StageMeta, stage_has_backward: bool) -> bool:
        """Return whether a stage with this metadata has to infer more."""
        return not meta.is_complete_for_forward()


@dataclass(slots=True)
class PipeInfo:
    """The facts that a stage of a traced model knows about the others. See ``Pipe.info``."""

    graph: Any
    num_stages: int
    has_loss_and_backward: bool


def _make_tensor_from_meta(meta: _TensorMeta, device: Any) -> Tensor:
    return empty_strided(meta.shape, meta.stride, dtype=meta.dtype, device=device)


def _derive_grad_metas(tensor_metas: Metas) -> Metas:
    """Return the metadata of gradients, with None for tensors without one."""
    return tuple([None if m is None or not m.requires_grad else _TensorMeta(m.shape, m.stride, m.dtype, False)
                  for m in tensor_metas])


def extract_tensor_metas(tensors: Sequence[Any] | None, *, allow_none: bool = False) -> Metas | None:
    """Return the metadata of tensors; PipeliningMetadataError for a None that is not allowed."""
    if tensors is None:
        return None
    if not allow_none and not all(isinstance(t, Tensor) for t in tensors):
        raise PipeliningMetadataError("None values are not allowed in tensor metadata tuples. "
                                      "Use allow_none=True for optional values.")
    return tuple([_TensorMeta.from_tensor(t) if isinstance(t, Tensor) else None for t in tensors])


def validate_and_normalize_to_tuple(args: Any, allow_none: bool = False) -> tuple | None:
    """Return one tensor or several as a tuple; PipeliningMetadataError for other values."""
    if args is None:
        return None
    if isinstance(args, Tensor):
        return (args,)
    if not isinstance(args, (tuple, list)):
        raise PipeliningMetadataError(f"Stage args must be a tensor, tuple, or list of tensors, got {type(args).__name__}.")
    for i, arg in enumerate(args):
        if arg is None and not allow_none:
            raise PipeliningMetadataError(f"Stage arg[{i}] is None. Stage args must be tensors. Use kwargs for optional values.")
        if arg is not None and not isinstance(arg, Tensor):
            raise PipeliningMetadataError(f"Stage arg[{i}] has type {type(arg).__name__}. All stage args must be tensors. "
                                          "Use kwargs for non-tensor inputs.")
    return tuple(args)


def validate_tensors_metadata(desc: str, expected: Metas, actual: Sequence[Any], *, raise_on_mismatch: bool = True,
                              warn_on_mismatch: bool = False) -> list[str]:
    """Return the differences between tensors and expected metadata; raise or warn if there are any."""
    def tell(says: str) -> list[str]:
        if raise_on_mismatch and not warn_on_mismatch:
            raise PipeliningMetadataError(says)
        if warn_on_mismatch:
            warnings.warn(says, UserWarning, stacklevel=4)
        return [says]

    if len(expected) != len(actual):
        return tell(f"{desc}: expected {len(expected)} tensors, got {len(actual)}")
    found: list[str] = []
    for i, (wanted, got) in enumerate(zip(expected, actual, strict=True)):
        is_like = _TensorMeta.from_tensor(got) if isinstance(got, Tensor) else got
        if wanted is None or is_like is None:
            words = ["None" if x is None else "metadata" for x in (wanted, is_like)]
            found += tell(f"{desc}[{i}]: expected {words[0]}, got {words[1]}") if wanted is not is_like else []
        elif diffs := wanted.get_diff(is_like):
            instead = ". Using dynamically inferred metadata instead." if warn_on_mismatch else ""
            tell(f"{desc}[{i}]: {'Metadata mismatch. ' if warn_on_mismatch else ''}{'; '.join(diffs)}{instead}")
            found += diffs
    return found


def flatten_args(args: Any) -> list:
    """Return the leaves of some arguments."""
    return flatten(args)[0]


def described(value: Any) -> str:
    """Return a text with shapes and dtypes in place of tensors, for messages."""
    leaves, form = flatten(value)
    return str(unflatten([f"Tensor({x.shape}, grad={x.requires_grad}, dtype={x.dtype})" if isinstance(x, Tensor) else str(x)
                          for x in leaves], form))


def output_tuple(output: Any) -> tuple:
    """Return a stage's output as a tuple."""
    return tuple(output) if type(output) in (list, tuple) else (output,)


# ---------------------------------------------------------------- stages and ranks

def _loop(stage: int, ranks: int) -> int:
    return stage % ranks


def _v(stage: int, ranks: int) -> int:
    turn, at = divmod(stage, ranks)
    return ranks - 1 - at if turn % 2 else at


_STYLES: dict[str, Callable[[int, int], int]] = {"loop": _loop, "v": _v}


def generate_stage_to_rank_mapping(pp_size: int, num_stages: int, style: str = "loop") -> dict[int, int]:
    """Map each stage to its rank: in turn ("loop"), or down the ranks and up again ("v").

    >>> generate_stage_to_rank_mapping(2, 4, "v")
    {0: 0, 1: 1, 2: 1, 3: 0}

    """
    if style not in _STYLES:
        raise ValueError(f"Style {style} is not supported.")
    if style == "v" and num_stages % pp_size:
        raise ValueError(f"num_stages {num_stages} must be evenly divisible by pp_size {pp_size} for V schedules")
    return {stage: _STYLES[style](stage, pp_size) for stage in range(num_stages)}


def generate_rank_to_stage_mapping(pp_size: int, num_stages: int, style: str = "loop") -> dict[int, list[int]]:
    """Map each rank to its stages. See ``generate_stage_to_rank_mapping``."""
    made: dict[int, list[int]] = {}
    for stage, rank in generate_stage_to_rank_mapping(pp_size, num_stages, style).items():
        made.setdefault(rank, []).append(stage)
    return made
