"""Whole modules, optimizers and schedulers, pickled under PyTorch's names: each library runs the other's."""
from __future__ import annotations

import pickle

import pytest
from checkpoints import DIRECTIONS, NEEDS_TORCH, both, loaded, saved
from libraries import library

IMAGE, ROWS = (2, 4, 6, 6), (3, 4)
MODULES = {
    "Linear(4, 2)": ROWS, "Bilinear(4, 4, 2)": (ROWS, ROWS), "Conv1d(4, 6, 3, groups=2)": (2, 4, 9),
    "Conv2d(4, 2, 3, padding=1)": IMAGE, "Conv2d(4, 2, 3, padding='same', padding_mode='circular')": IMAGE,
    "Conv3d(4, 2, 2)": (1, 4, 3, 3, 3), "BatchNorm1d(4)": ROWS, "BatchNorm2d(4, affine=False)": IMAGE, "LayerNorm(4)": ROWS,
    "GroupNorm(2, 4)": IMAGE, "MaxPool2d(2)": IMAGE, "AvgPool2d(2, 1)": IMAGE, "AdaptiveAvgPool2d((1, None))": IMAGE,
    "Dropout(0.5)": ROWS, "Flatten()": IMAGE, "Unflatten(1, (2, 2))": ROWS, "ReLU()": ROWS, "GELU(approximate='tanh')": ROWS,
    "LeakyReLU(0.1)": ROWS, "ELU()": ROWS, "Softmax(dim=1)": ROWS, "LogSoftmax(-1)": ROWS, "Sigmoid()": ROWS, "Tanh()": ROWS,
    "SiLU()": ROWS, "PReLU(4)": ROWS, "Hardtanh()": ROWS, "Softplus()": ROWS, "Threshold(0.1, 2.0)": ROWS, "Identity()": ROWS,
    "MSELoss()": (ROWS, ROWS), "SmoothL1Loss(beta=0.5)": (ROWS, ROWS), "CosineSimilarity()": (ROWS, ROWS),
    "Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 1))": ROWS,
}


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("spelled", MODULES)
def test_modules(direction, spelled):
    writer, reader = both(direction)
    made = eval(f"nn.{spelled}", {"nn": writer.nn})
    arrived = loaded(reader, saved(writer, made), weights_only=False)
    assert type(arrived) is getattr(reader.nn, spelled.split("(")[0])
    assert repr(arrived) == repr(made)
    shapes = MODULES[spelled] if isinstance(MODULES[spelled][0], tuple) else (MODULES[spelled],)
    results = []
    for xp, module in ((writer, made), (reader, arrived)):
        xp.manual_seed(1)
        results.append(module.eval()(*[xp.rand(*shape) for shape in shapes]))
    assert results[1].reshape(-1).tolist() == pytest.approx(results[0].reshape(-1).tolist(), rel=1e-4, abs=1e-5)


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("spelled", ["SGD(p, lr=0.1, momentum=0.9)", "Adam(p)", "AdamW(p, amsgrad=True)", "RMSprop(p)",
                                     "Adagrad(p)"])
def test_optimizers(direction, spelled):
    """An optimizer and its schedule are saved with the parameters. The next steps are the same in the other library."""
    writer, reader = both(direction)
    p = [writer.nn.Parameter(writer.arange(3.))]
    optimizer = eval(f"optim.{spelled}", {"optim": writer.optim, "p": p})
    schedule = writer.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)

    def steps(optimizer, schedule):
        for _ in range(2):
            for parameter in optimizer.param_groups[0]["params"]:
                parameter.grad = parameter.detach() * 2 + 1
            optimizer.step()
            schedule.step()
        return [*optimizer.param_groups[0]["params"][0].tolist(), optimizer.param_groups[0]["lr"]]
    steps(optimizer, schedule)
    data = saved(writer, {"optimizer": optimizer, "state": schedule.state_dict()})
    arrived = loaded(reader, data, weights_only=False)
    again = reader.optim.lr_scheduler.StepLR(arrived["optimizer"], 1, 0.5)
    again.load_state_dict(arrived["state"])
    for group, theirs in zip(arrived["optimizer"].param_groups, optimizer.param_groups, strict=True):
        group["lr"] = theirs["lr"]      # A new schedule has set its own first step.
    assert steps(arrived["optimizer"], again) == pytest.approx(steps(optimizer, schedule), rel=1e-4)


