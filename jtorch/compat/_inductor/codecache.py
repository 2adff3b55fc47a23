"""torch._inductor.codecache: keys of generated code, which does not exist in jtorch."""
from __future__ import annotations

from jtorch._base.not_built import placeholder

extract_tensor_metadata_for_cache_key, FxGraphCache, PyCodeCache = (
    placeholder("_inductor.codecache", name) for name in ("extract_tensor_metadata_for_cache_key", "FxGraphCache", "PyCodeCache"))
