"""Each library loads the other's files: tensors with their storages, and all other contents of a state dict."""
from __future__ import annotations

import io
import pickle
import zipfile

import numpy as np
import pytest
from checkpoints import CASES, DIRECTIONS, NEEDS_TORCH, both, described, loaded, saved, views
from libraries import library


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("case", [name for name in CASES if name != "classic_dtypes"])
@pytest.mark.parametrize("form", ["weights_only", "unrestricted", "legacy", "protocol 4"])
def test_the_same_arrives(direction, case, form):
    writer, reader = both(direction)
    if (case, form) == ("of_all_dtypes", "legacy"):
        case = "classic_dtypes"
    obj = CASES[case](writer)
    options = {"legacy": {"_use_new_zipfile_serialization": False}, "protocol 4": {"pickle_protocol": 4}}.get(form, {})
    weights_only = form in ("weights_only", "legacy")
    made = loaded(reader, saved(writer, obj, **options), weights_only=weights_only)
    assert described(made) == described(CASES[case](reader))


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_tensors_that_shared_memory_share_it_again(direction):
    writer, reader = both(direction)
    made = loaded(reader, saved(writer, views(writer)))
    assert made["same"] is made["base"]
    assert made["alias"] is not made["base"]
    made["base"].fill_(7)
    assert all(made[k].eq(7).all() for k in ("alias", "part", "transposed", "flat", "expanded", "diagonal"))
    made["first"][1] = 99
    assert made["unsqueezed"][0, 1, 0] == 99
    assert made["tail only"].untyped_storage().nbytes() == 80


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_training_goes_on_from_a_checkpoint(direction):
    """After two steps, a model, its optimizer and the random state make the same third step in the other library."""
    def parts(xp):
        model = xp.nn.Sequential(xp.nn.Linear(3, 4), xp.nn.BatchNorm1d(4), xp.nn.Tanh(), xp.nn.Linear(4, 1))
        return model, xp.optim.Adam(model.parameters(), lr=0.1)

    def step(xp, model, optimizer):
        optimizer.zero_grad()
        loss = model(xp.randn(8, 3)).square().mean()
        loss.backward()
        optimizer.step()
        return loss.item()

    writer, reader = both(direction)
    model, optimizer = parts(writer)
    for _ in range(2):
        step(writer, model, optimizer)
    data = saved(writer, {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "rng": writer.get_rng_state()})
    wanted = step(writer, model, optimizer), step(writer, model, optimizer)
    model, optimizer = parts(reader)
    state = loaded(reader, data)
    assert state["model"]._metadata == model.state_dict()._metadata
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    reader.set_rng_state(state["rng"])
    assert (step(reader, model, optimizer), step(reader, model, optimizer)) == pytest.approx(wanted, rel=1e-5)


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_generators(direction):
    writer, reader = both(direction)
    generator = writer.Generator().manual_seed(2 ** 40 + 1)
    writer.rand(3, generator=generator)
    made = loaded(reader, saved(writer, generator), weights_only=False)
    assert made.initial_seed() == 2 ** 40 + 1
    assert reader.rand(5, generator=made).tolist() == writer.rand(5, generator=generator).tolist()


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_attributes_and_buffers(direction):
    writer, reader = both(direction)
    t = writer.ones(2)
    t.note, t.other = "mine", [1, writer.zeros(1)]
    p = writer.nn.Parameter(writer.ones(2))
    p.optional = {"a": 1}
    made = loaded(reader, saved(writer, [t, p, writer.nn.Buffer(writer.ones(3), persistent=False)]))
    assert made[0].note == "mine" and made[0].other[1].tolist() == [0]
    assert made[1].optional == {"a": 1} and type(made[1]) is reader.nn.Parameter
    assert isinstance(made[2], reader.nn.Buffer) and made[2].persistent is False


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_numpy_arrays_and_scalars(direction):
    writer, reader = both(direction)
    obj = {"a": np.arange(6).reshape(2, 3)[:, ::2], "s": np.float32(1.5), "d": np.dtype("int16")}
    data = saved(writer, obj)
    made = loaded(reader, data, weights_only=False)
    assert made["a"].tolist() == [[0, 2], [3, 5]] and made["s"] == 1.5 and type(made["s"]) is np.float32
    assert made["d"] == np.int16
    with pytest.raises(pickle.UnpicklingError, match=r"GLOBAL numpy\.\S+ was not an allowed global by default"):
        loaded(reader, data)
    allowed = [np._core.multiarray._reconstruct, (np._core.multiarray._reconstruct, "numpy.core.multiarray._reconstruct"),
               np._core.multiarray.scalar, (np._core.multiarray.scalar, "numpy.core.multiarray.scalar"), np.ndarray, np.dtype,
               type(np.dtype("int64")), type(np.dtype("float32")), type(np.dtype("int16"))]
    with reader.serialization.safe_globals(allowed):
        assert loaded(reader, data)["a"].tolist() == [[0, 2], [3, 5]]


