"""Classes of old scripts: ``torch.cuda.FloatTensor``, ``torch.sparse.FloatTensor`` and their variants."""
from __future__ import annotations

import importlib

import pytest

pytestmark = [pytest.mark.filterwarnings("ignore:Sparse"), pytest.mark.filterwarnings("ignore:torch.sparse.Sparse"),
              pytest.mark.filterwarnings("ignore:torch.set_default_tensor_type")]
NO_CUDA = r"type torch\.cuda\.{}FloatTensor not available\. Torch not compiled with CUDA enabled\."
INDICES = [[0, 2]]


@pytest.fixture
def kinds(xp):
    importlib.import_module(f"{xp.__name__}.cuda.sparse")
    return {"dense": xp.FloatTensor, "sparse": xp.sparse.FloatTensor, "cuda": xp.cuda.FloatTensor, "cuda sparse": xp.cuda.sparse.FloatTensor}


def test_which_tensors_are_instances(xp, kinds):
    def found(t):
        return [name for name, cls in kinds.items() if isinstance(t, cls)]
    t = xp.ones(2)
    assert (found(t), found(t.to_sparse()), found(t.long()), found(3)) == (["dense"], ["sparse"], [], [])
    assert found(xp.ones(2, 2).to_sparse_csr()) == found(xp.ones(2, device="meta")) == []


def test_facts_of_classes(kinds):
    facts = {name: (cls.__module__, cls.is_cuda, cls.is_sparse, str(cls.layout), str(cls.dtype)) for name, cls in kinds.items()}
    assert facts == {"dense": ("torch", False, False, "torch.strided", "torch.float32"),
                     "sparse": ("torch.sparse", False, True, "torch.sparse_coo", "torch.float32"),
                     "cuda": ("torch.cuda", True, False, "torch.strided", "torch.float32"),
                     "cuda sparse": ("torch.cuda.sparse", True, True, "torch.sparse_coo", "torch.float32")}


@pytest.mark.parametrize("kind", ["dense", "sparse", "cuda", "cuda sparse"])
def test_classes_are_no_bases(kinds, kind):
    with pytest.raises(TypeError, match="is not an acceptable base type"):
        type("Own", (kinds[kind],), {})


def test_sparse_tensors_are_made(xp):
    make, i, v = xp.sparse.FloatTensor, xp.tensor(INDICES), xp.tensor([3.0, 4.0])
    made = [make(i, v), make(i, v, (4,)), make(indices=i, values=v, device="cpu"), make(2, 3), make(xp.Size([2])), make()]
    assert [(list(t.shape), t._nnz()) for t in made] == [([3], 2), ([4], 2), ([3], 2), ([2, 3], 0), ([2], 0), ([0], 0)]
    assert (made[1].to_dense().tolist(), make(i, v.long()).dtype) == ([3, 0, 4, 0], xp.int64)
    assert (xp.sparse.LongTensor(2).dtype, made[0].new(2).dtype) == (xp.int64, xp.float32)


@pytest.mark.parametrize(("arguments", "error", "says"), [
    (([2, 3],), TypeError, "only accepts sizes"),
    (("a",), TypeError, r"new\(\) received an invalid combination of arguments - got \(str\)"),
    ((2.0,), TypeError, r"got \(float\)"),
    ((-1,), RuntimeError, "numel: integer multiplication overflow"),
])
def test_sparse_tensors_are_refused(xp, arguments, error, says):
    with pytest.raises(error, match=says):
        xp.sparse.FloatTensor(*arguments)


def test_sparse_tensors_of_other_arguments_are_refused(xp):
    make, i, v = xp.sparse.FloatTensor, xp.tensor(INDICES), xp.ones(2)
    for arguments in ((v,), (i, [1.0, 2.0]), (i, v, 3)):
        with pytest.raises(TypeError, match=r"new\(\) received an invalid combination of arguments"):
            make(*arguments)
    with pytest.raises(RuntimeError, match="legacy constructor expects device type: cpu but device type: cuda"):
        make(i, v, device="cuda")


def test_without_a_gpu_classes_of_cuda_make_nothing(xp, kinds):
    if xp.cuda.is_available():
        pytest.skip("there is a GPU")
    for name, path in (("cuda", ""), ("cuda sparse", r"sparse\.")):
        with pytest.raises(TypeError, match=NO_CUDA.format(path)):
            kinds[name](2)
        with pytest.raises(TypeError, match=NO_CUDA.format(path)):
            xp.set_default_tensor_type(kinds[name])
        with pytest.raises(RuntimeError, match="Cannot initialize CUDA without ATen_cuda library"):
            xp.ones(2).type(kinds[name])
    with pytest.raises(RuntimeError, match="Cannot initialize CUDA"):
        xp.ones(2).type("torch.cuda.LongTensor")


def test_casts_and_names_of_types(xp):
    t = xp.ones(2)
    names = [t.type(), t.to_sparse().type(), xp.ones(2, device="meta").type(), t.type(xp.IntTensor).type(),
             t.to_sparse().type("torch.sparse.DoubleTensor").type(), t.double().type(xp.Tensor).type()]
    assert names == ["torch.FloatTensor", "torch.sparse.FloatTensor", "torch.meta.FloatTensor", "torch.IntTensor",
                     "torch.sparse.DoubleTensor", "torch.FloatTensor"]
    assert t.type(xp.FloatTensor) is t
    for wrong, error in ((3, TypeError), ("torch.nothing", ValueError)):
        with pytest.raises(error, match="dtype must be a type, str, or dtype object|invalid type: 'torch.nothing'"):
            t.type(wrong)
    with pytest.raises(RuntimeError, match="Unimplemented backend SparseCsrCPU"):
        xp.ones(2, 2).to_sparse_csr().type()


def test_default_types(xp):
    for wrong in ("torch.sparse.FloatTensor", xp.sparse.FloatTensor):
        with pytest.raises(TypeError, match="only dense types are supported as the default type"):
            xp.set_default_tensor_type(wrong)
    for wrong in (xp.IntTensor, xp.Tensor, xp.float32, 3):
        with pytest.raises(TypeError, match="only floating-point types are supported"):
            xp.set_default_tensor_type(wrong)
    xp.set_default_tensor_type("torch.DoubleTensor")
    try:
        assert xp.ones(1).dtype is xp.float64
    finally:
        xp.set_default_tensor_type(xp.FloatTensor)
