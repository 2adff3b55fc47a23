"""Settings and fixtures of all tests: JAX's strict promotion, a seed, and ``xp``, which is PyTorch and then jtorch."""
from __future__ import annotations

import collections
import gc
import importlib
import os
import random
import subprocess
import sys
from pathlib import Path

import forked
import jax
import jaxlib
import numpy as np
import pytest
from libraries import HAS_TORCH, NO_TORCH, library
from recorded import Same, write

ROOT = Path(__file__).resolve().parent.parent
LANES = ("fast", "all", "nightly")
CORE = Path(__file__).resolve().parent / "core"
STRUCTURE = Path(__file__).resolve().parent / "structure"
NO_WARNING = "error::UserWarning:jtorch"        # for ``python -W``: a warning of jtorch ends the program

# With these flags XLA compiles a small program in half the time. XLA ends the process at a flag that it does not know, so each
# version of jaxlib has its own.
QUICK_FLAGS = {"0.10.2": ("--xla_cpu_use_fusion_emitters=false", "--xla_cpu_prefer_vector_width=128")}

os.environ.setdefault("JTORCH_CACHE", "0")       # Tests do not read programs that earlier runs have compiled.

# Bodies of ops cast and broadcast explicitly: PyTorch's rules are not JAX's.
jax.config.update("jax_numpy_dtype_promotion", "strict")
jax.config.update("jax_numpy_rank_promotion", "raise")
library("jtorch")  # Import jtorch after these settings, also for tests that import it themselves.
importlib.import_module("jtorch.engine.cost").SAVED_CALL = 1e-4     # With this larger estimate small tests get programs too.
importlib.import_module("jtorch.engine.buffer_reuse").LEAST = 0       # Otherwise only large arrays are overwritten.


def pytest_addoption(parser):
    parser.addoption("--lane", choices=LANES, default="all", help="fast: each behaviour once; all; nightly: with the long samples")
    parser.addoption("--every", type=int, default=1, metavar="N", help="run each N-th of the cases of a test that has parameters")
    parser.addoption("--record", action="store_true", help="record what PyTorch gives, for where it is not installed; in one process")
    parser.addoption("--matrix-seed", type=int, help="choose the samples of the op matrix as a run did that printed this seed")


def pytest_configure(config):
    if config.option.lane != "nightly":
        _compile_quickly()
    given = config.option.matrix_seed
    if given is None:       # The workers of pytest-xdist inherit the environment, so all choose the same samples.
        given = int(os.environ.get("JTORCH_MATRIX_SEED") or random.SystemRandom().randrange(1_000_000))
    config.option.matrix_seed = given
    os.environ["JTORCH_MATRIX_SEED"] = str(given)


def _compile_quickly():
    """Choose XLA's settings for programs that run a few times, here and in the processes that tests start."""
    flags = [os.environ.get("XLA_FLAGS", ""), "--xla_backend_optimization_level=0", *QUICK_FLAGS.get(jaxlib.__version__, ())]
    os.environ["XLA_FLAGS"] = " ".join(flags)


def pytest_sessionfinish(session):
    if session.config.getoption("--record"):
        write(Same.made, library("torch").__version__)


def pytest_report_header(config):
    return f"op matrix: --matrix-seed {config.option.matrix_seed}"


def pytest_ignore_collect(collection_path, config):
    """Leave the structure tests to the other lanes and to scripts/check, since they read all sources at import."""
    return True if config.getoption("--lane") == "fast" and collection_path == STRUCTURE else None


def pytest_collection_modifyitems(config, items):
    for item in items:
        if CORE in item.path.parents:
            item.add_marker(pytest.mark.core)
    lane = config.getoption("--lane")
    left_out = {"fast": {"slow", "nightly"}, "all": {"nightly"}, "nightly": set()}[lane]
    if lane != "nightly" and os.environ.get("JTORCH_ENGINE", "auto") != "auto":
        left_out = left_out | {"one_mode"}
    kept = [item for item in items if not left_out.intersection(m.name for m in item.iter_markers())]
    if lane == "fast":
        is_left_out = _runs_torch if HAS_TORCH else _needs_torch
        kept = [item for item in kept if not is_left_out(item)]
    kept = _each(kept, config.getoption("--every"))
    if len(kept) < len(items):
        stays = set(kept)
        config.hook.pytest_deselected(items=[item for item in items if item not in stays])
        items[:] = kept
    if not HAS_TORCH:
        for item in items:
            if item.get_closest_marker("conformance"):
                item.add_marker(pytest.mark.skip(reason=NO_TORCH))


