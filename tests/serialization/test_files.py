"""Sources and targets of checkpoints: paths, file objects, devices, memory maps, the environment, damaged and odd
files.
"""
from __future__ import annotations

import gzip
import io
import mmap
import os
import pathlib
import pickle
import sys
import types
import zipfile

import pytest
from checkpoints import CASES, DIRECTIONS, NEEDS_TORCH, both, described, loaded, saved
from libraries import library
from process_programs import virtual_devices


@pytest.mark.parametrize("kind", [str, pathlib.Path])
def test_paths(xp, tmp_path, kind):
    for name, root in (("a.model.pt", "a.model"), ("bare", "bare"), ("é.pt", "archive")):
        path = kind(tmp_path / name)
        xp.save({"x": xp.arange(3)}, path)
        assert xp.load(path)["x"].tolist() == [0, 1, 2]
        assert zipfile.ZipFile(path).namelist()[0] == f"{root}/data.pkl"


def test_file_objects(xp, tmp_path):
    with open(tmp_path / "x", "w+b") as f:
        f.write(b"before")
        xp.save(xp.arange(2000.), f)
        f.seek(6)
        assert xp.load(f).tolist() == list(range(2000))
    with gzip.open(tmp_path / "x.gz", "wb") as f:
        xp.save(xp.arange(5), f)
    with gzip.open(tmp_path / "x.gz", "rb") as f:
        assert xp.load(f).tolist() == [0, 1, 2, 3, 4]


def test_a_pipe_can_be_written_but_not_read(xp):
    read, write = os.pipe()
    with open(write, "wb") as f:
        xp.save(xp.arange(3), f)
    with open(read, "rb") as f:
        with pytest.raises(OSError, match="Illegal seek"):
            xp.load(f)
        assert loaded(xp, f.read()).tolist() == [0, 1, 2]
    with pytest.raises(AttributeError, match=r"You can only torch\.load from a file that is seekable"):
        xp.load(types.SimpleNamespace(read=lambda n: b""))


def test_what_is_no_file(xp, tmp_path):
    with pytest.raises(AttributeError, match="expected 'f' to be string, path, or a file-like object with a 'write' attribute"):
        xp.save(1, 5)
    with pytest.raises(FileNotFoundError):
        xp.load(tmp_path / "none")
    with pytest.raises((FileNotFoundError, RuntimeError), match="No such file|does not exist"):
        xp.save(1, tmp_path / "none" / "x")


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_mapped_files(direction, shared, tmp_path):
    writer, reader = both(direction)
    path = tmp_path / "x.pt"
    writer.save({"x": writer.arange(6.).reshape(2, 3), "p": writer.nn.Parameter(writer.ones(2))}, path)
    before = reader.serialization.get_default_mmap_options()
    with reader.serialization.set_default_mmap_options(mmap.MAP_SHARED if shared else mmap.MAP_PRIVATE):
        made = reader.load(path, mmap=True)
    assert reader.serialization.get_default_mmap_options() == before
    assert made["x"].sum() == 15 and made["x"][1].tolist() == [3, 4, 5] and type(made["p"]) is reader.nn.Parameter
    made["x"][0, 1] = 50
    assert made["x"].sum() == 64
    assert reader.load(path, mmap=True)["x"][0, 1] == (50 if shared else 1)  # mmap skips the checksum of the old content.


def test_only_zip_files_on_disk_can_be_mapped(xp, tmp_path):
    with pytest.raises(ValueError, match="f must be a file path in order to use the mmap argument"):
        loaded(xp, saved(xp, 1), mmap=True)
    xp.save(1, tmp_path / "x", _use_new_zipfile_serialization=False)
    with pytest.raises(RuntimeError, match="mmap can only be used with files saved with"):
        xp.load(tmp_path / "x", mmap=True)


@pytest.mark.parametrize("form", [{}, {"_use_new_zipfile_serialization": False}])
@pytest.mark.parametrize("where", ["cpu", "device", {"cpu": "cpu"}, {"elsewhere": "cpu"}, lambda storage, place: storage,
                                   lambda storage, place: None])
