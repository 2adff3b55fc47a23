"""The examples in the help of ops print what they say."""
from __future__ import annotations

import doctest
from operator import attrgetter

import pytest

import jtorch as torch
from jtorch._api.op_docs import examples
from jtorch.ops.registry import OPS

RUNNER = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)


def test_the_most_used_ops_have_an_example():
    assert len(examples()) >= 190
    assert set(examples()) <= set(OPS)
    for name in examples():
        place = torch if hasattr(torch, name.partition(".")[0]) else torch.Tensor
        assert "Example:" in str(attrgetter(name)(place).__doc__.expandtabs()), f"the help of {name} does not show its example"


@pytest.mark.parametrize("letter", sorted({name.rpartition(".")[2][0] for name in examples()}))
def test_examples_print_what_they_say(letter):
    scope, printed = {"torch": torch, "F": torch.nn.functional}, []
    chosen = [name for name in examples() if name.rpartition(".")[2][0] == letter]
    for name in chosen:
        test = doctest.DocTestParser().get_doctest(examples()[name], dict(scope), name, None, 0)
        assert test.examples and ">>> " in examples()[name]
        RUNNER.run(test, out=printed.append)
    assert not printed, "".join(printed)


def test_help_shows_the_example():
    assert "Example:\n    >>> torch.cumsum(torch.tensor([1, 2, 3]), 0)\n    tensor([1, 3, 6])\n" in torch.cumsum.__doc__
    assert "Example:" not in torch.bernoulli.__doc__
