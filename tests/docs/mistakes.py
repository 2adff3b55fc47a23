"""The common mistakes of tutorials and ports: the code, its message, and the fix.

test_messages.py runs each mistake. ``python -m tools.messages`` prints the mistakes as docs/messages.md.
"""
from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Mistake:
    """Code that raises or warns. ``says`` is in its message or note, and ``instead`` is code that runs."""

    title: str
    wrong: str
    says: str
    instead: str


LEARNING = (
    Mistake("A second backward through the same graph",
            "w = torch.ones(2, requires_grad=True)\nloss = (w ** 2).sum()\nloss.backward()\nloss.backward()",
            "Specify retain_graph=True",
            "w = torch.ones(2, requires_grad=True)\nloss = (w ** 2).sum()\nloss.backward(retain_graph=True)\nloss.backward()"),
    Mistake("Writing to a parameter",
            "w = torch.ones(2, requires_grad=True)\nw -= 0.1",
            "with torch.no_grad()",
            "w = torch.ones(2, requires_grad=True)\nwith torch.no_grad():\n    w -= 0.1"),
    Mistake("Writing to what backward needs",
            "w = torch.ones(2, requires_grad=True)\ny = w.exp()\ny += 1\ny.sum().backward()",
            "Write y = y + 1",
            "w = torch.ones(2, requires_grad=True)\ny = w.exp()\ny = y + 1\ny.sum().backward()"),
    Mistake("Backward from more than one value",
            "w = torch.ones(2, requires_grad=True)\n(w * 2).backward()",
            "loss.mean().backward()",
            "w = torch.ones(2, requires_grad=True)\n(w * 2).mean().backward()"),
    Mistake("A loss without a history",
            "w = torch.ones(2, requires_grad=True)\n(w.detach() ** 2).sum().backward()",
            "requires a gradient",
            "w = torch.ones(2, requires_grad=True)\n(w ** 2).sum().backward()"),
    Mistake("A tensor in an `if`",
            "x = torch.tensor([1.0, -1.0])\nif x > 0:\n    x = -x",
            ".any() or .all()",
            "x = torch.tensor([1.0, -1.0])\nx = torch.where(x > 0, -x, x)"),
    Mistake("Sizes that do not fit a layer",
            "torch.nn.Linear(8, 2)(torch.ones(3, 5))",
            "takes inputs of in_features columns",
            "torch.nn.Linear(5, 2)(torch.ones(3, 5))"),
    Mistake("Classes of the wrong type",
            "target = torch.tensor([0, 1], dtype=torch.int32)\ntorch.nn.functional.cross_entropy(torch.ones(2, 3), target)",
            "target.long()",
            "target = torch.tensor([0, 1], dtype=torch.int32)\ntorch.nn.functional.cross_entropy(torch.ones(2, 3), target.long())"),
    Mistake("Tensors on two devices",
            'torch.ones(3) + torch.ones(3, device="meta")',
            "b.to(a.device)",
            'a, b = torch.ones(3, device="meta"), torch.ones(3)\na + b.to(a.device)'),
    Mistake("The schedule before the optimizer",
            "w = torch.ones(2, requires_grad=True)\noptimizer = torch.optim.SGD([w], lr=0.1)\n"
            "schedule = torch.optim.lr_scheduler.StepLR(optimizer, 10)\nschedule.step()\noptimizer.step()",
            "`optimizer.step()` before `lr_scheduler.step()`",
            "w = torch.ones(2, requires_grad=True)\noptimizer = torch.optim.SGD([w], lr=0.1)\n"
            "schedule = torch.optim.lr_scheduler.StepLR(optimizer, 10)\noptimizer.step()\nschedule.step()"),
)

PORTING = (
    Mistake("A NumPy array given for a tensor",
            "torch.nn.Linear(3, 1)(np.ones(3))",
            "torch.from_numpy(array)",
            "torch.nn.Linear(3, 1)(torch.from_numpy(np.ones(3, np.float32)))"),
    Mistake("Data of float64, weights of float32",
            "torch.nn.Linear(3, 1)(torch.from_numpy(np.ones(3)))",
            "x.to(weight.dtype)",
            "torch.nn.Linear(3, 1)(torch.from_numpy(np.ones(3)).float())"),
    Mistake("A JAX array given for a tensor",
            "torch.sin(jax.numpy.ones(3))",
            "torch.from_jax(array)",
            "torch.sin(torch.from_jax(jax.numpy.ones(3)))"),
    Mistake("Python's `if` under `jax.jit`",
            "def positive(x):\n    x = torch.from_jax(x)\n    return (x if x.sum() > 0 else -x).jax()\n\n\njax.jit(positive)(jax.numpy.ones(3))",
            "torch.where(condition, a, b)",
            "def positive(x):\n    x = torch.from_jax(x)\n    return torch.where(x.sum() > 0, x, -x).jax()\n\n\n"
            "jax.jit(positive)(jax.numpy.ones(3))"),
    Mistake("A GPU that is not there",
            'torch.ones(3, device="cuda")',
            "torch.cuda.is_available()",
            'torch.ones(3, device=torch.device("cuda" if torch.cuda.is_available() else "cpu"))'),
    Mistake("Arithmetic of quantized tensors",
            "torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.qint8) + 1",
            "x.dequantize() is a tensor of floats",
            "integers = torch.tensor([10, 20], dtype=torch.int8)\n"
            "torch.ops.quantized_decomposed.dequantize_per_tensor(integers, 0.1, 0, -128, 127, torch.int8) + 1"),
    Mistake("Nested tensors of the strided layout",
            "torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])",
            "layout=torch.jagged",
            "torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], layout=torch.jagged)"),
    Mistake("A library of operators compiled for PyTorch",
            'torch.ops.load_library("operators.so")',
            "jax.ffi",
            '@torch.library.custom_op("mine::twice", mutates_args=())\ndef twice(x: torch.Tensor) -> torch.Tensor:\n    return x * 2\n\n\n'
            "torch.ops.mine.twice(torch.ones(3))"),
    Mistake("NCCL",
            'store = torch.distributed.HashStore()\ntorch.distributed.init_process_group("nccl", store=store, rank=0, world_size=1)',
            'backend="gloo"',
            'store = torch.distributed.HashStore()\ntorch.distributed.init_process_group("gloo", store=store, rank=0, world_size=1)\n'
            "torch.distributed.destroy_process_group()"),
    Mistake("A checkpoint that holds more than tensors",
            "file = io.BytesIO()\ntorch.save(fractions.Fraction(1, 2), file)\nfile.seek(0)\ntorch.load(file)",
            "weights_only",
            "file = io.BytesIO()\ntorch.save(fractions.Fraction(1, 2), file)\nfile.seek(0)\ntorch.load(file, weights_only=False)"),
)
