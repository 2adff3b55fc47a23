"""The statements of ``python -m jtorch check`` and of docs/differences.md are true."""
from __future__ import annotations

import re
from pathlib import Path

import pytest

import jtorch
from jtorch.check.known import Known
from jtorch.check.statements import INSTEAD, REFUSED, STATED, STATEMENTS

pytestmark = pytest.mark.one_mode
ROOT = Path(__file__).resolve().parents[2]
KNOWN = Known()
# differences.md is left out: it is generated from the statements, and a test below runs each statement's example.
PAGES = [ROOT / "README.md", *sorted(p for p in (ROOT / "docs").rglob("*.md") if p.name != "differences.md")]


@pytest.fixture
def flags():
    """Restore the flags that statements set."""
    before = jtorch.backends.cudnn.benchmark
    yield
    jtorch.backends.cudnn.benchmark = before


@pytest.mark.filterwarnings("ignore")
@pytest.mark.usefixtures("flags")
@pytest.mark.parametrize("one", [s for s in STATED if s.example], ids=lambda s: s.names[0])
def test_a_statement_holds(one):
    """A statement's example raises if its kind is REFUSED, and runs otherwise."""
    program = one.example.replace("import torch.", "import jtorch.").replace("from torch.", "from jtorch.")
    try:
        exec(program, {"torch": jtorch, "jtorch": jtorch})
    except Exception as error:      # noqa: BLE001 (of any kind)
        assert one.kind == REFUSED, f"{one.names[0]}: {error!r}"
        assert one.error in [kind.__name__ for kind in type(error).__mro__]
    else:
        assert one.kind != REFUSED, f"{one.names[0]} is not refused"


def test_statements_are_of_pytorchs_names():
    for name in {name for one in STATEMENTS for name in one.names}:
        found = KNOWN.verdict(name.removesuffix(".*"))
        assert found.kind != "unknown", name


def test_what_to_use_instead_is_said_of_names_that_are_missing():
    """Each entry names something missing, or a module with missing names."""
    lacking = {*KNOWN.absent, *KNOWN.refused, *KNOWN.lacking, *(f"{m}.{n}" for m, names in KNOWN.lacking.items() for n in names.split()),
               *(f"{m}.{n}" for m, names in KNOWN.members.items() for n in names)}
    for path in INSTEAD:
        assert any(name == path or name.startswith(f"{path}.") for name in lacking), path


# ---------------------------------------------------------------- pages

ABSENT = re.compile(r"\b(not here|not there|not built|is missing|are missing|is absent|are absent)\b", re.IGNORECASE)
NAME = re.compile(r"`(?:torch\.)?([A-Za-z_][\w.]*)(?:\([^`]*\))?`")


def said_to_be_absent(text: str) -> list[str]:
    """Return the names in clauses that call them absent, and in the first paragraph after such a heading."""
    text = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    parts = [clause for clause in re.split(r"[;:.]\s|\n\n|\n- |\n\|", text) if ABSENT.search(clause) and not clause.lstrip().startswith("#")]
    parts += re.findall(r"^#+ .*(?:not here|not there|not built).*\n\n((?:.+\n)+)", text, re.MULTILINE)
    return [name for part in parts for name in NAME.findall(re.split(r"\.\s", part)[0])]


def here(name: str) -> list[str]:
    """Return the public modules in which both PyTorch and jtorch have a name."""
    if "." in name:
        paths = [f"torch.{name}"]
    else:
        public = [m for m in KNOWN.modules if not any(p.startswith("_") for p in m.split("."))]
        spaces = [m for m in public if m.count(".") < 3 and not m.startswith("torch.ops")]
        paths = [f"{m}.{name}" for m in spaces if name in KNOWN.modules[m].split()]
    return [path for path in paths if KNOWN.verdict(path).kind == "here" and KNOWN.verdict(path).name == path]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_names_that_a_page_calls_absent_are_absent(page):
    stale = {name: places for name in said_to_be_absent(page.read_text(encoding="utf-8")) if (places := here(name))}
    assert not stale, f"{page.name} says that these names are not here: {stale}"


def test_stale_statements_are_found():
    page = "## What is not here\n\nNested tensors, NCCL and\n`fully_shard`. Use `torch.ones`.\n\nAlso: `torch.sin` is missing; `torch.cos` is not.\n"
    assert said_to_be_absent(page) == ["sin", "fully_shard"]
    assert here("fully_shard")
    assert not here("mps.empty_cache")
