"""torch.device, torch.cuda and torch.backends: against PyTorch's CPU build, and with made-up GPUs."""
from __future__ import annotations

import copy
import importlib
import pickle
import subprocess
import sys
import threading

import jax
import pytest
from bodies import written

import jtorch
from jtorch import backends, cuda, engine, version
from jtorch._base import late_bindings
from jtorch.backends import precision
from jtorch.device import device

devices = importlib.import_module("jtorch.device")     # The attribute jtorch.device is the class, not the module.

torch = pytest.importorskip("torch")

SPELLINGS = [
    lambda D: D('cpu'),
    lambda D: D('cuda'),
    lambda D: D('cuda:1'),
    lambda D: D('cuda', 1),
    lambda D: D('cpu', None),
    lambda D: D(type='cuda', index=1),
    lambda D: D('cuda', index=2),
    lambda D: D(type='cuda'),
    lambda D: D(D('cuda')),
    lambda D: D(device='cuda:1'),
    lambda D: D('meta'),
    lambda D: D('meta:0'),
    lambda D: D('xla'),
    lambda D: D('xla:0'),
    lambda D: D('mps'),
    lambda D: D('cpu:1'),
    lambda D: D('privateuseone'),
    lambda D: D(index=0, type='cuda'),
    lambda D: D(b'cuda'),
    lambda D: D('cuda', index=None),
    lambda D: D('cuda:127'),
    lambda D: str(D('cuda:1')),
    lambda D: str(D('cuda')),
    lambda D: D('cuda') == D('cuda:0'),
    lambda D: D('cuda') == 'cuda',
    lambda D: D('cpu') == D('cpu'),
    lambda D: D('cpu') != D('cpu'),
    lambda D: D('cpu').index,
    lambda D: D('cuda:3').index,
    lambda D: D('cuda:3').type,
    lambda D: len({D('cpu'), D('cpu')}),
    lambda D: D('foo'),
    lambda D: D(''),
    lambda D: D('cuda:x'),
    lambda D: D('cuda:'),
    lambda D: D('cuda:-1'),
    lambda D: D('cuda:01'),
    lambda D: D('cuda:1:2'),
    lambda D: D('CUDA'),
    lambda D: D(' cpu'),
    lambda D: D('cuda:0', 1),
    lambda D: D('cuda', '1'),
    lambda D: D('cuda', True),
    lambda D: D(-1),
    lambda D: D('cpu', -1),
    lambda D: D('cpu', -2),
    lambda D: D(D('cuda'), 1),
    lambda D: D(None),
    lambda D: D(1.0),
    lambda D: D(True),
    lambda D: D(),
    lambda D: D('cpu') < D('cuda'),
    lambda D: D('gpu'),
    lambda D: D('tpu'),
    lambda D: D('cuda', 1, 2),
    lambda D: D(index=1),
    lambda D: D('cuda', 1.5),
    lambda D: D(3, 1),
    lambda D: D(type=1),
    lambda D: D('foo:x'),
    lambda D: D('foo:1'),
    lambda D: D(':1'),
    lambda D: D('cuda', foo=1),
    lambda D: D('cuda', type='cpu'),
    lambda D: D('cuda', index='x'),
    lambda D: D('cpu:1', None),
    lambda D: D('1cpu'),
    lambda D: D('cuda_x'),
    lambda D: D('cuda x'),
    lambda D: D(2**70),
    lambda D: D('cuda', 2**70),
    lambda D: D('cuda:99999999999'),
    lambda D: D(type=None),
    lambda D: D('aaa', 0),
    lambda D: D([]),
    lambda D: setattr(D('cpu'), 'x', 1),
    lambda D: setattr(D('cpu'), 'type', 'cuda'),
    lambda D: D(foo=1),
    lambda D: D('cuda', 1, index=2),
]


def outcome(call, given):
    try:
        return repr(call(given))
    except Exception as error:
        return type(error), str(error).split("\n")[0]


@pytest.mark.parametrize("call", SPELLINGS, ids=written)
def test_spellings(call):
    assert outcome(call, device) == outcome(call, torch.device)


@pytest.mark.parametrize("call", [
    lambda D: D(0),
    lambda D: D(1),
    lambda D: D(device=0),
], ids=written)
@pytest.mark.skipif(jax.default_backend() != "cpu", reason="there is an accelerator")
def test_no_accelerator(call):
    assert outcome(call, device) == outcome(call, torch.device)


def test_one_object_each():
    d = device("cuda", 1)
    assert d is device("cuda:1") is copy.deepcopy(d) is copy.copy(d) is pickle.loads(pickle.dumps(d))


