"""The copying forms of view ops, such as ``torch.view_copy``, made from the records of the view ops.

PyTorch has no documentation pages for them. Each is its view op and a copy.
"""
from __future__ import annotations

import functools

import jtorch.ops.view
import jtorch.ops.view_part  # noqa: F401      (declares view ops that are copied here)
from jtorch.ops import out_dtypes
from jtorch.ops.facts import Out
from jtorch.ops.registry import OPS, Op, Tensor, op

# View ops whose copying forms cast the result to the dtype of ``out=``. The other forms refuse another dtype.
_CASTING = {"select", "slice", "split_with_sizes", "unbind", "view_as_complex", "view_as_real"}
COPIED = ("alias as_strided diagonal expand permute select slice split_with_sizes squeeze t transpose unbind unfold "
          "unsqueeze view view_as_complex view_as_real").split()


def _copying(record: Op, name: str, **facts) -> None:
    """Declare the op ``name`` with the body of a view op. Without a geometry function its result is a new tensor."""
    @functools.wraps(record.body)
    def body(*args, **kwargs):
        return record.body(*args, **kwargs)

    body.__doc__ = f"Return a copy of the result of torch.{record.name}. See torch.{name}."
    op(body, name=name, saves="none", method=False, **facts)


def _copy_name(view: str):
    return f"{''.join(part.title() for part in view.split('_'))}Backward0_copy"


for _name in COPIED:
    _copying(OPS[_name], f"{_name}_copy", backward_name=_copy_name(_name),
             out=Out(refuses=None if _name in _CASTING else out_dtypes.EXPECTED))


@op(saves="none", method=False, backward_name="SplitBackward0_copy")
def split_copy(input: Tensor, split_size: int, dim: int = 0):
    """Return copies of the parts that torch.split returns. See torch.split_copy."""
    return OPS["split"].body(input, split_size, dim)


@op(saves="none", method=False)
def detach_copy(input: Tensor):
    """Return a copy that requires grad if ``input`` does. Unlike in PyTorch gradients reach ``input``. See torch.detach_copy."""
    return input


@op(saves="none",
    out=Out(refuses=out_dtypes.refusal("Expected self.dtype() == output.dtype() to be true, but got false")))
def narrow_copy(input: Tensor, dim: int, start: int, length: int):
    """Return ``length`` elements of a dim from ``start`` on, copied. See torch.narrow_copy."""
    return OPS["narrow"].body(input, dim, start, length)


@op(saves="none")
def unsafe_split(input: Tensor, split_size: int, dim: int = 0):
    """Return ``split`` whose parts may be written to, since they are copies. See torch.unsafe_split."""
    return OPS["split"].body(input, split_size, dim)


@op(saves="none")
def unsafe_split_with_sizes(input: Tensor, split_sizes: tuple[int, ...], dim: int = 0):
    """Return ``split_with_sizes`` whose parts may be written to, since they are copies. See torch.unsafe_split_with_sizes."""
    return OPS["split_with_sizes"].body(input, split_sizes, dim)


@op(saves="none", backward_name_by_shapes=lambda *given: f"Unsafe{OPS['chunk'].backward_name_by_shapes(*given)}", out=False)     # type: ignore[misc]
def unsafe_chunk(input: Tensor, chunks: int, dim: int = 0):
    """Return ``chunk`` whose parts may be written to, since they are copies. See torch.unsafe_chunk."""
    return OPS["chunk"].body(input, chunks, dim)
