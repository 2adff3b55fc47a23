"""Public docstrings describe arguments, shapes, results and errors, and have examples that run and print the
documented text.
"""
from __future__ import annotations

import contextlib
import doctest
import enum
import importlib
import inspect
import io
import warnings
from typing import Any

import numpy as np
import pytest

import jtorch as torch
from jtorch._api.op_docs import text_of
from jtorch.ops.registry import OPS

# Namespaces with the names to check; None means all public names.
SPACES: dict[str, tuple[str, ...] | None] = {
    "nn": None, "optim": None, "optim.lr_scheduler": None, "optim.swa_utils": None, "func": None, "amp": None,
    "autograd": None, "autograd.functional": None, "autograd.graph": None, "utils.checkpoint": None, "utils.data": None,
    "distributions": None, "distributions.kl": ("kl_divergence", "register_kl"), "distributions.transforms": None,
    "distributions.utils": ("broadcast_all", "logits_to_probs", "probs_to_logits", "tril_matrix_to_vec", "vec_to_tril_matrix"),
    "engine": ("forget", "get_cache_dir", "report", "set_cache_dir", "synchronize", "trace"),
    "serialization": ("add_safe_globals", "load", "save"),
    "sparse": ("addmm", "mm", "softmax", "sum"),
    "fx": ("Graph", "Interpreter", "Tracer", "Transformer", "replace_pattern", "symbolic_trace", "wrap"),
    "export": ("export",),
    "distributed.tensor": ("DTensor", "distribute_module", "distribute_tensor"),
    "utils._pytree": ("register_pytree_node", "tree_flatten", "tree_map"),
    "utils.safetensors": ("load", "load_file", "save", "save_file"),
}
OF_OTHERS = {"Any", "Callable", "Sequence", "Iterable", "NamedTuple", "Optimizer"}

# Maps (section, name) to the reason why the docstring of that name needs no such section.
NOT_SAID = {
    ("Example", "autograd.NestedIOFunction"): "it is not built",
    ("Example", "func.rearrange"): "it is not built",
    ("Example", "utils.checkpoint.CheckpointFunction"): "the node's class, which is not called by users",
    ("Example", "autograd.enforce_grad_layout_policy"): "it does nothing",
    ("Example", "autograd.set_multithreading_enabled"): "it does nothing",
    ("Args", "autograd.NestedIOFunction"): "it is not built",
    ("Args", "func.rearrange"): "it is not built",
    ("Args", "utils.checkpoint.CheckpointPolicy"): "its members are given, not made",
    ("Args", "autograd.graph.Node"): "users do not make it",
    ("Returns", "func.rearrange"): "it is not built",
}


def objects() -> dict[str, Any]:
    """Return the public classes and functions by name."""
    found: dict[str, Any] = {}
    for space, chosen in SPACES.items():
        module = importlib.import_module(f"jtorch.{space}")
        names = chosen or getattr(module, "__all__", None) or [n for n in vars(module) if not n.startswith("_")]
        for name in names:
            thing = getattr(module, name, None)
            here = getattr(thing, "__module__", "").startswith("jtorch")
            if not name.startswith("_") and here and (inspect.isclass(thing) or inspect.isfunction(thing)) \
                    and (name not in OF_OTHERS or space == "optim"):
                found[f"{space}.{name}"] = thing
    return found


OBJECTS = objects()


def doc_of(thing: Any) -> str:
    """Return a docstring of its own, not that of a base class."""
    return (thing.__dict__.get("__doc__") if inspect.isclass(thing) else thing.__doc__) or ""


def has_parameters(thing: Any) -> bool:
    if inspect.isclass(thing) and (issubclass(thing, (enum.Enum, BaseException)) or "__init__" not in vars(thing)) \
            and not _inherits_parameters(thing):
        return False
    with contextlib.suppress(ValueError, TypeError):
        given = inspect.signature(thing.__init__ if inspect.isclass(thing) else thing).parameters.values()
        return any(p.name != "self" and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD) and not p.name.startswith("_") for p in given)
    return False


def _inherits_parameters(thing: type) -> bool:
    return issubclass(thing, (torch.nn.Module, torch.optim.Optimizer, torch.optim.lr_scheduler.LRScheduler))


def returns_something(thing: Any) -> bool:
    annotation = inspect.signature(thing).return_annotation if inspect.isfunction(thing) else "None"
    return annotation not in ("None", None, inspect.Signature.empty)


