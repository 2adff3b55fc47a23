"""Run one sample of one op with both libraries, and compare form by form. Used by test_matrix.py."""
from __future__ import annotations

import itertools
import random
import re
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from ops.translate import Translator, Unsupported, cotangent, differences, tensors, tolerance

MOST = 60       # Upper limit of samples per op if only some are run.
FULL = 120      # Upper limit of samples per op if all are run.
# Entries of PyTorch's internal kernels, which are left out.
INTERNAL = re.compile(r"^(jiterator_.*|torch\.ops\..*|torch\._scaled.*|hash_tensor)$")
# Ops whose results have undefined contents.
UNINITIALISED = {"empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided", "resize_", "resize_as_"}


@dataclass(frozen=True)
class Case:
    """An entry of PyTorch's operator database, with its name in jtorch."""

    info: Any
    dotted: str

    @property
    def name(self) -> str:
        """Return the op and PyTorch's name for this kind of samples: ``linalg.norm.subgradients_at_zero``."""
        variant = self.info.variant_test_name
        return f"{self.info.name}.{variant}" if variant else self.info.name


def cases(translator: Translator, database: list) -> Iterator[Case]:
    """Yield the entries with an op in jtorch."""
    for info in database:
        if INTERNAL.match(info.name):
            continue
        for dotted in (info.name, f"Tensor.{info.name}", f"_C._nn.{info.name}"):
            try:
                translator.named(dotted)
            except AttributeError:
                continue
            yield Case(info, dotted)
            break