def test_import_starts_no_backend():
    code = ("import jtorch, jtorch.cuda, jtorch.backends, jtorch.version, jax._src.xla_bridge as bridge;"
            "jtorch.device('cuda:1'); jtorch.set_default_device('cuda');"
            "assert not bridge.backends_are_initialized()")
    subprocess.run([sys.executable, "-c", code], check=True)


# -- default device ---------------------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def defaults(monkeypatch):
    # PyTorch's own test tools, which tests/ops imports, freeze the flags of torch.backends.
    monkeypatch.setitem(torch.backends.flags_frozen.__globals__, "__allow_nonbracketed_mutation_flag", True)
    yield
    devices.set_default_device(None)


def test_default_device():
    assert devices.get_default_device() is device("cpu")
    devices.set_default_device("meta")
    assert devices.get_default_device() is devices.as_device(None) is device("meta")
    with device("cpu") as d:
        assert d is devices.default_device() is device("cpu")
        with device("cuda:3"), device("cuda:3"):
            assert devices.default_device() is device("cuda:3")
        assert devices.default_device() is device("cpu")
        devices.set_default_device("meta")
        assert devices.default_device() is device("meta")
    devices.set_default_device(None)
    assert devices.default_device() is device("cpu")


def test_default_device_is_per_thread():
    devices.set_default_device("meta")
    seen = []
    thread = threading.Thread(target=lambda: seen.append(devices.default_device()))
    thread.start()
    thread.join()
    assert seen == [device("cpu")]


def test_as_device():
    assert devices.as_device("cuda:1") is device("cuda:1")
    with pytest.raises(TypeError, match=r"^ones\(\): argument 'device' must be torch.device, not float$"):
        devices.as_device(3.5, "ones")


# -- JAX's devices ----------------------------------------------------------------------------------------------------


def test_jax_device():
    assert devices.jax_device(device("cpu")) == jax.local_devices(backend="cpu")[0]
    assert devices.jax_device(device("xla")) == jax.local_devices()[0]
    assert devices.canonical(device("xla")) is device("xla:0")
    assert devices.canonical(device("cpu:0")) is device("cpu")
    assert devices.canonical(device("meta:1")) is device("meta")
    assert devices.of_jax(jax.local_devices(backend="cpu")[0]) is device("cpu")
    with pytest.raises(RuntimeError, match="invalid device ordinal"):
        devices.jax_device(device("xla:9999"))


@pytest.mark.skipif(jax.default_backend() != "cpu", reason="there is an accelerator")
@pytest.mark.parametrize("name", ["cuda", "cuda:3", "mps", "vulkan", "xpu", "hip"])
def test_absent_devices(name):
    with pytest.raises(Exception) as theirs:
        torch.ones(1).to(name)
    for use in (devices.jax_device, devices.canonical):
        with pytest.raises(type(theirs.value)) as ours:
            use(device(name))
        assert str(ours.value) == str(theirs.value)


def test_several_cpus(fake_devices):
    cpus = fake_devices(cpu=3)
    assert devices.jax_device(device("cpu")) is devices.jax_device(device("cpu:0")) is cpus[0]
    assert devices.jax_device(device("cpu:2")) is cpus[2]
    assert devices.canonical(device("cpu:2")) is device("cpu:2")
    assert devices.of_jax(cpus[2]) is device("cpu:2")
    with pytest.raises(RuntimeError, match="invalid device ordinal"):
        devices.canonical(device("cpu:3"))


def test_one_cpu_has_every_index(fake_devices):
    cpus = fake_devices(cpu=1)
    assert devices.jax_device(device("cpu:5")) is cpus[0]
    assert devices.canonical(device("cpu:5")) is device("cpu")


def test_gpus(fake_devices):
    gpus = fake_devices(gpu=2)
    assert device(1) is device("cuda:1")
    assert devices.canonical(device("cuda")) is device("cuda:0")
    assert devices.jax_device(device("cuda:1")) is gpus[1]
    with cuda.device(1):
        assert devices.jax_device(device("cuda")) is gpus[1]
        assert devices.canonical(device("cuda")) is device("cuda:1")
    assert devices.jax_device(device("cuda")) is gpus[0]
    assert devices.of_jax(gpus[1]) is device("cuda:1")
    with pytest.raises(RuntimeError, match="CUDA error: invalid device ordinal"):
        devices.jax_device(device("cuda:2"))


