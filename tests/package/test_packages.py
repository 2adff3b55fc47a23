"""torch.package: what is packed arrives, modules of packages have their own names, and modules without an action are refused."""
from __future__ import annotations

import importlib.resources
import inspect
import io
import zipfile

import pytest
from libraries import HAS_TORCH, NO_TORCH, library

LAYERS = """
import torch
from torch.nn import Linear
from . import sizes
from .sizes import WIDTH as width

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = Linear(width, 1)
        with torch.no_grad():
            self.layer.weight.fill_(sizes.WIDTH)

    def forward(self, x):
        return self.layer(x)

    class Inner:
        pass
"""
pytestmark = pytest.mark.filterwarnings("ignore:TypedStorage is deprecated:UserWarning")     # PyTorch gives it itself.
SOURCES = {"pack": ("", True), "pack.sizes": ("WIDTH = 3\n", False), "pack.net": (LAYERS, False)}


def packed(xp, save=lambda exporter: None, **options):
    """Return the package of ``SOURCES`` as a file, to which ``save`` adds more."""
    file = io.BytesIO()
    with xp.package.PackageExporter(file, **options) as exporter:
        exporter.intern("pack.**")
        for name, (source, is_package) in SOURCES.items():
            exporter.save_source_string(name, source, is_package)
        save(exporter)
    return at_start(file)


def at_start(file):
    file.seek(0)
    return file


def with_net(xp):
    """Return an importer and its ``pack.net``."""
    importer = xp.package.PackageImporter(packed(xp))
    return importer, importer.import_module("pack.net")


def test_code_texts_and_bytes_arrive(xp):
    def save(exporter):
        exporter.save_text("texts", "a.txt", "ä")
        exporter.save_binary("pack", "b.bin", b"\0\1")
    importer = xp.package.PackageImporter(packed(xp, save))
    assert importer.load_text("texts", "a.txt") == "ä"
    assert importer.load_binary("pack", "b.bin") == b"\0\1"
    assert importer.import_module("pack.sizes").WIDTH == 3
    assert importlib.resources.files(importer.import_module("pack")).joinpath("b.bin").read_bytes() == b"\0\1"
    tree = importer.file_structure(include=["pack/**", "texts/*"])
    assert str(tree).split("\n")[1:] == ["    ├── pack", "    │   ├── __init__.py", "    │   ├── b.bin", "    │   ├── net.py",
                                         "    │   └── sizes.py", "    └── texts", "        └── a.txt", ""]
    assert tree.has_file("pack/net.py")
    assert not tree.has_file("pack/net")
    with pytest.raises(ValueError, match="'c/a.txt' must be only a file name"):
        importer.load_text("texts", "c/a.txt")


def test_modules_of_packages_have_names_and_sources_of_their_own(xp):
    importer, net = with_net(xp)
    other = with_net(xp)[1]
    assert net is not other
    assert net.__name__ == f"{importer.id()}.pack.net"
    assert importer.import_module(net.__name__) is net
    assert inspect.getsource(net.Net).startswith("class Net(torch.nn.Module):")
    assert importer.get_source("pack.net") == LAYERS
    assert net.Linear.__module__ == xp.nn.Linear.__module__
    assert xp.package.is_from_package(net.Net())
    assert not xp.package.is_from_package(xp.ones(2))
    with pytest.raises(ModuleNotFoundError, match='No module named "pack.none" in self-contained archive "<binary>"'):
        importer.import_module("pack.none")


@pytest.mark.parametrize("protocol", [3, 4])
def test_a_model_is_packed_again_with_its_code(xp, protocol):
    importer, module = with_net(xp)
    net = module.Net()

    def save(exporter):
        exporter.save_pickle("pack", "net.pkl", {"net": net, "weight": net.layer.weight}, pickle_protocol=protocol)
        exporter.save_pickle("pack", "class.pkl", module.Net.Inner)
    file = io.BytesIO()
    with xp.package.PackageExporter(file, importer=[importer, xp.package.sys_importer]) as exporter:
        exporter.intern("pack.**")
        save(exporter)
    assert exporter.interned_modules() == ["pack.net", "pack.sizes"]
    assert exporter.get_rdeps("pack.sizes") == ["pack.net"]
    assert "torch.nn.modules.linear" in exporter.externed_modules()
    importer = xp.package.PackageImporter(at_start(file))
    loaded = importer.load_pickle("pack", "net.pkl")
    assert loaded["net"].layer.weight is loaded["weight"]
    assert importer.load_pickle("pack", "class.pkl").__qualname__ == "Net.Inner"
    assert loaded["net"](xp.ones(2, 3)).tolist() == net(xp.ones(2, 3)).tolist()


