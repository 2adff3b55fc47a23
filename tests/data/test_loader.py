"""DataLoader: order, batches and errors are PyTorch's, with and without workers."""
from __future__ import annotations

import random
import re

import numpy as np
import pytest
import samples
from libraries import library
from test_collate import described

import jtorch

LIBRARIES = ("torch", "jtorch")
pytestmark = pytest.mark.filterwarnings("ignore:This DataLoader will create")     # on one core


def passes(xp, dataset, epochs=2, **options):
    """Return all batches of some epochs after one seed, and the next random number."""
    xp.manual_seed(7)
    loader = xp.utils.data.DataLoader(dataset, **options)
    return [described(batch) for _ in range(epochs) for batch in loader], float(xp.rand(1))


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("options", [{"batch_size": 3, "shuffle": True}, {"batch_size": 4, "drop_last": True}, {"batch_size": None}])
def test_order_is_pytorchs(torch, workers, options):
    expected, found = (passes(library(n), samples.Mixed(10), num_workers=workers, **options) for n in LIBRARIES)
    assert found == expected


def test_generator_sampler_and_batch_sampler(torch):
    def ways(xp):
        data = xp.utils.data
        g = xp.Generator().manual_seed(3)
        yield {"shuffle": True, "generator": g, "batch_size": 2}
        yield {"sampler": [3, 1, 2], "batch_size": 2}
        yield {"batch_sampler": [[0, 1], [2], [3, 4, 5]]}
        yield {"batch_sampler": data.BatchSampler(data.RandomSampler(range(6)), 4, False)}
        yield {"sampler": data.WeightedRandomSampler([1.0, 2.0, 3.0], 4), "collate_fn": sum}
    for a, b in zip(ways(torch), ways(jtorch), strict=True):
        assert passes(jtorch, range(6), **b) == passes(torch, range(6), **a)


@pytest.mark.parametrize("workers", [0, 2])
def test_tensor_dataset_and_parts_of_it(torch, workers):
    def dataset(xp):
        x = xp.arange(24.0).reshape(12, 2)
        part, _ = xp.utils.data.random_split(xp.utils.data.TensorDataset(x[:, 0], x, xp.arange(12)), [9, 3],
                                             xp.Generator().manual_seed(0))
        return part
    options = {"batch_size": 4, "shuffle": True, "num_workers": workers}
    assert passes(jtorch, dataset(jtorch), **options) == passes(torch, dataset(torch), **options)


@pytest.mark.parametrize("persistent", [False, True])
def test_workers_have_pytorchs_seeds(torch, persistent):
    expected, found = (passes(library(n), samples.Drawn(5, n), num_workers=2, persistent_workers=persistent) for n in LIBRARIES)
    assert found == expected


def test_a_tensor_dataset_with_gradients(xp):
    w = xp.ones(4, 2, requires_grad=True)
    for (batch,) in xp.utils.data.DataLoader(xp.utils.data.TensorDataset(w), batch_size=2):
        batch.sum().backward()
    assert w.grad.tolist() == [[1.0, 1.0]] * 4


def test_a_subclass_is_asked_for_its_samples(xp):
    class Negative(xp.utils.data.TensorDataset):
        def __getitem__(self, i):
            return (-self.tensors[0][i],)
    loader = xp.utils.data.DataLoader(Negative(xp.arange(4)), batch_size=4)
    assert next(iter(loader))[0].tolist() == [0, -1, -2, -3]


def test_an_index_out_of_range(xp):
    loader = xp.utils.data.DataLoader(xp.utils.data.TensorDataset(xp.arange(3)), sampler=[0, 5])
    with pytest.raises(IndexError, match="index 5 is out of bounds for dimension 0 with size 3"):
        list(loader)


def test_batches_share_nothing_with_the_dataset(xp):
    array = np.arange(6.0)
    x = xp.from_numpy(array)
    batches = [b for (b,) in xp.utils.data.DataLoader(xp.utils.data.TensorDataset(x), batch_size=3)]
    array[:] = -1
    assert [b.tolist() for b in batches] == [[0, 1, 2], [3, 4, 5]]
    assert next(iter(xp.utils.data.DataLoader(xp.utils.data.TensorDataset(x), batch_size=2)))[0].tolist() == [-1, -1]


def test_iterable(torch):
    def stream(xp):
        return samples.Stream(7) if xp is jtorch else type("Stream", (torch.utils.data.IterableDataset,),
                                                           {"__iter__": lambda self: iter(range(7))})()
    for options in ({"batch_size": 3}, {"batch_size": 3, "drop_last": True}, {"batch_size": None}):
        assert passes(jtorch, stream(jtorch), **options) == passes(torch, stream(torch), **options)


