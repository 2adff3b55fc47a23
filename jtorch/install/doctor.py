"""``python -m jtorch doctor``: print the installed versions, the devices and the cache, and run a short self-test."""
from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from jtorch.version import __version__, jtorch_version

Check = Iterator[tuple[bool | None, str]]       # The first value is None if a finding is neither good nor bad.
OPTIONAL = ("safetensors", "optax", "transformers", "torchvision", "tensorboardX", "jax2onnx", "cloudpickle", "onednn-cpu-gomp")


def installed() -> Check:
    """Yield findings about the installed versions of jtorch, Python and other packages, and about ``import torch``."""
    yield True, f"jtorch {jtorch_version}, which implements PyTorch {__version__.partition('+')[0]}"
    yield sys.version_info >= (3, 11), f"Python {platform.python_version()} on {platform.platform()}"
    for name in ("jax", "jaxlib", "numpy"):
        found = _version(name)
        yield found is not None, f"{name} {found}" if found else f"{name} is not installed: pip install {name}"
    there = [f"{name} {version}" for name in OPTIONAL if (version := _version(name))]
    yield None, f"beside it: {', '.join(there) or 'none of ' + ', '.join(OPTIONAL)}"
    yield _torch()


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _torch() -> tuple[bool | None, str]:
    """Return a finding about the package that ``import torch`` gives."""
    found = importlib.util.find_spec("torch")
    if found is None:
        return None, "`import torch` finds nothing; python -m jtorch.install would make it jtorch"
    ours = "jtorch" in Path(found.origin or "").read_text(encoding="utf-8")[:2000] if found.origin else False
    theirs = f"`import torch` is PyTorch {_version('torch')}; python -m jtorch serves jtorch"
    return None, "`import torch` is jtorch" if ours else theirs


def extension() -> Check:
    """Yield whether the C extension is used."""
    from jtorch import speedups
    from jtorch._base.config import SPEEDUPS
    if speedups.native is not None:
        yield True, f"the extension is used: {Path(speedups.native.__file__).name}"
    elif not SPEEDUPS:
        yield None, "the extension is turned off (JTORCH_SPEEDUPS=0)"
    else:
        built = list(Path(speedups.__file__).parent.glob("_speedups*"))
        absent = "is not there: install with a C compiler at hand (cc, or clang)"
        why = "is older than its sources: install anew" if built else absent
        yield False, f"the extension {why}. All works without it, small models up to half as fast"


def onednn() -> Check:
    """Yield whether oneDNN computes convolutions and products."""
    from jtorch.ops import _onednn
    found = _onednn.version()
    absent = 'oneDNN is not used; pip install "jtorch-jax[onednn]" makes convolutions and products on x86 under Linux quicker'
    yield None, f"convolutions and products on the CPU are oneDNN's ({found})" if found else absent


def devices() -> Check:
    """Yield the devices that JAX has found, whether ``torch.cuda`` is available, and the engine's mode."""
    import jax

    from jtorch import cuda
    from jtorch._base.config import ENGINE_MODE
    kinds = ", ".join(f"{d.platform}:{d.id} ({d.device_kind})" for d in jax.devices())
    yield True, f"devices: {kinds}; {os.cpu_count()} cores"
    yield None, "torch.cuda is available" if cuda.is_available() else 'no GPU: pip install "jax[cuda13]" if there is one'
    yield None, f"the engine's mode is {ENGINE_MODE}"


def cache() -> Check:
    """Yield the folder of compiled programs."""
    from jtorch import engine
    folder = engine.get_cache_dir()
    if folder is None:
        yield None, "compiled programs are not kept on disk (JTORCH_CACHE=0, or a directory that others may write to)"
        return
    files = [p for p in Path(folder).glob("*") if p.is_file()] if Path(folder).is_dir() else []
    size = sum(p.stat().st_size for p in files) / 2**20
    yield True, f"compiled programs are kept in {folder}: {len(files)} files, {size:.0f} MB"


def self_test() -> Check:
    """Yield the results of short tests: a gradient against JAX's, seeds against PyTorch's numbers, and a compiled loop."""
    tests = {"a gradient is JAX's": _gradient, "seeds give PyTorch's numbers": _seed, "a loop is compiled": _loop}
    for name, test in tests.items():
        start = time.perf_counter()
        try:
            good, text = test(), name
        except Exception as error:      # The doctor has to report any error.
            good, text = False, f"{name}: {type(error).__name__}: {error}"
        yield good, f"{text} ({time.perf_counter() - start:.1f} s)"


def _gradient() -> bool:
    import jax

    import jtorch as torch
    x = torch.arange(6.0).reshape(2, 3).requires_grad_()
    x.tanh().square().sum().backward()
    assert x.grad is not None
    return bool(abs(x.grad.jax() - jax.grad(lambda a: (jax.numpy.tanh(a) ** 2).sum())(x.detach().jax())).max() < 1e-6)


def _seed() -> bool:
    import jtorch as torch
    return [round(v, 4) for v in torch.randn(3, generator=torch.Generator().manual_seed(0)).tolist()] == [1.541, -0.2934, -2.1788]


def _loop() -> bool:
    import jtorch as torch
    from jtorch._base.config import ENGINE_MODE
    w, x = torch.ones(8, 8, requires_grad=True), torch.ones(4, 8)
    optimizer = torch.optim.SGD([w], lr=0.01)
    before, losses = torch.engine.report().counters.program_runs, []
    for _ in range(100):
        loss = (x @ w).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses[-1] < losses[0] and (torch.engine.report().counters.program_runs > before or ENGINE_MODE == "eager")


CHECKS: dict[str, Callable[[], Check]] = {"Installed": installed, "Extension": extension, "Convolutions": onednn,
                                          "Devices": devices, "Cache": cache, "Self-test": self_test}
MARKS = {True: "ok", False: "!!", None: "  "}


def main(write: Callable[[str], object] = print) -> int:
    """Write the report, and return 1 if something is wrong."""
    ill = 0
    for title, check in CHECKS.items():
        write(title)
        for good, text in check():
            ill += good is False
            write(f"  {MARKS[good]} {text}")
    write(f"{ill} thing{'s' if ill != 1 else ''} to look at (!!)" if ill else "All is well.")
    return int(bool(ill))
