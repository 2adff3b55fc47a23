"""torch.amp against PyTorch: casts under autocast, its state, and the gradient scaler."""
from __future__ import annotations

import contextlib
import copy
import pickle
import threading
import warnings

import numpy as np
import pytest
from libraries import library


def f32(xp, *shape, seed: int = 0):
    return xp.from_numpy(np.random.default_rng(seed).standard_normal(shape).astype("f4"))


def name(dtype) -> str:
    return str(dtype).split(".")[-1]


CALLS = {
    "matmul": lambda xp, a: a @ a,
    "mm, out=": lambda xp, a: xp.mm(a, a, out=xp.empty(4, 4, dtype=a.dtype)),
    "bmm": lambda xp, a: xp.bmm(a[None], a[None]),
    "addmm": lambda xp, a: xp.addmm(a, a, a),
    "linear": lambda xp, a: xp.nn.functional.linear(a, a, a[0]),
    "einsum": lambda xp, a: xp.einsum("ij,jk->ik", a, a),
    "einsum, outer": lambda xp, a: xp.einsum("i,j->ij", a[0], a[0]),
    "inner": lambda xp, a: xp.inner(a, a),
    "tensordot to a number": lambda xp, a: xp.tensordot(a, a, 2),
    "multi_dot": lambda xp, a: xp.linalg.multi_dot([a, a, a]),
    "conv2d": lambda xp, a: xp.nn.functional.conv2d(a[None, None], a[None, None, :2, :2]),
    "conv_transpose1d": lambda xp, a: xp.nn.functional.conv_transpose1d(a[None], a[:, None]),
    "attention": lambda xp, a: xp.nn.functional.scaled_dot_product_attention(a[None], a[None], a[None]),
    "prelu": lambda xp, a: xp.nn.functional.prelu(a, a[0]),
    "mse_loss": lambda xp, a: xp.nn.functional.mse_loss(a, a),
    "cross_entropy": lambda xp, a: xp.nn.functional.cross_entropy(a, xp.tensor([0, 1, 2, 3])),
    "binary_cross_entropy": lambda xp, a: xp.nn.functional.binary_cross_entropy(a.sigmoid(), a.sigmoid()),
    "prod": lambda xp, a: a.prod(),
    "trace": lambda xp, a: a.trace(),
    "inverse": lambda xp, a: xp.linalg.inv(a),
    "svd": lambda xp, a: xp.linalg.svd(a)[1],
    "fft": lambda xp, a: xp.fft.fft(a),
    "reflection pad": lambda xp, a: xp.nn.functional.pad(a[None], (1, 1), mode="reflect"),
    "constant pad": lambda xp, a: xp.nn.functional.pad(a[None], (1, 1)),
    "avg_pool3d": lambda xp, a: xp.nn.functional.avg_pool3d(a[None, None, None].expand(1, 1, 2, 4, 4), 2),
    "avg_pool2d": lambda xp, a: xp.nn.functional.avg_pool2d(a[None, None], 2),
    "cat": lambda xp, a: xp.cat([a, a @ a]),
    "stack": lambda xp, a: xp.stack([a, a]),
    "softmax": lambda xp, a: a.softmax(-1),
    "layer_norm": lambda xp, a: xp.nn.functional.layer_norm(a, (4,)),
    "exp": lambda xp, a: a.exp(),
    "sum": lambda xp, a: a.sum(),
    "add": lambda xp, a: a + a @ a,
}


@pytest.mark.conformance
@pytest.mark.parametrize("lower", ["bfloat16", "float16"])
@pytest.mark.parametrize("call", CALLS)
def test_the_dtypes_of_results_are_pytorchs(torch, call, lower):
    seen = []
    for xp in (torch, library("jtorch")):
        rows = []
        for given in (xp.float32, getattr(xp, lower), xp.float64):
            a = (f32(xp, 4, 4) + 4 * xp.eye(4)).to(given)
            try:
                with xp.autocast("cpu", dtype=getattr(xp, lower)):
                    rows.append(name(CALLS[call](xp, a).dtype))
            except (RuntimeError, NotImplementedError) as error:
                rows.append(type(error).__name__)
        seen.append(rows)
    theirs, ours = seen
    for a, b in zip(theirs, ours, strict=True):
        assert a == b or a.endswith("Error")        # PyTorch lacks some kernels of float16 on the CPU