def test_map_location(xp, where, form):
    where = xp.device("cpu") if where == "device" else where
    made = loaded(xp, saved(xp, CASES["views"](xp), **form), map_location=where)
    assert described(made) == described(CASES["views"](xp))


def test_a_function_is_asked_once_for_each_storage(xp):
    x = xp.arange(4.)
    calls = []
    loaded(xp, saved(xp, [x, x[1:], xp.ones(2)]), map_location=lambda s, place: calls.append((s.nbytes(), place)))
    assert calls == [(16, "cpu"), (8, "cpu")]


def test_places_that_are_not_there(xp):
    data = saved(xp, xp.ones(2))
    with pytest.raises(RuntimeError, match=r"don't know how to restore data location of .*Storage \(tagged with nowhere\)"):
        loaded(xp, data, map_location="nowhere")
    if not xp.cuda.is_available():
        for where in ("cuda", "cuda:0", xp.device("cuda", 1)):
            with pytest.raises(RuntimeError, match=r"Attempting to deserialize object on a CUDA device but "
                                                   r"torch\.cuda\.is_available\(\) is False"):
                loaded(xp, data, map_location=where)


def test_an_error_in_map_location_is_the_users(xp):
    with pytest.raises(ZeroDivisionError):
        loaded(xp, saved(xp, xp.ones(2)), map_location=lambda storage, place: 1 / 0)


@pytest.mark.parametrize("form", [{}, {"_use_new_zipfile_serialization": False}])
def test_to_meta(form):
    xp = library("jtorch")
    made = loaded(xp, saved(xp, CASES["requiring_grad"](xp), **form), map_location="meta")
    assert {str(t.device) for t in made.values()} == {"meta"}
    assert made["view of w"].shape == (2,) and made["w"].requires_grad


@NEEDS_TORCH
def test_from_a_gpu():
    """A checkpoint of GPU tensors loads without a GPU, with map_location."""
    torch, jtorch = library("torch"), library("jtorch")
    gpu = b"X\x06\x00\x00\x00cuda:0"
    data = saved(torch, torch.arange(3.))
    with zipfile.ZipFile(io.BytesIO(data)) as z:
        records = {n: z.read(n).replace(b"X\x03\x00\x00\x00cpu", gpu) for n in z.namelist()}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as z:
        for name, record in records.items():
            z.writestr(name, record)
    for where in ("cpu", {"cuda:0": "cpu"}, lambda storage, place: storage):
        assert loaded(jtorch, buffer.getvalue(), map_location=where).tolist() == [0, 1, 2]
    if not jtorch.cuda.is_available():
        with pytest.raises(RuntimeError, match=r"torch\.cuda\.is_available\(\) is False"):
            loaded(jtorch, buffer.getvalue())


def test_own_devices(xp):
    seen = []
    before = list(xp.serialization._package_registry if xp.__name__ == "torch" else _registry())
    xp.serialization.register_package(5, lambda storage: "attic" if storage.nbytes() == 12 else None,
                                      lambda storage, place: seen.append(place) or storage if place == "attic" else None)
    try:
        assert loaded(xp, saved(xp, [xp.ones(3), xp.ones(4)]))[0].tolist() == [1, 1, 1]
        assert seen == ["attic"]
    finally:
        (xp.serialization._package_registry if xp.__name__ == "torch" else _registry())[:] = before


def _registry():
    from jtorch.serialization import locations
    return locations._registry


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_byte_order(direction):
    """The bytes of a big-endian checkpoint are swapped."""
    writer, reader = both(direction)
    obj = {"f": writer.arange(3.), "c": writer.tensor([1 + 2j]), "i": writer.tensor([1, 2]), "b": writer.tensor([True])}
    data = saved(writer, obj)
    with zipfile.ZipFile(io.BytesIO(data)) as z:
        records = {n: z.read(n) for n in z.namelist()}
    for n, width in (("0", 4), ("1", 4), ("2", 8), ("3", 1)):
        raw = records[f"archive/data/{n}"]
        records[f"archive/data/{n}"] = b"".join(raw[i:i + width][::-1] for i in range(0, len(raw), width))
    big = {**records, "archive/byteorder": b"big"}
    made = loaded(reader, _zipped(big))
    assert [t.tolist() for t in made.values()] == [[0, 1, 2], [1 + 2j], [1, 2], [True]]
    del big["archive/byteorder"]
    reader.serialization.set_default_load_endianness(reader.serialization.LoadEndianness.BIG)
    try:
        assert loaded(reader, _zipped(big))["f"].tolist() == [0, 1, 2]
    finally:
        reader.serialization.set_default_load_endianness(None)


