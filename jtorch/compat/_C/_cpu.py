"""torch._C._cpu: which instructions the CPU has."""
from jtorch._base.cpu_flags import capabilities as _get_cpu_capability  # noqa: F401


def _init_amx() -> bool:
    """Return False: AMX's tiles are not used."""
    return False