def required(name: str, thing: Any) -> dict[str, str]:
    """Return the sections that apply, with their titles."""
    wanted = {"Example": ">>>"}
    if has_parameters(thing):
        wanted["Args"] = "Args:"
    if returns_something(thing) and not is_decorator(name):
        wanted["Returns"] = "Returns:"
    if inspect.isclass(thing) and issubclass(thing, torch.nn.Module):
        wanted["Shape"] = "Shape"
    if inspect.isclass(thing) and issubclass(thing, torch.optim.Optimizer) and thing is not torch.optim.Optimizer:
        wanted["Raises"] = "Raises:"
    return {section: title for section, title in wanted.items() if (section, name) not in NOT_SAID}


def is_decorator(name: str) -> bool:
    """Return whether a thing is a context manager and a decorator, shown by its example."""
    return name.rpartition(".")[2] in ("no_grad", "enable_grad")


@pytest.mark.parametrize("name", OBJECTS)
def test_docstring_is_complete(name):
    doc = doc_of(OBJECTS[name])
    missing = [section for section, title in required(name, OBJECTS[name]).items() if title not in doc]
    assert doc and not missing, f"the docstring of {name} lacks {', '.join(missing)}"


def test_what_is_said_is_counted():
    """The counts only grow: sections that many docstrings have and not all can have (errors, sources of formulas)."""
    docs = [doc_of(thing) for thing in OBJECTS.values()]
    raises, sources = sum(["Raises" in d for d in docs]), sum(["Source:" in d or "arXiv" in d for d in docs])
    assert len(docs) >= LEAST["objects"]
    assert raises >= LEAST["errors"]
    assert sources >= LEAST["sources"]


LEAST = {"objects": 385, "errors": 182, "sources": 30}


def test_no_exception_is_left_over():
    needless = [(section, name) for section, name in NOT_SAID if name not in OBJECTS]
    assert not needless


# ---------------------------------------------------------------- examples

RUNNER = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
LIBRARIES = {"optim.Optax": "optax", **{f"utils.safetensors.{name}": "safetensors" for name in ("load", "load_file", "save", "save_file")}}


@pytest.mark.parametrize("name", [n for n, thing in OBJECTS.items() if ">>>" in doc_of(thing)])
def test_example(name):
    if name in LIBRARIES:
        pytest.importorskip(LIBRARIES[name])
    scope = {"torch": torch, "jtorch": torch, "nn": torch.nn, "F": torch.nn.functional, "np": np, "warnings": warnings}
    printed = io.StringIO()
    with warnings.catch_warnings(action="ignore"):
        test = doctest.DocTestParser().get_doctest(inspect.cleandoc(doc_of(OBJECTS[name])), scope, name, None, 0)
        failed = RUNNER.run(test, out=printed.write).failed
    assert test.examples
    assert failed == 0, printed.getvalue()


# ---------------------------------------------------------------- families of modules, and ops

def test_families_have_their_own_words():
    assert "of windows over two dimensions" in torch.nn.MaxPool2d.__doc__
    assert "(N, C, H, W) or (C, H, W)" in torch.nn.MaxPool2d.__doc__
    assert "(N, C, D, H, W)" in torch.nn.Conv3d.__doc__ or "(N, in_channels, D, H, W)" in torch.nn.Conv3d.__doc__

    class Mine(torch.nn.Conv2d):
        """Mine."""
    assert Mine.__doc__ == "Mine."


@pytest.mark.parametrize("name", OPS)
def test_docstring_of_an_op_follows_from_its_record(name):
    op = OPS[name]
    text = text_of(op)
    assert text.startswith(f"{name}(") and op.doc in text
    assert "Gradient:" in text
    assert all(f"\n    {p.name} (" in text for p in op.params)
    assert ("Dtype:" in text) >= (op.promote is not None)


def test_help_shows_the_whole_docstring():
    shown = inspect.getdoc(torch.add)
    assert shown == text_of(OPS["add"]).strip()
    for part in ("add(input, other, *, alpha=1, out=None)", "Add ``alpha`` times ``other``", "broadcast", "torch.result_type",
                 "RuntimeError: shapes that do not broadcast", "Tensor.add_"):
        assert part in shown
    assert str(torch.add.__doc__) == text_of(OPS["add"])
    assert "\n    A view, which shares memory" in inspect.getdoc(torch.t)
    assert "None: the result does not require grad." in inspect.getdoc(torch.eq)


def test_docstrings_of_ops_are_made_when_they_are_shown(run_python):
    counted = "from jtorch._api.op_docs import text_of; import jtorch; print(text_of.cache_info().currsize)"
    assert int(run_python(counted)) == 0
