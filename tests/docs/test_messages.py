"""Messages of common mistakes name the fix, and the fix runs. docs/messages.md shows them."""
from __future__ import annotations

import pytest
from docs.mistakes import LEARNING, PORTING

from tools import messages

MISTAKES = [*LEARNING, *PORTING]


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda m: m.title)
def test_mistake_says_what_to_write(mistake):
    said = messages.run(mistake.wrong)
    assert said is not None
    _, message, notes = said
    assert any(mistake.says in part for part in (message, *notes)), said


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda m: m.title)
def test_what_is_to_be_written_runs(mistake):
    assert messages.run(mistake.instead) is None


def test_there_are_ten_of_each():
    assert len(LEARNING) == len(PORTING) == 10


def test_the_page_is_not_stale():
    assert messages.PAGE.read_text() == messages.page(), "run `python -m tools.messages`"


def test_errors_of_ops_have_no_notes_of_jax():
    _, _, notes = messages.run("torch.ones(2, 3) @ torch.ones(2, 3)")
    assert notes
    assert not any("JAX has removed" in note for note in notes)


@pytest.mark.conformance
def test_a_tensor_of_pytorch_is_refused(torch):
    import jtorch
    with pytest.raises(TypeError, match="must be Tensor, not Tensor") as caught:
        jtorch.sin(torch.ones(2))
    assert "torch.from_dlpack" in caught.value.__notes__[0]
    assert jtorch.from_dlpack(torch.ones(2)).tolist() == [1, 1]