HEADER_LISTS = {"LOWER_PRECISION_FP": "lower precision", "FP32": "float32", "PROMOTE": "widest type", "FP32_SET_OPT_DTYPE": None}


@pytest.mark.conformance
@pytest.mark.parametrize("listed", HEADER_LISTS)
def test_the_accelerators_lists_are_pytorchs(torch, listed):
    """PyTorch's lists are in a header, so the comparison needs no GPU."""
    import re
    from pathlib import Path

    from jtorch.ops.registry import OPS
    text = (Path(torch.__file__).parent / "include/ATen/autocast_mode.h").read_text()
    macro = re.search(rf"define AT_FORALL_{listed}\(_\)(.*?)\n\n", text, re.DOTALL)[1]
    found = 0
    for name in set(re.findall(r"_\((\w+)", macro)):
        short = name.replace("linalg_", "linalg.")
        op = OPS.get(f"nn.functional.{short}") or OPS.get(short)
        if op is not None:
            found += 1
            policy = op.autocast and op.autocast.of("cuda")
            if HEADER_LISTS[listed] is None:
                policy = policy(op, ("T", *[None] * (len(op.params) - 1)), [])
            assert policy == (HEADER_LISTS[listed] or "float32"), name
    assert found > 5


@pytest.mark.conformance
def test_the_cpus_list_is_pytorchs(torch):
    from jtorch.ops.registry import OPS
    found = 0
    for full in torch._C._dispatch_get_all_op_names():
        if full.startswith("aten::") and torch._C._dispatch_has_kernel_for_dispatch_key(full, "AutocastCPU"):
            name = full[6:].split(".")[0].replace("linalg_", "linalg.").replace("fft_", "fft.").replace("cross_entropy_loss", "cross_entropy")
            op = OPS.get(f"nn.functional.{name}") or OPS.get(name)
            if op is not None and name != "view_as_complex":
                found += 1
                assert op.autocast and op.autocast.of("cpu"), name
    assert found > 80


def test_widest_wants_one_lower_precision(xp):
    with xp.autocast("cpu", dtype=xp.bfloat16), pytest.raises(RuntimeError, match="Unexpected floating ScalarType"):
        xp.cat([xp.ones(2, dtype=xp.float16), xp.ones(2)])


def test_in_place_calls_are_left_alone(xp):
    a = f32(xp, 2, 2)
    with xp.autocast("cpu"):
        a.addmm_(a.clone(), a.clone())
    assert a.dtype == xp.float32


def test_other_devices_tensors_are_left_alone(xp):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        context = xp.autocast("cuda")
    a = f32(xp, 2, 2)
    with context:
        assert (a @ a).dtype == xp.float32


def test_blocks_nest(xp):
    a = f32(xp, 2, 2)
    with xp.autocast("cpu"):
        with xp.autocast("cpu", enabled=False):
            assert (a @ a).dtype == xp.float32 and not xp.is_autocast_enabled("cpu")
            with xp.amp.autocast("cpu", dtype=xp.float16), xp.autocast("cpu", dtype=xp.bfloat16):
                assert xp.get_autocast_dtype("cpu") == xp.bfloat16
            assert not xp.is_autocast_enabled("cpu")
        assert (a @ a).dtype == xp.bfloat16 and xp.is_autocast_enabled("cpu")
    assert (a @ a).dtype == xp.float32 and xp.get_autocast_dtype("cpu") == xp.bfloat16


def test_an_error_ends_the_block(xp):
    with pytest.raises(KeyError), xp.autocast("cpu"):
        raise KeyError
    assert not xp.is_autocast_enabled("cpu") and xp.autocast_increment_nesting() == 1 and xp.autocast_decrement_nesting() == 0