def test_other_accelerators(fake_devices):
    (tpu,) = fake_devices(tpu=1)
    assert device(0) is device("xla:0")
    assert devices.jax_device(device("xla")) is tpu
    assert devices.of_jax(tpu) is device("xla:0")


# -- torch.cuda -------------------------------------------------------------------------------------------------------


class FakeDevice:
    device_kind, compute_capability, core_count = "NVIDIA H100 80GB HBM3", "9.0", 132

    def __init__(self, platform, index):
        self.platform, self.id, self.in_use, self.peak = platform, index, 1000, 5000

    def memory_stats(self):
        return {"bytes_in_use": self.in_use, "peak_bytes_in_use": self.peak, "bytes_limit": 10_000, "pool_bytes": 8000,
                "peak_pool_bytes": 8000, "num_allocs": 12, "largest_alloc_size": 700}


@pytest.fixture
def fake_devices(monkeypatch):
    def install(**counts):
        engine.end()        # Calls deferred by earlier tests belong to the real devices.
        made = {kind: tuple(FakeDevice(kind, i) for i in range(n)) for kind, n in counts.items()}
        found = {"cpu": made.get("cpu", ()), "cuda": made.get("gpu", ())}
        found["xla"] = made.get("tpu") or found["cuda"] or found["cpu"]
        monkeypatch.setattr(devices, "_JAX_DEVICES", {"mps": (), **found})
        monkeypatch.setattr(devices, "_RESOLVED", {})
        monkeypatch.setattr(cuda, "_peaks_at_reset", {})
        monkeypatch.setattr(cuda, "_driver_memory", lambda index: None)
        monkeypatch.setattr(cuda, "_wait_for", lambda jax_device: None)
        return found["xla"]

    yield install
    devices.set_current_cuda_index(0)


WITHOUT_A_GPU = [
    lambda c: c.is_available(),
    lambda c: c.device_count(),
    lambda c: c.current_device(),
    lambda c: c.set_device(-1),
    lambda c: c.get_device_name(),
    lambda c: c.get_device_properties(0),
    lambda c: c.get_device_capability(),
    lambda c: c.synchronize(),
    lambda c: c.memory_allocated(),
    lambda c: c.memory_reserved(),
    lambda c: c.max_memory_allocated(),
    lambda c: c.max_memory_reserved(),
    lambda c: c.memory_stats(),
    lambda c: c.mem_get_info(),
    lambda c: c.empty_cache(),
    lambda c: c.Event(),
    lambda c: c.Stream(),
    lambda c: c.current_stream(),
    lambda c: c.default_stream(),
    lambda c: c.manual_seed(1),
    lambda c: c.manual_seed_all(1),
    lambda c: c.seed(),
    lambda c: c.seed_all(),
    lambda c: c.initial_seed(),
    lambda c: c.get_rng_state(),
    lambda c: c.get_rng_state_all(),
    lambda c: c.is_initialized(),
    lambda c: c.init(),
    lambda c: c.ipc_collect(),
    lambda c: c.is_bf16_supported(),
    lambda c: c.is_tf32_supported(),
    lambda c: c.get_arch_list(),
    lambda c: c.device('cpu'),
    lambda c: c.set_device('cpu'),
    lambda c: c.set_device('foo'),
    lambda c: c.can_device_access_peer(0, 1),
    lambda c: c.set_per_process_memory_fraction(0.5),
    lambda c: c.host_memory_stats(),
    lambda c: c.get_device_name('cpu'),
    lambda c: c.default_generators,
    lambda c: c.get_gencode_flags(),
]


@pytest.mark.parametrize("call", WITHOUT_A_GPU, ids=written)
def test_cuda_without_a_gpu(call, fake_devices):
    fake_devices(cpu=1)
    assert outcome(call, cuda) == outcome(call, torch.cuda)


def test_cuda_without_a_gpu_contexts(fake_devices):
    fake_devices(cpu=1)
    with cuda.stream(None), cuda.device(None), cuda.device(-1):
        pass
    with pytest.raises(RuntimeError, match="PyTorch was compiled without CUDA support"), cuda.device(0):
        pass
    with pytest.raises(AssertionError, match="Torch not compiled with CUDA enabled"):
        cuda.set_device(0)
    with pytest.raises(AssertionError, match="Torch not compiled with CUDA enabled"):
        cuda.reset_peak_memory_stats()


