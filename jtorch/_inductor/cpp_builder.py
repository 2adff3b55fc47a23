"""torch._inductor.cpp_builder: the compiler of C++ that extensions are built with."""
from __future__ import annotations

import os
import shutil

from jtorch._inductor import exc


def get_cpp_compiler() -> str:
    """Return the command of a compiler of C++; InvalidCxxCompiler where there is none."""
    for command in (os.environ.get("CXX"), "g++", "clang++", "c++"):
        if command and shutil.which(command):
            return command
    raise exc.InvalidCxxCompiler
