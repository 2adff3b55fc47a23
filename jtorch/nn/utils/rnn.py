"""torch.nn.utils.rnn: sequences of different lengths in one tensor, padded or packed."""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import jtorch.dtype as dtypes
from jtorch._api import functions
from jtorch._api.creation import as_tensor
from jtorch.dispatch import call
from jtorch.engine import call_of
from jtorch.nn._functional.recurrent import pack_padded_sequence as _pack
from jtorch.nn._functional.recurrent import pad_packed_sequence as _pad
from jtorch.ops.registry import NUMBERS, OPS, T
from jtorch.tensor import Tensor

__all__ = ["PackedSequence", "invert_permutation", "pack_padded_sequence", "pack_sequence", "pad_packed_sequence",
           "pad_sequence", "unpack_sequence", "unpad_sequence"]


class PackedSequence_(NamedTuple):      # noqa: N801
    """The fields of a PackedSequence."""

    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None
    unsorted_indices: Tensor | None


def _converted(name: str):
    """Return a conversion method such as ``packed.double()``."""
    def convert(self):
        return self.to(dtype=dtypes.as_dtype(dtypes.named(name), name))
    convert.__name__ = name
    convert.__doc__ = f"The sequences with their data in {name}."
    return convert


class PackedSequence(PackedSequence_):
    """The rows of sequences of different lengths, ordered by time step. See torch.nn.utils.rnn.PackedSequence.

    ``data`` holds the first row of each sequence, longest first, then the second row of each sequence that has one, and
    so on. ``batch_sizes`` (int64, on the CPU) is the number of rows at each time. ``sorted_indices`` sorts the
    sequences by length, and ``unsorted_indices`` is the inverse; both are None if the input was sorted.
    ``pack_sequence`` and ``pack_padded_sequence`` make a PackedSequence:

    >>> a, b = torch.tensor([1, 2, 3]), torch.tensor([4])
    >>> torch.nn.utils.rnn.pack_sequence([a, b]).data
    tensor([1, 4, 2, 3])
    """

    def __new__(cls, data: Any, batch_sizes: Tensor | None = None, sorted_indices: Tensor | None = None,
                unsorted_indices: Tensor | None = None):
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        if batch_sizes is None:
            if not (isinstance(data, (list, tuple)) and len(data) == 2):
                raise AssertionError("Expected data to be a list or tuple of length 2")
            data, batch_sizes = data
        elif batch_sizes.device.type != "cpu":
            raise ValueError("batch_sizes should always be on CPU. Instances of PackedSequence should never be created "
                             "manually. They should be instantiated by functions like pack_sequence and pack_padded_sequences "
                             "in nn.utils.rnn.")
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)    # type: ignore[arg-type]

    def _with(self, data: Any):
        """Return a PackedSequence with other data; the indices move to the data's device."""
        if data is self.data:
            return self
        moved = [None if i is None else i.to(data.device) for i in (self.sorted_indices, self.unsorted_indices)]   # type: ignore[attr-defined]
        return type(self)(data, self.batch_sizes, *moved)

    def to(self, *args: Any, **kwargs: Any):
        """Convert the data's dtype or device; return ``self`` if nothing changes."""
        return self._with(self.data.to(*args, **kwargs))        # type: ignore[attr-defined]

    def cuda(self, *args: Any, **kwargs: Any):
        """Return the sequences on the accelerator."""
        return self._with(self.data.cuda(*args, **kwargs))      # type: ignore[attr-defined]

    def cpu(self, *args: Any, **kwargs: Any):
        """Return the sequences on the CPU."""
        return self._with(self.data.cpu(*args, **kwargs))       # type: ignore[attr-defined]

    def pin_memory(self):
        """Return the sequences with their data in pinned memory."""
        return self._with(self.data.pin_memory())               # type: ignore[attr-defined]

    double, float, half = _converted("float64"), _converted("float32"), _converted("float16")
    long, int, short = _converted("int64"), _converted("int32"), _converted("int16")
    char, byte = _converted("int8"), _converted("uint8")

    @property
    def is_cuda(self) -> bool:
        """Return whether the data are on a GPU."""
        return self.data.is_cuda        # type: ignore[attr-defined]

    def is_pinned(self) -> bool:
        """Return whether the data are in pinned memory."""
        return self.data.is_pinned()    # type: ignore[attr-defined]


