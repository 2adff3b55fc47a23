"""Notes that Python prints below errors, with advice. The messages of the errors stay PyTorch's."""
from __future__ import annotations

from typing import TypeVar

E = TypeVar("E", bound=BaseException)
_OF_JAX = "For simplicity, JAX has removed its internal frames"


def with_note(error: E, advice: str) -> E:
    """Return the error after adding a note to it, unless it has the note already."""
    if advice not in getattr(error, "__notes__", ()):
        error.add_note(advice)
    return error


def without_jax_notes(error: E) -> E:
    """Return the error without JAX's note on shortened tracebacks."""
    notes = getattr(error, "__notes__", None)
    if notes:
        notes[:] = [n for n in notes if _OF_JAX not in n]
    return error


UPDATE_LEAF = "Update it under `with torch.no_grad():`, or compute a new tensor: w = w + 1."
INNER_SIZES = ("The first's last size must be the second's first: Linear(in_features, …) takes inputs of in_features "
               "columns; x.T swaps "
               "rows and columns.")
UNDER_JIT = ("Under jax.jit values are not known. Choose with torch.where(condition, a, b), or jax.lax.cond and "
             "jax.lax.while_loop; or leave "
             "jax.jit out, since jtorch compiles what repeats.")
COPY_FIRST = "Write y = y + 1 in place of y += 1, or y.clone() before the write: backward needs what was there."

# Maps a library to the advice for calls that get the library's objects in place of tensors.
_INSTEAD = {
    "numpy": "NumPy's arrays become tensors by torch.from_numpy(array), or torch.as_tensor(array).",
    "jax": "JAX's arrays become tensors by torch.from_jax(array).",
    "torch": "That is a tensor of the PyTorch that is installed beside jtorch: torch.from_dlpack(tensor) takes it "
             "over. A program in "
             "which all `import torch` are to be jtorch: python -m jtorch script.py",
}


def instead_of(given: object) -> str:
    """Return the advice for an object that was given in place of a tensor, or ""."""
    home = type(given).__module__.split(".")[0]
    if home == "torch" and not hasattr(given, "detach"):
        return ""
    return _INSTEAD.get("jax" if home == "jaxlib" else home, "")