@NEEDS_TORCH
def test_lazily_conjugated_tensors_are_conjugated():
    torch, jtorch = library("torch"), library("jtorch")
    x = torch.tensor([1 + 2j, 3 - 1j])
    made = loaded(jtorch, saved(torch, [x.conj()])), loaded(jtorch, saved(torch, [x.conj().imag]))
    assert made[0][0].tolist() == [1 - 2j, 3 + 1j] and made[1][0].tolist() == [-2, 1]


@NEEDS_TORCH
@pytest.mark.filterwarnings("ignore:torch.quantize_per_tensor")
@pytest.mark.parametrize("dtype", ["qint8", "quint8", "qint32"])
def test_quantized_tensors(dtype):
    torch = library("torch")
    given = torch.quantize_per_tensor(torch.tensor([1.0, 0.25]), 0.1, 3, getattr(torch, dtype))
    made = loaded(library("jtorch"), saved(torch, given))
    assert (made.dequantize().tolist(), repr(made)) == (given.dequantize().tolist(), repr(given))


@NEEDS_TORCH
@pytest.mark.filterwarnings("ignore:Sparse")
@pytest.mark.parametrize("layout", ["to_sparse", "to_sparse_csr"])
def test_sparse_tensors(layout):
    torch, jtorch = library("torch"), library("jtorch")
    for ours, theirs in ((torch, jtorch), (jtorch, torch)):
        made = loaded(theirs, saved(ours, getattr(ours.eye(2), layout)()))
        assert made.to_dense().tolist() == [[1, 0], [0, 1]] and repr(made.layout) == repr(getattr(ours.eye(2), layout)().layout)


def test_meta_tensors(xp):
    t = loaded(xp, saved(xp, xp.ones(2, 3)), map_location="meta")
    made = loaded(xp, saved(xp, {"t": t}))
    assert described(made["t"])[:4] == ("Tensor", "torch.float32", (2, 3), (3, 1)) and made["t"].device.type == "meta"


def test_hooks_are_not_saved_and_warned_of(xp):
    t = xp.ones(2, requires_grad=True)
    t.register_hook(lambda g: g)
    with pytest.warns(UserWarning, match=r"backward hook .* on tensor will not be serialized"):
        saved(xp, t)
    with pytest.warns(UserWarning, match=r"backward hook .* on tensor will not be serialized"):
        pickle.dumps(t)


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
def test_storages(xp):
    t = xp.arange(4.)
    made = loaded(xp, saved(xp, {"s": t.untyped_storage(), "n": 1}))
    assert made["s"].nbytes() == 16
    with pytest.raises(RuntimeError, match="Cannot save multiple tensors or storages that view the same data as different types"):
        saved(xp, [t, t.view(xp.int32)])


class _Sub:
    """Makes a subclass of a library's tensor that pickle finds under its name."""

    made: dict = {}

    @classmethod
    def of(cls, xp):
        name = f"Sub_{xp.__name__}"
        if name not in globals():
            globals()[name] = type(name, (xp.Tensor,), {"__module__": __name__})
        return globals()[name]


def test_subclasses(xp):
    kind = _Sub.of(xp)
    t = xp.ones(2).as_subclass(kind)
    t.note = 5
    data = saved(xp, t)
    made = loaded(xp, data, weights_only=False)
    assert type(made) is kind and made.note == 5
    with pytest.raises(pickle.UnpicklingError, match="was not an allowed global by default"):
        loaded(xp, data)
    with xp.serialization.safe_globals([kind]):
        assert loaded(xp, data).note == 5


def test_skip_data(xp):
    with xp.serialization.skip_data():
        data = saved(xp, xp.ones(3))
        assert loaded(xp, saved(xp, xp.ones(3))).shape == (3,)
    assert loaded(xp, data).shape == (3,)


@NEEDS_TORCH
def test_the_archive_is_laid_out_as_pytorch_lays_it_out():
    """The same records are at the same places, because PyTorch may compute the places instead of reading the
    directory.
    """
    def layout(xp):
        data = saved(xp, {"a": xp.arange(100.), "b": xp.zeros(0), "c": xp.ones(3, dtype=xp.int8)})
        with zipfile.ZipFile(io.BytesIO(data)) as z:
            assert z.testzip() is None
            return [(i.filename, i.header_offset, i.file_size, i.flag_bits, i.extra) for i in z.infolist()], len(data)
    assert layout(library("jtorch")) == layout(library("torch"))


@NEEDS_TORCH
def test_the_pickle_is_pytorchs_pickle():
    def pickled(xp):
        model = xp.nn.Linear(2, 1)
        obj = {"state": model.state_dict(), "p": model.weight, "d": xp.float16, "s": xp.Size([1]), "u": xp.ones(2).to(xp.uint16),
               "dev": xp.device("cpu"), "l": xp.strided}
        return zipfile.ZipFile(io.BytesIO(saved(xp, obj))).read("archive/data.pkl")

    def globals_of(data):
        import pickletools
        return [arg for op, arg, _ in pickletools.genops(data) if op.name == "GLOBAL"]
    assert globals_of(pickled(library("jtorch"))) == globals_of(pickled(library("torch")))