def test_length(xp):
    data = xp.utils.data
    assert len(data.DataLoader(range(10), batch_size=3)) == 4
    assert len(data.DataLoader(range(10), batch_size=3, drop_last=True)) == 3
    assert len(data.DataLoader(range(10), batch_size=None)) == 10
    assert len(iter(data.DataLoader(range(10), batch_size=3))) == 4


def test_a_wrong_length_of_a_stream():
    loader = jtorch.utils.data.DataLoader(samples.Stream(4))
    assert len(loader) == 3
    with pytest.warns(UserWarning, match=r"Length of IterableDataset .* was reported to be 3\(when accessing len\(dataloader\)\), "
                                         "but 4 samples have been fetched"):
        list(loader)


WRONG = [
    {"num_workers": -1}, {"timeout": -1}, {"prefetch_factor": 2}, {"num_workers": 1, "prefetch_factor": -1},
    {"persistent_workers": True}, {"sampler": [0], "shuffle": True}, {"batch_sampler": [[0]], "batch_size": 2},
    {"batch_sampler": [[0]], "drop_last": True}, {"batch_size": None, "drop_last": True}, {"batch_size": 0},
    {"batch_size": 2, "drop_last": 1}, {"multiprocessing_context": "fork"}, {"num_workers": 1, "multiprocessing_context": "no"},
    {"num_workers": 1, "multiprocessing_context": 3},
]


@pytest.mark.parametrize("options", WRONG, ids=str)
def test_wrong_arguments(torch, options):
    raised = []
    for xp in (torch, jtorch):
        with pytest.raises((ValueError, TypeError)) as error:
            xp.utils.data.DataLoader(range(4), **options)
        raised.append((error.type, str(error.value)))
    assert raised[0] == raised[1]


@pytest.mark.parametrize("options", [{"shuffle": True}, {"sampler": [1]}, {"batch_sampler": [[1]]}], ids=str)
def test_wrong_arguments_for_a_stream(torch, options):
    raised = []
    for xp in (torch, jtorch):
        with pytest.raises(ValueError, match="expected unspecified") as error:
            xp.utils.data.DataLoader(type("S", (xp.utils.data.IterableDataset,), {"__iter__": iter})(), **options)
        raised.append(str(error.value))
    assert raised[0] == raised[1]


def test_attributes_that_are_fixed(xp):
    loader = xp.utils.data.DataLoader(range(4))
    for name in ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers"):
        with pytest.raises(ValueError, match=f"{name} attribute should not be set after DataLoader is initialized"):
            setattr(loader, name, None)
    loader.num_workers = 0


def test_an_empty_dataset_with_shuffle(xp):
    with pytest.raises(ValueError, match="num_samples should be a positive integer value, but got num_samples=0"):
        xp.utils.data.DataLoader([], shuffle=True)


@pytest.mark.filterwarnings("default")
def test_pin_memory_without_an_accelerator(xp):
    if xp.cuda.is_available():
        pytest.skip("there is one")
    with pytest.warns(UserWarning, match="'pin_memory' argument is set as true but no accelerator is found"):
        assert len(list(xp.utils.data.DataLoader(range(2), pin_memory=True))) == 2


def test_pin_memory_of_containers():
    class Batch:
        def pin_memory(self):
            return "pinned"
    found = jtorch.utils.data._utils.pin_memory.pin_memory({"a": [Batch(), "x"], "b": (Batch(), 1)})
    assert found == {"a": ["pinned", "x"], "b": ("pinned", 1)}


def test_more_workers_than_processors(xp):
    with pytest.warns(UserWarning, match=re.escape("This DataLoader will create 5000 worker processes in total. Our suggested max")):
        xp.utils.data.DataLoader(range(3), num_workers=5000)


def test_an_iterator_cannot_be_pickled(xp):
    import pickle
    with pytest.raises(NotImplementedError):
        pickle.dumps(iter(xp.utils.data.DataLoader(range(3))))


def test_random_generators_of_this_process_are_left_alone():
    random.seed(1)
    np.random.seed(1)
    expected = random.Random(1).random(), np.random.RandomState(1).rand()
    list(jtorch.utils.data.DataLoader(range(3), shuffle=True))
    assert (random.random(), np.random.rand()) == expected


def test_many_epochs_leave_nothing_behind():
    from jtorch.engine import local
    x, y = jtorch.randn(40, 3), jtorch.arange(40)
    loader = jtorch.utils.data.DataLoader(jtorch.utils.data.TensorDataset(x, y), batch_size=8, shuffle=True)
    rows = jtorch.utils.data.DataLoader(samples.Rows(jtorch.randn(400, 3)), batch_size=8, shuffle=True)

    def epoch():
        total = sum((inputs * 2).sum().item() for inputs, _ in loader)
        return total + sum((inputs * 2).sum().item() for inputs in rows)
    for _ in range(2):
        epoch()
    states = local.recorder.trie.states
    for _ in range(20):
        epoch()
    assert local.recorder.trie.states <= states + 2