@pytest.mark.skipif(not HAS_TORCH, reason=NO_TORCH)
@pytest.mark.parametrize("writer", ["torch", "jtorch"])
def test_each_library_reads_the_others_packages(writer):
    xp, reader = library(writer), library({"torch": "jtorch", "jtorch": "torch"}[writer])
    values = xp.arange(6.).reshape(2, 3)
    file = packed(xp, lambda exporter: exporter.save_pickle("pack", "t.pkl", [values, values.t(), xp.float16, xp.nn.Linear(1, 1)]))
    importer = reader.package.PackageImporter(file)
    first, second, dtype, layer = importer.load_pickle("pack", "t.pkl")
    first[0, 1] = 9
    assert second.tolist() == [[0, 3], [9, 4], [2, 5]]
    assert dtype is reader.float16
    assert type(layer) is reader.nn.Linear
    assert importer.import_module("pack.net").Net().layer.weight.tolist() == [[3, 3, 3]]


def test_storages_are_shared_by_pickles_of_a_package(xp):
    t = xp.ones(100)

    def save(exporter):
        exporter.save_pickle("a", "a.pkl", t)
        exporter.save_pickle("b", "b.pkl", t[1:])
    file = packed(xp, save)
    assert sum(name.endswith(".storage") for name in zipfile.ZipFile(file).namelist()) == 1
    assert xp.package.PackageImporter(at_start(file)).load_pickle("b", "b.pkl").shape == (99,)


def test_a_directory_is_read_as_its_archive(tmp_path):
    xp = library("jtorch")      # PyTorch reads no tensors from directories.
    file = packed(xp, lambda exporter: exporter.save_pickle("pack", "t.pkl", xp.ones(2)))
    zipfile.ZipFile(file).extractall(tmp_path)
    importer = xp.package.PackageImporter(tmp_path / "archive")
    assert importer.load_pickle("pack", "t.pkl").tolist() == [1, 1]
    assert importer.import_module("pack.sizes").WIDTH == 3


def test_an_objects_own_reduction_can_add_code(xp):
    class Number:
        def __reduce_package__(self, exporter):
            name = f"made_{exporter.get_unique_id()}"
            exporter.save_source_string(name, "value = 5")
            return getattr, ("import_module",)      # The first argument is the importer.

    number = Number()
    importer = xp.package.PackageImporter(packed(xp, lambda exporter: exporter.save_pickle("a", "a.pkl", [number, number])))
    first, second = importer.load_pickle("a", "a.pkl")
    assert first is second
    assert first("made_0").value == 5
    assert not importer.file_structure().has_file("made_1.py")


def test_graph_modules_are_packed_as_code(xp):
    traced = xp.fx.symbolic_trace(xp.nn.Sequential(xp.nn.Linear(2, 2), xp.nn.ReLU()))
    file = packed(xp, lambda exporter: exporter.save_pickle("pack", "g.pkl", traced))
    importer = xp.package.PackageImporter(file)
    loaded = importer.load_pickle("pack", "g.pkl")
    assert loaded.code == traced.code
    assert loaded(xp.ones(1, 2)).tolist() == traced(xp.ones(1, 2)).tolist()
    assert importer.file_structure().has_file("fx-generated/_0.py")


# -- what a package may need ------------------------------------------------------------------------------------------

@pytest.mark.parametrize(("action", "text"), [
    (None, "* Module did not match against any action pattern. Extern, mock, or intern it.\n    numpy\n"),
    ("deny", "* Module was denied by a pattern.\n    numpy\n")])
def test_modules_without_an_action_are_refused(xp, action, text):
    exporter = xp.package.PackageExporter(io.BytesIO(), debug=True)
    if action:
        getattr(exporter, action)("numpy")
    exporter.save_source_string("code", "import numpy")
    with pytest.raises(xp.package.PackagingError) as e:
        exporter.close()
    assert str(e.value) == f"\n{text}      A path to numpy: code -> numpy\n"
    assert xp.package.analyze.find_first_use_of_broken_modules(e.value) == {"numpy": ["code", "numpy"]}


def test_disallowed_and_unused_patterns(xp):
    exporter = xp.package.PackageExporter(io.BytesIO())
    exporter.save_source_string("code", "from sys import path; import collections.abc, torch.nn")
    with pytest.raises(xp.package.PackagingError, match="Note: While we usually use modules in the python standard library"):
        exporter.close()
    exporter = xp.package.PackageExporter(io.BytesIO())
    exporter.extern(["numpy.*", "scipy"], exclude="numpy.x", allow_empty=False)
    with pytest.raises(xp.package.EmptyMatchError,
                       match=r"GlobGroup\(include=\['numpy\.\*', 'scipy'\], exclude=numpy.x\), which was marked as allow_empty=False"):
        exporter.close()


