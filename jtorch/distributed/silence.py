"""Keeps the lines that Gloo prints about its connections off standard output."""
from __future__ import annotations

import contextlib
import ctypes
import sys
import threading
from collections.abc import Callable, Iterator

_BADBIT = 1
_lock = threading.Lock()
_silent = {"blocks": 0}


@contextlib.contextmanager
def cpp_output_off() -> Iterator[None]:
    """Drop what C++ code of this process writes to ``std::cout`` in this block; on Linux only.

    The stream is marked as failed. Python's ``print`` and the file descriptor are not affected.
    """
    set_state = _state_of_cout()
    if set_state is None:
        yield
        return
    with _lock:
        _silent["blocks"] += 1
        set_state(_BADBIT)
    try:
        yield
    finally:
        with _lock:
            _silent["blocks"] -= 1
            if not _silent["blocks"]:
                set_state(0)


def _state_of_cout() -> Callable[[int], None] | None:
    """Return a function that sets the state of ``std::cout``; None without GNU's C++ library."""
    if sys.platform != "linux":
        return None
    try:
        library = ctypes.CDLL("libstdc++.so.6")
        clear = library._ZNSt9basic_iosIcSt11char_traitsIcEE5clearESt12_Ios_Iostate
        cout = ctypes.addressof(ctypes.c_void_p.in_dll(library, "_ZSt4cout"))
    except (OSError, AttributeError, ValueError):
        return None
    # By the Itanium ABI the offset of the virtual base basic_ios is three words before the table of virtual functions.
    table = ctypes.c_void_p.from_address(cout).value or 0
    stream = cout + ctypes.c_ssize_t.from_address(table - 3 * ctypes.sizeof(ctypes.c_void_p)).value
    clear.argtypes, clear.restype = [ctypes.c_void_p, ctypes.c_int], None
    return lambda state: clear(stream, state)
