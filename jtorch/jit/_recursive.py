"""torch.jit._recursive: PyTorch's store of compiled modules, which is empty."""
from __future__ import annotations

from types import SimpleNamespace

from jtorch._base.not_built import placeholder

concrete_type_store = SimpleNamespace(type_store={}, methods_compiled=set())
create_script_module, infer_methods_to_compile = (
    placeholder("jit._recursive", name) for name in ("create_script_module", "infer_methods_to_compile"))