def test_mocked_modules_raise_when_used(xp):
    file, seen = io.BytesIO(), []
    with xp.package.PackageExporter(file) as exporter:
        exporter.mock("numpy")
        exporter.register_mock_hook(lambda exporter, name: seen.append(name))
        exporter.register_intern_hook(lambda exporter, name: seen.append(name)).remove()
        exporter.save_source_string("code", "import numpy as np\ndef use(): return np.ones(2)")
    assert seen == exporter.mocked_modules() == ["numpy"]
    code = xp.package.PackageImporter(at_start(file)).import_module("code")
    assert repr(code.np.ones) == f"MockedObject({code.np.__name__}.ones)"
    with pytest.raises(NotImplementedError, match="was mocked out during packaging but it is being used in __call__"):
        code.use()


def test_external_modules_can_be_disallowed(xp):
    file = io.BytesIO()
    with xp.package.PackageExporter(file) as exporter:
        exporter.extern("numpy")
        exporter.save_source_string("code", "import numpy")
    assert exporter.externed_modules() == ["numpy"]
    with pytest.raises(ImportError, match="needs the external module 'numpy' but that module has been disallowed"):
        xp.package.PackageImporter(at_start(file), lambda name: name != "numpy")


def test_imports_of_all_kinds_are_found(xp):
    exporter = xp.package.PackageExporter(io.BytesIO())
    exporter.extern("**")
    exporter.save_source_string("code", "import email.mime\nfrom json import decoder, loads\n__import__('xml.dom')\n"
                                        "__import__('os', fromlist=['path'])\nimport not_there")
    assert exporter.externed_modules() == ["email.mime", "json", "json.decoder", "os.path", "xml", "xml.dom"]
    exporter.save_source_string("bad", "from .. import x")
    exporter.save_source_string("worse", "def")
    with pytest.raises(xp.package.PackagingError, match="Dependency resolution failed"):
        exporter.close()


def test_imports_inside_a_package(xp):
    def save(exporter):
        exporter.save_source_string("pack.sub", "from ..sizes import *\nimport pack.net\nassert WIDTH == 3\n"
                                                "from ... import x", True, dependencies=False)
        exporter.save_source_string("pack.star", "from pack.all import *", False, dependencies=False)
        exporter.save_source_string("pack.all", "__all__ = ['part']", True)
        exporter.save_source_string("pack.all.part", "import os\nimport os\nimport os.path\nx = 1")
        exporter.save_source_string("pack.missing", "from pack import nothing", False, dependencies=False)
    importer = xp.package.PackageImporter(packed(xp, save))
    assert importer.import_module("pack.star").part.x == 1
    with pytest.raises(ImportError, match="cannot import name 'nothing'"):
        importer.import_module("pack.missing")
    with pytest.raises(ModuleNotFoundError, match="No module named 'pack.net.x'; 'pack.net' is not a package"):
        importer.import_module("pack.net.x")
    with pytest.raises(ValueError, match="attempted relative import beyond top-level package"):
        importer.import_module("pack.sub")


def test_an_object_of_another_package_is_refused(xp):
    importer, module = with_net(xp)
    with pytest.raises(xp.package.ObjMismatchError, match=r"which is coming from <torch_package_\d+>.\nHowever, when we import"):
        with_net(xp)[0].get_name(module.Net)
    assert importer.get_name(module.Net.Inner) == ("pack.net", "Net.Inner")
    with pytest.raises(xp.package.ObjNotFoundError, match=r"was not found as pack.net.Net"):
        xp.package.sys_importer.get_name(module.Net)
    with pytest.raises(AssertionError, match="only supports pickle protocols 3 and 4, got 2"):
        xp.package.PackageExporter(io.BytesIO()).save_pickle("a", "b", 1, pickle_protocol=2)


@pytest.mark.parametrize(("pattern", "yes", "no"), [
    ("a.*", "a.b", "a.b.c"), ("a.**", "a.b.c", "ab"), ("a*.**.c", "ax.c", "ax.cc"), (["x", "y"], "y", "z"), ("**", "b.c.d", None)])
def test_patterns(xp, pattern, yes, no):
    group = xp.package.GlobGroup(pattern, exclude="a.not")
    assert group.matches(yes)
    assert no is None or not group.matches(no)
    assert not group.matches("a.not")
    with pytest.raises(ValueError, match=r"\*\* can only appear as an entire path segment"):
        xp.package.GlobGroup("a.b**")
