"""torch._inductor.cpp_builder: the C++ compiler for building extensions."""
from __future__ import annotations

import os
import shutil

from jtorch._inductor import exc


def get_cpp_compiler() -> str:
    """Return the command of a C++ compiler; InvalidCxxCompiler if there is none."""
    for command in (os.environ.get("CXX"), "g++", "clang++", "c++"):
        if command and shutil.which(command):
            return command
    raise exc.InvalidCxxCompiler
