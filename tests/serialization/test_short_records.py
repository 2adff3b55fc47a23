"""Checkpoints whose records are shorter or longer than their tensors raise PyTorch's errors."""
from __future__ import annotations

import io
import re
import zipfile

import pytest


def checkpoint(xp, **options):
    stream = io.BytesIO()
    xp.save({"a": xp.arange(8.0)}, stream, **options)
    return stream.getvalue()


def rewritten(data, ending, change):
    """Return the archive with new contents of the record whose name has this ending; None removes the record."""
    source, stream = zipfile.ZipFile(io.BytesIO(data)), io.BytesIO()
    with zipfile.ZipFile(stream, "w") as target:
        for info in source.infolist():
            content = source.read(info)
            content = change(content) if info.filename.endswith(ending) else content
            if content is not None:
                target.writestr(info.filename, content)
    return stream.getvalue()


@pytest.mark.parametrize("weights_only", [True, False])
@pytest.mark.parametrize("size", [0, 12, 31, 36])
def test_a_record_of_another_size_than_its_storage(xp, size, weights_only):
    data = rewritten(checkpoint(xp), "data/0", lambda content: (content + b"1234")[:size])
    with pytest.raises(RuntimeError, match=re.escape(f"record size ({size} bytes) does not match expected size (32 bytes = 32 elements "
                                                     "* 1 bytes/element) for dtype Byte")):
        xp.load(io.BytesIO(data), weights_only=weights_only)


@pytest.mark.parametrize(("ending", "change", "message"), [
    ("data/0", lambda content: None, "PytorchStreamReader failed locating file data/0: file not found."),
    ("data.pkl", lambda content: None, "PytorchStreamReader failed locating file data.pkl: file not found."),
    ("/version", lambda content: None, 'Expected hasRecord("version") to be true, but got false.'),
    ("/version", lambda content: b"x", "Couldn't parse the version x as Long Long.")])
def test_a_record_that_is_missing_or_damaged(xp, ending, change, message):
    with pytest.raises(RuntimeError, match=re.escape(message)):
        xp.load(io.BytesIO(rewritten(checkpoint(xp), ending, change)))


@pytest.mark.parametrize(("size", "message"), [(10, "not a ZIP archive."), (100, "failed finding central directory."),
                                               (-1, "failed finding central directory.")])
def test_a_truncated_archive(xp, size, message):
    with pytest.raises(RuntimeError, match="PytorchStreamReader failed reading zip archive: " + re.escape(message)):
        xp.load(io.BytesIO(checkpoint(xp)[:size]))


@pytest.mark.parametrize(("cut", "missing"), [(1, 1), (8, 8), (32, 32), (33, 1)])
def test_a_truncated_file_of_the_old_format(xp, cut, missing):
    data = checkpoint(xp, _use_new_zipfile_serialization=False)
    with pytest.raises(RuntimeError, match=f"unexpected EOF, expected {missing} more bytes. The file might be corrupted."):
        xp.load(io.BytesIO(data[:-cut]))