def test_it_decorates_functions(xp):
    @xp.autocast("cpu")
    def product(a, *, b):
        """Words."""
        return a @ b
    a = f32(xp, 2, 2)
    assert product(a, b=a).dtype == xp.bfloat16 and product.__doc__ == "Words."
    with pytest.raises(TypeError, match=r"autocast\(\)\(func\) requires a callable, but got int."):
        xp.autocast("cpu")(3)


def test_it_belongs_to_the_thread(xp):
    seen = []
    a = f32(xp, 2, 2)
    with xp.autocast("cpu"):
        worker = threading.Thread(target=lambda: seen.append((xp.is_autocast_enabled("cpu"), (a @ a).dtype)))
        worker.start()
        worker.join()
    assert seen == [(False, xp.float32)]


def test_setters(xp):
    assert xp.get_autocast_dtype("cuda") == xp.float16 and xp.amp.is_autocast_available("cpu")
    assert not xp.amp.is_autocast_available("meta")
    try:
        xp.set_autocast_enabled("cpu", True)
        xp.set_autocast_dtype("cpu", xp.float16)
        assert (f32(xp, 2, 2) @ f32(xp, 2, 2)).dtype == xp.float16
    finally:
        xp.set_autocast_enabled("cpu", False)
        xp.set_autocast_dtype("cpu", xp.bfloat16)
    assert not xp.is_autocast_enabled() and not xp.is_autocast_enabled("cpu")
    xp.set_autocast_cache_enabled(False)
    assert not xp.is_autocast_cache_enabled()
    xp.set_autocast_cache_enabled(True)
    xp.clear_autocast_cache()


@pytest.mark.parametrize("call, error, message", [
    (lambda xp: xp.autocast(3), ValueError, "Expected `device_type` of type `str`, got: `<class 'int'>`"),
    (lambda xp: xp.autocast("meta"), RuntimeError, "unsupported scalarType"),
    (lambda xp: xp.autocast("meta", dtype=xp.float16), RuntimeError, "User specified an unsupported autocast device_type 'meta'"),
    (lambda xp: xp.autocast("nothing"), RuntimeError, "Expected one of cpu, cuda, ipu"),
    (lambda xp: xp.is_autocast_enabled(3), TypeError, "must be str, not int"),
    (lambda xp: xp.amp.custom_fwd(device_type=3), ValueError, "Expected `device_type` of type `str`"),
])
def test_errors(xp, call, error, message):
    with pytest.raises(error, match=message):
        call(xp)


@pytest.mark.parametrize("call, kind, message", [
    (lambda xp: xp.autocast("cpu", dtype=xp.float32), UserWarning, "In CPU autocast, but the target dtype is not supported"),
    (lambda xp: library_module(xp, "cuda.amp").autocast(enabled=False), FutureWarning, r"`torch.cuda.amp.autocast\(args...\)` is"),
    (lambda xp: library_module(xp, "cuda.amp").GradScaler(enabled=False), FutureWarning, "use `torch.amp.GradScaler"),
    (lambda xp: library_module(xp, "cuda.amp").custom_fwd(cast_inputs=None), FutureWarning, "device_type='cuda'"),
    (lambda xp: library_module(xp, "cuda.amp").custom_bwd(print), FutureWarning, "torch.amp.custom_bwd"),
    (lambda xp: library_module(xp, "cpu.amp").autocast(), FutureWarning, "torch.amp.autocast\\('cpu', args...\\)"),
    (lambda xp: library_module(xp, "cpu.amp").GradScaler(), FutureWarning, "torch.amp.GradScaler\\('cpu', args...\\)"),
])
def test_warnings(xp, call, kind, message):
    with warnings.catch_warnings(record=True) as caught, pytest.warns(kind, match=message):
        warnings.simplefilter("always")
        call(xp)
    assert not caught or all(w.filename == __file__ for w in caught)


def library_module(xp, path: str):
    import importlib
    return importlib.import_module(f"{xp.__name__}.{path}")


