"""torch.utils._pytree against PyTorch's."""
from __future__ import annotations

import dataclasses
import importlib
import pickle
from collections import OrderedDict, defaultdict, deque, namedtuple

import pytest
from libraries import HAS_TORCH, NO_TORCH, library

import jtorch
import jtorch.utils._pytree

Point = namedtuple("Point", "x y")
TREES = [1, None, (), [], {}, [1, (2, None)], {"b": 1, "a": [2, 3]}, OrderedDict(b=1, a=(2,)), Point(1, [2, 3]), deque([1, 2], maxlen=3),
         defaultdict(list, {"k": [1], "j": 2}), {"x": Point((), {"y": 4})}]


@pytest.fixture(params=["jtorch", pytest.param("torch", marks=pytest.mark.skipif(not HAS_TORCH, reason=NO_TORCH))])
def pytree(request):
    library(request.param)
    found = importlib.import_module(f"{request.param}.utils._pytree")
    if Point not in found.SUPPORTED_NODES:
        found._register_namedtuple(Point, serialized_type_name="Point")
    return found


@pytest.mark.parametrize("tree", TREES, ids=repr)
def test_a_tree_is_made_again_of_its_leaves(pytree, tree):
    leaves, spec = pytree.tree_flatten(tree)
    again = spec.unflatten(leaves)
    assert again == tree and type(again) is type(tree)
    assert len(leaves) == spec.num_leaves
    assert pytree.treespec_loads(pytree.treespec_dumps(spec)) == spec
    assert pytree.tree_structure(again) == spec and hash(pytree.tree_structure(again)) == hash(spec)


@pytest.mark.skipif(not HAS_TORCH, reason=NO_TORCH)
@pytest.mark.parametrize("tree", TREES, ids=repr)
def test_printed_and_written_as_pytorch_does(tree):
    library("torch")
    import torch.utils._pytree as theirs
    ours = jtorch.utils._pytree
    for lib in (ours, theirs):
        if Point not in lib.SUPPORTED_NODES:
            lib._register_namedtuple(Point, serialized_type_name="Point")
    for show in ("treespec_pprint", "treespec_dumps"):
        assert getattr(ours, show)(ours.tree_structure(tree)) == getattr(theirs, show)(theirs.tree_structure(tree))
    assert repr(ours.tree_structure(tree)) == repr(theirs.tree_structure(tree))
    paths = [[(lib.keystr(p), x) for p, x in lib.tree_leaves_with_path(tree)] for lib in (ours, theirs)]
    assert paths[0] == paths[1]


def test_forms_are_pickled():
    spec = jtorch.utils._pytree.tree_structure(TREES)
    assert pickle.loads(pickle.dumps(spec)) == spec


def test_registered_classes(pytree):
    class Pair:
        def __init__(self, a, b, note):
            self.a, self.b, self.note = a, b, note

    def keys(p):
        return [(pytree.GetAttrKey("a"), p.a), (pytree.GetAttrKey("b"), p.b)], p.note

    pytree.register_pytree_node(Pair, lambda p: ([p.a, p.b], p.note), lambda xs, note: Pair(*xs, note), flatten_with_keys_fn=keys)
    made = pytree.tree_map(lambda x: 2 * x, {"p": Pair(1, [2], "n")})["p"]
    assert (made.a, made.b, made.note) == (2, [4], "n")
    assert [pytree.keystr(p) for p, _ in pytree.tree_leaves_with_path({"p": Pair(1, [2], "n")})] == ["['p'].a", "['p'].b[0]"]
    with pytest.raises(ValueError, match="is already registered as pytree node"):
        pytree.register_pytree_node(Pair, lambda p: ([], None), lambda xs, c: None)


def test_dataclasses(pytree):
    @dataclasses.dataclass
    class Batch:
        x: int
        y: int | None = None

    pytree.register_dataclass(Batch)
    assert pytree.tree_leaves([Batch(1), Batch(2, 3)]) == [1, 2, 3]
    assert pytree.tree_map(lambda v: v + 1, Batch(1)) == Batch(2)


def test_several_trees_and_choices(pytree):
    assert pytree.tree_map(lambda x, y: (x, y), [1, {"a": 2}], [3, {"a": [4]}]) == [(1, 3), {"a": (2, [4])}]
    assert pytree.tree_map_only(int, lambda x: -x, [1, "a", 2.0]) == [-1, "a", 2.0]
    assert pytree.tree_map_only(lambda x: x == "a", str.upper, [1, "a"]) == [1, "A"]
    assert pytree.tree_leaves([1, (2, 3)], is_leaf=lambda x: isinstance(x, tuple)) == [1, (2, 3)]
    assert pytree._broadcast_to_and_flatten([1, 2], pytree.tree_structure([0, (0, 0)])) == [1, 2, 2]
    assert pytree._broadcast_to_and_flatten((1, 2), pytree.tree_structure([0, 0])) is None
    assert pytree.tree_all_only(int, lambda x: x > 0, [1, "a"]) and not pytree.tree_any_only(int, lambda x: x > 1, [1, "a"])


@pytest.mark.parametrize(("tree", "other", "says"), [
    ([1, 2], [1], "Node arity mismatch; expected 2, but got 1"), ([1], (1,), "Node type mismatch; expected <class 'list'>"),
    ({"a": 1}, {"b": 1}, "Node keys mismatch; missing key"), ([1], 1, "Node type mismatch")])
def test_trees_that_differ(pytree, tree, other, says):
    with pytest.raises(ValueError, match=says):
        pytree.tree_map(lambda x, y: x, tree, other)


def test_too_few_leaves(pytree):
    with pytest.raises(ValueError, match="`leaves` has length 1 but the spec refers to a pytree that holds 2 items"):
        pytree.tree_unflatten([1], pytree.tree_structure([1, 2]))
