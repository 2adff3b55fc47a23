"""Every module in PyTorch's own database of modules: initial weights, text, result, gradients and state.

A run takes some inputs of each module, chosen by the seed in the header (``--matrix-seed`` repeats a run, ``--lane nightly`` takes all).
"""
from __future__ import annotations

import functools
import random
import re
import warnings
from typing import Any

import pytest
from libraries import HAS_TORCH, library
from ops.translate import Translator, Unsupported, difference, differences, tensors

pytestmark = [pytest.mark.conformance, pytest.mark.filterwarnings("ignore")]
SAMPLES = 2             # Number of inputs per module, unless all are taken.


@functools.cache
def database() -> dict[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from torch.testing._internal.common_modules import module_db
    return {info.name.removeprefix("nn."): info for info in module_db}


class Modules(Translator):
    """Translates arguments of modules other than tensors: modules and packed sequences."""

    def value(self, v: Any) -> Any:
        torch = self.torch
        if isinstance(v, torch.nn.utils.rnn.PackedSequence):
            return self.jtorch.nn.utils.rnn.PackedSequence(*[None if x is None else self.tensor(x) for x in v])
        if isinstance(v, torch.nn.TransformerEncoderLayer):
            return self._encoder_layer(v)
        if isinstance(v, torch.nn.Module):
            raise Unsupported(f"a {type(v).__name__} as an argument")
        return super().value(v)

    def function(self, f: Any) -> Any:
        """Return a function by its name in torch.nn.functional, since modules accept functions."""
        if isinstance(f, type) and f.__module__.startswith("torch.nn"):
            return getattr(self.jtorch.nn, f.__name__)
        return super().function(f)

    def _encoder_layer(self, v: Any) -> Any:
        activation = {self.torch.nn.functional.relu: "relu", self.torch.nn.functional.gelu: "gelu"}.get(v.activation)
        made = self.jtorch.nn.TransformerEncoderLayer(
            v.self_attn.embed_dim, v.self_attn.num_heads, v.linear1.out_features, v.dropout.p,
            activation or self.value(v.activation), v.norm1.eps, v.self_attn.batch_first, v.norm_first, v.linear1.bias is not None)
        made.load_state_dict(super().value(dict(v.state_dict())))
        return made.train(v.training)


@functools.cache
def translators() -> tuple[Translator, Translator]:
    """Return the translators: copies for PyTorch, translations for jtorch."""
    torch = library("torch")
    return Copies(torch, torch), Modules(torch, library("jtorch"))


class Copies(Translator):
    """Copies PyTorch's own arguments with their tensors."""

    def value(self, v: Any) -> Any:
        if isinstance(v, (self.torch.nn.Module, self.torch.nn.utils.rnn.PackedSequence)):
            return v
        return super().value(v)


def samples(info: Any, dtype: str) -> list[tuple[bool, int, Any]]:
    """Return (training mode, number, input) of all of a module's inputs."""
    torch = library("torch")
    made = []
    for training in (True, False) if info.train_and_eval_differ else (True,):
        torch.manual_seed(0)
        random.seed(0)
        found = info.module_inputs_func(info, device="cpu", dtype=getattr(torch, dtype), requires_grad=True, training=training)
        made += [(training, i, sample) for i, sample in enumerate(found) if sample.forward_input is not None]
    return made


class Side:
    """One library's module, made and run for one input."""

    def __init__(self, name: str, info: Any, dtype: str, training: bool, sample: Any):
        self.xp, self.translator = library(name), translators()[name == "jtorch"]
        value = self.translator.value
        given = sample.constructor_input
        args, kwargs = value(list(given.args)), value(dict(given.kwargs))
        self.xp.manual_seed(0)
        module = self._module_class(info)(*args, **kwargs).to(getattr(self.xp, dtype)).train(training)
        self.args, self.kwargs = value(list(sample.forward_input.args)), value(dict(sample.forward_input.kwargs))
        if info.is_lazy:
            self.xp.manual_seed(0)
            module(*self.args, **self.kwargs)
        self.module = module
        self.start = {k: v.detach().clone() for k, v in module.state_dict().items()}

    def _module_class(self, info: Any) -> type:
        return getattr(self.xp.nn, info.name.removeprefix("nn."))

    def run(self) -> Any:
        self.xp.manual_seed(0)
        return self.module(*self.args, **self.kwargs)

    def gradients(self, out: Any, cotangents: list) -> dict[str, Any]:
        """Return the gradients of all inputs and parameters."""
        outputs = [t for t in tensors([out], self.xp.Tensor) if t.requires_grad]
        if outputs:
            seeds = [self.translator.value(c) for c in cotangents[:len(outputs)]]
            self.xp.autograd.backward(outputs, seeds)
        given = [*enumerate(tensors([self.args, self.kwargs], self.xp.Tensor)), *self.module.named_parameters()]
        return {str(name): t.grad for name, t in given if t.is_leaf and t.grad is not None}


def compared(info: Any, dtype: str, training: bool, sample: Any) -> list[str]:
    """Return the differences between the libraries for one input."""
    theirs = Side("torch", info, dtype, training, sample)
    try:
        ours = Side("jtorch", info, dtype, training, sample)
    except Unsupported as why:
        pytest.skip(str(why))
    wrong = [_keyed("initial state", theirs.start, ours.start)]
    if repr(theirs.module) != repr(ours.module):
        wrong.append(f"text: {ours.module!r}, not {theirs.module!r}")
    if wrong == [None]:
        ours.module.load_state_dict(ours.translator.value(dict(theirs.module.state_dict())))
        expected, got = theirs.run(), ours.run()
        wrong += [_prefixed("result", differences(expected, got)), *_after(theirs, ours, expected, got)]
    return [w for w in wrong if w]


def _after(theirs: Side, ours: Side, expected: Any, got: Any) -> list[str | None]:
    torch = theirs.xp
    outputs = [t for t in tensors([expected], torch.Tensor) if t.requires_grad]
    torch.manual_seed(1)
    cotangents = [torch.randn_like(t) for t in outputs]
    return [_keyed("gradient", theirs.gradients(expected, cotangents), ours.gradients(got, cotangents)),
            _keyed("state", dict(theirs.module.state_dict()), dict(ours.module.state_dict()))]


def _prefixed(what: str, text: str | None) -> str | None:
    return f"{what}: {text}" if text else None


def _keyed(what: str, expected: dict, got: dict) -> str | None:
    if list(expected) != list(got):
        return f"{what}: keys {list(got)}, not {list(expected)}"
    for key, t in expected.items():
        wrong = difference(t, got[key])
        if wrong:
            return f"{what} {key}: {wrong}"
    return None


def pytest_generate_tests(metafunc):
    if "name" in metafunc.fixturenames:
        names = list(database()) if HAS_TORCH else []
        if metafunc.function.__name__ == "test_errors":
            names = [n for n in names if database()[n].module_error_inputs_func is not None]
        metafunc.parametrize("name", names)


def test_module(name, request, full):
    info, seed = database()[name], request.config.option.matrix_seed
    wrong = []
    for dtype in ("float32", "float64") if full else ("float32",):
        found = samples(info, dtype)
        chosen = found if full or len(found) <= SAMPLES else random.Random(f"{seed} {name}").sample(found, SAMPLES)
        for training, number, sample in chosen:
            texts = compared(info, dtype, training, sample)
            wrong += [f"  {dtype} sample {number} ({sample.desc}), {training=}: {t}" for t in texts]
    assert not wrong, f"nn.{name} differs from PyTorch (--matrix-seed {seed}):\n" + "\n".join(wrong)


def first_sentence(error: Exception) -> tuple[str, str]:
    return type(error).__name__, re.split(r"(?<=[a-z)])\. |\n", str(error))[0]


def raised(xp_name: str, info: Any, sample: Any) -> tuple[str, str] | None:
    """Return the error of making or calling the module."""
    xp, value = library(xp_name), translators()[xp_name == "jtorch"].value
    made, given = sample.constructor_input, sample.forward_input
    try:
        module = getattr(xp.nn, info.name.removeprefix("nn."))(*value(list(made.args)), **value(dict(made.kwargs)))
        if given is not None:
            for t in tensors([module(*value(list(given.args)), **value(dict(given.kwargs)))], xp.Tensor):
                t.tolist()
    except Exception as error:
        return first_sentence(error)
    return None


def test_errors(name):
    info = database()[name]
    for case in info.module_error_inputs_func(info, device="cpu", dtype=library("torch").float32, requires_grad=False, training=True):
        expected = raised("torch", info, case.module_error_input)
        assert expected is not None
        assert raised("jtorch", info, case.module_error_input) == expected