def _zipped(records: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as z:
        for name, record in records.items():
            z.writestr(name, record)
    return buffer.getvalue()


def test_archives_that_somebody_has_packed_again(xp):
    with zipfile.ZipFile(io.BytesIO(saved(xp, xp.arange(1000)))) as z:
        records = {n.replace("archive", "other"): z.read(n) for n in z.namelist()}
    assert loaded(xp, _zipped(records, zipfile.ZIP_DEFLATED)).tolist() == list(range(1000))


def test_checksums_can_be_left_out(xp):
    xp.serialization.set_crc32_options(False)
    try:
        data = saved(xp, xp.arange(3))
    finally:
        xp.serialization.set_crc32_options(True)
    assert zipfile.ZipFile(io.BytesIO(data)).infolist()[0].CRC == 0
    assert loaded(xp, data).tolist() == [0, 1, 2]
    assert xp.serialization.get_crc32_options() is True


def test_weights_only_is_the_default(xp, monkeypatch):
    data = saved(xp, xp.nn.ReLU())
    with pytest.raises(pickle.UnpicklingError, match=r"Weights only load failed\. This file can still be loaded"):
        loaded(xp, data)
    assert type(loaded(xp, data, pickle_module=pickle)) is xp.nn.ReLU
    with pytest.raises(RuntimeError, match="Can not safely load weights when explicit pickle_module is specified"):
        loaded(xp, data, pickle_module=pickle, weights_only=True)
    monkeypatch.setenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "1")
    with pytest.warns(UserWarning, match="forcing weights_only=False"):
        assert type(loaded(xp, data)) is xp.nn.ReLU
    monkeypatch.setenv("TORCH_FORCE_WEIGHTS_ONLY_LOAD", "1")
    with pytest.raises(RuntimeError, match="Only one of"):
        loaded(xp, data)
    monkeypatch.delenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD")
    with pytest.raises(pickle.UnpicklingError):
        loaded(xp, data, weights_only=False)


def test_python_2_strings(xp):
    stream = b"\x80\x02U\x02\xc3\xa9."
    data = saved(xp, 1)
    with zipfile.ZipFile(io.BytesIO(data)) as z:
        records = {n: z.read(n) for n in z.namelist()}
    records["archive/data.pkl"] = stream
    assert loaded(xp, _zipped(records)) == "é"
    assert loaded(xp, _zipped(records), weights_only=False, encoding="bytes") == b"\xc3\xa9"
    assert loaded(xp, _zipped(records), weights_only=False, encoding="latin1") == "Ã©"


@NEEDS_TORCH
@pytest.mark.filterwarnings("ignore")
def test_torchscript_is_refused():
    torch, jtorch = library("torch"), library("jtorch")
    buffer = io.BytesIO()
    torch.jit.save(torch.jit.script(torch.nn.ReLU()), buffer)
    with pytest.raises(RuntimeError, match="Cannot use ``weights_only=True`` with TorchScript archives"):
        loaded(jtorch, buffer.getvalue())
    with pytest.raises(NotImplementedError, match="TorchScript"):
        loaded(jtorch, buffer.getvalue(), weights_only=False)


def test_tar_files_are_refused(tmp_path):
    import tarfile
    with tarfile.open(tmp_path / "x.tar", "w") as tar:
        tar.addfile(tarfile.TarInfo("storages"))
    with pytest.raises(RuntimeError, match=r"Cannot use ``weights_only=True`` with files saved in the legacy \.tar format"):
        library("jtorch").load(tmp_path / "x.tar")
    with pytest.raises(NotImplementedError, match="tar format"):
        library("jtorch").load(tmp_path / "x.tar", weights_only=False)


