"""Sizes that are no sizes, where tensors are made: PyTorch's errors."""
from __future__ import annotations

import pytest

pytestmark = pytest.mark.core

WRONG = [
    *[f'xp.{name}({size})' for name in ("ones", "rand", "randn", "zeros") for size in ('-1', '2, -1', '(2, -1)', '"a"', '2, "a"', '2.0')],
    *[f'xp.{name}({size})' for name in ("rand", "randn") for size in ('["a"]', '[2, 2.5]', 'None')],
    'xp.full((-1,), 1.0)', 'xp.ones(2).new_ones(-1)', 'xp.randperm(-1)', 'xp.randperm("a")', 'xp.randint("a", (2,))', 'xp.randint(5, (-2,))',
    'xp.arange("3")', 'xp.nn.Linear("a", 2)', 'xp.nn.Linear(2, 2.5)', 'xp.nn.Linear(-1, 2)', 'xp.nn.Conv2d(3, 4, "x")',
    'xp.nn.Embedding("a", 2)', 'xp.nn.BatchNorm1d("a")', 'xp.ones(2, 3).index_select(0, xp.ones(2, 3))',
]


def test_what_is_no_size_is_refused(same):
    same(*WRONG)


@pytest.mark.parametrize("statement", [
    'xp.randn()', 'xp.rand()', 'xp.randint(0, 2, 2)', 'xp.randint(0, 2, "a")', 'xp.arange(0, "3")', 'xp.arange()'])
def test_what_fits_no_form_is_refused(xp, statement):
    with pytest.raises(TypeError, match=r"received an invalid combination of arguments - got \("):
        eval(statement, {"xp": xp})
