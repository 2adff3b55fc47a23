"""PyTorch's zip archives of uncompressed, aligned records.

The writer's layout equals that of PyTorch's writer byte for byte, since PyTorch may compute the offsets of records instead
of looking them up: an ``FB`` field pads each local header, and a descriptor follows each record that is not empty.
"""
from __future__ import annotations

import hashlib
import struct
import zipfile
import zlib
from typing import Any

import numpy as np

_LOCAL = struct.Struct("<4s5H3L2H")
_CENTRAL = struct.Struct("<4s6H3L5H2L")
_END64 = struct.Struct("<4sQ2H2L4Q")
_LOCATOR64 = struct.Struct("<4sLQL")
_END = struct.Struct("<4s4H2LH")
_MAX32, _MAX16 = 0xFFFFFFFF, 0xFFFF
_UTF8, _DESCRIPTOR = 0x800, 0x8
_VERSION, _NEWEST_VERSION = b"3\n", 10
_CHUNK = 1 << 24


def _crc(given: Any) -> int:
    """Return the CRC-32 of a buffer of bytes. Work in pieces, so that Python can handle signals between them."""
    crc, data = 0, memoryview(given)
    for start in range(0, len(data), _CHUNK):
        crc = zlib.crc32(data[start:start + _CHUNK], crc)
    return crc


class Writer:
    """Writes an archive to a stream that need not be seekable."""

    def __init__(self, stream: Any, root: str, *, alignment: int = 64, crc: bool = True):
        self.stream, self.root, self.alignment, self.crc = stream, root, alignment, crc
        self.at = 0
        self.directory: list[tuple[bytes, int, int, int]] = []      # The name, CRC, size and offset of each record.

    def _write(self, *parts: Any) -> None:
        for part in parts:
            self.stream.write(part)
            self.at += len(part)

    def record(self, name: str, data: Any) -> None:
        """Add a record of bytes, or of an array of bytes."""
        body = memoryview(data)
        full, size, start = f"{self.root}/{name}".encode(), len(body), self.at
        wide = _zip64(size, start)
        pad = -(start + _LOCAL.size + len(full) + len(wide) + 4) % self.alignment
        extra = wide + struct.pack("<2sH", b"FB", pad) + b"Z" * pad
        flags = _UTF8 | (_DESCRIPTOR if size else 0)
        crc = _crc(body) if self.crc else 0
        self._write(_LOCAL.pack(b"PK\3\4", 0, flags, 0, 0, 0, 0, 0, 0, len(full), len(extra)), full, extra, body)
        if size:
            self._write(struct.pack("<4sLQQ" if wide else "<4sLLL", b"PK\7\10", crc, size, size))
        self.directory.append((full, crc, size, start))

    def close(self, version_record: str = "version", version: bytes = _VERSION) -> None:
        """Write the end of the archive: the version, the id and the directory."""
        self.record(version_record, version)
        self.record(".data/serialization_id", self._identity())
        start = self.at
        for name, crc, size, offset in self.directory:
            wide = _zip64(size, offset)
            flags = _UTF8 | (_DESCRIPTOR if size else 0)
            short = min(size, _MAX32)
            self._write(_CENTRAL.pack(b"PK\1\2", 0, 0, flags, 0, 0, 0, crc, short, short, len(name), len(wide), 0, 0, 0, 0,
                                      min(offset, _MAX32)), name, wide)
        end, n = self.at, len(self.directory)
        self._write(_END64.pack(b"PK\6\6", _END64.size - 12, 0x031E, 45, 0, 0, n, n, end - start, start),
                    _LOCATOR64.pack(b"PK\6\7", 0, end, 1),
                    _END.pack(b"PK\5\6", 0, 0, min(n, _MAX16), min(n, _MAX16), min(end - start, _MAX32), min(start, _MAX32), 0))

    def _identity(self) -> bytes:
        """Return forty digits that depend only on the names and CRCs of the records."""
        names = hashlib.sha256(b"\0".join(name for name, *_ in self.directory)).digest()
        sums = zlib.crc32(b"".join(struct.pack("<L", crc) for _, crc, *_ in self.directory))
        return b"%020d%020d" % (int.from_bytes(names[:8], "little"), sums)


def _zip64(size: int, offset: int) -> bytes:
    """Return the extra field of a record whose size or offset does not fit into 32 bits; empty bytes for others."""
    values = ([size, size] if size >= _MAX32 else []) + ([offset] if offset >= _MAX32 else [])
    return struct.pack(f"<HH{len(values)}Q", 1, 8 * len(values), *values) if values else b""


def failed(what: str, why: str) -> RuntimeError:
    """Return the error of an archive that cannot be read, in the words of PyTorch's reader."""
    stop = "" if why.endswith(".") else "."
    return RuntimeError(f"PytorchStreamReader failed {what}: {why}{stop} If you are seeing this error, there is a high "
                        "likelihood that your checkpoint file is corrupted. This can happen if the checkpoint was not saved "
                        "properly, was transferred incorrectly, or the file was modified after saving.")


