"""Checks of torch.cuda: pinned memory, streams, events, memory functions, seeds."""
from __future__ import annotations

from typing import Any

from tools.gpu.checks import Check
from tools.gpu.expect import equal, raises, true


def _device(torch: Any) -> None:
    cuda = torch.cuda
    true(cuda.is_available() and cuda.device_count() >= 1, "there is a GPU")
    equal((cuda.current_device(), cuda.is_bf16_supported()), (0, True))
    true(isinstance(cuda.get_device_name(), str) and len(cuda.get_device_capability()) == 2, "it has a name and a capability")
    equal(torch.accelerator.current_accelerator(), torch.device("cuda"))


def _pinned(torch: Any) -> None:
    x = torch.arange(4.0).pin_memory()
    equal((x.tolist(), x.to("cuda", non_blocking=True).tolist()), ([0.0, 1.0, 2.0, 3.0],) * 2)


def _is_pinned(torch: Any) -> None:
    true(torch.ones(2).pin_memory().is_pinned(), "is_pinned() after pin_memory()")


def _streams(torch: Any) -> None:
    stream, before = torch.cuda.Stream(), torch.cuda.current_stream()
    with torch.cuda.stream(stream):
        equal(torch.cuda.current_stream(), stream)
        x = torch.ones(64, 64, device="cuda") @ torch.ones(64, 64, device="cuda")
    equal(torch.cuda.current_stream(), before)
    before.wait_stream(stream)
    stream.synchronize()
    equal((x[0, 0].item(), stream.query()), (64.0, True))


def _events(torch: Any) -> None:
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    raises(ValueError, "Both events must be recorded before calculating elapsed time", lambda: start.elapsed_time(end))
    start.record()
    x = torch.ones(256, 256, device="cuda") @ torch.ones(256, 256, device="cuda")
    end.record()
    end.synchronize()
    true(start.elapsed_time(end) > 0 and end.query() and x.is_cuda, "milliseconds between two events")
    torch.cuda.synchronize()


def _memory(torch: Any) -> None:
    cuda = torch.cuda
    before = cuda.memory_allocated()
    x = torch.ones(1 << 22, device="cuda") + 1
    x.jax()         # The read computes the value.
    cuda.synchronize()
    true(cuda.memory_allocated() - before >= 1 << 24, "16 MiB more are allocated")
    true(cuda.max_memory_allocated() >= cuda.memory_allocated(), "the peak is at least what there is")
    free, total = cuda.mem_get_info()
    true(0 < free < total, "a part of the memory is free")
    del x
    true(cuda.memory_allocated() - before < 1 << 24, "what is let go of is free again")


def _memory_calls(torch: Any) -> None:
    cuda = torch.cuda
    cuda.empty_cache()
    cuda.reset_peak_memory_stats()
    true("CUDA memory summary" in cuda.memory_summary() and cuda.memory_reserved() >= 0, "a summary")
    cuda.memory_stats()


def _out_of_memory(torch: Any) -> None:
    total = torch.cuda.mem_get_info()[1]
    raises(torch.cuda.OutOfMemoryError, "CUDA out of memory",
           lambda: torch.ones(total, device="cuda").sum().item())
    equal(torch.ones(2, device="cuda").tolist(), [1.0, 1.0])


def _seeds(torch: Any) -> None:
    def draw() -> list:
        return [torch.randn(4, device="cuda").tolist(), torch.rand(4, device="cuda").tolist(),
                torch.randperm(8, device="cuda").tolist(), torch.randint(9, (4,), device="cuda").tolist()]
    torch.manual_seed(3)
    first = draw()
    true(first != draw(), "the next numbers are others")
    torch.cuda.manual_seed_all(3)
    equal(draw(), first)
    equal(torch.cuda.initial_seed(), 3)


def _states(torch: Any) -> None:
    state = torch.cuda.get_rng_state()
    first = torch.randn(4, device="cuda").tolist()
    torch.cuda.set_rng_state(state)
    equal(torch.randn(4, device="cuda").tolist(), first)
    generator = torch.Generator("cuda").manual_seed(5)
    first = torch.randn(3, device="cuda", generator=generator).tolist()
    equal(torch.randn(3, device="cuda", generator=generator.manual_seed(5)).tolist(), first)


def _cpu_seeds_apart(torch: Any) -> None:
    torch.manual_seed(0)
    first = torch.randn(3).tolist()
    torch.manual_seed(0)
    torch.randn(5, device="cuda")
    equal(torch.randn(3).tolist(), first)


CHECKS = [Check("torch.cuda describes the GPU", _device), Check("pinned memory moves", _pinned),
          Check("is_pinned()", _is_pinned, "JAX pins what it copies from by itself; is_pinned() is always False"),
          Check("streams", _streams), Check("events", _events), Check("memory_allocated and its peak", _memory, needs_gpu=True),
          Check("the other memory functions", _memory_calls), Check("more memory than there is", _out_of_memory, needs_gpu=True),
          Check("seeds", _seeds), Check("states of generators", _states),
          Check("the CPU's numbers do not depend on the GPU's", _cpu_seeds_apart)]
