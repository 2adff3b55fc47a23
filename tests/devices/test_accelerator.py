"""The engine on a device that compiles each kernel, with JAX's second virtual CPU device in a GPU's place."""
from __future__ import annotations

import pytest
from process_programs import virtual_devices

BEGINNING = """
import numpy as np
from tools.gpu.stand_in import jtorch_with
torch = jtorch_with(True)
from jtorch.engine import stats
counters = stats.counters
"""
ENV = {**virtual_devices(2), "JTORCH_CACHE": "0"}

LOOP = BEGINNING + """
def losses(device):
    torch.manual_seed(0)
    nn = torch.nn
    model = nn.Sequential(nn.Linear(8, 16), nn.LayerNorm(16), nn.GELU(), nn.Linear(16, 4)).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.05)
    x, y = torch.linspace(-1, 1, 40).reshape(5, 8).to(device), torch.tensor([0, 1, 2, 3, 0], device=device)
    out = []
    for _ in range(20):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        out.append(loss.item())
    return out
there, here = losses("cuda"), losses("cpu")
np.testing.assert_allclose(there, here, rtol=1e-4)
"""


def test_a_training_loop(run_forked):
    """A trace is deferred from its first call. Its kernels are compiled together, and it is a program once it has
    repeated.
    """
    printed = run_forked(LOOP + "print(counters.side_by_side > 8, counters.caught_up >= 3, counters.departures, "
                                "counters.programs > 0)", {**ENV, "JTORCH_ENGINE": "auto"})
    assert printed == "True True 0 True\n"


@pytest.mark.slow
def test_a_loss_goes_to_the_host_unasked(run_forked):
    """This holds once the loop is a program. Counts (a BatchNorm's batches) and an optimizer's many steps stay on the
    device.
    """
    printed = run_forked(LOOP + """
print(counters.sent_ahead > 0)
before = counters.sent_ahead
x = torch.ones(3, device="cuda")
for _ in range(20):
    many = [x[i % 3] + i for i in range(10)]
    print(end="" if sum(many).item() else "zero")
print(counters.sent_ahead - before <= 20)
""", {**ENV, "JTORCH_ENGINE": "auto"})
    assert printed == "True\nTrue\n"


@pytest.mark.slow
def test_what_an_optimizer_replaces_is_not_copied_first(run_forked):
    """Several calls of one program update many parameters of one shape. Each result takes the memory of the old value."""
    printed = run_forked(BEGINNING + """
import importlib
program, seen = importlib.import_module("jtorch.engine.program"), []
made = program.Program.become
def noted(self, compiled, seconds):
    if self.donated:
        seen.append((len(self.donated), compiled.as_text().count(" copy(")))
    made(self, compiled, seconds)
program.Program.become = noted
params = [torch.full((3, 5), float(i), device="cuda", requires_grad=True) for i in range(60)]
optimizer = torch.optim.Adam(params, lr=0.1)
for _ in range(20):
    optimizer.zero_grad()
    sum((p * p).sum() for p in params).backward()
    optimizer.step()
donated, copies = max(seen)
print(donated >= 180, copies < 90, params[5][0, 0].item() < 4)
""", {**ENV, "JTORCH_ENGINE": "auto"})
    assert printed == "True True True\n"


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["eager", "hot"])
def test_a_training_loop_in_other_modes(run_forked, mode):
    assert run_forked(LOOP + "print(counters.side_by_side)", {**ENV, "JTORCH_ENGINE": mode}) == "0\n"


def test_what_nobody_holds_is_let_go_of_on_the_way(run_forked):
    """A deferred chain takes no more memory than a chain run call by call."""
    printed = run_forked(BEGINNING + """
import weakref
from jtorch.engine import region_programs, interpreter
region_programs.stretches = lambda path: [path]       # else turns that are alike become programs
alive, most, run = [], [0], interpreter._run
def watched(s, values, *rest):
    run(s, values, *rest)
    alive.extend(weakref.ref(v.array) for v in values[s.first:s.first + len(s.outs)])
    most[0] = max(most[0], sum(ref() is not None for ref in alive))
interpreter._run = watched
x = torch.ones(4, device="cuda")
kept = x * 2
y = kept
for _ in range(50):
    y = y + 1
print(y.tolist(), kept.tolist(), len(alive) > 50, most[0] <= 5)
""", {**ENV, "JTORCH_ENGINE": "auto"})
    assert printed == "[52.0, 52.0, 52.0, 52.0] [2.0, 2.0, 2.0, 2.0] True True\n"


