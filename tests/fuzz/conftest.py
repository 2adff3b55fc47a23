"""Lets the fuzzer's tests import its files, and be ordinary where warnings are errors."""
from __future__ import annotations

import sys
import warnings
from pathlib import Path

import pytest
from libraries import library

sys.path.insert(0, str(Path(__file__).resolve().parent))


@pytest.fixture
def jtorch():
    """The package under test."""
    return library("jtorch")


@pytest.fixture(autouse=True)
def quiet():
    """Programs do much that PyTorch warns of, once per process."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