class Anything(dict):
    """A replacement for the objects of a pickle."""

    def __init__(self, *args):
        pass

    def __setstate__(self, state):
        pass


def modules_named(data):
    """Return the module names in a pickle; none of them is jtorch's."""
    found = set()

    class Reader(pickle.Unpickler):
        def find_class(self, module, name):
            found.add(module)
            return Anything

        def persistent_load(self, saved):
            return None
    Reader(io.BytesIO(data)).load()
    assert not [module for module in found if module.startswith("jtorch")]
    return found


@pytest.mark.parametrize("base", ["_Pickler", "Pickler"])
@pytest.mark.parametrize("protocol", [2, 4])
def test_pickle_modules(base, protocol):
    """A Pickler in C writes PyTorch's names too."""
    xp = library("jtorch")

    class Pickler(getattr(pickle, base)):
        pass
    module = types.SimpleNamespace(Pickler=Pickler, dumps=pickle.dumps, __name__="mine")
    net = xp.nn.Sequential(xp.nn.Linear(2, 1), xp.nn.BatchNorm1d(1))
    given = {"net": net, "part": xp.arange(3)[1:], "dtype": xp.float32, "text": "jtorch.nn", "sparse": xp.eye(2).to_sparse(),
             "bits": xp.ones(1, dtype=xp.uint16), "storage": xp.ones(1).untyped_storage()}
    data = saved(xp, given, pickle_module=module, pickle_protocol=protocol)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert modules_named(archive.read("archive/data.pkl")) >= {"torch.nn.modules.linear", "torch._utils"}
    made = loaded(xp, data, weights_only=False)
    assert made["net"][0].weight.equal(net[0].weight) and made["part"].tolist() == [1, 2] and made["bits"].tolist() == [1]
    assert made["dtype"] is xp.float32 and made["text"] == "jtorch.nn" and made["sparse"].to_dense().equal(xp.eye(2))


@pytest.mark.nightly
def test_more_than_four_gigabytes(tmp_path):
    """Sizes and offsets that need 64 bits, written and read by both libraries."""
    import numpy as np
    xp = library("jtorch")
    big = xp.from_numpy(np.zeros(2 ** 32 + 5, np.uint8))
    obj = {"big": big, "small": xp.arange(3)}
    xp.save(obj, tmp_path / "x.pt")
    for reader in (xp, library("torch")):
        made = reader.load(tmp_path / "x.pt", mmap=True)
        assert made["big"].shape == (2 ** 32 + 5,) and made["small"].tolist() == [0, 1, 2]
    library("torch").save({"big": library("torch").from_numpy(big.numpy()), "small": library("torch").arange(3)}, tmp_path / "x.pt")
    assert xp.load(tmp_path / "x.pt", mmap=True)["small"].tolist() == [0, 1, 2]
    assert sys.maxsize > 2 ** 32


def test_to_other_devices(run_forked):
    """All tensors of a storage move with it, in either format."""
    printed = run_forked("""
import io, jtorch as torch
x = torch.arange(6.)
obj = {"x": x, "v": x[1:3], "p": torch.nn.Parameter(x[2:]), "u": torch.ones(2, device="cpu:1").to(torch.uint16)}
for archive in (True, False):
    b = io.BytesIO()
    torch.save(obj, b, _use_new_zipfile_serialization=archive)
    for where in (None, "cpu:1", {"cpu": "cpu:1"}, lambda storage, place: storage.to(device="cpu:1")):
        b.seek(0)
        made = torch.load(b, map_location=where)
        made["x"].add_(1)
        print(*{str(t.device) for t in made.values()}, [t.tolist() for t in made.values()])
""", virtual_devices(2)).splitlines()
    assert [line.split()[0] for line in printed] == ["cpu", "cpu:1", "cpu:1", "cpu:1"] * 2
    assert {line.partition(" ")[2] for line in printed} == {
        "[[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [2.0, 3.0], [3.0, 4.0, 5.0, 6.0], [1, 1]]"}
