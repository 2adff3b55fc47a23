"""Pipes: their items, order, shuffling, seeds and sharding, with both libraries."""
import importlib
import pickle

import pytest

# PyTorch warns of lambdas, since it cannot send them to workers if dill is not installed.
pytestmark = pytest.mark.filterwarnings("ignore:L:UserWarning")


def module(xp, name):
    return importlib.import_module(f"{xp.__name__}.utils.data.{name}")


def pipe(xp, n=7):
    return module(xp, "datapipes.iter").IterableWrapper(range(n))


@pytest.mark.parametrize(("chain", "expected"), [
    (lambda p: p.map(lambda x: 2 * x).filter(lambda x: x % 3 == 0), [0, 6, 12]),
    (lambda p: p.batch(3), [[0, 1, 2], [3, 4, 5], [6]]),
    (lambda p: p.batch(3, drop_last=True).unbatch(), [0, 1, 2, 3, 4, 5]),
    (lambda p: p.batch(2).batch(2).unbatch(unbatch_level=-1), [0, 1, 2, 3, 4, 5, 6]),
    (lambda p: p.map(lambda x: (x, str(x))).map(lambda x: -x, input_col=0).batch(4),
     [[(0, "0"), (-1, "1"), (-2, "2"), (-3, "3")], [(-4, "4"), (-5, "5"), (-6, "6")]]),
    (lambda p: p.concat(p.batch(6)), [0, 1, 2, 3, 4, 5, 6, [0, 1, 2, 3, 4, 5], [6]]),
    (lambda p: p.sharding_filter(), [0, 1, 2, 3, 4, 5, 6])])
def test_chains(xp, chain, expected):
    assert [x if not hasattr(x, "tolist") else x.tolist() for x in chain(pipe(xp))] == expected


def test_lengths(xp):
    assert [len(p) for p in (pipe(xp), pipe(xp).batch(2), pipe(xp).map(str), pipe(xp).zip(pipe(xp, 3)))] == [7, 4, 7, 3]
    with pytest.raises(TypeError, match="valid length"):
        len(pipe(xp).filter(bool).map(str))


def test_collate(xp):
    made, = pipe(xp, 3).batch(3).collate()
    assert made.tolist() == [0, 1, 2]


def test_order_is_pytorchs(torch):
    import jtorch

    def orders(xp):
        shuffled = pipe(xp, 12).shuffle(buffer_size=4)
        xp.manual_seed(5)
        first = list(shuffled)
        module(xp, "graph_settings").apply_random_seed(shuffled, xp.Generator().manual_seed(3))
        return first, list(shuffled)
    assert orders(jtorch) == orders(torch)


def test_settings_reach_inner_pipes(xp):
    settings = module(xp, "graph_settings")
    made = pipe(xp).shuffle().sharding_filter().map(lambda x: x)
    settings.apply_shuffle_settings(made, shuffle=False)
    settings.apply_sharding(made, 3, 1)
    assert list(made) == [1, 4]
    with pytest.raises(RuntimeError, match="Sharding twice"):
        settings.apply_sharding(pipe(xp).sharding_filter().sharding_filter(), 2, 0)


def test_a_class_of_ones_own(xp):
    data = module(xp, "datapipes.datapipe")
    name = f"own_{xp.__name__}"

    class Own(data.IterDataPipe):
        def __init__(self, source, by=1):
            self.source, self.by = source, by

        def __iter__(self):
            for x in self.source:
                yield x + self.by
    xp.utils.data.functional_datapipe(name)(Own)
    assert list(getattr(pipe(xp, 3), name)(by=5)) == [5, 6, 7]
    with pytest.raises(AttributeError):
        pipe(xp).no_such_pipe()


def test_map_pipes(xp):
    maps = module(xp, "datapipes.map")
    made = maps.SequenceWrapper([1, 2]).map(str)
    assert [made[i] for i in range(len(made))] == ["1", "2"]
    both = made.concat(maps.SequenceWrapper([5]))
    assert both[2] == 5
    assert len(both) == 3
    assert made.zip(made)[1] == ("2", "2")


def test_pickles_and_loaders(xp):
    copied = pickle.loads(pickle.dumps(pipe(xp, 4).map(str)))
    assert list(copied) == ["0", "1", "2", "3"]
    assert [b.tolist() for b in xp.utils.data.DataLoader(pipe(xp, 4), batch_size=2)] == [[0, 1], [2, 3]]