def test_older_names_warn(xp):
    with warnings.catch_warnings():     # PyTorch warns once.
        warnings.simplefilter("ignore")
        assert not xp.is_autocast_cpu_enabled() and xp.get_autocast_gpu_dtype() == xp.float16
        xp.set_autocast_cpu_dtype(xp.float16)
        assert xp.get_autocast_cpu_dtype() == xp.float16 == xp.get_autocast_dtype("cpu")
        xp.set_autocast_cpu_dtype(xp.bfloat16)
    with pytest.warns(DeprecationWarning, match=r"Please use torch.is_autocast_enabled\('cpu'\) instead."):
        library("jtorch").is_autocast_cpu_enabled()


def test_an_unsupported_dtype_turns_it_off(xp):
    with pytest.warns(UserWarning, match="not supported"), xp.autocast("cpu", dtype=xp.float64):
        assert not xp.is_autocast_enabled("cpu")


# ---------------------------------------------------------------- gradients and weights

def test_gradients_have_the_dtype_of_the_weights(xp):
    w, x = f32(xp, 3, 3).requires_grad_(), f32(xp, 2, 3, seed=1)
    with xp.autocast("cpu"):
        loss = ((x @ w) @ w).float().square().sum()
    loss.backward()
    assert w.grad.dtype == xp.float32
    exact = w.detach().clone().requires_grad_()
    ((x @ exact) @ exact).square().sum().backward()
    np.testing.assert_allclose(w.grad.numpy(), exact.grad.numpy(), rtol=0.1, atol=0.3)


def test_a_weight_is_cast_once(xp):
    w, x = f32(xp, 3, 3).requires_grad_(), f32(xp, 2, 3)
    with xp.autocast("cpu"):
        a, b = x @ w, x @ w
        assert cast_of(a, w) is cast_of(b, w)
    with xp.autocast("cpu", cache_enabled=False):
        a, b = x @ w, x @ w
        assert cast_of(a, w) is not cast_of(b, w)
    with xp.autocast("cpu"):
        assert cast_of(x @ w, w) is not cast_of(a, w)


def cast_of(result, w):
    """Return the node that cast ``w``."""
    return next(f for f, _ in result.grad_fn.next_functions if f is not None and "Copy" in type(f).__name__)


def test_a_weight_that_was_written_to_is_cast_anew():
    torch = library("jtorch")
    w = torch.ones(2, 2, requires_grad=True)
    with torch.autocast("cpu"):
        first = torch.ones(2, 2) @ w
        with torch.no_grad():
            w.mul_(2)
            inside = torch.ones(2, 2) @ w
        again = torch.ones(2, 2) @ w
    assert first[0, 0] == 2 and inside[0, 0] == 4 and again[0, 0] == 4 and again.requires_grad


def network(xp):
    nn = xp.nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.norm = nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4)
            self.embed, self.ln = nn.Embedding(7, 4), nn.LayerNorm(4)
            self.head = nn.Linear(4, 3)

        def forward(self, image, words):
            features = xp.relu(self.norm(self.conv(image))).mean((2, 3))
            words = self.ln(self.embed(words))
            words = nn.functional.scaled_dot_product_attention(words, words, words).mean(1)
            return self.head(nn.functional.gelu(features + words))
    net = Net()
    rng = np.random.default_rng(0)
    for p in net.parameters():
        p.data.copy_(xp.from_numpy(rng.standard_normal(tuple(p.shape)).astype("f4") * 0.5))
    return net


@pytest.mark.conformance
@pytest.mark.parametrize("scaled", [False, True], ids=["plain", "scaled"])
def test_a_training_is_pytorchs(torch, scaled):
    curves = []
    for xp in (torch, library("jtorch")):
        net, losses = network(xp), []
        optimizer, scaler = xp.optim.Adam(net.parameters(), lr=1e-2), xp.amp.GradScaler("cpu", enabled=scaled)
        image, words, target = f32(xp, 4, 1, 8, 8), xp.tensor([[1, 2], [3, 4], [5, 6], [0, 1]]), xp.tensor([0, 1, 2, 0])
        for _ in range(12 if scaled else 5):        # The loop is long enough to be compiled once.
            optimizer.zero_grad()
            with xp.autocast("cpu"):
                out = net(image, words)
                loss = xp.nn.functional.cross_entropy(out, target)
            assert name(out.dtype) == "bfloat16" and name(loss.dtype) == "float32"
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            losses.append(loss.item())
        curves.append(losses)
    np.testing.assert_allclose(curves[1], curves[0], rtol=0.05, atol=0.02)
    assert curves[1][-1] < (0.9 if scaled else 0.98) * curves[1][0]


