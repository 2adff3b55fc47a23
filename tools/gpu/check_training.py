"""Checks of training on a GPU: compiled loops, AMP, a DataLoader, checkpoints."""
from __future__ import annotations

import io
from typing import Any

from tools.gpu.checks import Check
from tools.gpu.expect import equal, true


def _model(torch: Any) -> Any:
    torch.manual_seed(0)
    nn = torch.nn
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3)).to("cuda")


def _batch(torch: Any) -> tuple[Any, Any]:
    x = torch.linspace(-1, 1, 256).reshape(32, 8)
    return x.to("cuda"), (torch.arange(32) % 3).to("cuda")


def _loop(torch: Any) -> None:
    model, (x, y) = _model(torch), _batch(torch)
    optimizer, losses = torch.optim.Adam(model.parameters(), lr=1e-2), []
    for _ in range(40):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    true(losses[-1] < losses[0], f"the loss falls: from {losses[0]} to {losses[-1]}")
    equal({str(p.device) for p in model.parameters()}, {"cuda:0"})


def _same_as_on_the_cpu(torch: Any) -> None:
    model, (x, y) = _model(torch), _batch(torch)
    there = torch.nn.functional.cross_entropy(model(x), y).item()
    here = torch.nn.functional.cross_entropy(model.cpu()(x.cpu()), y.cpu()).item()
    true(abs(there - here) < 1e-2 * abs(here), f"{there} on the GPU, {here} on the CPU")


def _autocast(name: str) -> Any:
    def check(torch: Any) -> None:
        dtype, model, (x, y) = getattr(torch, name), _model(torch), _batch(torch)
        with torch.autocast("cuda", dtype=dtype):
            out = model(x)
            loss = torch.nn.functional.cross_entropy(out, y)
        equal((out.dtype, loss.dtype, model[0].weight.dtype), (dtype, torch.float32, torch.float32))
        loss.backward()
        equal(model[0].weight.grad.dtype, torch.float32)
        true(model[0].weight.grad.isfinite().all(), "finite gradients")
    return check


def _scaler(torch: Any) -> None:
    model, (x, y) = _model(torch), _batch(torch)
    optimizer, scaler, losses = torch.optim.SGD(model.parameters(), lr=0.1), torch.amp.GradScaler("cuda"), []
    for _ in range(20):
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = torch.nn.functional.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    true(losses[-1] < losses[0], f"the loss falls: from {losses[0]} to {losses[-1]}")


def _scaler_skips(torch: Any) -> None:
    w = torch.ones(2, device="cuda", requires_grad=True)
    optimizer, scaler = torch.optim.SGD([w], lr=1.0), torch.amp.GradScaler("cuda", init_scale=1024.0)
    scaler.scale((w * float("inf")).sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    equal((w.tolist(), scaler.get_scale()), ([1.0, 1.0], 512.0))
    optimizer.zero_grad()
    scaler.scale(w.sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    equal((w.tolist(), scaler.get_scale()), ([0.0, 0.0], 512.0))


def _loader(pin: bool) -> Any:
    def check(torch: Any) -> None:
        data = torch.utils.data
        dataset = data.TensorDataset(torch.arange(20.0).reshape(10, 2), torch.arange(10))
        seen = []
        for x, y in data.DataLoader(dataset, batch_size=4, pin_memory=pin):
            x, y = x.to("cuda", non_blocking=True), y.cuda(non_blocking=True)
            equal((str(x.device), str(y.device), x[:, 0].tolist()), ("cuda:0", "cuda:0", [2.0 * n for n in y.tolist()]))
            seen += y.tolist()
        equal(seen, list(range(10)))
    return check


def _checkpoint(torch: Any) -> None:
    model, file = _model(torch), io.BytesIO()
    torch.save(model.state_dict(), file)
    for place, wanted in ((None, "cuda:0"), ("cpu", "cpu"), ("cuda", "cuda:0")):
        file.seek(0)
        loaded = torch.load(file, map_location=place)
        equal({str(t.device) for t in loaded.values()}, {wanted})
        equal(loaded["2.bias"].tolist(), model[2].bias.tolist())


def _optimizer_state(torch: Any) -> None:
    model, (x, _) = _model(torch), _batch(torch)
    optimizer = torch.optim.Adam(model.parameters())
    model(x).sum().backward()
    optimizer.step()
    equal({str(s["exp_avg"].device) for s in optimizer.state.values()}, {"cuda:0"})


CHECKS = [Check("a training loop", _loop), Check("a model computes as on the CPU", _same_as_on_the_cpu),
          Check("autocast with bfloat16", _autocast("bfloat16")), Check("autocast with float16", _autocast("float16")),
          Check("GradScaler with float16", _scaler), Check("GradScaler skips steps that are not finite", _scaler_skips),
          Check("a DataLoader's batches to the GPU", _loader(False)), Check("a DataLoader with pin_memory", _loader(True)),
          Check("checkpoints and map_location", _checkpoint), Check("an optimizer's state lies on the GPU", _optimizer_state)]