PackedSequence_.__name__ = "PackedSequence_"


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """Return the inverse of a permutation given as indices."""
    return None if permutation is None else functions.argsort(permutation)


def pack_padded_sequence(input: Tensor, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True) -> PackedSequence:
    """Pack a padded batch (time, batch, *) of sequences. See torch.nn.utils.rnn.pack_padded_sequence.

    ``lengths`` is a list or a CPU tensor. The longest sequence comes first, unless ``enforce_sorted`` is False.
    """
    lengths = lengths.to(dtype=dtypes.int64) if isinstance(lengths, Tensor) else as_tensor(lengths, dtype=dtypes.int64)  # type: ignore[attr-defined]
    order = None
    if not enforce_sorted:
        lengths, order = functions.sort(lengths, descending=True)
        order = order.to(input.device)
        input = input.index_select(0 if batch_first else 1, order)      # type: ignore[attr-defined]
    data, batch_sizes = _pack(input, lengths, batch_first)
    return PackedSequence(data, batch_sizes, order, None)


def pad_packed_sequence(sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0,
                        total_length: int | None = None) -> tuple[Tensor, Tensor]:
    """Return the padded batch of packed sequences and their lengths. See torch.nn.utils.rnn.pad_packed_sequence."""
    longest = sequence.batch_sizes.size(0)
    if total_length is not None and total_length < longest:
        raise ValueError("Expected total_length to be at least the length of the longest sequence in input, but got "
                         f"total_length={total_length} and max sequence length being {longest}")
    padded, lengths = _pad(sequence.data, sequence.batch_sizes, batch_first, padding_value, total_length or longest)
    order = sequence.unsorted_indices
    if order is None:
        return padded, lengths
    return padded.index_select(0 if batch_first else 1, order), lengths[order.cpu()]        # type: ignore[attr-defined]


def pad_sequence(sequences: Any, batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right") -> Tensor:
    """Stack sequences (length, *), padded to the longest. See torch.nn.utils.rnn.pad_sequence."""
    if not isinstance(sequences, Iterable):
        raise RuntimeError(f"pad_sequence: Expected iterable for input sequences, but got arg of type: {type(sequences)}")
    given = tuple(sequences)
    if not given:
        raise RuntimeError("received an empty list of sequences")
    if padding_side not in ("left", "right"):
        raise RuntimeError(f"Expected padding_side to be one of left or right, but got {padding_side}.")
    marks = ((T,) * len(given), bool(batch_first), NUMBERS[type(padding_value)], padding_side == "left")
    return call(call_of(OPS["_pad_sequence"], marks), [*given, padding_value])


def unpad_sequence(padded_sequences: Tensor, lengths: Any, batch_first: bool = False) -> list[Tensor]:
    """Return the sequences of a padded batch. See torch.nn.utils.rnn.unpad_sequence."""
    if not batch_first:
        padded_sequences.transpose_(0, 1)       # type: ignore[attr-defined]
    sizes = lengths.tolist() if isinstance(lengths, Tensor) else list(lengths)
    return [row[:n].clone() for row, n in zip(padded_sequences, sizes, strict=True)]      # type: ignore[call-overload]


def pack_sequence(sequences: list[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Pack a list of sequences, longest first unless ``enforce_sorted`` is False.

    See torch.nn.utils.rnn.pack_sequence.
    """
    return pack_padded_sequence(pad_sequence(sequences), [s.size(0) for s in sequences], enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """Return the list of sequences in a PackedSequence. See torch.nn.utils.rnn.unpack_sequence."""
    return unpad_sequence(*pad_packed_sequence(packed_sequences, batch_first=True), batch_first=True)
