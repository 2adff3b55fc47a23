"""The examples in the docstrings of torch.nn run, and print what they say."""
from __future__ import annotations

import doctest
import inspect

import pytest

import jtorch as torch

FINDER = doctest.DocTestFinder(recurse=False)
RUNNER = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
CLASSES = {name: c for name, c in vars(torch.nn).items() if inspect.isclass(c) and issubclass(c, (torch.nn.Module, torch.Tensor))}


@pytest.mark.parametrize("name", [n for n, c in CLASSES.items() if ">>>" in (c.__dict__.get("__doc__") or "")])
def test_examples(name, capsys):
    scope = {"torch": torch, "nn": torch.nn, "F": torch.nn.functional}
    for test in FINDER.find(CLASSES[name], name, globs=scope):
        assert RUNNER.run(test).failed == 0, capsys.readouterr().out


def test_families_have_their_own_words():
    assert "of windows over two dimensions" in torch.nn.MaxPool2d.__doc__
    assert "(N, C, H, W) or (C, H, W)" in torch.nn.MaxPool2d.__doc__
    assert "(N, C, D, H, W)" in torch.nn.Conv3d.__doc__ or "(N, in_channels, D, H, W)" in torch.nn.Conv3d.__doc__

    class Mine(torch.nn.Conv2d):
        """Mine."""
    assert Mine.__doc__ == "Mine."
