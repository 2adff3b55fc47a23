"""Checks of moves between devices, of new tensors on a device, and of errors for mixed devices."""
from __future__ import annotations

from typing import Any

from tools.gpu.checks import Check
from tools.gpu.expect import equal, raises, true

_MIXED = "Expected all tensors to be on the same device"


def _there_and_back(torch: Any) -> None:
    x = torch.arange(6.0).reshape(2, 3)
    for moved in (x.to("cuda"), x.cuda(), x.to(torch.device("cuda", 0)), x.to("cuda", non_blocking=True)):
        equal((str(moved.device), moved.is_cuda, moved.get_device()), ("cuda:0", True, 0))
        equal(moved.cpu().tolist(), x.tolist())
    equal(str(x.cuda().cpu().device), "cpu")


def _no_copy(torch: Any) -> None:
    x = torch.ones(2, device="cuda")
    true(x.to("cuda") is x and x.cuda() is x, "a tensor that is there already is not copied")
    true(x.to("cuda", copy=True) is not x, "copy=True copies")


def _dtype_too(torch: Any) -> None:
    x = torch.tensor([1.5, -2.5]).to("cuda", torch.float16)
    equal((str(x.device), x.dtype, x.tolist()), ("cuda:0", torch.float16, [1.5, -2.5]))


def _made_there(torch: Any) -> None:
    for make in (torch.zeros, torch.ones, torch.empty, torch.rand, torch.randn):
        equal(str(make(3, device="cuda").device), "cuda:0")
    equal(torch.arange(4, device="cuda").tolist(), [0, 1, 2, 3])
    x = torch.tensor([1, 2], device="cuda")
    for like in (torch.zeros_like(x), x.new_ones(2), x[0], x + 1):
        equal(str(like.device), "cuda:0")


def _default_device(torch: Any) -> None:
    with torch.device("cuda"):
        equal((str(torch.ones(2).device), str(torch.nn.Linear(2, 2).weight.device)), ("cuda:0", "cuda:0"))
    equal(str(torch.ones(2).device), "cpu")


def _large_on_the_cpu(torch: Any) -> None:
    x = torch.arange(2_000_000) * 2
    equal((str(x.device), x[-1].item(), {d.platform for d in x.jax().devices()}), ("cpu", 3_999_998, {"cpu"}))


def _mixed(torch: Any) -> None:
    here, there = torch.ones(2, 2), torch.ones(2, 2, device="cuda")
    for run in (lambda: here + there, lambda: there @ here, lambda: torch.cat([there, here]),
                lambda: torch.nn.functional.linear(there, here)):
        raises(RuntimeError, _MIXED, run)


def _module_elsewhere(torch: Any) -> None:
    model = torch.nn.Linear(2, 2).to("cuda")
    raises(RuntimeError, _MIXED, lambda: model(torch.ones(1, 2)))


def _numbers_go_along(torch: Any) -> None:
    x = torch.ones(2, device="cuda")
    y = x * torch.tensor(3.0) + torch.tensor(1.0)
    equal((y.tolist(), str(y.device)), ([4.0, 4.0], "cuda:0"))


def _numpy(torch: Any) -> None:
    raises(TypeError, "can't convert cuda:0 device type tensor to numpy.", torch.ones(2, device="cuda").numpy)


def _no_such_gpu(torch: Any) -> None:
    raises(RuntimeError, "CUDA error: invalid device ordinal", lambda: torch.ones(2, device="cuda:99"))


def _copy_between(torch: Any) -> None:
    x, y = torch.zeros(3), torch.arange(3.0, device="cuda")
    x.copy_(y)
    y[1:].copy_(torch.tensor([7.0, 8.0]))
    equal((x.tolist(), y.tolist()), ([0.0, 1.0, 2.0], [0.0, 7.0, 8.0]))


def _gradients(torch: Any) -> None:
    w, x = torch.ones(3, device="cuda", requires_grad=True), torch.arange(3.0, requires_grad=True)
    (w * x.to("cuda")).sum().backward()
    equal((str(w.grad.device), str(x.grad.device)), ("cuda:0", "cpu"))
    equal((w.grad.tolist(), x.grad.tolist()), ([0.0, 1.0, 2.0], [1.0, 1.0, 1.0]))


def _views(torch: Any) -> None:
    x = torch.zeros(2, 2, device="cuda")
    x[0] += 1
    x.T[1, 1] = 5.0
    equal(x.tolist(), [[1.0, 1.0], [0.0, 5.0]])


def _printed(torch: Any) -> None:
    equal(repr(torch.tensor([1.0, 2.0], device="cuda")), "tensor([1., 2.], device='cuda:0')")


CHECKS = [Check("a tensor goes to the GPU and back", _there_and_back), Check("to() copies only where it must", _no_copy),
          Check("device and dtype in one move", _dtype_too), Check("tensors made on the GPU", _made_there),
          Check("with torch.device('cuda')", _default_device), Check("large tensors of the CPU stay there", _large_on_the_cpu),
          Check("devices do not mix", _mixed), Check("a module on the GPU refuses an input of the CPU", _module_elsewhere),
          Check("0-dim tensors of the CPU go along", _numbers_go_along), Check("numpy() of the GPU's is refused", _numpy),
          Check("an index that is not there", _no_such_gpu), Check("copy_ between devices", _copy_between),
          Check("gradients stay on their device", _gradients), Check("writes through views", _views),
          Check("a tensor's text names the GPU", _printed)]
