"""torch._inductor.runtime: the package of ``cache_dir_utils``."""
