"""A plugin of pytest: run each test with ``cuda`` as jtorch's default device, and write each outcome at once."""
from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from tools.gpu.child import ROOT
from tools.gpu.stand_in import jtorch_with


def pytest_addoption(parser: Any) -> None:
    """Add options for the file of results and for a CPU in the GPU's place."""
    parser.addoption("--cuda-results", help="a file: a line of JSON for each test")
    parser.addoption("--cuda-stand-in", action="store_true")


def pytest_configure(config: Any) -> None:
    """Choose the device before any test starts JAX."""
    jtorch_with(config.getoption("--cuda-stand-in"))
    _Told.path = config.getoption("--cuda-results")
    _compare_wherever_they_are()


def _compare_wherever_they_are() -> None:
    """Treat ``cuda:0`` as the CPU in comparisons with PyTorch. In these tests PyTorch's tensors are on the CPU."""
    sys.path.insert(0, str(ROOT / "tests" / "core"))
    outcomes: Any = importlib.import_module("outcomes")
    describe = outcomes.describe

    def described(x: Any) -> Any:
        found = describe(x)
        return tuple("cpu" if part == "cuda:0" else part for part in found) if isinstance(found, tuple) else found
    outcomes.describe = described


class _Told:
    path = ""


@pytest.fixture(autouse=True)
def on_cuda() -> Iterator[None]:
    """Set the default device for a test."""
    torch = jtorch_with(False)
    torch.set_default_device("cuda")
    yield
    torch.set_default_device(None)


def pytest_collection_modifyitems(items: list) -> None:
    """Leave out tests without jtorch in this process: PyTorch's own variants, and programs in other processes."""
    items[:] = [item for item in items if _param(item) != "torch" and "run_python" not in item.fixturenames]


def _param(item: Any) -> Any:
    return item.callspec.params.get("xp") if hasattr(item, "callspec") else None


def pytest_runtest_logreport(report: Any) -> None:
    """Write the name, the outcome and the error of a test."""
    if report.when == "call" or report.outcome == "skipped" or (report.when == "setup" and report.failed):
        crash = getattr(report.longrepr, "reprcrash", None)
        text = crash.message if crash is not None else str(report.longrepr or "")[-300:]
        with open(_Told.path, "a") as file:
            file.write(json.dumps([report.nodeid.split("::", 1)[-1], report.outcome, text]) + "\n")
