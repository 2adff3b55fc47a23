"""The one seam: what lower layers call that upper layers have. All else is imported.

Each name is filled once, by the file named beside it, while the package is imported; only ``autocast``, ``aten`` and
``forward``, with its views and writes, come and go. ``FILLED_BY`` is checked by ``tests/structure/test_seam.py``: nothing else
is put into another file's module or class.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

# A tensor that shows a value, with the edge that its gradient takes: (value, edge=None) -> Tensor. For hooks and gradients.
wrap: Callable[..., Any]

# Calls an op on tensors: (call, arguments) -> Tensor. For backwards that are differentiated themselves.
call: Callable[..., Any]

# A generator's state as a tensor of bytes, and back: (array) -> Tensor, (Tensor) -> array.
state_to_tensor: Callable[[Any], Any]
state_from_tensor: Callable[[Any], Any]

# Fills an array with the next words of MT19937, (its 624 words and how many are used, array), where the extension is there.
draw_words: Callable[[Any, Any], None] | None = None

# Where the extension is there: swaps the numbers of an array with those at these places, one after the other, (array, places);
# fills an array of float32 with the normals of integers of 24 bits, see ``ops/_box_muller.py``:
# (integers, array); and multiplies an array of float32 or float64 and adds, rounded once and in place: (array, factor, summand).
swap_places: Callable[[Any, Any], None] | None = None
normals: Callable[[Any, Any], None] | None = None
fuse: Callable[[Any, float, float], None] | None = None

# The default generator of a device: (device) -> Generator. For ``torch.cuda.default_generators``.
generator_of: Callable[[Any], Any]

# Casts the arguments of a call, (call, arguments) -> arguments, while some thread has autocast on; else None.
autocast: Callable[[Any, Any], Any] | None = None

# Do calls, views and writes on dual tensors, (call, arguments) -> results or None for others, while a level of forward mode is
# open; else None.
forward: Callable[[Any, Any], Any] | None = None
forward_view: Callable[[Any, Any], Any] | None = None
forward_write: Callable[[Any, Any, Any], Any] | None = None

# What calls, views, writes and backwards go to as PyTorch's operators, while a mode with ``__torch_dispatch__`` is on in some
# thread, or once a class has it; else None. Each function gives None where nothing takes the call over.
aten: Any = None

# Sends what a new node saves through the pack hook of ``saved_tensors_hooks``: (node, result).
pack_result: Callable[[Any, Any], None]

# Modes of a thread beside those of ``no_grad.py``: (how to get them, how to set them), which a backward's threads get too.
modes: list[tuple[Callable[[], Any], Callable[[Any], None]]] = []

FILLED_BY = {
    "wrap": "tensor.py",
    "call": "dispatch/calls.py",
    "state_to_tensor": "random.py",
    "state_from_tensor": "random.py",
    "draw_words": "random.py",
    "swap_places": "random.py",
    "normals": "random.py",
    "fuse": "random.py",
    "generator_of": "random.py",
    "autocast": "amp/state.py",
    "aten": "_aten/stack.py",
    "pack_result": "autograd/saved.py",
    "forward": "dispatch/forward.py",
    "forward_view": "dispatch/forward.py",
    "forward_write": "dispatch/forward.py",
    "modes": "amp/state.py",
}