class Run:
    """Compares the forms of one op on some of its samples. ``wrong`` has the differences by check."""

    def __init__(self, case: Case, dtype: str, translator: Translator):
        self.case, self.info, self.dtype, self.translator = case, case.info, dtype, translator
        self.torch, self.jtorch = translator.torch, translator.jtorch
        self.wrong: dict[str, list[str]] = defaultdict(list)
        self.ran: set[str] = set()
        self.left_out = ""          # Describes the number of run samples, if some are left out.
        real = getattr(self.torch, dtype)
        self.differentiable = self.info.supports_autograd and real in self.info.supported_backward_dtypes("cpu")
        self.function = self._function()

    def _function(self) -> Callable:
        """Return jtorch's counterpart of the function in PyTorch's tests. Its name may differ from the entry's."""
        try:
            found = self.translator.function(self.info.op)
        except AttributeError:
            found = None
        return self.translator.named(self.case.dotted) if found is None or found is self.info.op else found

    def samples(self, seed: int, count: int | None) -> list:
        """Return (number, sample) of PyTorch's samples: ``count`` of them chosen by ``seed``, or all. If there are more
        than ``FULL``, take some at even distances.
        """
        self.torch.manual_seed(0)
        random.seed(0)
        real = getattr(self.torch, self.dtype)
        made = self.translator.samples(self.info.sample_inputs_func(self.info, "cpu", real, self.differentiable))
        if count is None:
            return self._evenly(list(enumerate(made)))
        found = list(enumerate(itertools.islice(made, MOST)))
        chosen = random.Random(f"{seed} {self.case.name} {self.dtype}")
        return found if len(found) <= count else chosen.sample(found, count)

    def _evenly(self, found: list) -> list:
        if len(found) <= FULL:
            return found
        self.left_out = f"{self.case.name} of {self.dtype}: {FULL} of {len(found)} samples"
        return [found[i * len(found) // FULL] for i in range(FULL)]

    def check(self, seed: int, count: int | None, *, twice: bool) -> None:
        """Run all checks on the chosen samples. ``twice`` adds second gradients."""
        for number, sample in self.samples(seed, count):
            checks = {"value": self._value, "method": self._method, "in-place": self._inplace, "out": self._out, "view": self._view}
            if twice and self.dtype != "bfloat16" and self.differentiable and self.info.supports_gradgrad:
                checks["second gradient"] = self._second_gradient
            for name, check in checks.items():
                try:
                    check(sample)
                except Unsupported:
                    continue
                except Wrong as wrong:
                    self.wrong[wrong.check or name].append(f"sample {number}: {wrong}")

    def check_errors(self) -> None:
        """Check that calls that raise in PyTorch's tests raise the same error here, with the same first sentence."""
        for number, wrong_call in enumerate(self.translator.samples(self.info.error_inputs_func(self.info, "cpu"))):
            try:
                self._error(wrong_call.sample_input)
            except Unsupported:
                continue
            except Wrong as wrong:
                self.wrong[wrong.check or "error"].append(f"error input {number}: {wrong}")

    def _error(self, sample: Any) -> None:
        _, a = self.theirs(sample)
        if not isinstance(a, Exception):
            return      # PyTorch accepts this on the CPU.
        _, b = self.ours(sample)
        self.ran.add("error")
        if not isinstance(b, Exception):
            raise Wrong(f"does not raise {type(a).__name__} ({_line(a)})")
        if type(a).__name__ != type(b).__name__:
            raise Wrong(f"raises {type(b).__name__} ({_line(b)}), not {type(a).__name__} ({_line(a)})")
        if sentence(a) != sentence(b):
            with _as("error text"):
                raise Wrong(f"says {sentence(b)!r}, not {sentence(a)!r}")

    # ---------------------------------------------------------------- calling

    def theirs(self, sample: Any, function: Callable | None = None, *, grad: bool = True, **more) -> Any:
        """Return PyTorch's arguments and result, or its exception. The arguments are copies."""
        copy = Translator(self.torch, self.torch)
        return self._call(self.torch, copy, function or self.info.op, sample, grad, more)

    def ours(self, sample: Any, function: Callable | None = None, *, grad: bool = True, **more) -> Any:
        """Return jtorch's arguments and result, or its exception."""
        return self._call(self.jtorch, self.translator, function or self.function, sample, grad, more)

    def _call(self, xp: Any, translator: Translator, function: Callable, sample: Any, grad: bool, more: dict) -> tuple[list, Any]:
        args, kwargs = translator.value([sample.input, *sample.args]), translator.value(dict(sample.kwargs))
        if not grad:
            for t in tensors([args, kwargs], xp.Tensor):
                t.requires_grad_(False)
        xp.default_generator.manual_seed(0)
        inputs = tensors([args, kwargs], xp.Tensor)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                result = function(*args, **kwargs, **more)
                if xp is self.jtorch:
                    xp.cpu.synchronize()        # Deferred calls raise errors of values now.
                return inputs, result
        except Exception as error:
            return inputs, error

    def _pair(self, sample: Any, theirs: Callable | None, ours: Callable | None, **how) -> tuple[list, Any, list, Any]:
        """Return both libraries' inputs and results. Raise Wrong if their errors differ."""
        a_in, a = self.theirs(sample, theirs, **how)
        if isinstance(a, NotImplementedError):
            raise Unsupported
        b_in, b = self.ours(sample, ours, **how)
        if isinstance(a, Exception) and isinstance(b, Exception):
            if type(a).__name__ != type(b).__name__:
                raise Wrong(f"raises {type(b).__name__} ({b}), not {type(a).__name__} ({_line(a)})")
            raise Unsupported
        if isinstance(a, Exception):
            raise Wrong(f"does not raise {type(a).__name__} ({_line(a)})")
        if isinstance(b, Exception):
            raise Wrong(f"raises {type(b).__name__}: {_line(b)}")
        return a_in, a, b_in, b

    def _same(self, expected: Any, got: Any, near: float = 0) -> None:
        if self.info.name in UNINITIALISED:
            expected, got = ([(tuple(t.shape), str(t.dtype)) for t in tensors([x], cls)] for x, cls in
                             ((expected, self.torch.Tensor), (got, self.jtorch.Tensor)))
        wrong = differences(expected, got, near)
        if wrong:
            raise Wrong(wrong)

    # ---------------------------------------------------------------- the checks

    def _value(self, sample: Any) -> None:
        a_in, a, b_in, b = self._pair(sample, None, None)
        self.ran.add("value")
        a, b = self._processed(sample, a, b)
        self._same(a, b)
        if self.differentiable:
            with _as("gradient"):
                self._gradient(a_in, a, b_in, b)

    def _processed(self, sample: Any, a: Any, b: Any) -> tuple[Any, Any]:
        """Process results as PyTorch's tests do before they compare: eigenvectors without their arbitrary phase."""
        if sample.output_process_fn_grad is None:
            return a, b
        return sample.output_process_fn_grad(a), self.translator.function(sample.output_process_fn_grad)(b)

    def _gradient(self, a_in: list, a: Any, b_in: list, b: Any) -> None:
        pairs = [(x, y) for x, y in zip(tensors([a], self.torch.Tensor), tensors([b], self.jtorch.Tensor), strict=True) if x.requires_grad]
        given = [(x, y) for x, y in zip(a_in, b_in, strict=True) if x.requires_grad]
        if not (pairs and given):
            return
        self.ran.add("gradient")
        if not all(y.requires_grad for _, y in pairs):
            raise Wrong("the result does not require a gradient")
        expected, got = self._gradients(pairs, given, create_graph=False)
        self._same(*without_none(expected, got))
        self._same_again(pairs, given)

    def _same_again(self, pairs: list, given: list) -> None:
        """Run a second backward of an op that saves nothing. Skip it if either library refuses."""
        try:
            self._same(*without_none(*self._gradients(pairs, given, create_graph=False)))
        except Unsupported:
            return
        except Wrong as found:
            if "backward through the graph a second time" not in str(found):
                raise

    def _gradients(self, pairs: list, given: list, *, create_graph: bool) -> tuple[Any, Any]:
        seeds = [cotangent(self.torch, x) for x, _ in pairs]
        try:
            expected = self.torch.autograd.grad([x for x, _ in pairs], [x for x, _ in given], seeds, allow_unused=True,
                                                create_graph=create_graph)
        except (RuntimeError, NotImplementedError) as error:    # The op is not differentiable here, or no gradient flows.
            raise Unsupported from error
        try:
            return expected, self.jtorch.autograd.grad([y for _, y in pairs], [y for _, y in given], self.translator.value(seeds),
                                                       allow_unused=True, create_graph=create_graph)
        except Exception as error:
            raise Wrong(f"raises {type(error).__name__}: {_line(error)}") from error

    def _second_gradient(self, sample: Any) -> None:
        a_in, a, b_in, b = self._pair(sample, None, None)
        a, b = self._processed(sample, a, b)
        pairs = [(x, y) for x, y in zip(tensors([a], self.torch.Tensor), tensors([b], self.jtorch.Tensor), strict=True) if x.requires_grad]
        given = [(x, y) for x, y in zip(a_in, b_in, strict=True) if x.requires_grad]
        if not (pairs and given):
            return
        first = self._gradients(pairs, given, create_graph=True)
        again = [(x, y) for x, y in zip(*first, strict=True) if x is not None and y is not None and x.requires_grad and y.requires_grad]
        if again:
            self.ran.add("second gradient")
            self._same(*without_none(*self._gradients(again, given, create_graph=False)), near=5 * tolerance(self.dtype))

    def _method(self, sample: Any) -> None:
        theirs, ours = self.info.method_variant, getattr(self.jtorch.Tensor, self.info.name, None)
        if theirs is None or self.info.name in UNINITIALISED or not isinstance(sample.input, self.torch.Tensor):
            return
        if ours is None:
            raise Wrong(f"there is no Tensor.{self.info.name}")
        self.ran.add("method")
        _, a, _, b = self._pair(sample, getattr(self.torch.Tensor, self.info.name, theirs), ours, grad=False)
        self._same(*self._processed(sample, a, b))

    def _inplace(self, sample: Any) -> None:
        theirs = self.info.inplace_variant
        name = getattr(theirs, "__name__", "")
        if theirs is None or not isinstance(sample.input, self.torch.Tensor) or not hasattr(self.torch.Tensor, name):
            return
        ours = getattr(self.jtorch.Tensor, name, None)
        if ours is None:
            raise Wrong(f"there is no Tensor.{name}")
        self.ran.add("in-place")
        _, a, (b_self, *_), b = self._pair(sample, getattr(self.torch.Tensor, name), ours, grad=False)
        if b is not b_self:
            raise Wrong("does not return the tensor itself")
        self._same(a, b)

    def _out(self, sample: Any) -> None:
        if not self.info.supports_out or self.info.name in UNINITIALISED or self.info.name.startswith("nn.functional."):
            return      # PyTorch documents no out= for nn.functional.
        _, plain = self.theirs(sample, grad=False)
        shapes = tensors([plain], self.torch.Tensor)
        if isinstance(plain, Exception) or not shapes:
            return
        self.ran.add("out")
        for shape, dtype in ((lambda t: (0,), None), (lambda t: (*t.shape, 2), None), (lambda t: t.shape, "float64")):
            made = [(tuple(shape(t)), dtype or str(t.dtype).removeprefix("torch.")) for t in shapes]
            self._out_into(sample, made, single=isinstance(plain, self.torch.Tensor))

    def _out_into(self, sample: Any, made: list, *, single: bool) -> None:
        a_out, b_out = ([xp.zeros(shape, dtype=getattr(xp, d)) for shape, d in made] for xp in (self.torch, self.jtorch))
        (_, a), warned = _warnings(lambda: self.theirs_loud(sample, a_out[0] if single else tuple(a_out)))
        (_, b), warned_too = _warnings(lambda: self.ours_loud(sample, b_out[0] if single else tuple(b_out)))
        into = f"out= of {made}: "
        if isinstance(a, Exception):
            return      # jtorch may cast where PyTorch refuses a dtype: see docs/differences.md.
        if isinstance(b, Exception):
            raise Wrong(f"{into}raises {type(b).__name__} ({_line(b)})")
        (a, b) = self._processed(sample, *((a_out[0], b_out[0]) if single else (a, b) if a is not None else (a_out, b_out)))
        wrong = differences(a, b, tolerance(self.dtype, *(d for _, d in made)))
        if wrong:
            raise Wrong(into + wrong)
        if warned and not warned_too:
            raise Wrong(f"{into}no warning of the resize")

    def theirs_loud(self, sample: Any, out: Any) -> tuple:
        """Return PyTorch's result written into ``out``, with its warnings."""
        return _loud(self.torch, Translator(self.torch, self.torch), self.info.op, sample, out)

    def ours_loud(self, sample: Any, out: Any) -> tuple:
        """Return jtorch's result written into ``out``, with its warnings."""
        return _loud(self.jtorch, self.translator, self.function, sample, out)

    def _view(self, sample: Any) -> None:
        a_in, a, b_in, b = self._pair(sample, None, None, grad=False)
        if self.info.name in ("resize_", "resize_as_"):
            return
        for x, y in zip(tensors([a], self.torch.Tensor), tensors([b], self.jtorch.Tensor), strict=True):
            shared = [_shares(x, t) for t in a_in]
            if shared != [_shares(y, t) for t in b_in]:
                raise Wrong("is a copy" if any(shared) else "shares memory")
            if any(shared):
                self._aliases(x, y, a_in, b_in)

    def _aliases(self, x: Any, y: Any, a_in: list, b_in: list) -> None:
        self.ran.add("view")
        expected, got = ((tuple(t.stride()), t.storage_offset()) for t in (x, y))
        if x.numel() and expected != got:
            raise Wrong(f"(stride, offset) {got}, not {expected}")
        errors = [_written(t) for t in (x, y)]
        if errors[0] != errors[1]:
            raise Wrong(f"writing raises {errors[1]}, not {errors[0]}")
        self._same(a_in, b_in)


class Wrong(Exception):
    """A difference between the libraries."""

    check: str | None = None


class _as:
    """Record errors inside the block under another check."""

    def __init__(self, check: str):
        self.check = check

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if isinstance(error, Wrong):
            error.check = self.check
        return False


def _loud(xp: Any, translator: Translator, function: Callable, sample: Any, out: Any) -> tuple[Any, Any]:
    args, kwargs = translator.value([sample.input, *sample.args]), translator.value(dict(sample.kwargs))
    xp.default_generator.manual_seed(0)
    try:
        with xp.no_grad():
            return None, function(*args, **kwargs, out=out)
    except Exception as error:
        return None, error


def _warnings(call: Callable) -> tuple[Any, bool]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = call()
    return result, any("was resized since it had shape" in str(w.message) for w in caught)


def _shares(x: Any, t: Any) -> bool:
    if x.numel() == 0 or t.numel() == 0 or x.is_sparse or x.is_sparse_csr:
        return x is t
    return x.untyped_storage()._cdata == t.untyped_storage()._cdata


def _written(t: Any) -> str | None:
    """Write to a tensor. Return the name of the error, if the write is refused."""
    try:
        t.detach().fill_(7.5 if t.dtype.is_floating_point else 1)
    except RuntimeError as error:
        return type(error).__name__
    return None


def without_none(expected: Any, got: Any) -> tuple[list, list]:
    """Replace missing gradients of one library by zeros."""
    a, b = list(expected), list(got)
    for i, (x, y) in enumerate(zip(expected, got, strict=True)):
        if x is None and y is None:
            a[i] = b[i] = 0
        elif x is None:
            a[i], b[i] = 0, 0 if not bool((y != 0).any()) else y
        elif y is None:
            a[i], b[i] = (0 if not bool((x != 0).any()) else x), 0
    return a, b


def sentence(error: Any) -> str:
    """Return the first sentence of an error's text, without C++ files, devices and overloads."""
    text = re.split(r"(?<=[^.\d])\. |\n|, but expected one of", str(error).strip())[0].rstrip(". ")
    return re.sub(r"\s+", " ", text)


def _line(error: Any) -> str:
    text = str(error).strip()
    return text.splitlines()[0][:200] if text else ""
