"""Every op on the samples that PyTorch tests itself with: value, gradients, method, in-place, ``out=``, views.

A run takes some samples of each op, chosen by the seed in the header (``--matrix-seed`` repeats a run, ``--full`` takes all).
"""
from __future__ import annotations

import functools
import random
import warnings

import pytest
from libraries import HAS_TORCH, library
from ops import matrix
from ops.known_differences import DIFFERENCES
from ops.translate import Translator

pytestmark = pytest.mark.conformance
SAMPLES = 3             # per op, unless --full
OTHERS = {"float64": 40, "bfloat16": 40, "int64": 40, "bool": 25, "complex64": 40}     # ops run with these dtypes too
TWICE = 0.15            # of the ops are differentiated twice


@functools.cache
def translator() -> Translator:
    return Translator(library("torch"), library("jtorch"))


@functools.cache
def cases() -> dict[str, matrix.Case]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from torch.testing._internal.common_methods_invocations import op_db
    return {case.name: case for case in matrix.cases(translator(), op_db)}


def supports(name: str, dtype: str) -> bool:
    return cases()[name].info.supports_dtype(getattr(library("torch"), dtype), "cpu")


def chosen(seed: int, full: bool) -> list[tuple[str, str]]:
    """(op, dtype) of this run: float32 (else the op's first dtype) for all, other dtypes for some."""
    pick = random.Random(seed)
    made = [(name, "float32") for name in cases() if supports(name, "float32")]
    made += [(name, "int64") for name in cases() if not supports(name, "float32") and supports(name, "int64")]
    for dtype, count in OTHERS.items():
        those = [name for name in cases() if supports(name, dtype) and (name, dtype) not in made]
        made += [(name, dtype) for name in (those if full else pick.sample(those, min(count, len(those))))]
    return made


def pytest_generate_tests(metafunc):
    if "op" in metafunc.fixturenames:
        option = metafunc.config.option
        made = chosen(option.matrix_seed, option.full) if HAS_TORCH else []
        metafunc.parametrize("op, dtype", made, ids=[f"{name}-{dtype}" for name, dtype in made])


@pytest.mark.filterwarnings("ignore")
def test_op(op, dtype, request, full):
    seed = request.config.option.matrix_seed
    run = matrix.Run(cases()[op], dtype, translator())
    run.check(seed, None if full else SAMPLES, twice=full or random.Random(f"{seed}{op}").random() < TWICE)
    unknown, known = sorted_out(op, dtype, run)
    assert not unknown, f"{op} of {dtype} differs from PyTorch (--matrix-seed {seed}):\n" + "\n".join(unknown)
    mended = [d for d in DIFFERENCES if d.always and d not in known and d.op == op and dtype in (d.dtypes or (dtype,))
              and run.ran.intersection(d.checks)]
    assert not mended, f"no longer differs, so take it out of known_differences.py: {mended}"
    if known:
        pytest.xfail("; ".join(dict.fromkeys(d.reason for d in known)))


def sorted_out(op: str, dtype: str, run: matrix.Run) -> tuple[list[str], list]:
    """The failures nobody has explained, and the known differences that showed."""
    unknown, known = [], []
    for check, texts in run.wrong.items():
        for text in texts:
            covering = [d for d in DIFFERENCES if d.covers(op, dtype, check, text)]
            known += covering
            if not covering:
                unknown.append(f"  {check}: {text}")
    return unknown, known


def test_most_ops_have_samples():
    assert len(cases()) > 550