MODULES = {
    "LSTM": lambda nn: nn.LSTM(4, 4, batch_first=True),
    "GRU": lambda nn: nn.GRU(4, 4),
    "LSTMCell": lambda nn: (lambda cell: lambda x: cell(x[0]))(nn.LSTMCell(4, 4)),
    "attention": lambda nn: (lambda m: lambda x: m(x, x, x))(nn.MultiheadAttention(4, 2, batch_first=True)),
    "transformer": lambda nn: nn.TransformerEncoderLayer(4, 2, 8, batch_first=True),
    "layer norm": lambda nn: nn.LayerNorm(4),
    "batch norm": lambda nn: nn.BatchNorm1d(5),
}


@pytest.mark.conformance
@pytest.mark.parametrize("low", [False, True], ids=["float32", "bfloat16"])
@pytest.mark.parametrize("module", MODULES)
def test_the_dtypes_of_modules_are_pytorchs(torch, module, low):
    found = []
    for xp in (torch, library("jtorch")):
        x = f32(xp, 2, 5, 4).requires_grad_()
        made = MODULES[module](xp.nn)
        with xp.autocast("cpu"), where_pytorch_can(xp):
            out = made(x.bfloat16() if low else x)
        dtypes = [name(t.dtype) for t in leaves(out)]
        leaves(out)[0].float().sum().backward()
        found.append((dtypes, name(x.grad.dtype)))
    assert found[0] == found[1]


@contextlib.contextmanager
def where_pytorch_can(xp):
    """Skip the test if PyTorch cannot run: its bfloat16 LSTM needs more vector instructions than AVX2."""
    try:
        yield
    except RuntimeError as error:
        if xp.__name__ == "torch" and "could not create a primitive descriptor" in str(error):
            pytest.skip("PyTorch can't run it on this processor")
        raise


def leaves(out) -> list:
    return [out] if hasattr(out, "dtype") else [t for o in out for t in leaves(o)]


def test_custom_functions(xp):
    seen = []

    class Product(xp.autograd.Function):
        @staticmethod
        @xp.amp.custom_fwd(device_type="cpu")
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            return a @ b

        @staticmethod
        @xp.amp.custom_bwd(device_type="cpu")
        def backward(ctx, grad):
            a, b = ctx.saved_tensors
            seen.append((xp.is_autocast_enabled("cpu"), (grad @ b.t()).dtype))
            return (grad @ b.t()).to(a.dtype), (a.t() @ grad).to(b.dtype)

    class Exact(xp.autograd.Function):
        @staticmethod
        @xp.amp.custom_fwd(device_type="cpu", cast_inputs=xp.float32)
        def forward(ctx, a, more):
            assert not xp.is_autocast_enabled("cpu") and more["b"][0].dtype == xp.float32
            return a @ more["b"][0]

        @staticmethod
        @xp.amp.custom_bwd(device_type="cpu")
        def backward(ctx, grad):
            seen.append(xp.is_autocast_enabled("cpu"))
            return grad, None

    a = f32(xp, 2, 2).requires_grad_()
    with xp.autocast("cpu"):
        out = Product.apply(a, a)
        low = (a @ a).detach()
        exact = Exact.apply(low, {"b": [low, "text"]})
        made = Exact.apply(a, {"b": [low]})
    assert out.dtype == xp.bfloat16 and exact.dtype == xp.float32
    out.float().sum().backward()
    made.sum().backward()
    assert seen == [(True, xp.bfloat16), False]
    assert Exact.apply.__self__ is Exact


