"""Maps names of functions in the module ``operator`` to the operators that generated code writes instead of calls."""
from __future__ import annotations

_BINARY = {"add": "+", "sub": "-", "mul": "*", "floordiv": "//", "truediv": "/", "div": "/", "mod": "%", "pow": "**",
           "lshift": "<<", "rshift": ">>", "and_": "&", "or_": "|", "xor": "^", "matmul": "@"}
_COMPARED = {"eq": "==", "ne": "!=", "lt": "<", "gt": ">", "le": "<=", "ge": ">="}
_INPLACE = {"iadd": "+=", "iand": "&=", "ifloordiv": "//=", "ilshift": "<<=", "imod": "%=", "imul": "*=", "imatmul": "@=",
            "ior": "|=", "ipow": "**=", "irshift": ">>=", "isub": "-=", "itruediv": "/=", "ixor": "^="}

reflectable_magic_methods = {**{name: f"{{}} {sign} {{}}" for name, sign in _BINARY.items()}, "getitem": "{}[{}]"}
magic_methods = {**{name: f"{{}} {sign} {{}}" for name, sign in _COMPARED.items()}, "pos": "+{}", "neg": "-{}",
                 "invert": "~{}", **reflectable_magic_methods}
inplace_methods = {**{name: f"{{}} {sign} {{}}" for name, sign in _INPLACE.items()}, "setitem": "{}[{}] = {}"}