GENERATION = BEGINNING + """
from jtorch.engine.program import Program
copies, unshared = [], Program._unshared
Program._unshared = lambda self, arrays: copies.append(self) or unshared(self, arrays)
F = torch.nn.functional
def model_on(device):
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
    return torch.nn.TransformerEncoder(layer, 6, enable_nested_tensor=False).eval().to(device)
def generated(model, device, count=6):
    x = torch.linspace(-1, 1, 8, device=device).reshape(1, 1, 8)
    with torch.no_grad():
        for _ in range(count):
            x = torch.cat([x, model(x)[:, -1:]], 1)
    return x.tolist()
def cached(model, device, count=8):
    x, before = torch.linspace(-1, 1, 8, device=device).reshape(1, 1, 8), [None] * 6
    made = []
    with torch.no_grad():
        for _ in range(count):
            for k, layer in enumerate(model.layers):
                h = layer.norm1(x)
                before[k] = h if before[k] is None else torch.cat([before[k], h], 1)
                x = x + layer.self_attn(h, before[k], before[k])[0]
                x = x + layer.linear2(F.relu(layer.linear1(layer.norm2(x))))
            made.append((x.tolist(), counters.programs, counters.kernels))
    return made
"""


@pytest.mark.slow
def test_sequences_that_grow_run_in_pieces_from_the_first_time(run_forked):
    """A layer is one program for each length, shared by all layers. A piece copies no value for the next piece."""
    printed = run_forked(GENERATION + """
model = model_on("cuda")
there, again = generated(model, "cuda"), generated(model, "cuda")
np.testing.assert_allclose(there, generated(model_on("cpu"), "cpu"), rtol=2e-4, atol=1e-5)
print(there == again, counters.region_programs >= 1, counters.kernels < 10, counters.programs < 30, counters.equal_programs > 20, len(copies))
""", {**ENV, "JTORCH_ENGINE": "auto"})
    assert printed == "True True True True True 0\n"


@pytest.mark.slow
def test_what_a_cache_of_keys_leaves_as_it_is_is_compiled_once(run_forked):
    """From the fourth token on, two programs of a token are new: those with the length of the cache. Six layers share
    them.
    """
    printed = run_forked(GENERATION + """
there, here = (cached(model_on(device), device) for device in ("cuda", "cpu"))
np.testing.assert_allclose([x for x, *_ in there], [x for x, *_ in here], rtol=2e-4, atol=1e-5)
print([b[1] - a[1] for a, b in zip(there[3:], there[4:])], {b[2] - a[2] for a, b in zip(there[3:], there[4:])}, len(copies))
""", {**ENV, "JTORCH_ENGINE": "auto"})
    assert printed == "[2, 2, 2, 2] {0} 0\n"


@pytest.mark.slow
def test_traces_that_repeat_themselves_in_another_way_each_time_are_not_compiled_for_ever(run_forked):
    """Kernels met a few times are compiled for themselves, and serve all further traces."""
    printed = run_forked(BEGINNING + """
import random
draw, made = random.Random(0), []
ways = [lambda x: x + 1, lambda x: x * 0.5, torch.tanh, torch.relu, lambda x: x.flip(0)]
for _ in range(25):
    x = torch.linspace(-1, 1, 7, device="cuda")
    for _ in range(4):
        some = [draw.choice(ways) for _ in range(draw.randint(2, 4))]
        for _ in range(draw.randint(4, 6)):
            for way in some:
                x = way(x)
    x.tolist()
    made.append(counters.programs + counters.kernels)
print(made[-1] - made[14] < made[14] - made[0], made[-1] - made[-6], counters.region_programs > 10)
""", {**ENV, "JTORCH_ENGINE": "auto"})
    print(printed)
    assert printed.startswith("True ") and printed.endswith(" True\n")


def test_a_wrong_index_in_a_trace_that_repeats_itself(run_forked):
    """The error comes after the trace, with all of it computed."""
    printed = run_forked(BEGINNING + """
w, i = torch.arange(6.0, device="cuda").reshape(3, 2), torch.tensor([0, 7], device="cuda")
x = torch.ones(2, 2, device="cuda")
for k in range(8):
    x = torch.tanh(x) * 0.5 + w[i if k == 5 else i * 0]
y = x * 2
try:
    print(y.shape, y.tolist())
except IndexError as error:
    print(str(error)[:39], counters.region_programs)
print(w.tolist(), len(y.tolist()))
""", {**ENV, "JTORCH_ENGINE": "auto"})
    assert printed == "index 7 is out of bounds for dimension  1\n[[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]] 2\n"