def test_cuda_devices(fake_devices):
    fake_devices(gpu=2)
    assert cuda.is_available()
    assert cuda.device_count() == 2
    assert cuda.current_device() == 0
    with cuda.device("cuda:1"):
        assert cuda.current_device() == 1
        with cuda.device(None), cuda.device(-1):
            assert cuda.current_device() == 1
    assert cuda.current_device() == 0
    cuda.set_device(device("cuda:1"))
    assert cuda.current_device() == 1
    with pytest.raises(RuntimeError, match="invalid device ordinal"):
        cuda.set_device(7)
    with pytest.raises(ValueError, match="Expected a torch.device with a specified index or an integer, but got:cuda"):
        cuda.set_device("cuda")
    assert cuda.get_device_name(0) == FakeDevice.device_kind
    assert cuda.get_device_capability() == (9, 0)
    properties = cuda.get_device_properties("cuda:1")
    assert (properties.major, properties.minor, properties.multi_processor_count) == (9, 0, 132)
    assert properties.total_memory == 10_000
    assert "NVIDIA H100" in repr(properties)
    with pytest.raises(AssertionError, match="Invalid device id"):
        cuda.get_device_properties(2)
    assert cuda.is_bf16_supported()


def test_cuda_memory(fake_devices):
    gpus = fake_devices(gpu=1)
    assert cuda.memory_allocated() == 1000
    assert cuda.max_memory_allocated() == 5000
    assert cuda.memory_reserved() == cuda.max_memory_reserved() == 8000
    assert cuda.mem_get_info() == (9000, 10_000)
    cuda.reset_peak_memory_stats()
    assert cuda.max_memory_allocated() == 1000
    gpus[0].in_use = 3000
    assert cuda.max_memory_allocated() == 3000
    gpus[0].in_use, gpus[0].peak = 10, 6000
    assert cuda.max_memory_allocated() == 6000
    assert cuda.memory_stats()["allocated_bytes.all.peak"] == 6000
    assert "Allocated memory" in cuda.memory_summary()


def test_cuda_streams_and_events(fake_devices):
    fake_devices(gpu=2)
    stream = cuda.Stream()
    assert stream.query()
    assert cuda.current_stream() == cuda.default_stream()
    with cuda.stream(stream):
        assert cuda.current_stream() is stream
        assert cuda.current_stream(1) != stream
    assert cuda.current_stream() == cuda.default_stream()
    stream.wait_stream(cuda.current_stream())
    start, end = cuda.Event(enable_timing=True), cuda.Event(enable_timing=True)
    with pytest.raises(ValueError, match="Both events must be recorded before calculating elapsed time"):
        start.elapsed_time(end)
    start.record()
    end.record(stream)
    end.synchronize()
    assert 0 <= start.elapsed_time(end) < 1000
    assert start.query()
    with pytest.raises(ValueError, match="Both events must be created with argument 'enable_timing=True'"):
        start.elapsed_time(stream.record_event())


class FakeGenerator:
    def __init__(self, where):
        self.device, self.value = where, 0

    def manual_seed(self, seed):
        self.value = seed

    def seed(self):
        self.value = 42
        return self.value

    def initial_seed(self):
        return self.value

    def get_state(self):
        return self.value

    def set_state(self, state):
        self.value = state


def test_cuda_seeds(fake_devices, monkeypatch):
    fake_devices(gpu=2)
    monkeypatch.setattr(cuda, "_generators", {})
    monkeypatch.setattr(late_bindings, "generator_of", FakeGenerator)
    first, second = cuda.default_generators
    assert (first.device, second.device) == (device("cuda:0"), device("cuda:1"))
    cuda.manual_seed(5)
    assert (first.value, second.value, cuda.initial_seed()) == (5, 0, 5)
    cuda.manual_seed_all(6)
    assert cuda.get_rng_state_all() == [6, 6]
    cuda.seed_all()
    assert (first.value, second.value) == (42, 42)
    cuda.set_rng_state(7, "cuda:1")
    assert (cuda.get_rng_state(), cuda.get_rng_state(1)) == (42, 7)


# -- torch.backends ---------------------------------------------------------------------------------------------------

