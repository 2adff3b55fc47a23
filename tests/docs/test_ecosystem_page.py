"""docs/ecosystem.md is made from the results, and the comparison finds differences."""
from __future__ import annotations

import json
import re
import zipfile

import numpy as np
import pytest

from tools.ecosystem import __main__ as command
from tools.ecosystem import checked, page, recorded
from tools.ecosystem.compare import difference
from tools.ecosystem.packages import ONLY_READ, PACKAGES, SHORT
from tools.ecosystem.reasons import REASONS
from tools.ecosystem.running import HERE


def test_the_page_is_of_the_results():
    assert page.PAGE.read_text() == page.text(json.loads(command.RESULTS.read_text())), "run `python -m tools.ecosystem --page`"


def test_what_is_read_of_a_wheel(tmp_path):
    wheel = tmp_path / "some_net-1.2-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("some_net/__init__.py", "import torch\nfrom torch.cuda import comm\ntorch.relu(torch.rand(2))\n")
        archive.writestr("some_net/tests/test_it.py", "import torch\ntorch.sin, torch.utils.bundled_inputs\n")
    assert checked.read(wheel) == {"version": "1.2", "names": 3, "missing": ["torch.cuda.comm"]}


def test_a_name_that_has_come_is_no_longer_listed():
    read = {"names": 4, "missing": ["torch.cuda.comm", "torch.relu"], "guarded": ["torch.utils.bundled_inputs"]}
    assert page.still_absent(read, "missing") == ["torch.cuda.comm"]
    assert page.text({}, {"some-net": {"version": "1.2", **read}}).count("| 2 of 4 | `torch.cuda.comm`; 1 guarded |") == 1


def test_many_packages_are_read():
    read = json.loads(checked.RESULTS.read_text())
    assert set(read) <= {*(names[0] for names in PACKAGES.values()), *ONLY_READ}
    assert len(ONLY_READ) >= 60 and len(set(read) & set(ONLY_READ)) >= 60


def test_each_package_has_its_uses():
    assert sorted(PACKAGES) == sorted(f.stem for f in (HERE / "uses").glob("*.py")) and set(SHORT) <= set(PACKAGES)


def test_reasons_are_of_uses_that_differ():
    known = json.loads(command.RESULTS.read_text())
    assert not [key for key in REASONS if known[key[0]]["uses"].get(key[1], {"result": "same"})["result"] == "same"]


@pytest.mark.parametrize(("expected", "actual", "said"), [
    ({"a": [1.0, np.ones(2)]}, {"a": [1.00001, np.ones(2)]}, None),
    ([1.0], [1.1], r"result\[0\]: differs by up to 0.1"),
    ([np.ones(2)], [np.ones(3)], r"shape \(3,\), not \(2,\)"),
    (np.arange(3), np.array([0, 1, 3]), "1 of 3 elements differ"),
    (np.ones(1), np.ones(1, np.int64), "int64, not float64"),
    ({"a": 1}, {"b": 1}, "keys"),
    ([1, 2], [1], "1 items, not 2"),
    ("a", "b", "'b', not 'a'"),
    (float("nan"), float("nan"), None),
])
def test_differences(expected, actual, said):
    found = difference(expected, actual)
    if said is None:
        assert found is None
    else:
        assert found is not None and re.search(said, found)


def test_what_is_recorded_of_a_result(tmp_path, monkeypatch):
    monkeypatch.setattr(recorded, "FOLDER", tmp_path)
    x = np.linspace(0, 1, 1000).reshape(10, 100).astype(np.float32)
    values = {"x": x, "names": ["a", 2, None], "mask": x > 0.5, "long": "text " * 1000, "none": np.empty((0, 2))}
    recorded.write("one", {"use": {"values": values, "seconds": 1.0}, "broken": {"error": "no"}})
    kept = recorded.read("one")
    assert kept["broken"] == {"error": "no"}
    assert difference(kept["use"]["values"], recorded.digest(values)) is None
    wrong = recorded.digest({**values, "x": x + 0.1})
    assert "differs" in difference(kept["use"]["values"], wrong)
    assert difference(kept["use"]["values"], recorded.digest({**values, "x": x.T})) is not None
    assert (tmp_path / "one.json.gz").stat().st_size < 1500


def test_what_is_recorded_is_of_the_packages():
    assert {file.name.removesuffix(".json.gz") for file in recorded.FOLDER.glob("*.gz")} <= set(PACKAGES)
