"""The JSONL store of the TypeScript Kizami: month files that are only ever appended to.

====================== ============================================================================
record                 says
====================== ============================================================================
v 1, chunk             a chunk; of several with one id the last counts
v 2, tx_begin          a transaction begins; without its tx_commit nothing of it counts
v 2, turn_checkpoint   a turn with its parts; of several revisions the highest counts
v 2, session_reset     what was known of a session before, up to an epoch, counts no more
v 2, chunk_delete      a chunk was deleted
v 2, tx_commit         the transaction is whole: as many records as it says, with the digest that it says
====================== ============================================================================

The files are read twice: once to see which lines count, once for these. So little is held in memory.
"""

from __future__ import annotations

import os
from hashlib import sha256

from kizami_core.errors import StorageError
from kizami_core.json_text import parse
from kizami_core.messages import Message
from kizami_import.plain_text import moment_of, text_of
from kizami_import.typescript_rows import StoredChunk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import BinaryIO

    Place = tuple[str, int]  # a file, and where in it a line begins, in bytes
    Object = dict[str, object]

_SUFFIX = ".jsonl"
_V2_TYPES = frozenset({"tx_begin", "turn_checkpoint", "session_reset", "chunk_delete", "tx_commit"})


def store_files(folder: str) -> list[str]:
    """Return the files of a store, the oldest month first.

    Raises:
        StorageError: the folder can't be read.
    """
    try:
        names = sorted(os.listdir(folder))
    except OSError as error:
        raise _unreadable(folder, error) from error
    return [os.path.join(folder, name) for name in names if name.endswith(_SUFFIX)]


def is_record(value: object) -> bool:
    """Tell whether a parsed line is a record of such a store."""
    if not isinstance(value, dict):
        return False
    is_chunk = value.get("v") == 1 and value.get("type") == "chunk" and "sessionId" in value
    return is_chunk or (value.get("v") == 2 and value.get("type") in _V2_TYPES)  # noqa: PLR2004 - the format's version


class Store:
    """What counts of a store.

    Args:
        files: its files, oldest first.

    Raises:
        StorageError: one can't be read.
    """

    def __init__(self, files: Sequence[str]) -> None:
        self.broken = 0
        self.deleted = 0
        self._chunks: dict[str, tuple[str, Place]] = {}
        self._turns: dict[tuple[str, str, int], tuple[int, Place]] = {}
        self._epochs: dict[str, int] = {}
        self._deleted: set[str] = set()
        for file in files:
            self._read(file)

    @property
    def has_records(self) -> bool:
        """Whether anything in the files is a record of such a store that counts or counted."""
        return bool(self._chunks or self._turns or self._epochs or self._deleted)

    def chunks(self) -> Iterator[StoredChunk]:
        """Yield the chunks that count, session by session, in the order in which they were written.

        Raises:
            StorageError: a file can't be read any more.
        """
        places: list[tuple[str, Place]] = []
        for session_id, place in self._chunks.values():
            if session_id in self._epochs:
                self.deleted += 1
            else:
                places.append((session_id, place))
        for (session_id, _, epoch), (_, place) in self._turns.items():
            if session_id in self._epochs and epoch != self._epochs[session_id]:
                self.deleted += 1
            else:
                places.append((session_id, place))
        first = {session_id: number for number, (session_id, _) in reversed(list(enumerate(places)))}
        for _, (file, offset) in sorted(places, key=lambda found: (first[found[0]], found[1])):
            with _open(file) as lines:
                lines.seek(offset)
                record = _parsed(lines.readline())
            yield from self._chunks_of(record or {})

    def _chunks_of(self, record: Object) -> Iterator[StoredChunk]:
        parts = record.get("parts")
        for part in parts if isinstance(parts, list) else [record]:
            if not isinstance(part, dict):
                continue
            if text_of(part.get("externalId") or part.get("id")) in self._deleted:
                self.deleted += 1
                continue
            yield StoredChunk(
                text_of(record.get("sessionId")),
                text_of(record.get("projectPath")),
                moment_of(None, record.get("completedAt") or record.get("createdAt")),
                text_of(part.get("content")),
            )

    def _read(self, file: str) -> None:
        frame: list[tuple[bytes, Object, Place]] | None = None
        begun = ""
        with _open(file) as lines:
            offset = 0
            for line in lines:
                place, offset = (file, offset), offset + len(line)
                if not line.strip():
                    continue
                record = _parsed(line)
                if record is None:
                    self.broken += 1
                elif record["v"] == 1:
                    self._chunks[text_of(record.get("id"))] = (text_of(record.get("sessionId")), place)
                elif record["type"] == "tx_begin":
                    self.broken += len(frame or ())
                    frame, begun = [], text_of(record.get("txId"))
                elif record["type"] == "tx_commit":
                    if frame is not None and begun == record.get("txId") and _is_whole(record, frame):
                        self._apply(frame)
                    else:
                        self.broken += len(frame or ())
                    frame = None
                elif frame is None:
                    self.broken += 1
                else:
                    frame.append((line, record, place))
        self.broken += len(frame or ())

    def _apply(self, frame: list[tuple[bytes, Object, Place]]) -> None:
        for _, record, place in frame:
            session_id = text_of(record.get("sessionId"))
            epoch = _number(record.get("historyEpoch"))
            if record["type"] == "session_reset":
                self._epochs[session_id] = max(epoch, self._epochs.get(session_id, 0))
            elif record["type"] == "chunk_delete":
                self._deleted.add(text_of(record.get("externalId")))
            else:
                key = (session_id, text_of(record.get("turnKey")), epoch)
                revision = _number(record.get("revision"))
                if key not in self._turns or self._turns[key][0] < revision:
                    self._turns[key] = (revision, place)


def _open(file: str) -> BinaryIO:
    try:
        return open(file, "rb")
    except OSError as error:
        raise _unreadable(file, error) from error


def _parsed(line: bytes) -> Object | None:
    try:
        record = parse(line.decode("utf-8", "replace"))
    except ValueError:
        return None
    return record if isinstance(record, dict) and is_record(record) else None


def _is_whole(commit: Object, frame: Sequence[tuple[bytes, Object, Place]]) -> bool:
    digest = sha256(b"".join(line.rstrip(b"\r\n") + b"\n" for line, _, _ in frame)).hexdigest()
    return commit.get("recordCount") == len(frame) and commit.get("payloadDigest") == digest


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0


def _unreadable(path: str, error: OSError) -> StorageError:
    return StorageError(
        Message("{path} can't be read ({reason}). Mend its permissions.", path=path, reason=error.strerror)
    )