def _needs_torch(item) -> bool:
    """Return whether a test is skipped without PyTorch."""
    return _runs_torch(item) or "torch" in item.fixturenames or item.get_closest_marker("conformance") is not None


def _runs_torch(item) -> bool:
    """Return whether a test runs PyTorch alone, which does not depend on jtorch's mode or extension."""
    return hasattr(item, "callspec") and item.callspec.params.get("xp") == "torch"


def _each(items: list, every: int) -> list:
    """Return each ``every``-th case of the tests that have parameters, counted for each library under test."""
    counted, found = collections.Counter(), []
    for item in items:
        params = item.callspec.params if hasattr(item, "callspec") else {}
        key = item.path, getattr(item, "originalname", item.name), params.get("xp")
        found += [item] if counted[key] % every == 0 or not params else []
        counted[key] += 1
    return found


def pytest_collection_finish():
    _freeze()


def _freeze():
    """Free unused objects, and freeze the rest so that later collections of garbage do not walk through it."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True, scope="module")
def frozen():
    """Freeze the objects that a module of tests has left in caches."""
    yield
    _freeze()


@pytest.fixture
def torch():
    """Return PyTorch for a comparison. The test is skipped without PyTorch."""
    if not HAS_TORCH:
        pytest.skip(NO_TORCH)
    return library("torch")


@pytest.fixture(params=[pytest.param("torch", marks=pytest.mark.skipif(not HAS_TORCH, reason=NO_TORCH)), "jtorch"])
def xp(request):
    """Return the library under test. The same body must pass with PyTorch and with jtorch."""
    return library(request.param)


@pytest.fixture
def same(request) -> Same:
    """Return ``same(*bodies, rtol=…)``. The outcomes of bodies (functions of ``xp``) must equal PyTorch's, now or as
    recorded.
    """
    return Same(request.node.nodeid, request.config.getoption("--record"))


@pytest.fixture
def lane(request) -> str:
    """Return which of ``LANES`` runs."""
    return request.config.getoption("--lane")


@pytest.fixture
def full(lane) -> bool:
    """Return whether the lane runs every sample."""
    return lane == "nightly"


@pytest.fixture(autouse=True)
def unspent_budget() -> None:
    """Reset the time spent on compiling, so that what a test compiles does not depend on earlier tests."""
    importlib.import_module("jtorch.engine").local.recorder.trie.budget.spent = 0.0


@pytest.fixture(autouse=True)
def seed() -> int:
    """Seed every generator with the same number, and return it."""
    random.seed(0)
    np.random.seed(0)
    for name in ("torch", "jtorch"):
        manual_seed = getattr(sys.modules.get(name), "manual_seed", None)
        if manual_seed is not None:
            manual_seed(0)
    return 0


@pytest.fixture
def rng(seed) -> np.random.Generator:
    """Return a NumPy generator for a test's own data."""
    return np.random.default_rng(seed)


@pytest.fixture(scope="session")
def run_python():
    """Return ``run_python(code, env)``, which runs code in a fresh Python without warnings and returns its output.

    Use it for settings before JAX or jtorch starts: XLA_FLAGS, JTORCH_ENGINE, effects of an import.
    """
    def run(code: str, env: dict[str, str] | None = None) -> str:
        return _printed(subprocess.run([sys.executable, "-W", NO_WARNING, "-c", code], text=True, capture_output=True, cwd=ROOT,
                                       env={**os.environ, "PYTHONPATH": str(ROOT), **(env or {})}, timeout=300, check=False))
    return run


def _printed(done: subprocess.CompletedProcess) -> str:
    """Return what a program has printed, and check that it has not failed."""
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="session")
def run_forked(run_python):
    """Return ``run_forked(code, env)``, which runs code in a process that has imported jtorch, where JAX has not started. It is
    ``run_python`` where Python cannot fork.
    """
    if not forked.CAN_FORK:
        return run_python

    def run(code: str, env: dict[str, str] | None = None) -> str:
        there = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": NO_WARNING, **(env or {})}
        return _printed(forked.run(["-c", code], there, timeout=300))
    return run