# ---------------------------------------------------------------- the scaler

def scaler_run(xp, factors, **options):
    """Return, after a step for each factor of the loss, the weights, the scales and the counts of good steps."""
    w = xp.ones(2, requires_grad=True)
    optimizer, scaler = xp.optim.SGD([w], lr=0.1, momentum=0.5, **options), xp.amp.GradScaler("cpu", 4.0, 2.0, 0.5, 2)
    rows = []
    for k in factors:
        optimizer.zero_grad()
        scaler.scale((w * k).sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        rows.append((w.tolist(), scaler.get_scale(), scaler._get_growth_tracker()))
    return rows


@pytest.mark.conformance
@pytest.mark.parametrize("fused", [False, True], ids=["plain", "fused"])
def test_scales_and_weights_are_pytorchs(torch, fused):
    factors = [1.0, 2.0, float("inf"), 1.0, float("nan"), 1.0, 1.0, 1.0]
    theirs, ours = (scaler_run(xp, factors, fused=fused) for xp in (torch, library("jtorch")))
    for a, b in zip(theirs, ours, strict=True):
        np.testing.assert_allclose(b[0], a[0], rtol=1e-5)
        assert a[1:] == b[1:]


@pytest.mark.parametrize("kind", ["Adam", "AdamW", "SGD", "Adagrad"])
def test_a_fused_optimizer_undoes_a_bad_step(xp, kind):
    w = xp.ones(2, requires_grad=True)
    optimizer, scaler = getattr(xp.optim, kind)([w], lr=0.1, fused=True), xp.amp.GradScaler("cpu")
    for bad in (False, True):
        before = w.tolist(), {k: v.tolist() for k, v in optimizer.state[w].items() if v is not None}
        optimizer.zero_grad()
        scaler.scale((w * (float("inf") if bad else 1.0)).sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        after = w.tolist(), {k: v.tolist() for k, v in optimizer.state[w].items() if v is not None}
        assert (before == after) is bad
    assert not hasattr(optimizer, "found_inf") and scaler.get_scale() == 2.0**15


def test_gradients_can_be_clipped_between(xp):
    w = xp.ones(2, requires_grad=True)
    optimizer, scaler = xp.optim.SGD([w], lr=1.0), xp.amp.GradScaler("cpu", init_scale=8.0)
    scaler.scale((w * 3).sum()).backward()
    assert w.grad.tolist() == [24.0, 24.0]
    scaler.unscale_(optimizer)
    assert w.grad.tolist() == [3.0, 3.0]
    w.grad.clamp_(max=1.0)
    scaler.step(optimizer)
    scaler.update()
    assert w.tolist() == [0.0, 0.0]


def test_each_optimizer_has_its_own_check(xp):
    a, b = xp.ones(1, requires_grad=True), xp.ones(1, requires_grad=True)
    first, second = xp.optim.SGD([a], lr=1.0), xp.optim.SGD([b], lr=1.0)
    scaler = xp.amp.GradScaler("cpu", init_scale=2.0)
    for loss in scaler.scale([a * float("inf"), (b * 1.0)]):
        loss.sum().backward()
    assert scaler.step(first) is None
    scaler.step(second)
    scaler.update()
    assert a.item() == 1.0 and b.item() == 0.0 and scaler.get_scale() == 1.0


def ready(xp, dtype=None):
    w = xp.ones(2, requires_grad=True, dtype=dtype or xp.float32)
    optimizer, scaler = xp.optim.SGD([w], lr=1.0), xp.amp.GradScaler("cpu", init_scale=2.0)
    scaler.scale(w.sum()).backward()
    return w, optimizer, scaler


def twice(f, *args):
    f(*args)
    f(*args)


WRONG = {
    "unscale twice": (RuntimeError, "unscale_() has already been called on this optimizer since the last update().",
                      lambda xp, w, o, s: twice(s.unscale_, o)),
    "unscale late": (RuntimeError, "unscale_() is being called after step().", lambda xp, w, o, s: (s.step(o), s.unscale_(o))),
    "step twice": (RuntimeError, "step() has already been called since the last update().", lambda xp, w, o, s: twice(s.step, o)),
    "closure": (RuntimeError, "Closure use is not currently supported if GradScaler is enabled.",
                lambda xp, w, o, s: s.step(o, closure=None)),
    "no scale": (AssertionError, "Attempted step but _scale is None.", lambda xp, w, o, s: xp.amp.GradScaler("cpu").step(o)),
    "no check": (AssertionError, "No inf checks were recorded prior to update.", lambda xp, w, o, s: s.update()),
    "no gradient": (AssertionError, "No inf checks were recorded for this optimizer.",
                    lambda xp, w, o, s: (o.zero_grad(), s.step(o))),
    "growth": (AssertionError, "The growth factor must be > 1.0.", lambda xp, w, o, s: xp.amp.GradScaler("cpu", growth_factor=1.0)),
    "backoff": (AssertionError, "The backoff factor must be < 1.0.",
                lambda xp, w, o, s: xp.amp.GradScaler("cpu", backoff_factor=1.0)),
    "outputs": (ValueError, "outputs must be a Tensor or an iterable of Tensors", lambda xp, w, o, s: s.scale([3])),
    "empty": (RuntimeError, "The source state dict is empty", lambda xp, w, o, s: s.load_state_dict({})),
    "new scale": (AssertionError, "new_scale should be a float or a 1-element", lambda xp, w, o, s: s.update(xp.ones(2))),
    "pickle": (AssertionError, "A GradScaler instance may only be pickled at the beginning",
               lambda xp, w, o, s: (s.unscale_(o), pickle.dumps(s))),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_use_of_a_scaler(xp, case):
    error, message, call = WRONG[case]
    with pytest.raises(error) as caught:
        call(xp, *ready(xp))
    assert str(caught.value).startswith(message)


def test_half_precision_gradients_are_not_unscaled(xp):
    _, optimizer, scaler = ready(xp, xp.float16)
    with pytest.raises(ValueError, match="Attempting to unscale FP16 gradients."):
        scaler.unscale_(optimizer)


def test_a_scaler_that_is_off(xp):
    w = xp.ones(1, requires_grad=True)
    optimizer, scaler = xp.optim.SGD([w], lr=1.0), xp.amp.GradScaler("cpu", enabled=False)
    loss = w.sum()
    assert scaler.scale(loss) is loss and scaler.get_scale() == 1.0 and scaler.state_dict() == {} and not scaler.is_enabled()
    loss.backward()
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()
    assert w.item() == 0.0


def test_without_a_gpu_the_default_is_off(xp):
    if xp.cuda.is_available():
        pytest.skip("there is a GPU")
    with pytest.warns(UserWarning, match="torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling."):
        assert not xp.amp.GradScaler().is_enabled()


@pytest.mark.conformance
def test_states_of_scalers_are_exchanged(torch):
    states = []
    for xp in (torch, library("jtorch")):
        _, optimizer, scaler = ready(xp)
        scaler.step(optimizer)
        scaler.update()
        states.append(scaler.state_dict())
        for fresh in (xp.amp.GradScaler("cpu"), scaler):
            fresh.load_state_dict({**states[0], "scale": 32.0})
            assert fresh.get_scale() == 32.0
        again = pickle.loads(pickle.dumps(scaler))
        assert again.get_scale() == 32.0 and again._get_growth_tracker() == 1
        assert copy.deepcopy(scaler).state_dict() == scaler.state_dict()
    assert states[0] == states[1]


def test_a_new_scale(xp):
    _, _, scaler = ready(xp)
    scaler.update(16.0)
    assert scaler.get_scale() == 16.0
    scaler.update(xp.tensor(4.0))
    assert scaler.get_scale() == 4.0
    scaler.set_growth_factor(3.0)
    scaler.set_backoff_factor(0.25)
    scaler.set_growth_interval(7)
    assert (scaler.get_growth_factor(), scaler.get_backoff_factor(), scaler.get_growth_interval()) == (3.0, 0.25, 7)
