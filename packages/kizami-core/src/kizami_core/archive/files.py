"""Archive files: compressed where the name ends in ``.gz``, whole or not there, private from birth."""

from __future__ import annotations

import contextlib
import gzip
import os
import zlib

from kizami_core.errors import ArchiveError, NotFoundError
from kizami_core.messages import Message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import BinaryIO

_GZIP_MAGIC = b"\x1f\x8b"
_MAX_LINE_BYTES = 256 * 1024 * 1024  # what is longer is no line of ours
_ENDINGS = (".jsonl", ".jsonl.gz")


def archive_files(path: str) -> list[str]:
    """Return the file, or of a folder all archives in it in the order of their names.

    Raises:
        NotFoundError: there is none.
    """
    if not os.path.isdir(path):
        if not os.path.exists(path):
            raise NotFoundError(Message("There is no file {path}. Check the path.", path=path))
        return [path]
    names = [name for name in sorted(os.listdir(path)) if name.endswith(_ENDINGS)]
    if not names:
        raise NotFoundError(
            Message("There is no archive (*.jsonl, *.jsonl.gz) in {path}. Name the file itself.", path=path)
        )
    return [os.path.join(path, name) for name in names]


def file_lines(path: str) -> Iterator[bytes]:
    """Yield the lines of a file, decompressed where it is compressed (by what it holds, not by its name).

    Raises:
        ArchiveError: the compressed data are damaged or cut off.
    """
    number = 0
    with open(path, "rb") as raw:
        is_compressed = raw.read(len(_GZIP_MAGIC)) == _GZIP_MAGIC
        raw.seek(0)
        file = gzip.GzipFile(fileobj=raw) if is_compressed else raw
        try:
            while line := file.readline(_MAX_LINE_BYTES):
                yield line
                number += 1
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise ArchiveError(
                Message(
                    "{path}: the compressed data are damaged or cut off after line {number} ({reason}). Get "
                    "a whole copy of the file and import it again; what came before stays and nothing comes "
                    "twice.",
                    path=path,
                    number=number,
                    reason=error,
                )
            ) from error


def write_file(path: str, pieces: Iterable[str]) -> int:
    """Write text to a file that appears when it is whole, mode 0600; return its size in bytes.

    The same pieces give the same bytes, compressed ones too. A link is followed. What is no regular file (a
    device, a pipe) is never replaced, but written to; its size is 0.
    """
    path = os.path.realpath(path)
    if os.path.exists(path) and not os.path.isfile(path):
        with open(path, "wb") as raw:
            _write(raw, pieces, is_compressed=path.endswith(".gz"))
        return 0
    partial = f"{path}.{os.getpid()}.partial"
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as raw:
            _write(raw, pieces, is_compressed=path.endswith(".gz"))
            raw.flush()
            os.fsync(raw.fileno())
        os.replace(partial, path)
    except BaseException:
        os.unlink(partial)
        raise
    return os.path.getsize(path)


def _write(raw: BinaryIO, pieces: Iterable[str], *, is_compressed: bool) -> None:
    with compressed(raw) if is_compressed else contextlib.nullcontext(raw) as file:
        for piece in pieces:
            file.write(piece.encode("utf-8", "replace"))


def compressed(raw: BinaryIO) -> gzip.GzipFile:
    """Return a file that compresses into another one, leaving out name and time."""
    return gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0)
