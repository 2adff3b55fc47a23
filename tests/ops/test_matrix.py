"""Every op on the samples that PyTorch tests itself with: value, gradients, method, in-place, ``out=``, views.

A run takes some samples of each op, chosen by the seed in the header (``--matrix-seed`` repeats a run, ``--lane nightly`` takes all).
"""
from __future__ import annotations

import contextlib
import functools
import random
import warnings

import jax
import pytest
from libraries import HAS_TORCH, library
from ops import matrix
from ops.known_differences import sorted_out
from ops.translate import Translator, differences

from jtorch.check.differences import DIFFERENCES
from jtorch.engine import kernel
from jtorch.engine.host import Unsupported, has_loop, trace
from jtorch.ops.registry import OPS

pytestmark = pytest.mark.conformance
SAMPLES = 3             # Number of samples per op, unless all are run.
# Number of ops that run with these dtypes too.
OTHERS = {"float64": 40, "bfloat16": 40, "int64": 40, "bool": 25, "complex64": 40}
TWICE = 0.15            # Share of the ops that are differentiated twice.


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
    """Return (op, dtype) of this run: float32 (else the op's first dtype) for all, other dtypes for some."""
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
        made = chosen(option.matrix_seed, option.lane == "nightly") if HAS_TORCH else []
        metafunc.parametrize("op, dtype", made, ids=[f"{name}-{dtype}" for name, dtype in made])


@pytest.mark.filterwarnings("ignore")
def test_op(op, dtype, request, full, capsys):
    seed = request.config.option.matrix_seed
    run = matrix.Run(cases()[op], dtype, translator())
    run.check(seed, None if full else SAMPLES, twice=full or random.Random(f"{seed}{op}").random() < TWICE)
    if run.left_out:
        with capsys.disabled():
            print(f"\n{run.left_out}", end=" ")
    assert not unmarked_loops(), "a trace would unroll their loops: they need @op(loops=True)"
    assert not read_unsaved(), "backward uses values where the op says that it saves none: a program would not be given them"
    unknown, known = sorted_out(op, dtype, run.wrong)
    assert not unknown, f"{op} of {dtype} differs from PyTorch (--matrix-seed {seed}):\n" + "\n".join(unknown)
    mended = [d for d in DIFFERENCES if d.always and d not in known and d.op == op and dtype in (d.dtypes or (dtype,))
              and run.ran.intersection(d.checks)]
    assert not mended, f"no longer differs, so take it out of jtorch/check/differences.py: {mended}"
    if known:
        pytest.xfail("; ".join(dict.fromkeys(d.reason for d in known)))


_looked_at: set[tuple] = set()


def calls() -> list[kernel.Call]:
    return [c for call in list(kernel._calls.values()) for c in (call, *call.vjps.values())]


def read_unsaved() -> list[str]:
    """Return the backwards that use values (other than 0-dim ones) of ops that save nothing."""
    found = set()
    for call in calls():
        for avals, made in call.kernels.items():
            saved = zip(made.used, avals[:call.op.read_from(call.template, len(avals))], strict=False)
            if made.on_host is not None and any(used and a.shape for used, a in saved):
                found.add(call.op.name)
    return sorted(found)


def unmarked_loops() -> list[str]:
    """Return the recently called ops that have a loop in their body or derivative, but not the fact ``loops``."""
    found = set()
    for call in calls():
        for avals in call.kernels:
            key = call.op, tuple(a.np for a in avals)
            if key not in _looked_at and not call.op.loops:
                _looked_at.add(key)
                with jax.enable_x64(True), contextlib.suppress(Unsupported):
                    if has_loop(trace(call.fn, [a.sds for a in avals])[0].jaxpr):
                        found.add(call.op.name)
    return sorted(found)


def erring() -> list[str]:
    return [name for name, case in cases().items() if case.info.error_inputs_func is not None] if HAS_TORCH else []


@pytest.mark.parametrize("name", erring())
@pytest.mark.filterwarnings("ignore")
def test_errors(name):
    """These calls raise in PyTorch's tests."""
    run = matrix.Run(cases()[name], "float32", translator())
    run.check_errors()
    unknown, known = sorted_out(name, "float32", run.wrong)
    assert not unknown, f"{name} raises otherwise than PyTorch:\n" + "\n".join(unknown)
    if known:
        pytest.xfail("; ".join(dict.fromkeys(d.reason for d in known)))