def test_wrong_values_are_found_on_the_device(run_forked):
    """The check sends nothing large to the host, and earlier calls keep their results."""
    printed = run_forked(BEGINNING + """
import jax
from jtorch.engine import kernel
made, given = kernel._check_function, []
def watched(*of):
    check = made(*of)
    def look(arrays):
        given.extend(arrays)
        return check(arrays)
    return look
kernel._check_function = watched
w = torch.arange(6.0, device="cuda").reshape(3, 2)
before = w * 2
bad = w[torch.tensor([0, 7], device="cuda")]
try:
    bad.tolist()
except IndexError as error:
    print(str(error)[:39])
print(before.tolist(), len(given) > 1, all(isinstance(a, jax.Array) for a in given))
""", {**ENV, "JTORCH_ENGINE": "auto"})
    assert printed == "index 7 is out of bounds for dimension \n[[0.0, 2.0], [4.0, 6.0], [8.0, 10.0]] True True\n"


def test_what_an_error_kept_from_being_computed_can_be_asked_for_again(run_forked):
    """A call's arguments are kept until the call is done, even without another holder."""
    printed = run_forked(BEGINNING + """
from jtorch.engine.kernel import Kernel
run, left = Kernel.run, [1]
def failing(self, arrays, runs):
    if self.call.op.name == "exp" and left:
        raise RuntimeError(f"no memory {left.pop()}")
    return run(self, arrays, runs)
Kernel.run = failing
y = (torch.zeros(3, device="cuda") + 1 - 1).exp() + 1
try:
    y.tolist()
except RuntimeError as error:
    print(error)
print(y.tolist())
""", {**ENV, "JTORCH_ENGINE": "auto"})
    assert printed == "no memory 1\n[2.0, 2.0, 2.0]\n"


def test_a_kernel_that_cannot_be_compiled_keeps_no_other_from_running(run_forked):
    printed = run_forked(BEGINNING + """
from jtorch.engine.kernel import Kernel
of_xla = Kernel.of_xla
def failing(self, lowered):
    if self.call.op.name == "exp":
        raise RuntimeError("no such kernel")
    return of_xla(self, lowered)
Kernel.of_xla = failing
x = torch.ones(3, device="cuda")
a, b = x + 1, x.exp()
try:
    b.tolist()
except RuntimeError as error:
    print(error)
print(a.tolist())
""", {**ENV, "JTORCH_ENGINE": "auto"})
    assert printed == "no such kernel\n[2.0, 2.0, 2.0]\n"


PRECISIONS = BEGINNING + """
import jax
from jtorch._base import accelerated
import jtorch.engine.jax_settings as settings
import jtorch.backends.precision as precision
settings.is_accelerated = precision.is_accelerated = lambda: True
from jtorch.engine import kernel
texts = []
taken = kernel.Kernel.of_xla
def noted(self, lowered):
    texts.append(lowered.as_text())
    return taken(self, lowered)
kernel.Kernel.of_xla = noted
x, image, filters = torch.ones(4, 4, device="cuda"), torch.ones(1, 2, 5, 5, device="cuda"), torch.ones(2, 2, 3, 3, device="cuda")
F = torch.nn.functional
def found(run):
    texts.clear()
    run().tolist()
    text = next(t for t in texts if "dot_general" in t or "convolution" in t)
    return "HIGHEST" in text
products = (lambda: x @ x, lambda: F.linear(x, x), lambda: torch.einsum("ij,jk->ik", x, x),
            lambda: F.scaled_dot_product_attention(x[None], x[None], x[None]))
convolution = lambda: F.conv2d(image, filters)
"""


def test_products_of_float32_are_as_exact_as_pytorch_says(run_forked):
    """Matrix products are exact by default, convolutions are not. A change applies to compiled programs too."""
    printed = run_forked(PRECISIONS + """
print([found(p) for p in products], found(convolution))
torch.set_float32_matmul_precision("high")
print([found(p) for p in products])
torch.backends.cuda.matmul.allow_tf32 = False
print([found(p) for p in products])
torch.backends.cudnn.allow_tf32 = False
print(found(convolution), torch.backends.cudnn.conv.fp32_precision)
torch.backends.cudnn.conv.fp32_precision = "tf32"
print(found(convolution), torch.backends.cudnn.allow_tf32)
""", {**ENV, "JTORCH_ENGINE": "eager"})
    assert printed.splitlines() == ["[True, True, True, True] False", "[False, False, False, False]", "[True, True, True, True]",
                                    "True none", "False True"]