@NEEDS_TORCH
def test_every_class_has_pytorchs_name():
    """``add_safe_globals`` of PyTorch compares the module of a class."""
    from jtorch.serialization import names
    torch, jtorch = library("torch"), library("jtorch")
    wrong = {}
    for space, theirs in ((jtorch.nn, torch.nn), (jtorch.optim, torch.optim), (jtorch.optim.lr_scheduler, torch.optim.lr_scheduler),
                          (jtorch, torch)):
        for name, thing in vars(space).items():
            want = getattr(theirs, name, None)
            if not isinstance(thing, type) or not isinstance(want, type) or thing.__module__.split(".")[0] != "jtorch":
                continue
            # PyTorch cannot pickle memory_format; _LRScheduler is an alias in jtorch.
            if name in ("memory_format", "_LRScheduler"):
                continue
            found = names.torch_name(thing)
            module = {"torch._C": "torch"}.get(want.__module__, want.__module__)
            if found != (module, want.__qualname__) and getattr(__import__(found[0], fromlist=["x"]), found[1], None) is not want:
                wrong[name] = found, want
            if space is jtorch.nn and issubclass(want, torch.nn.Module) and found[0] != want.__module__:
                wrong[name] = found, want
    assert not wrong


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_functions(direction):
    writer, reader = both(direction)
    made = loaded(reader, saved(writer, [writer.nn.functional.relu, writer.nn.init.zeros_, writer.finfo]), weights_only=False)
    assert made == [reader.nn.functional.relu, reader.nn.init.zeros_, reader.finfo]


@NEEDS_TORCH
def test_builtin_functions_of_pytorch():
    torch, jtorch = library("torch"), library("jtorch")
    made = loaded(jtorch, saved(torch, [torch.relu, torch.nn.functional.gelu]), weights_only=False)
    assert made == [jtorch.relu, jtorch.nn.functional.gelu]


def test_a_module_can_be_allowed(xp):
    data = saved(xp, xp.nn.Linear(2, 1))
    with pytest.raises(pickle.UnpicklingError, match=r"GLOBAL torch\.nn\.modules\.linear\.Linear was not an allowed global"):
        loaded(xp, data)
    assert xp.serialization.get_unsafe_globals_in_checkpoint(__import__("io").BytesIO(data)) == ["torch.nn.modules.linear.Linear"]
    with xp.serialization.safe_globals([xp.nn.Linear]):
        assert xp.nn.Linear in xp.serialization.get_safe_globals()
        assert loaded(xp, data)(xp.ones(2)).shape == (1,)
    assert xp.nn.Linear not in xp.serialization.get_safe_globals()


def test_what_is_allowed_stays_allowed_until_it_is_cleared():
    xp = library("jtorch")
    xp.serialization.add_safe_globals([(xp.nn.ReLU, "torch.nn.modules.activation.ReLU")])
    assert type(loaded(xp, saved(xp, xp.nn.ReLU()))) is xp.nn.ReLU
    xp.serialization.clear_safe_globals()
    assert xp.serialization.get_safe_globals() == []


def test_what_is_missing_is_named():
    data = saved(library("jtorch"), library("jtorch").nn.ReLU()).replace(b"\nReLU\n", b"\nNeLU\n")
    with pytest.raises(RuntimeError, match="CRC"):
        loaded(library("jtorch"), data, weights_only=False)
    from jtorch.serialization import names
    with pytest.raises(AttributeError, match=r"jtorch has no torch\.nn\.modules\.activation\.NeLU"):
        names.find("torch.nn.modules.activation", "NeLU")