# PyTorch has no samples of these ops; X and V are a matrix and a vector that need gradients.
WITHOUT_SAMPLES = {
    "range": lambda xp, X, V: xp.range(1, 4, 0.5),
    "vander": lambda xp, X, V: xp.vander(V.detach(), 3, increasing=True),
    "chain_matmul": lambda xp, X, V: xp.chain_matmul(X, X.T, X),
    "fft.fftfreq": lambda xp, X, V: xp.fft.fftfreq(7, 0.5),
    "fft.rfftfreq": lambda xp, X, V: xp.fft.rfftfreq(7, 0.5),
    "nn.functional.upsample": lambda xp, X, V: xp.nn.functional.upsample(X[None], scale_factor=2),
    "nn.functional.affine_grid": lambda xp, X, V: xp.nn.functional.affine_grid(
        X[None, :2, :3], (1, 1, 3, 4), align_corners=True),
    "nn.functional.lp_pool1d": lambda xp, X, V: xp.nn.functional.lp_pool1d(X, 2, 2, ceil_mode=True),
    "nn.functional.lp_pool2d": lambda xp, X, V: xp.nn.functional.lp_pool2d(X[None], 3, 2),
    "nn.functional.lp_pool3d": lambda xp, X, V: xp.nn.functional.lp_pool3d(X[None, None].expand(1, 2, 3, 4), 2, 2),
    "nn.functional.fold": lambda xp, X, V: xp.nn.functional.fold(X.reshape(1, 4, 3).repeat(1, 1, 2)[..., :4], 3, 2),
    "bartlett_window": lambda xp, X, V: xp.bartlett_window(6),
    "hann_window": lambda xp, X, V: xp.hann_window(6, periodic=False),
    "hamming_window": lambda xp, X, V: xp.hamming_window(6, True, 0.5),
    "blackman_window": lambda xp, X, V: xp.blackman_window(6),
    "kaiser_window": lambda xp, X, V: xp.kaiser_window(6, True, 8.0),
    "view_dtype": lambda xp, X, V: X.detach().view(xp.int32),
    "alias": lambda xp, X, V: X[...],
    "slice": lambda xp, X, V: X[1:, ::2],
    "invert": lambda xp, X, V: ~(X > 0),
    "index": lambda xp, X, V: X[[0, 2], [1, 1]],
    "select_copy": lambda xp, X, V: xp.select_copy(X, 1, -1),
    "slice_copy": lambda xp, X, V: xp.slice_copy(X, 1, 0, 4, 2),
    "detach_copy": lambda xp, X, V: xp.detach_copy(X.detach()),
    "split_copy": lambda xp, X, V: xp.split_copy(X, 2)[1],
    "unsafe_split_with_sizes": lambda xp, X, V: X.unsafe_split_with_sizes((1, 2))[1],
    "view_as_complex_copy": lambda xp, X, V: xp.view_as_complex_copy(X.detach()[:, :2]),
    "view_as_real_copy": lambda xp, X, V: xp.view_as_real_copy(X + 2j * X),
    "conv_tbc": lambda xp, X, V: xp.conv_tbc(X[None].repeat(5, 1, 1), X.reshape(1, 4, 3).repeat(2, 1, 1), V[:3], 1),
    "_weight_norm": lambda xp, X, V: xp._weight_norm(X, X[:, :1], 0),
    "norm_except_dim": lambda xp, X, V: xp.norm_except_dim(X, 2, 0),
    "rnn_relu_cell": lambda xp, X, V: xp.rnn_relu_cell(X, X, X.T @ X, X.T @ X),
    "rnn_tanh_cell": lambda xp, X, V: xp.rnn_tanh_cell(X, X, X.T @ X, X.T @ X),
    "gru_cell": lambda xp, X, V: xp.gru_cell(X, X, X.repeat(4, 1), X.repeat(4, 1)),
    "lstm_cell": lambda xp, X, V: xp.lstm_cell(X, (X, X), X.repeat(6, 1)[:16], X.repeat(6, 1)[:16])[0],
    "nn.functional.grouped_mm": lambda xp, X, V: xp.nn.functional.grouped_mm(
        X, X.repeat(2, 1, 1).mT.repeat(1, 1, 4)[..., :8] * V[:2, None, None], offs=xp.tensor([1, 3], dtype=xp.int32)),
    "hash_tensor": lambda xp, X, V: xp.hash_tensor(X.detach(), 1, keepdim=True),
    "fake_quantize_per_tensor_affine": lambda xp, X, V: xp.fake_quantize_per_tensor_affine(X, 0.07, 6, 5, 25),
    "fake_quantize_per_channel_affine": lambda xp, X, V: xp.fake_quantize_per_channel_affine(
        X, V.detach() / 9, xp.arange(2, 6, dtype=xp.int32), 1, 2, 12),
}


@pytest.mark.parametrize("name", WITHOUT_SAMPLES)
@pytest.mark.filterwarnings("ignore")
def test_op_without_samples(name, torch, rng):
    data, outcomes = rng.uniform(0.5, 2.0, (3, 4)), []
    for xp in (torch, library("jtorch")):
        x, v = (xp.tensor(a, dtype=xp.float32).requires_grad_() for a in (data, data[0]))
        made = WITHOUT_SAMPLES[name](xp, x, v)
        if made.requires_grad:
            (made * made).sum().backward()
        outcomes.append([made, *(t.grad if t.grad is not None else 0 for t in (x, v))])
    assert differences(*outcomes) is None


def test_every_op_is_in_the_matrix(torch):
    names = {n for case in cases().values() for n in (case.info.name, case.info.name.strip("_"), *(a.name for a in case.info.aliases))}
    left = {n for n, record in OPS.items() if record.tested and not names.intersection((n, *record.aliases))}
    assert left == set(WITHOUT_SAMPLES)
    assert len(cases()) > 600