def test_a_user_s_own_setting_of_jax_stays(run_forked):
    printed = run_forked(PRECISIONS + """
jax.config.update("jax_default_matmul_precision", "default")
print([found(p) for p in products])
""", {**ENV, "JTORCH_ENGINE": "eager"})
    assert printed == "[False, False, False, False]\n"


def test_memory_that_is_not_there(run_forked):
    """An accelerator's error becomes PyTorch's, wherever XLA raises it."""
    printed = run_forked(BEGINNING + """
import jax
from jtorch.engine import out_of_memory
out_of_memory.is_accelerated = lambda: True
class Full:
    def __getattr__(self, name):
        return None
    def __call__(self, *arrays):
        raise jax.errors.JaxRuntimeError("RESOURCE_EXHAUSTED: Out of memory while trying to allocate 237.54GiB with allocator")
from jtorch.engine.kernel import Kernel
of_xla = Kernel.of_xla
Kernel.of_xla = lambda self, lowered: Full() if self.call.op.name == "exp" else of_xla(self, lowered)
x = torch.ones(3, device="cuda")
try:
    x.exp().tolist()
except torch.cuda.OutOfMemoryError as error:
    print(error)
print((x + 1).tolist())
""", {**ENV, "JTORCH_ENGINE": "eager"})
    assert printed == "CUDA out of memory. Tried to allocate 237.54 GiB.\n[2.0, 2.0, 2.0]\n"


def test_random_numbers_are_in_their_ranges(run_forked):
    printed = run_forked(BEGINNING + """
z = torch.rand(100, device="cuda", dtype=torch.complex64)
print(z.real.min().item() >= 0, z.imag.max().item() < 1, z.imag.std().item() > 0.1)
for dtype, end in ((torch.int8, 2**7), (torch.uint8, 2**8), (torch.int64, 2**63), (torch.bool, 2), (torch.float32, 2**24 + 1)):
    drawn = torch.zeros(200, dtype=dtype, device="cuda").random_().cpu().double()
    print(drawn.min().item() >= 0, end / 3 < drawn.max().item() < end)

from torch.utils.checkpoint import checkpoint
x = torch.ones(50, device="cuda", requires_grad=True)
for reentrant in (True, False):
    x.grad = None
    kept = checkpoint(torch.nn.functional.dropout, x, use_reentrant=reentrant)
    kept.sum().backward()
    print(torch.equal(x.grad, kept))
""", {**ENV, "JTORCH_ENGINE": "auto"})
    assert printed == "True True True\n" + "True True\n" * 5 + "True\n" * 2


def test_ways_of_products_are_tried_out_for_large_programs_only():
    """Tuning takes seconds on a GPU, and its outcome may change between runs."""
    from jtorch.engine import cache, policy
    from jtorch.engine.threads import ELSEWHERE
    product, convolution = "stablehlo.dot_general", "stablehlo.convolution"
    options = [[cache._options(text, ELSEWHERE, "gpu", tries) for text in (product, convolution)] for tries in (True, False)]
    assert options == [[{}, {}], [{"xla_gpu_autotune_level": 0, "xla_gpu_enable_triton_gemm": False},
                                  {"xla_gpu_deterministic_ops": True}]]
    assert cache._options(product, ELSEWHERE, "cpu", False) == cache._options(product, ELSEWHERE, "cpu", True)
    assert policy.is_worth_trying(5.0)
    assert not policy.is_worth_trying(0.05)


def test_a_small_program_is_not_worth_trying(run_forked):
    printed = run_forked(BEGINNING + """
from jtorch.engine import cache
tried, options = [], cache._options
cache._options = lambda text, on, platform, tries: tried.append(tries) or options(text, on, platform, tries)
x = torch.ones(8, 8, device="cuda")
for _ in range(80):
    ((x @ x).relu() + 1).sum().item()
print(len(tried) > counters.kernels > 0, any(tried), counters.programs)
""", {**ENV, "JTORCH_ENGINE": "auto"})
    assert printed == "True False 1\n"