def ended(missing: int) -> RuntimeError:
    """Return the error of a file that ends too early."""
    return RuntimeError(f"unexpected EOF, expected {missing} more bytes. The file might be corrupted.")


class Reader:
    """Reads an archive's records from a seekable stream, and checks those that have a CRC."""

    def __init__(self, stream: Any):
        self.stream = stream
        try:
            self.zip = zipfile.ZipFile(stream)
        except Exception as e:      # The module zipfile raises many kinds of errors for a damaged directory.
            if stream.seek(0, 2) < _END.size:
                raise failed("reading zip archive", "not a ZIP archive") from e
            raise failed("reading zip archive", f"failed finding central directory. The file is truncated or damaged ({e}).") \
                from e
        self.infos = self._checked(self.zip.infolist())
        self._check_version()

    def _checked(self, infos: list[zipfile.ZipInfo]) -> dict[str, zipfile.ZipInfo]:
        if not infos:
            raise failed("reading zip archive", "the archive is empty")
        root, slash, _ = infos[0].filename.partition("/")
        if not slash:
            raise failed("reading zip archive", f"file in archive is not in a subdirectory: {root}")
        found: dict[str, zipfile.ZipInfo] = {}
        for info in infos:
            name = info.filename
            if not name.startswith(f"{root}/") or ".." in name.split("/"):
                raise failed("reading zip archive", f"record {name!r} is not below {root!r}")
            if name in found:
                raise failed("reading zip archive", f"record {name!r} is there twice")
            found[name] = info
        self.root = root
        return found

    def _check_version(self) -> None:
        name = next((n for n in (".data/version", "version") if self.has(n)), None)
        if name is None:
            raise RuntimeError('Expected hasRecord("version") to be true, but got false.')
        text = self.record(name).strip()
        if not text.isdigit() or len(text) > 9:
            raise RuntimeError("[enforce fail at inline_container.cc] . Couldn't parse the version "
                               f"{text[:20].decode(errors='replace')} as Long Long.")
        if int(text) > _NEWEST_VERSION:
            raise RuntimeError(f"Attempted to read a PyTorch file with version {int(text)}, but the maximum supported version "
                               f"for reading is {_NEWEST_VERSION}. Your PyTorch installation may be too old.")

    def has(self, name: str) -> bool:
        """Return whether the archive has a record."""
        return f"{self.root}/{name}" in self.infos

    def _info(self, name: str) -> zipfile.ZipInfo:
        info = self.infos.get(f"{self.root}/{name}")
        if info is None:
            raise failed(f"locating file {name}", "file not found")
        return info

    def size(self, name: str) -> int:
        """Return the size of a record in bytes."""
        return self._info(name).file_size

    def record(self, name: str) -> bytes:
        """Return a record's bytes."""
        return self.array(name).tobytes()

    def array(self, name: str) -> np.ndarray:
        """Return a record as a new array of bytes."""
        info = self._info(name)
        if info.compress_type == zipfile.ZIP_STORED:
            made = self._stored(name, info)
        else:
            try:
                made = np.frombuffer(bytearray(self.zip.read(info)), np.uint8)
            except Exception as e:
                raise failed(f"reading file {name}", str(e)) from e
        if info.CRC and _crc(made) != info.CRC:       # The CRC is 0 if the writer did not compute any.
            raise failed(f"reading file {name}", "CRC-32 check failed: the file is damaged")
        return made

    def _stored(self, name: str, info: zipfile.ZipInfo) -> np.ndarray:
        start = self.offset(name)
        made = np.empty(info.file_size, np.uint8)
        self.stream.seek(start)
        read_into(self.stream, made)
        return made

    def offset(self, name: str) -> int:
        """Return where a record's bytes begin in the stream; RuntimeError if it is compressed, or damaged."""
        info = self._info(name)
        if info.compress_type != zipfile.ZIP_STORED or info.flag_bits & 1 or info.compress_size != info.file_size:
            raise failed(f"reading file {name}", "the record is compressed or encrypted")
        self.stream.seek(info.header_offset)
        header = self.stream.read(_LOCAL.size)
        if len(header) != _LOCAL.size or header[:4] != b"PK\3\4":
            raise failed(f"reading file {name}", "there is no record where the directory says")
        *_, n, m = _LOCAL.unpack(header)
        start = info.header_offset + _LOCAL.size + n + m
        if start + info.file_size > self.zip.start_dir or self.stream.read(n) != info.orig_filename.encode():
            raise failed(f"reading file {name}", "the record and the directory do not agree")
        return start


def read_into(stream: Any, array: np.ndarray) -> None:
    """Fill an array of bytes from a stream; RuntimeError if the stream ends too early."""
    view, at = memoryview(array), 0     # type: ignore[arg-type]
    direct = getattr(stream, "readinto", None)
    while at < len(view):
        if direct is not None:
            n = direct(view[at:])
        else:
            piece = stream.read(min(len(view) - at, _CHUNK))
            n = len(piece)
            view[at:at + n] = piece
        if not n:
            raise ended(len(view) - at)
        at += n
