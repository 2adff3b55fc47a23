"""Samplers give PyTorch's indices for the same seed, and its errors."""
from __future__ import annotations

import pytest
from libraries import library

MAKERS = {
    "sequential": lambda d, xp: d.SequentialSampler(range(7)),
    "random": lambda d, xp: d.RandomSampler(range(50)),
    "random generator": lambda d, xp: d.RandomSampler(range(50), generator=xp.Generator().manual_seed(2)),
    "random more": lambda d, xp: d.RandomSampler(range(5), num_samples=12),
    "random replacement": lambda d, xp: d.RandomSampler(range(9), replacement=True, num_samples=70),
    "random replacement 64": lambda d, xp: d.RandomSampler(range(9), replacement=True, num_samples=64),
    "subset": lambda d, xp: d.SubsetRandomSampler([3, 1, 4, 1, 5]),
    "weighted": lambda d, xp: d.WeightedRandomSampler([0.1, 0.9, 0.4, 3.0], 20),
    "weighted once": lambda d, xp: d.WeightedRandomSampler([0.1, 0.9, 0.4, 3.0], 3, replacement=False),
    "batch": lambda d, xp: d.BatchSampler(d.RandomSampler(range(10)), 3, False),
    "batch drop": lambda d, xp: d.BatchSampler(range(10), 3, True),
    "distributed": lambda d, xp: d.DistributedSampler(range(10), num_replicas=3, rank=1),
    "distributed drop": lambda d, xp: d.DistributedSampler(range(11), num_replicas=3, rank=2, drop_last=True, seed=4),
    "distributed small": lambda d, xp: d.DistributedSampler(range(2), num_replicas=5, rank=4, shuffle=False),
}


@pytest.mark.parametrize("name", MAKERS)
def test_indices(torch, name):
    found = []
    for xp in (torch, library("jtorch")):
        xp.manual_seed(11)
        sampler = MAKERS[name](xp.utils.data, xp)
        found.append((len(sampler), list(sampler), list(sampler), float(xp.rand(1))))
    assert found[0] == found[1]


def test_set_epoch_changes_the_order(xp):
    sampler = xp.utils.data.DistributedSampler(range(20), num_replicas=2, rank=0)
    first = list(sampler)
    sampler.set_epoch(1)
    assert list(sampler) != first


@pytest.mark.parametrize(("error", "make"), [
    (TypeError, lambda d: d.RandomSampler([1], replacement="yes")),
    (ValueError, lambda d: d.RandomSampler([])),
    (ValueError, lambda d: d.RandomSampler([1], num_samples=0)),
    (ValueError, lambda d: d.WeightedRandomSampler([1.0], 0)),
    (ValueError, lambda d: d.WeightedRandomSampler([1.0], True)),
    (ValueError, lambda d: d.WeightedRandomSampler([1.0], 1, replacement=1)),
    (ValueError, lambda d: d.WeightedRandomSampler([[1.0]], 1)),
    (ValueError, lambda d: d.BatchSampler(range(3), 0, False)),
    (ValueError, lambda d: d.BatchSampler(range(3), 2.0, False)),
    (ValueError, lambda d: d.BatchSampler(range(3), 2, None)),
    (ValueError, lambda d: d.DistributedSampler(range(3), num_replicas=2, rank=2)),
    (NotImplementedError, lambda d: iter(d.Sampler())),
])
def test_errors(torch, error, make):
    texts = []
    for xp in (torch, library("jtorch")):
        with pytest.raises(error) as raised:
            make(xp.utils.data)
        texts.append(str(raised.value))
    assert texts[0] == texts[1]
