"""Operators by their names in the module ``operator``, which generated code writes as operators."""
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
