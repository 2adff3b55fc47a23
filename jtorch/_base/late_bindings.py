"""Functions of upper layers that lower layers call, bound when the upper layers are imported.

``FILLED_BY`` names the file that assigns each name during the import. Only ``autocast``, ``aten`` and the three ``forward``
names change later. ``tests/structure/test_late_bindings.py`` checks that no other module assigns names of another module or
class.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

# Makes a tensor of a value, for hooks and gradients: (value, edge of its gradient = None) -> Tensor.
wrap: Callable[..., Any]

# Calls an op on tensors, for differentiable backwards: (call, arguments) -> Tensor.
call: Callable[..., Any]

# Convert a generator's state to a tensor of bytes and back: (array) -> Tensor, (Tensor) -> array.
state_to_tensor: Callable[[Any], Any]
state_from_tensor: Callable[[Any], Any]

# The extension's function that fills an array with the next words of MT19937: (state words and number of used words, array).
draw_words: Callable[[Any, Any], None] | None = None

# Functions of the extension. ``swap_places`` swaps element i of an array with element places[i], in order: (array, places).
# ``normals`` fills a float32 array with normals made from integers of 24 bits: (integers, array); see ``ops/_box_muller.py``.
# ``fuse`` computes ``array * factor + summand`` in place with one rounding: (array, factor, summand).
swap_places: Callable[[Any, Any], None] | None = None
normals: Callable[[Any, Any], None] | None = None
fuse: Callable[[Any, float, float], None] | None = None

# Returns the default generator of a device, for ``torch.cuda.default_generators``: (device) -> Generator.
generator_of: Callable[[Any], Any]

# Casts a call's arguments while some thread has autocast on, else None: (call, arguments) -> arguments.
autocast: Callable[[Any, Any], Any] | None = None

# Do calls, views and writes on dual tensors while a level of forward mode is open, else None. They return None if no argument
# is dual: (call, arguments) -> results or None.
forward: Callable[[Any, Any], Any] | None = None
forward_view: Callable[[Any, Any], Any] | None = None
forward_write: Callable[[Any, Any, Any], Any] | None = None

# Dispatches calls, views, writes and backwards as PyTorch's operators. It is set while a thread has a mode with
# ``__torch_dispatch__``, and once a class defines that method. Its functions return None if nothing takes the call over.
aten: Any = None

# Passes the values that a new node saves to the pack hook of ``saved_tensors_hooks``: (node, result).
pack_result: Callable[[Any, Any], None]

# Further modes of a thread, as (getter, setter), which threads of a backward inherit. ``no_grad.py`` has the others.
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
