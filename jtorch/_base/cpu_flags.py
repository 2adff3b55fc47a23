"""The CPU's instruction sets, as Linux reports them."""
from __future__ import annotations

import functools
import pathlib
import platform

# Maps PyTorch's names of instruction sets to Linux's.
X86 = {**{name: name for name in (
    "sse sse2 ssse3 sse4_1 sse4_2 sse4a avx avx2 avx_vnni avx512_vbmi2 avx512_bitalg avx512_vpopcntdq avx512_vnni avx512_bf16 "
    "avx512_fp16 avx512_vp2intersect avx512_4vnniw avx_vnni_int8 avx_vnni_int16 avx_ne_convert amx_bf16 amx_tile amx_int8 "
    "amx_fp16 fma4 f16c bmi2 popcnt aes clflush clflushopt clwb").split()},
    "sse3": "pni", "avx512_f": "avx512f", "avx512_cd": "avx512cd", "avx512_dq": "avx512dq", "avx512_bw": "avx512bw",
    "avx512_vl": "avx512vl", "avx512_ifma": "avx512ifma", "avx512_vbmi": "avx512vbmi", "avx512_4fmaps": "avx512_4fmaps",
    "avx10_1": "avx10", "avx10_2": "avx10_2", "fma3": "fma", "bmi": "bmi1", "lzcnt": "abm", "sha": "sha_ni"}
ARM = {"neon": "asimd", "fp16_arith": "asimdhp", "bf16": "bf16", "i8mm": "i8mm", "dot": "asimddp", "sve": "sve", "sve2": "sve2",
       "sve_bf16": "svebf16", "sme": "sme", "sme2": "sme2", "atomics": "atomics", "fhm": "asimdfhm", "rdm": "asimdrdm",
       "crc32": "crc32", "aes": "aes", "sha1": "sha1", "sha2": "sha2", "pmull": "pmull"}


@functools.cache
def flags() -> frozenset[str]:
    """Return the words of /proc/cpuinfo, among them the flags of this CPU. Return an empty set on other systems than Linux."""
    try:
        return frozenset(pathlib.Path("/proc/cpuinfo").read_text().split())
    except OSError:
        return frozenset()


@functools.cache
def capabilities() -> dict[str, bool | str]:
    """Return the architecture and, by PyTorch's names, whether the CPU has each instruction set."""
    machine = platform.machine()
    names = X86 if machine in ("x86_64", "AMD64") else ARM if machine in ("aarch64", "arm64") else {}
    return {"architecture": machine, **{name: flag in flags() for name, flag in names.items()}}