QUESTIONS = [
    lambda b: b.cuda.is_built(),
    lambda b: b.cuda.matmul.allow_tf32,
    lambda b: b.cuda.matmul.allow_fp16_reduced_precision_reduction,
    lambda b: b.cuda.matmul.allow_bf16_reduced_precision_reduction,
    lambda b: b.cuda.matmul.allow_fp16_accumulation,
    lambda b: b.cuda.flash_sdp_enabled(),
    lambda b: b.cuda.mem_efficient_sdp_enabled(),
    lambda b: b.cuda.math_sdp_enabled(),
    lambda b: b.cuda.cudnn_sdp_enabled(),
    lambda b: b.cudnn.is_available(),
    lambda b: b.cudnn.version(),
    lambda b: b.cudnn.enabled,
    lambda b: b.cudnn.benchmark,
    lambda b: b.cudnn.deterministic,
    lambda b: b.cudnn.allow_tf32,
    lambda b: b.cudnn.benchmark_limit,
    lambda b: b.mps.is_available(),
    lambda b: b.mps.is_built(),
    lambda b: b.openmp.is_available.__name__,
    lambda b: b.mkldnn.enabled,
    lambda b: b.mkldnn.deterministic,
    lambda b: b.opt_einsum.is_available(),
    lambda b: b.opt_einsum.enabled,
    lambda b: b.opt_einsum.strategy,
    lambda b: b.cusparselt.is_available(),
    lambda b: b.fp32_precision,
    lambda b: b.cuda.matmul.fp32_precision,
    lambda b: b.mha.get_fastpath_enabled(),
    lambda b: b.flags_frozen(),
    lambda b: setattr(b.cudnn, 'benchmark', 3),
    lambda b: setattr(b.cudnn, 'enabled', 1),
    lambda b: setattr(b.cudnn, 'deterministic', None),
    lambda b: setattr(b.cuda.matmul, 'foo', 1),
    lambda b: setattr(b.cuda.matmul, 'allow_tf32', 3),
    lambda b: setattr(b.mkldnn, 'enabled', 1),
    lambda b: setattr(b.mkldnn, 'deterministic', 1),
    lambda b: setattr(b.cuda.matmul, 'fp32_precision', 'x'),
    lambda b: setattr(b.cuda.matmul, 'allow_fp16_accumulation', 1),
    lambda b: b.cuda.matmul.foo,
]


@pytest.mark.parametrize("question", QUESTIONS, ids=written)
def test_backends(question):
    assert outcome(question, backends) == outcome(question, torch.backends)


def test_flags_inside_a_block():
    with backends.cudnn.flags(enabled=True, benchmark=True, deterministic=True, allow_tf32=False):
        assert backends.cudnn.benchmark
        assert backends.cudnn.deterministic
        assert not backends.cudnn.allow_tf32
    assert (backends.cudnn.benchmark, backends.cudnn.deterministic, backends.cudnn.allow_tf32) == (False, False, True)
    backends.cudnn.benchmark = True
    assert backends.cudnn.benchmark
    assert backends.cudnn.set_flags(_benchmark=False)[:2] == (True, True)
    with backends.mkldnn.flags(enabled=False):
        assert not backends.mkldnn.enabled
    with backends.opt_einsum.flags(strategy="greedy"):
        assert backends.opt_einsum.strategy == "greedy"
    with pytest.raises(ValueError, match="must be one of"):
        backends.opt_einsum.set_flags(_strategy="auto-hq")
    backends.opt_einsum.strategy = "auto-hq"      # timm sets this strategy; jtorch ignores it.
    assert backends.opt_einsum.strategy == "auto-hq"
    backends.opt_einsum.strategy = "auto"


def test_matmul_precision_is_one_setting():
    assert precision.get_float32_matmul_precision() == torch.get_float32_matmul_precision() == "highest"
    try:
        for library, functions in ((backends, precision), (torch.backends, torch)):
            ask, choose = functions.get_float32_matmul_precision, functions.set_float32_matmul_precision
            library.cuda.matmul.allow_tf32 = True
            assert (ask(), library.cuda.matmul.fp32_precision) == ("high", "tf32")
            choose("medium")
            assert library.cuda.matmul.allow_tf32
            choose("highest")
            assert not library.cuda.matmul.allow_tf32
    finally:
        torch.set_float32_matmul_precision("highest")
    with pytest.warns(UserWarning, match="x is not one of 'highest', 'high', or 'medium'"):
        precision.set_float32_matmul_precision("x")


def test_version():
    ours = jtorch.__version__
    assert type(ours) is jtorch.torch_version.TorchVersion
    assert ours.startswith(torch.__version__.split("+")[0])
    assert version.cuda is None
    assert version.hip is None
    for other in ("2.0", "2.13.0", "2.13.0+cpu", "3.0", "1.10.0a0", "2.13.0rc1", "2.13.1", "2.14.0.dev20250101",
                  "parrot", (1, 10), (2, 13), (2, 13, 1), (3,)):
        for comparison in ("__lt__", "__le__", "__gt__", "__ge__", "__eq__"):
            theirs = getattr(torch.torch_version.TorchVersion("2.13.0+jtorch"), comparison)(other)
            assert getattr(ours, comparison)(other) == theirs, (comparison, other)
