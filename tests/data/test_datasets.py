"""Datasets, and datasets made of other datasets, are the same in both libraries."""
from __future__ import annotations

import pytest


def test_tensor_dataset(xp):
    x = xp.arange(6).reshape(3, 2)
    d = xp.utils.data.TensorDataset(x, x * 10)
    assert len(d) == 3
    assert [t.tolist() for t in d[1]] == [[2, 3], [20, 30]]
    assert [t.tolist() for t in d[-1]] == [[4, 5], [40, 50]]
    assert [t.tolist() for t in d[1:]] == [[[2, 3], [4, 5]], [[20, 30], [40, 50]]]
    with pytest.raises(AssertionError, match="^Size mismatch between tensors$"):
        xp.utils.data.TensorDataset(x, x[:2])
    with pytest.raises(IndexError):
        d[3]


def test_dataset_without_getitem(xp):
    with pytest.raises(NotImplementedError, match="Subclasses of Dataset should implement __getitem__"):
        xp.utils.data.Dataset()[0]


def test_concat(xp):
    data = xp.utils.data
    d = data.ConcatDataset([range(3), range(10, 12)])
    assert (len(d), d.cumulative_sizes, [d[i] for i in (0, 3, 4, -1, -5)]) == (5, [3, 5], [0, 10, 11, 11, 0])
    with pytest.raises(ValueError, match="absolute value of index should not exceed dataset length"):
        d[-6]
    with pytest.raises(AssertionError, match="datasets should not be an empty iterable"):
        data.ConcatDataset([])
    t = data.TensorDataset(xp.arange(2))
    assert len(t + t) == 4
    with pytest.warns(FutureWarning, match="cumulative_sizes"):
        assert d.cummulative_sizes == [3, 5]


def test_chain(xp):
    class Count(xp.utils.data.IterableDataset):
        def __iter__(self):
            return iter(range(2))

        def __len__(self):
            return 2
    chained = Count() + Count()
    assert (list(chained), len(chained)) == ([0, 1, 0, 1], 4)
    with pytest.raises(AssertionError, match="ChainDataset only supports IterableDataset"):
        list(xp.utils.data.ChainDataset([range(2)]))
    with pytest.raises(AssertionError, match="ConcatDataset does not support IterableDataset"):
        xp.utils.data.ConcatDataset([Count()])


def test_stack(xp):
    data = xp.utils.data
    pairs = data.StackDataset(range(3), range(10, 13))
    named = data.StackDataset(a=range(3), b=data.Subset(range(20), [7, 8, 9]))
    assert (len(pairs), pairs[1], pairs.__getitems__([0, 2])) == (3, (1, 11), [(0, 10), (2, 12)])
    assert (named[0], named.__getitems__([2])) == ({"a": 0, "b": 7}, [{"a": 2, "b": 9}])
    for args, kwargs, message in [((range(1), range(2)), {}, "Size mismatch between datasets"),
                                  ((), {}, "At least one dataset should be passed"), ((range(1),), {"a": range(1)}, "Supported either")]:
        with pytest.raises(ValueError, match=message):
            data.StackDataset(*args, **kwargs)


def test_stack_of_a_wrong_batch(xp):
    class Short:
        def __len__(self):
            return 3

        def __getitems__(self, indices):
            return [0]
    with pytest.raises(ValueError, match=r"Nested dataset's output size mismatch. Expected 2, got 1"):
        xp.utils.data.StackDataset(Short()).__getitems__([0, 1])


def test_subset(xp):
    data = xp.utils.data
    s = data.Subset(range(10, 20), [3, 1, 5])
    assert (len(s), s[0], s[-1], s.__getitems__([1, 2])) == (3, 13, 15, [11, 15])

    class Other(data.Subset):
        def __getitem__(self, i):
            return -self.dataset[self.indices[i]]
    with pytest.raises(NotImplementedError, match="Other overrides __getitem__ but not __getitems__"):
        Other(range(3), [0])


@pytest.mark.parametrize("lengths", [[3, 7], [0.3, 0.7], [0.33, 0.33, 0.34], [0.5, 0.5], [10]])
def test_random_split_is_pytorchs(torch, lengths):
    import jtorch
    parts = []
    for xp in (torch, jtorch):
        xp.manual_seed(5)
        by_default = xp.utils.data.random_split(range(10), lengths)
        given = xp.utils.data.random_split(range(10), lengths, generator=xp.Generator().manual_seed(1))
        parts.append([list(p) for p in [*by_default, *given]])
    assert parts[0] == parts[1]


def test_random_split_errors(xp):
    split = xp.utils.data.random_split
    with pytest.raises(ValueError, match="Sum of input lengths does not equal the length of the input dataset!"):
        split(range(10), [3, 3])
    with pytest.raises(ValueError, match="Fraction at index 0 is not between 0 and 1"):
        split(range(10), [-0.5, 1.5])
    with pytest.warns(UserWarning, match="Length of split at index 1 is 0"):
        split(range(1), [0.9, 0.1])
